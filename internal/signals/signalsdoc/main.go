// Command signalsdoc writes the reference of canonical signals to the file that
// its one argument names.
package main

import (
	"fmt"
	"os"

	"sightline/internal/signals"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "signalsdoc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("got %d arguments; give the file to write", len(args))
	}
	c, err := signals.Load()
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], []byte(c.Reference()), 0o644)
}
