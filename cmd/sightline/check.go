package main

import (
	"fmt"

	"sightline/internal/app"
	"sightline/internal/app/config"
)

// checkCmd groups the checks that start nothing.
type checkCmd struct {
	Config checkConfigCmd `cmd:"" help:"Check a configuration file and print what it amounts to."`
}

// checkConfigCmd validates one file.
type checkConfigCmd struct {
	File string `arg:"" help:"Configuration file." default:"sightline.yaml" type:"path"`
}

// Run prints the effective configuration, secrets hidden, and an estimate.
func (k *checkConfigCmd) Run(s *streams) error {
	c, err := config.Load(k.File)
	if err != nil {
		return err
	}
	if err := app.CheckConfig(c); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "# %s is valid; this is what it amounts to\n%s", k.File, c.YAML())
	return nil
}
