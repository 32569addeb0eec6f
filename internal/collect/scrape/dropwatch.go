package scrape

import (
	"context"
	"errors"
	"log/slog"

	"sightline/internal/model"
)

// dropWatch reads from the scrape loops' log how many samples they dropped.
// Those lines become part of the target's status, so they are not repeated in
// the log at every scrape.
type dropWatch struct {
	slog.Handler
	sink   *sink
	target string
}

// dropLines are the loops' messages and what they count.
var dropLines = map[string]func(*drops, int){
	"Error on ingesting out-of-order samples":                                    func(d *drops, n int) { d.outOfOrder += n },
	"Error on ingesting samples with different value but same timestamp":         func(d *drops, n int) { d.duplicate += n },
	"Error on ingesting samples that are too old or are too far into the future": func(d *drops, n int) { d.outOfBounds += n },
}

// Enabled lets warnings through whatever the level of the log is.
func (w dropWatch) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn || w.Handler.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (w dropWatch) Handle(ctx context.Context, r slog.Record) error {
	if add, ok := dropLines[r.Message]; ok && w.target != "" {
		n := 0
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "num_dropped" {
				n = int(a.Value.Resolve().Int64())
				return false
			}
			return true
		})
		w.sink.dropped(w.target, func(d *drops) { add(d, n) })
		return nil
	}
	if !w.Handler.Enabled(ctx, r.Level) || w.target != "" && storeSays(r) {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

// storeSays reports whether a loop complains about a problem of the store. The
// store has said it once; every target would repeat it at every scrape.
func storeSays(r slog.Record) bool {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Resolve().Any().(error); ok && a.Key == "err" {
			var p *model.Problem
			found = errors.As(err, &p)
		}
		return !found
	})
	return found
}

// WithAttrs implements slog.Handler and notes which target the loop is for.
func (w dropWatch) WithAttrs(as []slog.Attr) slog.Handler {
	target := w.target
	for _, a := range as {
		if a.Key == "target" {
			target = a.Value.Resolve().String()
		}
	}
	return dropWatch{Handler: w.Handler.WithAttrs(as), sink: w.sink, target: target}
}

// WithGroup implements slog.Handler.
func (w dropWatch) WithGroup(name string) slog.Handler {
	return dropWatch{Handler: w.Handler.WithGroup(name), sink: w.sink, target: w.target}
}
