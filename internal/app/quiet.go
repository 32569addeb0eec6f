package app

import (
	"context"
	"log/slog"
)

// quietHandler drops what libraries say about their ordinary life, unless the
// log is at debug: a person who starts the product wants the address, not the
// replay of an empty log in seven lines.
type quietHandler struct{ slog.Handler }

// quiet wraps log for parts that pass a library's messages through.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(quietHandler{log.Handler()}) }

// Enabled implements slog.Handler.
func (q quietHandler) Enabled(ctx context.Context, l slog.Level) bool {
	if l < slog.LevelWarn && !q.Handler.Enabled(ctx, slog.LevelDebug) {
		return false
	}
	return q.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (q quietHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return quietHandler{q.Handler.WithAttrs(a)}
}

// WithGroup implements slog.Handler.
func (q quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{q.Handler.WithGroup(name)}
}
