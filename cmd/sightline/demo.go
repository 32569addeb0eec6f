package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sightline/internal/app"
	"sightline/internal/app/config"
)

// demoCmd runs the server beside two real engines under real load.
type demoCmd struct {
	serverFlags
	For   config.Duration `help:"Stop after this long (default: run until stopped)." placeholder:"DURATION"`
	Fault string          `help:"Fault to inject: ${faults}." placeholder:"NAME" default:"none"`
	Seed  uint64          `help:"Seed of weights, payloads and arrivals." default:"1"`
	Load  string          `help:"File for the load generator's log, one JSON object a request (.gz is compressed)." placeholder:"FILE" type:"path"`
}

// Run blocks until ctx ends or the time is over.
func (d *demoCmd) Run(ctx context.Context, s *streams) error {
	c, err := d.config()
	if err != nil {
		return err
	}
	if d.Data == "" && d.Config == "" {
		dir, err := os.MkdirTemp("", "sightline-demo-")
		if err != nil {
			return fmt.Errorf("make a temporary data directory: %w", err)
		}
		defer os.RemoveAll(dir)
		c.Data = dir
	}
	if d.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(d.For), errors.New("the time given with --for is over"))
		defer cancel()
	}
	return app.Run(ctx, app.Settings{
		Role: app.RoleDemo, Config: c, Log: s.logger(c.Log), Out: s.out,
		Demo: app.DemoSettings{Fault: d.Fault, Seed: d.Seed, LoadLog: d.Load},
	})
}

func faultNames() string { return strings.Join(app.Faults(), ", ") }
