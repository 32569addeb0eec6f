package query

import (
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// grid is lines on a common grid of n points.
type grid struct {
	start time.Time
	step  time.Duration
	n     int
	lines []Line
}

// lineRequest asks for the lines of one signal.
type lineRequest struct {
	full string
	// by adds labels to the level's identity; such lines are computed.
	by    []string
	match map[string]string
	// keep drops series by their labels; nil keeps all.
	keep func(labels map[string]string) bool
	r    model.TimeRange
	step time.Duration
}

// lines reads a signal over a window: recorded where rules ran, computed from
// native series where they did not and for splits.
func (q *Query) lines(ctx context.Context, req lineRequest) (grid, error) {
	g := grid{start: req.r.Start, step: req.step, n: int(req.r.Duration()/req.step) + 1, lines: []Line{}}
	acc := map[string]*Line{}
	if len(req.by) > 0 {
		got, err := q.computed(ctx, req, q.active(), req.r)
		if err != nil {
			return g, err
		}
		merge(acc, got, req, nil)
		g.lines = sorted(acc)
		return g, nil
	}
	got, err := q.store.QueryRange(ctx, named([]string{req.full}, matchers(req.match)), req.r, req.step)
	if err != nil {
		return g, err
	}
	alive, err := q.aliveAt(ctx, req.r, req.step)
	if err != nil {
		return g, err
	}
	// Where no rule ran, a recorded value is only a shadow of the look-back.
	merge(acc, q.ours(got), req, func(i int) bool {
		for _, at := range alive {
			if at[i] {
				return true
			}
		}
		return false
	})
	for _, dialect := range q.active() {
		if o := q.origin(req.full, []string{dialect}); o.Method == "" {
			continue
		}
		lo, hi := hole(alive[dialect], g.n)
		if lo > hi {
			continue
		}
		sub := model.TimeRange{Start: req.r.Start.Add(time.Duration(lo) * req.step), End: req.r.Start.Add(time.Duration(hi) * req.step)}
		got, err := q.computed(ctx, req, []string{dialect}, sub)
		if err != nil {
			return g, err
		}
		merge(acc, got, req, func(i int) bool { return alive[dialect] == nil || !alive[dialect][i] })
	}
	g.lines = sorted(acc)
	return g, nil
}

func (q *Query) computed(ctx context.Context, req lineRequest, dialects []string, r model.TimeRange) ([]model.Series, error) {
	return q.cat.Range(ctx, q.store, signals.RangeRequest{Signal: req.full, Dialects: dialects, By: req.by, Match: req.match, Time: r, Step: req.step, Options: q.o.Signals})
}

// merge puts series into lines; a value that is there already stays, and only
// points for which use is true are taken.
func merge(acc map[string]*Line, got []model.Series, req lineRequest, use func(i int) bool) {
	for _, s := range got {
		delete(s.Labels, "__name__")
		if req.keep != nil && !req.keep(s.Labels) {
			continue
		}
		values := place(s.Points, req.r, req.step)
		k := lineKey(req.full, s.Labels)
		line := acc[k]
		if line != nil {
			// A card that was named by its UUID alone is known better later.
			for n, v := range s.Labels {
				if line.Labels[n] == "" {
					line.Labels[n] = v
				}
			}
		}
		for i, v := range values {
			if v == nil || use != nil && !use(i) {
				continue
			}
			if line == nil {
				line = &Line{Labels: s.Labels, Values: make([]*float64, len(values))}
				acc[k] = line
			}
			if line.Values[i] == nil {
				line.Values[i] = v
			}
		}
	}
}

// lineKey identifies a line: a series, but a card by its UUID, because sources
// differ in what else they know of it.
func lineKey(full string, labels map[string]string) string {
	if !strings.HasPrefix(full, string(model.LevelGPU)+":") {
		return labelKey(labels)
	}
	own := map[string]string{}
	for k, v := range labels {
		if k == "gpu" || k != "simulated" && !slices.Contains(signals.Identity(model.LevelGPU), k) {
			own[k] = v
		}
	}
	return labelKey(own)
}

func sorted(acc map[string]*Line) []Line {
	keys := make([]string, 0, len(acc))
	for k := range acc {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := make([]Line, 0, len(acc))
	for _, k := range keys {
		out = append(out, *acc[k])
	}
	return out
}

// aliveAt tells for each dialect at which points of the grid its rules ran.
func (q *Query) aliveAt(ctx context.Context, r model.TimeRange, step time.Duration) (map[string][]bool, error) {
	got, err := q.store.QueryRange(ctx, q.heartbeat(), r, step)
	if err != nil {
		return nil, err
	}
	out := map[string][]bool{}
	for _, s := range got {
		at := make([]bool, int(r.Duration()/step)+1)
		for i, v := range place(s.Points, r, step) {
			at[i] = v != nil
		}
		out[s.Labels["dialect"]] = at
	}
	return out, nil
}

// hole gives the first and the last point without a heartbeat; lo > hi means
// there is none.
func hole(alive []bool, n int) (lo, hi int) {
	if alive == nil {
		return 0, n - 1
	}
	lo, hi = n, -1
	for i, ok := range alive {
		if !ok {
			lo, hi = min(lo, i), max(hi, i)
		}
	}
	return lo, hi
}
