package signals

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sightline/internal/model"
)

// Why says why a signal is absent for the entities that match, seen at one
// time, given the dialects that their targets speak.
func (c *Catalogue) Why(ctx context.Context, q RangeQuerier, full string, dialects []string, match map[string]string, at time.Time) (Reason, error) {
	return c.Because(full, dialects, func(dialect string) (bool, error) {
		expr, err := c.Exists(full, dialect)
		if err != nil || expr == "" {
			return false, err
		}
		got, err := q.QueryRange(ctx, expr, model.TimeRange{Start: at, End: at}, time.Second)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(got, func(s model.Series) bool { return matches(s.Labels, match) }), nil
	})
}

// Because says why a signal is absent for entities that speak the given
// dialects; exists tells whether a native metric of the signal is there in a
// dialect. What could be given if the server had something to report comes
// first, then what a flag or a version would give, then what the dialect can
// never give.
func (c *Catalogue) Because(full string, dialects []string, exists func(dialect string) (bool, error)) (Reason, error) {
	s, _, err := c.Lookup(full)
	if err != nil {
		return Reason{}, err
	}
	origins, err := c.Explain(full, dialects)
	if err != nil {
		return Reason{}, err
	}
	var never, missing *Reason
	for _, o := range origins {
		if o.Absent != nil {
			if never == nil {
				never = o.Absent
			}
			continue
		}
		there, err := exists(o.Dialect)
		if err != nil {
			return Reason{}, err
		}
		if there {
			return noData, nil
		}
		if missing == nil {
			missing = o.Missing
		}
		if missing == nil {
			missing = &Reason{
				Code:   "metric_missing",
				Text:   fmt.Sprintf("none of %s is there", strings.Join(o.Needs, ", ")),
				Remedy: "check the version of the server and what its metrics endpoint shows",
			}
		}
	}
	switch {
	case missing != nil:
		return *missing, nil
	case never != nil:
		return *never, nil
	}
	return s.Absent, nil
}

var noData = Reason{
	Code:   "no_data",
	Text:   "the metric is there but has nothing to say of this moment, as when no request finished",
	Remedy: "look at a time with traffic",
}
