package signals

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sightline/internal/model"
)

// RangeQuerier is any store that evaluates PromQL over a window.
type RangeQuerier interface {
	QueryRange(ctx context.Context, expr string, r model.TimeRange, step time.Duration) ([]model.Series, error)
}

// RangeRequest asks for a canonical signal computed from native series.
type RangeRequest struct {
	// Signal is a full name such as model:requests:rate.
	Signal string
	// Dialects narrows to some dialects; nil means all.
	Dialects []string
	// By adds labels to the identity of the level, for splits.
	By []string
	// Match selects entities by canonical labels of the identity or of By.
	Match map[string]string
	Time  model.TimeRange
	Step  time.Duration
	// Options must be those of the live rules to give the same numbers.
	Options Options
}

// Expr compiles the request into PromQL; "" means no dialect gives the signal.
func (c *Catalogue) Expr(req RangeRequest) (string, error) {
	s, l, err := c.Lookup(req.Signal)
	if err != nil {
		return "", err
	}
	for name := range req.Match {
		if !slices.Contains(identity[l], name) && !slices.Contains(req.By, name) {
			return "", &model.Problem{
				Code: "label_not_in_level",
				Text: fmt.Sprintf("%s has no label %q to select by", req.Signal, name),
				Hint: "split by the label as well, or ask for a signal of another level",
			}
		}
	}
	var by []string
	for _, b := range req.By {
		if !slices.Contains(identity[l], b) {
			by = append(by, b)
		}
	}
	return c.canonical(s, l, c.pick(req.Dialects), by, req.Match, req.Options), nil
}

// Range evaluates a canonical signal over native series, the choice of the
// source included. Series carry the identity of the level, the labels of By and
// the signal's extra labels, and no metric name.
func (c *Catalogue) Range(ctx context.Context, q RangeQuerier, req RangeRequest) ([]model.Series, error) {
	expr, err := c.Expr(req)
	if err != nil || expr == "" {
		return nil, err
	}
	got, err := q.QueryRange(ctx, expr, req.Time, req.Step)
	if err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", req.Signal, err)
	}
	out := got[:0]
	for _, s := range got {
		delete(s.Labels, "__name__")
		if matches(s.Labels, req.Match) && len(s.Points) > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

func matches(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}
