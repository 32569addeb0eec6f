package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// Series answers whole lines of canonical signals on one grid. A missing
// percentile is replaced by the mean, with the reason and the remedy.
func (q *Query) Series(ctx context.Context, req SeriesRequest) (SeriesAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.o.Timeout)
	defer cancel()
	r, step, err := q.gridOf(req)
	if err != nil {
		return SeriesAnswer{}, err
	}
	for _, n := range req.Signals {
		if _, _, err := q.cat.Lookup(n); err != nil {
			return SeriesAnswer{}, err
		}
	}
	ans := SeriesAnswer{Start: seconds(r.Start), End: seconds(r.End), StepSeconds: step.Seconds(), Signals: make([]SignalSeries, len(req.Signals)), Gaps: []Gap{}}
	a := &answering{}
	scope, err := q.scope(ctx, req.Filter, r)
	if err != nil {
		return ans, err
	}
	var jobs []func()
	for i, n := range req.Signals {
		jobs = append(jobs, func() {
			var err error
			ans.Signals[i], err = q.signal(ctx, n, req, scope, r, step)
			a.note(n, err)
		})
	}
	q.each(jobs...)
	ans.Gaps = q.gaps(ctx, a, ans.Signals, r, step)
	ans.Warnings = a.warnings
	return ans, a.err()
}

func (q *Query) gridOf(req SeriesRequest) (r model.TimeRange, step time.Duration, err error) {
	bad := func(code, text, hint string) error { return &model.Problem{Code: code, Text: text, Hint: hint} }
	switch {
	case len(req.Signals) == 0:
		return r, 0, bad("signal_missing", "no signal is asked for", "name at least one, such as signal=model:requests:rate")
	case len(req.Signals) > q.o.MaxSignals:
		return r, 0, bad("too_many_signals", fmt.Sprintf("%d signals are asked for, the limit is %d", len(req.Signals), q.o.MaxSignals), "ask in several requests")
	case !slices.Contains([]By{ByNothing, ByVersion, ByInstance, ByNode, ByGPU}, req.By):
		return r, 0, bad("split_unknown", fmt.Sprintf("a split by %q is unknown", req.By), "split by version, instance, node or gpu")
	}
	r.End = q.at(req.To)
	r.Start = req.From
	if r.Start.IsZero() {
		r.Start = r.End.Add(-time.Hour)
	}
	if err := r.Validate(); err != nil {
		return r, 0, err
	}
	step = req.Step
	if step <= 0 {
		step = r.Duration() / 300
	}
	step = roundUp(step, q.o.Signals.Interval)
	r.Start, r.End = r.Start.Truncate(step), r.End.Truncate(step)
	if n := int(r.Duration()/step) + 1; n > q.o.MaxPoints {
		return r, step, tooManyPoints(n, q.o.MaxPoints)
	}
	return r, step, nil
}

// scope is what a filter means for the signals of one request.
type scope struct {
	filter Filter
	// dialects that the filtered entities speak.
	dialects []string
	// gpus serve the filtered entities; nil when the filter names none.
	gpus map[string]bool
	// owners are the instances that a card serves.
	owners map[string][]string
	// cards are the cards of an instance.
	cards map[string][]string
	// nodes are where the filtered entities run.
	nodes map[string]bool
}

// scope reads the relations over the window.
func (q *Query) scope(ctx context.Context, f Filter, r model.TimeRange) (scope, error) {
	sc := scope{filter: f, owners: map[string][]string{}, cards: map[string][]string{}, nodes: map[string]bool{}}
	read := func(name string) ([]model.Series, error) {
		w := max(r.Duration(), 5*time.Minute).Round(time.Second)
		got, err := q.store.QueryInstant(ctx, fmt.Sprintf("last_over_time(%s[%ds])", name, int(w.Seconds())), r.End)
		if err == nil && len(got) == 0 {
			return q.store.QueryInstant(ctx, q.cat.Relation(name, q.active(), q.o.Signals), r.End)
		}
		return got, err
	}
	dialects, err := read(signals.InstanceDialect)
	if err != nil {
		return sc, err
	}
	in, _ := f.labels(model.LevelInstance)
	instances, speak := map[string]bool{}, map[string]bool{}
	for _, x := range dialects {
		if has(x.Labels, in) {
			instances[x.Labels["instance"]] = true
			sc.nodes[within(x, "node")] = true
			speak[x.Labels["dialect"]] = true
		}
	}
	sc.dialects = sortedSet(speak)
	own, err := read(signals.InstanceGPU)
	if err != nil {
		return sc, err
	}
	filtered := f.Namespace+f.Service+f.Model+f.Version+f.Instance != ""
	if filtered {
		sc.gpus = map[string]bool{}
	}
	for _, x := range own {
		gpu, instance := x.Labels["gpu"], x.Labels["instance"]
		sc.owners[gpu] = append(sc.owners[gpu], instance)
		sc.cards[instance] = append(sc.cards[instance], gpu)
		if filtered && instances[instance] {
			sc.gpus[gpu] = true
		}
	}
	return sc, nil
}

// signal answers one signal, with the mean in place of a missing percentile.
func (q *Query) signal(ctx context.Context, full string, req SeriesRequest, sc scope, r model.TimeRange, step time.Duration) (SignalSeries, error) {
	out, err := q.exact(ctx, full, req.By, sc, r, step)
	if err != nil || len(out.Series) > 0 {
		return out, err
	}
	dialects := q.dialectsFor(out.Level, sc)
	match, _ := req.Filter.labels(model.Level(out.Level))
	if out.Level == string(model.LevelGPU) && sc.gpus != nil && len(sc.gpus) == 0 {
		// The signal may well be there; what is missing is whose card it is.
		out.Absent = q.noOwner(ctx, sc, r.End)
		return out, nil
	}
	reason := q.why(ctx, full, dialects, match, r.End)
	if mean := q.substituteFor(full); mean != "" {
		sub, err := q.exact(ctx, mean, req.By, sc, r, step)
		if err != nil {
			return out, err
		}
		if len(sub.Series) > 0 {
			sub.Signal, sub.Method, sub.Reason = full, "mean", reason
			sub.Substitute = &Substitute{Op: "mean", Signal: mean}
			return sub, nil
		}
	}
	out.Absent = reason
	return out, nil
}

// noOwner says why no card is known for the filtered entities.
func (q *Query) noOwner(ctx context.Context, sc scope, at time.Time) *Reason {
	got, err := q.store.QueryInstant(ctx, signals.GPUOwnerCandidates+" > 1", at)
	if err == nil {
		for _, x := range got {
			if sc.nodes[within(x, "node")] {
				return ownerAmbiguous()
			}
		}
	}
	return ownerUnknown()
}

func (q *Query) dialectsFor(level string, sc scope) []string {
	if level == string(model.LevelGPU) || len(sc.dialects) == 0 {
		return q.active()
	}
	return sc.dialects
}

// exact answers one signal without a substitute.
func (q *Query) exact(ctx context.Context, full string, by By, sc scope, r model.TimeRange, step time.Duration) (SignalSeries, error) {
	s, l, err := q.cat.Lookup(full)
	if err != nil {
		return SignalSeries{}, err
	}
	out := SignalSeries{Signal: full, Level: string(l), Unit: unit(s), Meaning: s.Meaning, Series: []Line{}}
	req := lineRequest{full: full, r: r, step: step}
	in, beyond := sc.filter.labels(l)
	req.match = in
	if l == model.LevelGPU {
		req.keep = func(labels map[string]string) bool { return sc.gpus == nil || sc.gpus[labels["gpu"]] }
	} else {
		// What the level does not carry is split off and selected.
		for k, v := range beyond {
			if k != "gpu" {
				req.by = append(req.by, k)
				req.match[k] = v
			}
		}
		if sc.filter.GPU != "" {
			req.by = append(req.by, "instance")
			req.keep = func(labels map[string]string) bool {
				return slices.Contains(sc.owners[sc.filter.GPU], labels["instance"])
			}
		}
		switch by {
		case ByNothing:
		case ByGPU:
			req.by = append(req.by, "instance")
		default:
			req.by = append(req.by, string(by))
		}
		if by != ByNothing && by != ByVersion {
			out.Level = string(model.LevelInstance)
		}
	}
	sort.Strings(req.by)
	req.by = slices.Compact(req.by)
	g, err := q.lines(ctx, req)
	if err != nil {
		return out, err
	}
	out.Series = g.lines
	q.decorate(&out, by, sc)
	dialects := q.dialectsFor(string(l), sc)
	o := q.origin(full, dialects)
	out.Method, out.Source, out.WorstInstance = o.Method, string(o.Source), o.WorstInstance
	if src, err := q.source(ctx, full, in, r.End); err == nil && src != "" {
		out.Source = src
	}
	return out, nil
}

// decorate adds the cards of an instance and the instances of a card, and lifts
// the mark of simulated hardware.
func (q *Query) decorate(out *SignalSeries, by By, sc scope) {
	for i, line := range out.Series {
		if line.Labels["simulated"] == "true" {
			out.Simulated = true
		}
		switch {
		case out.Level == string(model.LevelGPU):
			if inst := sc.owners[line.Labels["gpu"]]; len(inst) > 0 {
				out.Series[i].Labels["instance"] = strings.Join(inst, ", ")
			}
		case by == ByGPU:
			if cards := sc.cards[line.Labels["instance"]]; len(cards) > 0 {
				sort.Strings(cards)
				out.Series[i].Labels["gpu"] = strings.Join(cards, ", ")
			}
		}
	}
}

// source reads which source the canonical series was taken from at the end.
func (q *Query) source(ctx context.Context, full string, match map[string]string, at time.Time) (string, error) {
	m := map[string]string{"signal": full}
	for k, v := range match {
		m[k] = v
	}
	got, err := q.store.QueryInstant(ctx, fmt.Sprintf("topk(1, count by (source) (%s{%s}))", signals.SignalSource, matchers(m)), at)
	if err != nil || len(got) == 0 {
		return "", err
	}
	return got[0].Labels["source"], nil
}

// unit is the catalogue's unit in one word for axes.
func unit(s *signals.Signal) string {
	switch {
	case s.Operation == "rate" && s.Unit == "bytes per second":
		return "bytes_per_second"
	case s.Operation == "rate":
		return "per_second"
	}
	return strings.ReplaceAll(strings.ToLower(s.Unit), " ", "_")
}

// gaps lists stretches in which no line has a value although lines exist.
func (q *Query) gaps(ctx context.Context, a *answering, answered []SignalSeries, r model.TimeRange, step time.Duration) []Gap {
	n := int(r.Duration()/step) + 1
	filled := make([]bool, n)
	any := false
	for _, s := range answered {
		for _, l := range s.Series {
			for i, v := range l.Values {
				if v != nil && i < n {
					filled[i], any = true, true
				}
			}
		}
	}
	out := []Gap{}
	if !any {
		return out
	}
	alive, err := q.aliveAt(ctx, r, step)
	a.note("the state of the rules", err)
	for i := 0; i < n; {
		if filled[i] {
			i++
			continue
		}
		j, running := i, false
		for ; j < n && !filled[j]; j++ {
			for _, at := range alive {
				running = running || at[j]
			}
		}
		reason := "not_running"
		if running {
			reason = "no_samples"
		}
		from := r.Start.Add(time.Duration(i) * step)
		to := r.Start.Add(time.Duration(j-1) * step)
		if to.Sub(from)+step >= 4*q.o.Signals.Interval {
			out = append(out, Gap{From: seconds(from), To: seconds(to), Reason: reason})
		}
		i = j
	}
	return out
}

// place puts points on a grid.
func place(points []model.Point, r model.TimeRange, step time.Duration) []*float64 {
	out := make([]*float64, int(r.Duration()/step)+1)
	for _, p := range points {
		i := int(math.Round(float64(p.T-r.Start.UnixMilli()) / float64(step.Milliseconds())))
		if i >= 0 && i < len(out) {
			out[i] = finite(p.V)
		}
	}
	return out
}
