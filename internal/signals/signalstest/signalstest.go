// Package signalstest runs small scripts that load expositions into a store and
// say which canonical values must come out, in the spirit of Prometheus' own
// promqltest. One command a line, # starts a comment:
//
//	step 5s                                  distance of the samples between two pages of a target, default 5s
//	window 1m                                window of the signals
//	load FILE at 60s labels {service="x"}    load a page; labels are those of the target
//	load FILE at 60s labels {…} grow 1.5     the same with every counter multiplied
//	clear                                    forget what was loaded
//	expect NAME{LABELS} 2.5 ±1%              the canonical value at the last page, absolute tolerance without %
//	expect absent NAME{LABELS} CODE          no value, and the reason's code
//	expect dialect NAME "VERSIONS"           what the last page is recognised as
//	expect lost OLD -> NEW                   a name that went between the last two pages of a target
//	expect info NAME{LABELS} [VALUE]         an info series
//
// Between two pages of one target every counter runs in a straight line, so a
// rate is the difference of the pages over their distance; a gauge stays as it
// was.
package signalstest

import (
	"context"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// Sample is one sample of a page. Grows is true for counters and for the parts
// of histograms and summaries that count.
type Sample struct {
	Labels map[string]string
	Value  float64
	Grows  bool
}

// Store keeps samples and answers queries over them.
type Store interface {
	Append(labels map[string]string, t int64, v float64) error
	QueryRange(ctx context.Context, expr string, r model.TimeRange, step time.Duration) ([]model.Series, error)
}

// Env is what a script runs in.
type Env struct {
	// Open gives an empty store; it is called at the start and at clear.
	Open func() (Store, error)
	// Read gives the bytes of a page.
	Read func(file string) ([]byte, error)
	// Parse reads a page of an exposition.
	Parse func(page []byte) ([]Sample, error)
}

// Origin is the time that a script calls 0s.
var Origin = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)

// page is one loaded page of a target.
type page struct {
	at      time.Duration
	samples map[string]Sample
	names   []string
}

type run struct {
	env     Env
	cat     *signals.Catalogue
	store   Store
	step    time.Duration
	window  time.Duration
	now     time.Duration
	last    map[string]page // by target labels
	lost    []signals.Lost
	names   []string
	dialect map[string]bool
	queue   []point
}

type point struct {
	labels map[string]string
	t      int64
	v      float64
}

// Run executes a script and returns every unmet expectation, each with the
// number of its line.
func Run(ctx context.Context, script string, cat *signals.Catalogue, env Env) []error {
	cmds, err := Parse(script)
	if err != nil {
		return []error{err}
	}
	r := &run{env: env, cat: cat, step: 5 * time.Second, window: time.Minute}
	if err := r.clear(); err != nil {
		return []error{err}
	}
	var errs []error
	for _, c := range cmds {
		if err := r.do(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", c.Line, err))
		}
	}
	return errs
}

func (r *run) clear() (err error) {
	r.last, r.dialect, r.lost, r.queue = map[string]page{}, map[string]bool{}, nil, nil
	r.store, err = r.env.Open()
	return err
}

func (r *run) do(ctx context.Context, c Command) error {
	switch c.Verb {
	case "step":
		r.step = c.Time
	case "window":
		r.window = c.Time
	case "clear":
		return r.clear()
	case "load":
		return r.load(c)
	default:
		if err := r.flush(); err != nil {
			return err
		}
		return r.expect(ctx, c)
	}
	return nil
}

func (r *run) load(c Command) error {
	b, err := r.env.Read(c.File)
	if err != nil {
		return err
	}
	got, err := r.env.Parse(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Base(c.File), err)
	}
	target := fmt.Sprint(c.Labels)
	p := page{at: c.Time, samples: map[string]Sample{}}
	up := map[string]string{"__name__": "up"}
	for k, v := range c.Labels {
		up[k] = v
	}
	got = append(got, Sample{Labels: up, Value: 1})
	seen := map[string]bool{}
	for _, s := range got {
		s.Labels = withTarget(s.Labels, c.Labels)
		if s.Grows {
			s.Value *= c.Grow
		}
		p.samples[fmt.Sprint(s.Labels)] = s
		if n := s.Labels["__name__"]; !seen[n] {
			seen[n] = true
			p.names = append(p.names, n)
		}
	}
	before, known := r.last[target]
	for k, s := range p.samples {
		old, was := before.samples[k]
		if known && was {
			for t := before.at + r.step; t < p.at; t += r.step {
				v := old.Value
				if s.Grows {
					v += float64(t-before.at) / float64(p.at-before.at) * (s.Value - old.Value)
				}
				r.add(s.Labels, t, v)
			}
		}
		r.add(s.Labels, p.at, s.Value)
	}
	if known {
		r.lost = r.cat.Lost(before.names, p.names)
	}
	r.last[target], r.now, r.names = p, p.at, p.names
	for _, x := range r.cat.Recognise(p.names) {
		r.dialect[x.Dialect] = true
	}
	return nil
}

// withTarget adds a target's labels; what an exporter says under the same name
// moves to exported_, as a scrape without honor_labels does.
func withTarget(of, target map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range of {
		if _, clash := target[k]; clash && k != "__name__" && of["__name__"] != "up" {
			k = "exported_" + k
		}
		out[k] = v
	}
	for k, v := range target {
		out[k] = v
	}
	return out
}

func (r *run) add(labels map[string]string, t time.Duration, v float64) {
	r.queue = append(r.queue, point{labels, Origin.Add(t).UnixMilli(), v})
}

func (r *run) flush() error {
	for _, p := range r.queue {
		if err := r.store.Append(p.labels, p.t, p.v); err != nil {
			return err
		}
	}
	r.queue = nil
	return nil
}

func (r *run) dialects() []string {
	out := []string{}
	for _, d := range r.cat.Dialects() {
		if r.dialect[d.Name] {
			out = append(out, d.Name)
		}
	}
	return out
}

func (r *run) expect(ctx context.Context, c Command) error {
	at := Origin.Add(r.now)
	o := signals.Options{Window: r.window, Interval: r.step}
	instant := model.TimeRange{Start: at, End: at}
	switch c.Verb {
	case "expect":
		v, err := r.value(ctx, c, instant, o)
		if err != nil {
			return err
		}
		if math.Abs(v-c.Value) > c.Tolerance || math.IsNaN(v) {
			return fmt.Errorf("%s%s is %v, want %v within %v", c.Name, brace(c.Labels), v, c.Value, c.Tolerance)
		}
	case "absent":
		if v, err := r.value(ctx, c, instant, o); err == nil {
			return fmt.Errorf("%s%s is %v, want absent with %s", c.Name, brace(c.Labels), v, c.Code)
		} else if _, many := err.(ambiguous); many {
			return err
		}
		why, err := r.cat.Why(ctx, r.store, c.Name, r.dialects(), c.Labels, at)
		if err != nil {
			return err
		}
		if why.Code != c.Code {
			return fmt.Errorf("%s is absent with %s, want %s", c.Name, why.Code, c.Code)
		}
	case "dialect":
		for _, x := range r.cat.Recognise(r.names) {
			if x.Dialect == c.Name {
				if x.Versions != c.Code {
					return fmt.Errorf("dialect %s is seen as %q, want %q", c.Name, x.Versions, c.Code)
				}
				return nil
			}
		}
		return fmt.Errorf("dialect %s is not recognised", c.Name)
	case "lost":
		for _, l := range r.lost {
			if l.Name == c.Name && l.Successor == c.Code && l.Covered {
				return nil
			}
		}
		return fmt.Errorf("%s -> %s is not among the lost names %v", c.Name, c.Code, r.lost)
	case "info":
		got, err := r.store.QueryRange(ctx, r.cat.Relation(c.Name, r.dialects(), o), instant, time.Second)
		if err != nil {
			return err
		}
		n := 0
		for _, s := range got {
			if has(s.Labels, c.Labels) && s.Points[0].V == c.Value {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%d series of %s%s with value %v, want 1; all: %v", n, c.Name, brace(c.Labels), c.Value, got)
		}
	}
	return nil
}

// ambiguous is the error of labels that select several series.
type ambiguous struct{ error }

// value evaluates a canonical signal and finds the one series that has the
// labels; a label written as "" must be absent.
func (r *run) value(ctx context.Context, c Command, at model.TimeRange, o signals.Options) (float64, error) {
	got, err := r.cat.Range(ctx, r.store, signals.RangeRequest{Signal: c.Name, Dialects: r.dialects(), By: c.By, Time: at, Step: time.Second, Options: o})
	if err != nil {
		return 0, ambiguous{err}
	}
	var hits []model.Series
	for _, s := range got {
		if has(s.Labels, c.Labels) {
			hits = append(hits, s)
		}
	}
	switch len(hits) {
	case 0:
		return 0, fmt.Errorf("no series %s%s among %v", c.Name, brace(c.Labels), got)
	case 1:
		return hits[0].Points[0].V, nil
	}
	return 0, ambiguous{fmt.Errorf("%d series %s%s: %v", len(hits), c.Name, brace(c.Labels), hits)}
}

func has(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func brace(labels map[string]string) string {
	return "{" + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(labels), "map["), "]") + "}"
}
