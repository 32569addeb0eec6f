package query

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// snapshot is the values of some signals and relations at one moment, recorded
// where rules ran and computed where they did not.
type snapshot struct {
	at      time.Time
	series  map[string][]model.Series
	sources map[string]map[string]string // signal → entity key → source
	dormant []string
	// cards finds the entity key of a card in a signal by its UUID.
	cards map[string]map[string]string
}

// relations that snapshots read.
var relations = []string{signals.InstanceDialect, signals.InstanceGPU, signals.GPUInfo, signals.GPUOwnerCandidates}

// snap reads signals (full names, all of one or more levels) and relations.
func (q *Query) snap(ctx context.Context, a *answering, names []string, at time.Time) snapshot {
	s := snapshot{at: at, series: map[string][]model.Series{}, sources: map[string]map[string]string{}, cards: map[string]map[string]string{}}
	var dormantErr error
	q.each(
		func() {
			got, err := q.store.QueryInstant(ctx, named(append(append([]string{}, names...), relations...), ""), at)
			a.note("the current values", err)
			s.series = byName(q.ours(got))
		},
		func() {
			quoted := strings.Join(names, "|")
			got, err := q.store.QueryInstant(ctx, fmt.Sprintf("%s{signal=~%q}", signals.SignalSource, quoted), at)
			a.note("the sources of values", err)
			for _, x := range got {
				m := s.sources[x.Labels["signal"]]
				if m == nil {
					m = map[string]string{}
					s.sources[x.Labels["signal"]] = m
				}
				m[q.entityKey(x.Labels["signal"], x.Labels)] = x.Labels["source"]
			}
		},
		func() {
			s.dormant, dormantErr = q.dormant(ctx, at)
			a.note("the state of the rules", dormantErr)
		},
	)
	if len(s.dormant) > 0 {
		q.compute(ctx, a, &s, names)
	}
	return s
}

// compute adds what the rules of dormant dialects would have recorded.
func (q *Query) compute(ctx context.Context, a *answering, s *snapshot, names []string) {
	type found struct {
		name string
		got  []model.Series
	}
	results := make(chan found, len(names)+len(relations))
	var jobs []func()
	r := model.TimeRange{Start: s.at, End: s.at}
	for _, n := range names {
		if q.origin(n, s.dormant).Method == "" {
			continue
		}
		jobs = append(jobs, func() {
			got, err := q.cat.Range(ctx, q.store, signals.RangeRequest{Signal: n, Dialects: s.dormant, Time: r, Step: time.Second, Options: q.o.Signals})
			a.note(n, err)
			results <- found{n, got}
		})
	}
	for _, n := range relations {
		jobs = append(jobs, func() {
			// A relation joins dialects, so it takes all of them.
			got, err := q.store.QueryInstant(ctx, q.cat.Relation(n, q.active(), q.o.Signals), s.at)
			a.note(n, err)
			results <- found{n, got}
		})
	}
	q.each(jobs...)
	close(results)
	for f := range results {
		known := map[string]bool{}
		for _, x := range s.series[f.name] {
			known[labelKey(x.Labels)] = true
		}
		for _, x := range f.got {
			if !known[labelKey(x.Labels)] {
				s.series[f.name] = append(s.series[f.name], x)
			}
		}
	}
}

// entityKey identifies the entity of a series of the named signal; a card by its
// UUID, because sources differ in what else they know of it.
func (q *Query) entityKey(full string, labels map[string]string) string {
	_, l, err := q.cat.Lookup(full)
	if err != nil {
		return ""
	}
	if l == model.LevelGPU {
		return labels["gpu"]
	}
	return keyOf(labels, signals.Identity(l))
}

func keyOf(labels map[string]string, names []string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(labels[n])
		b.WriteByte(0)
	}
	return b.String()
}

// labelKey identifies a series whatever its metric name.
func labelKey(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for k, v := range labels {
		if k != "__name__" {
			parts = append(parts, k+"\x00"+v)
		}
	}
	sort.Strings(parts)
	return strings.Join(parts, "\x01")
}

// index sorts the series of a signal by entity. A signal with extra labels keeps
// its largest value, which is what a single cell can show.
func (s *snapshot) index(q *Query, full string) map[string]model.Series {
	out := map[string]model.Series{}
	for _, x := range s.series[full] {
		if len(x.Points) == 0 || finite(x.Points[0].V) == nil {
			continue
		}
		k := q.entityKey(full, x.Labels)
		if old, ok := out[k]; !ok || x.Points[0].V > old.Points[0].V {
			out[k] = x
		}
	}
	return out
}

// cell makes a Value of an entity's series, or says why there is none.
func (q *Query) cell(ctx context.Context, s *snapshot, full string, idx map[string]model.Series, key string, dialects []string, match map[string]string) Value {
	v := Value{Signal: full}
	x, ok := idx[key]
	if !ok {
		v.Reason = q.why(ctx, full, dialects, match, s.at)
		return v
	}
	v.Value = finite(x.Points[0].V)
	v.Simulated = x.Labels["simulated"] == "true"
	o := q.origin(full, dialects)
	v.Method, v.WorstInstance, v.Source = o.Method, o.WorstInstance, string(o.Source)
	if src := s.sources[full][key]; src != "" {
		v.Source = src
	}
	return v
}
