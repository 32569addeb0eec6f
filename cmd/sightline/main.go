// Command sightline is the server, the agent and the demo in one binary.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"sightline/internal/app/lifecycle"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// exit statuses: 0 done, 1 failed, 2 used wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

// run parses args and executes one subcommand; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	var c cli
	status := -1
	parser, err := newParser(&c, stdout, stderr, func(s int) { status = s })
	if err != nil {
		fmt.Fprintln(stderr, "sightline:", err)
		return exitFailed
	}
	kctx, err := parser.Parse(args)
	if status >= 0 { // help was printed
		return status
	}
	if err != nil {
		fmt.Fprintf(stderr, "sightline: %v\nrun 'sightline --help' to see what there is\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kctx.BindTo(ctx, (*context.Context)(nil))
	if err := kctx.Run(&streams{out: stdout, err: stderr}); err != nil {
		lifecycle.Report(stderr, "sightline", err)
		return exitFailed
	}
	return 0
}

// streams are where a subcommand writes: answers to out, everything else to err.
type streams struct{ out, err io.Writer }

func newParser(c *cli, stdout, stderr io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("sightline"),
		kong.Description("A clear line of sight from an inference request to the GPU that served it."),
		kong.Writers(stdout, stderr),
		kong.Exit(exit),
		kong.UsageOnError(),
		kong.Vars{"faults": faultNames()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)
}
