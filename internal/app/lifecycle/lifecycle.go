// Package lifecycle runs the parts of a process: it starts them in order, ends
// all when one fails, and stops them in reverse order within a bounded time.
package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sightline/internal/model"
)

// StopBudget bounds an orderly stop; a part that takes longer is left behind
// and named.
const StopBudget = 10 * time.Second

// firstShare is the part of the budget that is kept for the first service, on
// which all others stand: the store must close even when another is stuck.
const firstShare = 0.4

// Service is a part of a process with a life of its own. Run blocks until its
// context ends or it cannot go on.
type Service struct {
	Name string
	Run  func(ctx context.Context) error
}

// Run starts services in order and waits until ctx ends or one of them
// fails. Then it stops them one by one in reverse order, so that a part is
// stopped before those that it stands on. It returns the first failure.
func Run(ctx context.Context, log *slog.Logger, budget time.Duration, services ...Service) error {
	type running struct {
		cancel context.CancelFunc
		done   chan struct{}
	}
	type end struct {
		name string
		err  error
	}
	ended := make(chan end, len(services))
	rs := make([]running, len(services))
	for i, s := range services {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		rs[i] = running{cancel, make(chan struct{})}
		go func() {
			defer close(rs[i].done)
			err := s.Run(own)
			ended <- end{s.Name, err}
		}()
	}
	var first error
	for first == nil {
		select {
		case <-ctx.Done():
		case e := <-ended:
			if e.err == nil {
				e.err = fmt.Errorf("ended although nobody stopped it")
			}
			first = fmt.Errorf("%s: %w", e.name, e.err)
			continue
		}
		break
	}
	log.Info("stopping", "cause", cause(ctx, first))
	begin := time.Now()
	for i := len(services) - 1; i >= 0; i-- {
		rs[i].cancel()
		until := budget
		if i > 0 {
			until = time.Duration(float64(budget) * (1 - firstShare))
		}
		wait := time.NewTimer(until - time.Since(begin))
		select {
		case <-rs[i].done:
			wait.Stop()
		case <-wait.C:
			log.Error("part did not stop in time and is left behind", "part", services[i].Name, "budget", budget)
			if first == nil {
				first = &model.Problem{Code: "stop_timeout", Text: fmt.Sprintf("%s did not stop within %s", services[i].Name, budget)}
			}
		}
	}
	for {
		select {
		case e := <-ended:
			if e.err != nil && first == nil {
				first = fmt.Errorf("%s: %w", e.name, e.err)
			}
			continue
		default:
		}
		return first
	}
}

func cause(ctx context.Context, err error) string {
	if err != nil {
		return err.Error()
	}
	return context.Cause(ctx).Error()
}
