package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sightline/internal/model"
)

// stopBudget bounds an orderly stop; a part that takes longer is left behind
// and named.
const stopBudget = 10 * time.Second

// service is a part of a process with a life of its own. run blocks until its
// context ends or it cannot go on.
type service struct {
	name string
	run  func(ctx context.Context) error
}

// runAll starts services in order and waits until ctx ends or one of them
// fails. Then it stops them one by one in reverse order, so that a part is
// stopped before those that it stands on. It returns the first failure.
func runAll(ctx context.Context, log *slog.Logger, budget time.Duration, services ...service) error {
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
			err := s.run(own)
			ended <- end{s.name, err}
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
	deadline := time.NewTimer(budget)
	defer deadline.Stop()
	late := false
	for i := len(services) - 1; i >= 0; i-- {
		rs[i].cancel()
		if late {
			continue
		}
		select {
		case <-rs[i].done:
		case <-deadline.C:
			late = true
			log.Error("part did not stop in time and is left behind", "part", services[i].name, "budget", budget)
			if first == nil {
				first = &model.Problem{Code: "stop_timeout", Text: fmt.Sprintf("%s did not stop within %s", services[i].name, budget)}
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
