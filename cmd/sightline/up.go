package main

import (
	"context"

	"sightline/internal/app"
	"sightline/internal/app/config"
)

// upCmd runs server and agent in one process.
type upCmd struct {
	serverFlags
	Target   []string        `help:"Exposition to scrape, repeatable: http://HOST:8002/metrics, or SERVICE=URL to name the service." placeholder:"[SERVICE=]URL"`
	Interval config.Duration `help:"How often targets are scraped (default 5s)." placeholder:"DURATION"`
}

// Run blocks until ctx ends.
func (u *upCmd) Run(ctx context.Context, s *streams) error {
	c, err := u.config()
	if err != nil {
		return err
	}
	if u.Interval > 0 {
		c.Scrape.Interval = u.Interval
		c.Scrape.Timeout = min(c.Scrape.Timeout, u.Interval)
	}
	for _, t := range u.Target {
		tc, err := config.ParseTarget(t)
		if err != nil {
			return err
		}
		c.Scrape.Targets = append(c.Scrape.Targets, tc)
	}
	return app.Run(ctx, app.Settings{Role: app.RoleUp, Config: c, Log: s.logger(c.Log), Out: s.out})
}
