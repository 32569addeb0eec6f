// Package query is the one reading face over the stores: it answers what the
// console and the API ask in canonical signals, reads what the live rules have
// recorded, fills holes by evaluating the same expression over the native
// series, keeps budgets, and says with every number where it comes from and,
// when there is none, why and what would give it.
package query

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// Store evaluates PromQL over the stored series.
type Store interface {
	QueryInstant(ctx context.Context, expr string, at time.Time) ([]model.Series, error)
	QueryRange(ctx context.Context, expr string, r model.TimeRange, step time.Duration) ([]model.Series, error)
}

// Options of a Query; zero values pick the defaults.
type Options struct {
	// Signals must be the options of the live rules.
	Signals signals.Options
	// Dialects names the dialects for which rules run; nil means all known
	// ones, as over a store that was filled elsewhere.
	Dialects func() []string
	// Timeout bounds one answer; what is not there by then is left out with a
	// warning. Default 10 s.
	Timeout time.Duration
	// MaxPoints bounds the points of one line. Default 11,000, the limit of
	// Prometheus' own API.
	MaxPoints int
	// MaxSignals bounds the signals of one series request. Default 60.
	MaxSignals int
	// Parallel bounds the queries of one answer that run at once. Default 4.
	Parallel int
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Query answers questions in canonical signals. It is safe for concurrent use.
type Query struct {
	store Store
	cat   *signals.Catalogue
	o     Options

	mu      sync.Mutex
	exists  map[string]existsEntry
	origins map[string]signals.Origin
}

// New gives a Query over a store.
func New(store Store, cat *signals.Catalogue, o Options) *Query {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MaxPoints <= 0 {
		o.MaxPoints = 11_000
	}
	if o.MaxSignals <= 0 {
		o.MaxSignals = 60
	}
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Signals.Interval <= 0 {
		o.Signals.Interval = signals.DefaultInterval
	}
	return &Query{store: store, cat: cat, o: o, exists: map[string]existsEntry{}, origins: map[string]signals.Origin{}}
}

// active lists the dialects whose rules run, all known ones when unknown.
func (q *Query) active() []string {
	if q.o.Dialects != nil {
		return q.o.Dialects()
	}
	var out []string
	for _, d := range q.cat.Dialects() {
		out = append(out, d.Name)
	}
	return out
}

// answering collects what went wrong in parts of one answer, so that the rest
// still is given.
type answering struct {
	mu       sync.Mutex
	warnings []string
	failed   int
	asked    int
	first    error
}

func (a *answering) note(what string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if err == nil {
		return
	}
	a.failed++
	if a.first == nil {
		a.first = err
	}
	if w := fmt.Sprintf("%s is missing: %v", what, err); len(a.warnings) < 20 && !slices.Contains(a.warnings, w) {
		a.warnings = append(a.warnings, w)
	}
}

// err is the error when nothing at all could be answered.
func (a *answering) err() error {
	if a.failed > 0 && a.failed == a.asked {
		return a.first
	}
	return nil
}

// each runs jobs with bounded parallelism and returns when all are done.
func (q *Query) each(jobs ...func()) {
	sem := make(chan struct{}, q.o.Parallel)
	var wg sync.WaitGroup
	for _, j := range jobs {
		sem <- struct{}{}
		wg.Go(func() {
			defer func() { <-sem }()
			j()
		})
	}
	wg.Wait()
}

// named builds one selector for several recorded names: one query instead of
// many is what keeps the Now page fast.
func named(names []string, matchers string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	sel := fmt.Sprintf("__name__=~%q", strings.Join(quoted, "|"))
	if matchers != "" {
		sel += "," + matchers
	}
	return "{" + sel + "}"
}

// byName splits the answer of named by metric name.
func byName(got []model.Series) map[string][]model.Series {
	out := map[string][]model.Series{}
	for _, s := range got {
		n := s.Labels["__name__"]
		out[n] = append(out[n], s)
	}
	return out
}

// labels gives the filter as labels that a level has, and those that it has not.
func (f Filter) labels(l model.Level) (in, beyond map[string]string) {
	in, beyond = map[string]string{}, map[string]string{}
	id := signals.Identity(l)
	for k, v := range map[string]string{
		"cluster": f.Cluster, "region": f.Region, "namespace": f.Namespace, "service": f.Service, "model": f.Model,
		"version": f.Version, "instance": f.Instance, "node": f.Node, "gpu": f.GPU,
	} {
		switch {
		case v == "":
		case slices.Contains(id, k):
			in[k] = v
		default:
			beyond[k] = v
		}
	}
	return in, beyond
}

func (f Filter) empty() bool { return f == Filter{} }

func matchers(m map[string]string) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, fmt.Sprintf("%s=%q", k, v))
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}

func has(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// evaluated gives the dialects whose rules ran at a moment. A heartbeat older
// than three intervals is no life.
func (q *Query) heartbeat() string {
	return fmt.Sprintf("count_over_time(%s[%dms])", signals.DialectEvaluated, 3*q.o.Signals.Interval.Milliseconds())
}

// dormant lists the active dialects whose rules did not run at a moment; their
// signals are computed from native series instead.
func (q *Query) dormant(ctx context.Context, at time.Time) ([]string, error) {
	got, err := q.store.QueryInstant(ctx, q.heartbeat(), at)
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	for _, s := range got {
		alive[s.Labels["dialect"]] = true
	}
	var out []string
	for _, d := range q.active() {
		if !alive[d] {
			out = append(out, d)
		}
	}
	return out, nil
}

func finite(v float64) *float64 {
	if v != v || v > 1e308 || v < -1e308 {
		return nil
	}
	return &v
}

func (q *Query) at(t time.Time) time.Time {
	if t.IsZero() {
		return q.o.Now()
	}
	return t
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func sortedSet(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		if k != "" {
			out = append(out, k)
		}
	}
	sort.Strings(out)
	return out
}
