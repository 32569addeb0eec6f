package main

import (
	"fmt"
	"runtime"

	"sightline/internal/app"
)

// versionCmd prints the version.
type versionCmd struct{}

// Run prints one line.
func (versionCmd) Run(s *streams) error {
	fmt.Fprintf(s.out, "sightline %s %s %s/%s\n", app.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
