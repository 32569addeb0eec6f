package main

import (
	"context"

	"sightline/internal/app"
)

// serveCmd runs the server alone.
type serveCmd struct {
	serverFlags
}

// Run blocks until ctx ends.
func (v *serveCmd) Run(ctx context.Context, s *streams) error {
	c, err := v.config()
	if err != nil {
		return err
	}
	return app.Run(ctx, app.Settings{Role: app.RoleServe, Config: c, Log: s.logger(c.Log), Out: s.out})
}
