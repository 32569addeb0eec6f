package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// Signals answers for every signal of the catalogue whether the entities have
// it, and where not, why and what would give it.
func (q *Query) Signals(ctx context.Context, req SignalsRequest) (SignalsAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.o.Timeout)
	defer cancel()
	at := q.at(req.At)
	ans := SignalsAnswer{At: seconds(at), Signals: []SignalRow{}, Dialects: []DialectRow{}}
	sc, err := q.scope(ctx, req.Filter, model.TimeRange{Start: at, End: at})
	if err != nil {
		return ans, err
	}
	a := &answering{}
	counts, err := q.entities(ctx, a, req.Filter, sc, at)
	if err != nil {
		return ans, err
	}
	for _, s := range q.cat.All() {
		for _, l := range s.Levels {
			full := s.At(l)
			row := SignalRow{Signal: full, Level: string(l), Group: s.Group, Unit: unit(s), Meaning: s.Meaning, Entities: counts[full], Present: counts[full] > 0}
			dialects := q.dialectsFor(string(l), sc)
			if row.Present {
				o := q.origin(full, dialects)
				row.Source, row.Method = string(o.Source), o.Method
			} else {
				match, _ := req.Filter.labels(l)
				row.Absent = q.why(ctx, full, dialects, match, at)
			}
			ans.Signals = append(ans.Signals, row)
		}
	}
	active := map[string]bool{}
	for _, d := range q.active() {
		active[d] = true
	}
	for _, d := range q.cat.Dialects() {
		ans.Dialects = append(ans.Dialects, DialectRow{Name: d.Name, Title: d.Title, Active: q.o.Dialects != nil && active[d.Name]})
	}
	ans.Warnings = a.warnings
	return ans, nil
}

// entities counts the entities that have each signal.
func (q *Query) entities(ctx context.Context, a *answering, f Filter, sc scope, at time.Time) (map[string]int, error) {
	seen := map[string]map[string]bool{}
	count := func(full string, got []model.Series) {
		s, l, err := q.cat.Lookup(full)
		if err != nil {
			return
		}
		in, _ := f.labels(l)
		for _, x := range got {
			if !has(x.Labels, in) || l == model.LevelGPU && sc.gpus != nil && !sc.gpus[x.Labels["gpu"]] {
				continue
			}
			if seen[s.At(l)] == nil {
				seen[s.At(l)] = map[string]bool{}
			}
			seen[s.At(l)][keyOf(x.Labels, signals.Identity(l))] = true
		}
	}
	by := map[string]bool{"__name__": true}
	for _, l := range []model.Level{model.LevelInstance, model.LevelGPU, model.LevelNode} {
		for _, n := range signals.Identity(l) {
			by[n] = true
		}
	}
	got, err := q.store.QueryInstant(ctx, fmt.Sprintf(`group by (%s) ({__name__=~"(service|model|instance|gpu|node):[^:]+:[^:]+"})`, strings.Join(sortedSet(by), ", ")), at)
	if err != nil {
		return nil, err
	}
	for name, series := range byName(got) {
		count(name, series)
	}
	dormant, err := q.dormant(ctx, at)
	if err != nil {
		return nil, err
	}
	if len(dormant) > 0 {
		var names []string
		for _, s := range q.cat.All() {
			for _, l := range s.Levels {
				names = append(names, s.At(l))
			}
		}
		snap := snapshot{at: at, series: map[string][]model.Series{}, dormant: dormant}
		q.compute(ctx, a, &snap, names)
		for name, series := range snap.series {
			count(name, series)
		}
	}
	out := map[string]int{}
	for name, entities := range seen {
		out[name] = len(entities)
	}
	return out, nil
}
