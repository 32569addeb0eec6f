package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sightline/internal/model"
)

func TestRunStopsInReverseOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		part := func(name string) Service {
			return Service{name, func(ctx context.Context) error {
				<-ctx.Done()
				order = append(order, name) // parts stop one after the other
				return nil
			}}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Run(ctx, slog.New(slog.DiscardHandler), StopBudget, part("store"), part("rules"), part("http")); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(order, " "); got != "http rules store" {
			t.Errorf("stopped in the order %s", got)
		}
	})
}

func TestRunEndsWithTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		boom := errors.New("boom")
		err := Run(t.Context(), slog.New(slog.DiscardHandler), StopBudget,
			Service{Name: "store", Run: func(ctx context.Context) error { <-ctx.Done(); stopped = true; return nil }},
			Service{Name: "http", Run: func(context.Context) error { time.Sleep(time.Second); return boom }})
		if !errors.Is(err, boom) || !strings.HasPrefix(err.Error(), "http:") || !stopped {
			t.Errorf("%v, the other part stopped: %v", err, stopped)
		}
		if err := Run(t.Context(), slog.New(slog.DiscardHandler), StopBudget, Service{Name: "x", Run: func(context.Context) error { return nil }}); err == nil {
			t.Error("a part that ends by itself goes unnoticed")
		}
	})
}

func TestRunClosesTheFirstEvenWhenAnotherIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		closed := false
		err := Run(ctx, slog.New(slog.DiscardHandler), StopBudget,
			Service{Name: "store", Run: func(ctx context.Context) error { <-ctx.Done(); time.Sleep(3 * time.Second); closed = true; return nil }},
			Service{Name: "stuck", Run: func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Hour); return nil }})
		if model.CodeOf(err) != "stop_timeout" || !closed {
			t.Errorf("%v, store closed: %v", err, closed)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestRunLeavesALatePartBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		err := Run(ctx, slog.New(slog.DiscardHandler), StopBudget,
			Service{Name: "stuck", Run: func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Hour); return nil }})
		if model.CodeOf(err) != "stop_timeout" || time.Since(begin) != StopBudget {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		time.Sleep(2 * time.Hour) // let the part end before the bubble closes
	})
}
