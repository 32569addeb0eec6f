package ruler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"sightline/internal/health"
	"sightline/internal/model"
	"sightline/internal/signals"
)

// chunk bounds how much is evaluated again in one query.
const chunk = time.Hour

// dirtyQueue holds windows, merged where they touch.
type dirtyQueue struct {
	mu      sync.Mutex
	limit   int
	windows []model.TimeRange
	wake    chan struct{}
}

// add merges w in; false means the queue is full.
func (d *dirtyQueue) add(w model.TimeRange, near time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := d.windows[:0:0]
	for _, x := range d.windows {
		if x.Start.Add(-near).After(w.End) || x.End.Add(near).Before(w.Start) {
			rest = append(rest, x)
			continue
		}
		if x.Start.Before(w.Start) {
			w.Start = x.Start
		}
		if x.End.After(w.End) {
			w.End = x.End
		}
	}
	if len(rest) >= d.limit {
		return false
	}
	d.windows = append(rest, w)
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return true
}

func (d *dirtyQueue) take() []model.TimeRange {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.windows
	d.windows = nil
	sort.Slice(out, func(i, j int) bool { return out[i].Start.Before(out[j].Start) })
	return out
}

func (d *dirtyQueue) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.windows)
}

// LateAfter is how old a sample is when it counts as late: live rules have
// passed its moment then.
func (r *Ruler) LateAfter() time.Duration { return 2*r.o.Interval + r.o.QueryOffset }

// MarkDirty tells that samples within w arrived after the live rules had passed
// it. It never blocks; a full queue is counted and named in a condition.
func (r *Ruler) MarkDirty(w model.TimeRange) {
	r.own.marked.Inc()
	if w.Validate() != nil {
		return
	}
	if !r.dirty.add(w, r.o.Interval) {
		r.own.dropped.Inc()
		r.health.Set(health.Condition{Code: "late_data_not_evaluated", Severity: health.Warning, Subject: "rules", Text: fmt.Sprintf("late data fell into more than %d separate windows; canonical series of some keep holes", r.o.DirtyQueue), Hint: "nothing is lost: charts compute the holes from the stored samples"})
	}
}

// workDirty evaluates dirty windows again once they have settled.
func (r *Ruler) workDirty(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty.wake:
		}
		t := time.NewTimer(r.o.Settle)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		r.drain(ctx)
	}
}

// drain evaluates everything that waits.
func (r *Ruler) drain(ctx context.Context) {
	for _, w := range r.dirty.take() {
		for at := w.Start; !at.After(w.End) && ctx.Err() == nil; at = at.Add(chunk) {
			end := at.Add(chunk - r.o.Interval)
			if end.After(w.End) {
				end = w.End
			}
			if err := r.Again(ctx, model.TimeRange{Start: at, End: end}); err != nil && ctx.Err() == nil {
				r.own.failed.Inc()
				r.log.Error("late data is not evaluated", "from", at, "to", end, "error", err)
				continue
			}
			r.own.windows.Inc()
		}
	}
}

// Again evaluates the dialects' rules over a past window by their expressions
// over native series and writes what differs from what is stored. Samples within
// the window reach rates until one signal window later, so that much more is
// evaluated.
//
// A TSDB cannot overwrite a sample. A value that differs is written one
// millisecond after the one it corrects: every reader that looks back from a
// later moment finds the corrected one.
func (r *Ruler) Again(ctx context.Context, w model.TimeRange) error {
	dialects := r.Dialects()
	last := r.o.Now().Add(-r.o.QueryOffset - r.o.Interval)
	w.End = w.End.Add(signals.WindowOf(r.o.Signals))
	if w.End.After(last) {
		w.End = last
	}
	if !w.Start.Before(w.End) || len(dialects) == 0 {
		return nil
	}
	offsets := map[string]*rules.Group{}
	for _, g := range r.manager.RuleGroups() {
		if g.File() == builtin {
			offsets[g.Name()] = g
		}
	}
	for _, group := range r.cat.Rules(dialects, r.o.Signals) {
		grid := r.align(w, offsets[group.Name])
		for _, rule := range group.Rules {
			got, err := r.evaluate(ctx, rule, dialects, grid)
			if err != nil {
				return fmt.Errorf("%s: %w", rule.Record, err)
			}
			if err := r.write(ctx, rule, got, grid); err != nil {
				return fmt.Errorf("%s: %w", rule.Record, err)
			}
		}
	}
	return nil
}

// align moves a window onto the moments at which the live group evaluates.
func (r *Ruler) align(w model.TimeRange, g *rules.Group) model.TimeRange {
	if g == nil {
		w.Start = w.Start.Truncate(r.o.Interval)
		return w
	}
	w.Start = g.EvalTimestamp(w.Start.Add(r.o.QueryOffset).UnixNano()).Add(-r.o.QueryOffset)
	return w
}

// evaluate computes one rule over a window from native series alone.
func (r *Ruler) evaluate(ctx context.Context, rule signals.Rule, dialects []string, w model.TimeRange) ([]model.Series, error) {
	expr := rule.Expr
	switch {
	case rule.Record == signals.SignalSource:
		return nil, nil // says which source is chosen now; history is in the candidates
	case strings.HasPrefix(rule.Record, "candidate:"), rule.Record == signals.DialectEvaluated:
	case strings.Contains(rule.Record, ":"):
		return r.cat.Range(ctx, ranger{r.engine, r.q}, signals.RangeRequest{Signal: rule.Record, Dialects: dialects, Time: w, Step: r.o.Interval, Options: r.o.Signals})
	default:
		expr = r.cat.Relation(rule.Record, dialects, r.o.Signals)
	}
	return ranger{r.engine, r.q}.QueryRange(ctx, expr, w, r.o.Interval)
}

// write appends what is missing or differs.
func (r *Ruler) write(ctx context.Context, rule signals.Rule, got []model.Series, w model.TimeRange) error {
	if len(got) == 0 {
		return nil
	}
	stored, err := r.stored(ctx, rule, w)
	if err != nil {
		return err
	}
	app := r.app.AppenderV2(ctx)
	n := 0
	for _, s := range got {
		b := labels.NewBuilder(labels.FromMap(s.Labels))
		b.Set("__name__", rule.Record)
		for k, v := range rule.Labels {
			b.Set(k, v)
		}
		ls := b.Labels()
		have := stored[ls.String()]
		for _, p := range s.Points {
			t, differs := correction(have, p, r.o.Interval)
			if !differs {
				continue
			}
			if _, err := app.Append(0, ls, 0, t, p.V, nil, nil, storage.AOptions{}); err != nil {
				return errors.Join(err, app.Rollback())
			}
			n++
		}
	}
	if err := app.Commit(); err != nil {
		return err
	}
	r.own.corrected.Add(float64(n))
	return nil
}

// correction says when to write p beside the samples that are stored, if at all.
func correction(have []model.Point, p model.Point, interval time.Duration) (t int64, differs bool) {
	i, _ := slices.BinarySearchFunc(have, p.T, func(x model.Point, t int64) int { return int(x.T - t) })
	t, differs = p.T, true
	for ; i < len(have) && have[i].T < p.T+interval.Milliseconds()/2; i++ {
		t, differs = have[i].T+1, have[i].V != p.V
	}
	return t, differs
}

// stored reads the recorded samples of a rule within a window.
func (r *Ruler) stored(ctx context.Context, rule signals.Rule, w model.TimeRange) (map[string][]model.Point, error) {
	mint, maxt := w.Start.UnixMilli(), w.End.Add(r.o.Interval).UnixMilli()
	q, err := r.q.Querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	ms := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", rule.Record)}
	for k, v := range rule.Labels {
		ms = append(ms, labels.MustNewMatcher(labels.MatchEqual, k, v))
	}
	out := map[string][]model.Point{}
	set := q.Select(ctx, false, &storage.SelectHints{Start: mint, End: maxt}, ms...)
	var it chunkenc.Iterator
	for set.Next() {
		s := set.At()
		it = s.Iterator(it)
		var points []model.Point
		for it.Next() == chunkenc.ValFloat {
			if t, v := it.At(); !value.IsStaleNaN(v) {
				points = append(points, model.Point{T: t, V: v})
			}
		}
		if it.Err() != nil {
			return nil, it.Err()
		}
		out[s.Labels().String()] = points
	}
	return out, set.Err()
}

// ranger is the engine as a signals.RangeQuerier.
type ranger struct {
	engine promql.QueryEngine
	q      storage.Queryable
}

// QueryRange implements signals.RangeQuerier.
func (x ranger) QueryRange(ctx context.Context, expr string, w model.TimeRange, step time.Duration) ([]model.Series, error) {
	q, err := x.engine.NewRangeQuery(ctx, x.q, nil, expr, w.Start, w.End, step)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	m, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	out := make([]model.Series, 0, len(m))
	for _, s := range m {
		points := make([]model.Point, len(s.Floats))
		for i, p := range s.Floats {
			points[i] = model.Point{T: p.T, V: p.F}
		}
		out = append(out, model.Series{Labels: s.Metric.Map(), Points: points})
	}
	return out, nil
}
