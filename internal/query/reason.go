package query

import (
	"context"
	"strings"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// existsEntry remembers for which entities a native metric is there.
type existsEntry struct {
	at       time.Time
	entities []map[string]string
}

// existsFor is how long an answer of existing is good: whether a flag is set
// changes with a restart, not within seconds.
const existsFor = 15 * time.Second

// existing gives the entities for which a native metric of the signal exists.
func (q *Query) existing(ctx context.Context, full, dialect string, at time.Time) ([]map[string]string, error) {
	key := full + "|" + dialect
	q.mu.Lock()
	e, ok := q.exists[key]
	q.mu.Unlock()
	if ok && at.Sub(e.at).Abs() < existsFor {
		return e.entities, nil
	}
	expr, err := q.cat.Exists(full, dialect)
	if err != nil || expr == "" {
		return nil, err
	}
	got, err := q.store.QueryInstant(ctx, expr, at)
	if err != nil {
		return nil, err
	}
	e = existsEntry{at: at}
	for _, s := range got {
		e.entities = append(e.entities, s.Labels)
	}
	q.mu.Lock()
	q.exists[key] = e // bounded by signals times dialects
	q.mu.Unlock()
	return e.entities, nil
}

// why says why a signal is absent for the entities that have the labels.
func (q *Query) why(ctx context.Context, full string, dialects []string, match map[string]string, at time.Time) *Reason {
	r, err := q.cat.Because(full, dialects, func(dialect string) (bool, error) {
		entities, err := q.existing(ctx, full, dialect, at)
		for _, e := range entities {
			if has(e, match) {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		return &Reason{Code: model.CodeOf(err), Text: err.Error()}
	}
	return &Reason{Code: r.Code, Text: r.Text, Remedy: r.Remedy}
}

// origin finds how the most trusted of the dialects that give a signal does so.
func (q *Query) origin(full string, dialects []string) (o signals.Origin) {
	key := full + "|" + strings.Join(dialects, ",")
	q.mu.Lock()
	o, known := q.origins[key]
	q.mu.Unlock()
	if known {
		return o
	}
	os, err := q.cat.Explain(full, dialects)
	if err != nil {
		return o
	}
	for _, x := range os {
		if x.Method != "" {
			o = x
			break
		}
	}
	q.mu.Lock()
	q.origins[key] = o // bounded by signals times sets of dialects
	q.mu.Unlock()
	return o
}

// substituteFor gives the name whose value may stand in for a missing
// percentile: the mean of the same quantity; "" when there is none.
func (q *Query) substituteFor(full string) string {
	i := strings.LastIndexByte(full, ':')
	if i < 0 || !strings.HasPrefix(full[i+1:], "p") {
		return ""
	}
	mean := full[:i] + ":mean"
	if _, _, err := q.cat.Lookup(mean); err != nil {
		return ""
	}
	return mean
}
