package config

import (
	"io"
	"log/slog"
)

// NewLogger writes structured logs to w in the configured form.
func NewLogger(w io.Writer, c LogConfig) *slog.Logger {
	o := &slog.HandlerOptions{}
	switch c.Level {
	case "debug":
		o.Level = slog.LevelDebug
	case "warn":
		o.Level = slog.LevelWarn
	case "error":
		o.Level = slog.LevelError
	default:
		o.Level = slog.LevelInfo
	}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
