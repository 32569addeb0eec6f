// Package loadgen is an open-loop load generator for inference servers: it
// sends requests when they are due, whatever the servers do, and keeps a log
// of what its clients saw. The log is the independent measure against which
// the product's own numbers are checked.
//
// Requests are due by an arrival trace of a real service, scaled to a rate.
// Latency counts from the scheduled time as well as from sending, so a stall
// of a server never hides the requests that would have arrived during it.
package loadgen

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"sightline/internal/model"
)

// call sends one request and fills its record. It returns when the answer is
// complete or ctx ends.
type call interface {
	do(ctx context.Context, r *Record)
}

// source draws the requests of one plan. draw is called by one goroutine and
// must be cheap: bodies are made in do.
type source interface {
	draw(rng *rand.Rand, a Arrival, m Mix) call
}

// Generator makes the traffic of a Config. Its methods are safe for
// concurrent use.
type Generator struct {
	cfg    Config
	log    *slog.Logger
	lanes  []*lane
	ring   *ring
	meters *meters
	http   *http.Transport

	mu      sync.Mutex
	started bool
	nextID  uint64
	writer  *logWriter
}

// New checks c and prepares a generator; nothing is sent before Run. log may
// be nil.
func New(c Config, log *slog.Logger) (*Generator, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	g := newGenerator(c, log)
	excerpt, err := Excerpt()
	if err != nil {
		return nil, err
	}
	add := func(t Traffic, m Mix, s source) {
		if len(t.Trace) == 0 {
			t.Trace = excerpt
		}
		g.lanes = append(g.lanes, newLane(t, m, s, c.Seed+uint64(len(g.lanes))))
	}
	for _, p := range c.Vision {
		add(p.Traffic, p.mix(), newVision(p, g.http, c.Seed))
	}
	for _, p := range c.Chat {
		add(p.Traffic, p.mix(), newChat(p, g.http, c.Seed))
	}
	g.meters = newMeters(g.lanes)
	return g, nil
}

func newGenerator(c Config, log *slog.Logger) *Generator {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Generator{cfg: c, log: log, ring: newRing(c.RingSize), http: newTransport(c)}
}

// Run makes traffic until ctx ends, then lets requests in flight finish for
// DrainTimeout and cancels the rest. It returns nil after a normal end; a
// generator runs once.
func (g *Generator) Run(ctx context.Context) error {
	g.mu.Lock()
	if g.started {
		g.mu.Unlock()
		return &model.Problem{Code: "loadgen_running", Text: "the load generator was started before", Hint: "make a new one"}
	}
	g.started = true
	if g.cfg.LogPath != "" {
		w, err := openLog(g.cfg.LogPath, g.meters, g.log)
		if err != nil {
			g.mu.Unlock()
			return err
		}
		g.writer = w
	}
	g.mu.Unlock()

	// Requests outlive ctx by up to DrainTimeout.
	requests, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var flights, dispatchers sync.WaitGroup
	start := time.Now()
	for _, l := range g.lanes {
		dispatchers.Go(func() { g.dispatch(ctx, requests, l, start, &flights) })
	}
	dispatchers.Wait()

	drained := make(chan struct{})
	go func() { flights.Wait(); close(drained) }()
	timer := time.NewTimer(g.cfg.DrainTimeout)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
		g.log.Warn("requests still in flight are cancelled", "after", g.cfg.DrainTimeout)
		stop()
		<-drained
	}
	g.http.CloseIdleConnections()
	if g.writer != nil {
		return g.writer.close()
	}
	return nil
}

// dispatch sends the requests of one lane when they are due.
func (g *Generator) dispatch(ctx, requests context.Context, l *lane, start time.Time, flights *sync.WaitGroup) {
	pace := pacer{factor: l.currentFactor(), anchor: start}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for next := l.arrivals.pull(); ; next = l.arrivals.pull() {
		var due time.Time
		for {
			at, ok := pace.due(next.Offset)
			wait := time.Duration(math.MaxInt64)
			if ok {
				wait = time.Until(at)
			}
			if ctx.Err() != nil {
				return
			}
			if ok && wait <= 0 {
				due = at
				break
			}
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			case <-l.changed:
				pace.setFactor(time.Now(), l.currentFactor(), next.Offset)
			}
		}
		g.launch(requests, l, next, due, flights)
	}
}

// launch starts one request, or records that it was dropped.
func (g *Generator) launch(ctx context.Context, l *lane, a Arrival, due time.Time, flights *sync.WaitGroup) {
	c := l.source.draw(l.rng, a, l.currentMix())
	r := &Record{ID: g.id(), Plan: l.traffic.Name, Model: l.traffic.Model, Scheduled: due}
	if !l.enter() {
		now := time.Now()
		r.Dropped, r.Done = true, now
		if n, say := l.dropped(now); say {
			g.log.Warn("requests dropped because too many are in flight", "plan", l.traffic.Name, "in_flight", l.traffic.MaxInFlight, "dropped", n)
		}
		g.record(l, r)
		return
	}
	flights.Go(func() {
		defer l.leave()
		ctx, cancel := context.WithTimeout(ctx, l.traffic.Timeout)
		defer cancel()
		r.Sent = time.Now()
		c.do(ctx, r)
		if r.Done.IsZero() {
			r.Done = time.Now()
		}
		g.record(l, r)
	})
}

func (g *Generator) id() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nextID++
	return g.nextID
}

func (g *Generator) record(l *lane, r *Record) {
	g.ring.add(*r)
	g.meters.observe(l, r)
	if g.writer != nil {
		g.writer.add(r)
	}
}

// Records returns a copy of the records in memory, in the order in which they
// ended. overwritten says how many older ones the ring no longer holds.
func (g *Generator) Records() (records []Record, overwritten uint64) { return g.ring.snapshot() }

// Plans lists the names of the plans.
func (g *Generator) Plans() []string {
	names := make([]string, len(g.lanes))
	for i, l := range g.lanes {
		names[i] = l.traffic.Name
	}
	return names
}

// SetRate multiplies the base rate of a plan, or of all when plan is "", from
// now on. 1 is the configured rate, 0 pauses.
func (g *Generator) SetRate(plan string, factor float64) error {
	if !(factor >= 0 && factor <= 1000) {
		return configProblem(fmt.Sprintf("rate factor is %v", factor), "give 0 to 1000")
	}
	ls, err := g.find(plan)
	if err != nil {
		return err
	}
	for _, l := range ls {
		l.setFactor(factor)
	}
	return nil
}

// SetMix changes what a plan draws its requests from; fields that are nil stay.
func (g *Generator) SetMix(plan string, change Mix) error {
	ls, err := g.find(plan)
	if err != nil {
		return err
	}
	for _, l := range ls {
		if err := l.setMix(change); err != nil {
			return err
		}
	}
	return nil
}

// SetOversizedShare sets the share of inputs that are meant not to fit.
func (g *Generator) SetOversizedShare(plan string, v float64) error {
	return g.SetMix(plan, Mix{OversizedShare: &v})
}

func (g *Generator) find(plan string) ([]*lane, error) {
	if plan == "" {
		return g.lanes, nil
	}
	for _, l := range g.lanes {
		if l.traffic.Name == plan {
			return []*lane{l}, nil
		}
	}
	return nil, configProblem(fmt.Sprintf("no plan is named %q", plan), fmt.Sprintf("choose one of %q", g.Plans()))
}
