package metricstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"sightline/internal/model"
)

// QueryInstant evaluates expr at one time. Each series has exactly one point; a
// scalar is one series without labels. Errors are model.Problems with one of
// the codes query_invalid, query_timeout, query_cancelled,
// query_too_many_samples, query_histogram_result or query_failed.
func (s *Store) QueryInstant(ctx context.Context, expr string, at time.Time) ([]model.Series, error) {
	q, err := s.costs.NewInstantQuery(ctx, s.Queryable(), nil, expr, at)
	if err != nil {
		return nil, queryProblem(expr, err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, queryProblem(expr, res.Err)
	}
	switch v := res.Value.(type) {
	case promql.Vector:
		out := make([]model.Series, 0, len(v))
		for _, p := range v {
			if p.H != nil {
				return nil, histogramProblem(expr)
			}
			out = append(out, model.Series{Labels: p.Metric.Map(), Points: []model.Point{{T: p.T, V: p.F}}})
		}
		return out, nil
	case promql.Scalar:
		return []model.Series{{Labels: map[string]string{}, Points: []model.Point{{T: v.T, V: v.V}}}}, nil
	}
	return nil, &model.Problem{Code: "query_invalid", Text: fmt.Sprintf("the query %q gives a %s, not numbers at one time", expr, res.Value.Type()), Hint: "wrap a range in a function such as rate() or last_over_time()"}
}

// QueryRange evaluates expr at r.Start, r.Start+step, … up to r.End. A step
// without a value has no point. Errors are those of QueryInstant.
func (s *Store) QueryRange(ctx context.Context, expr string, r model.TimeRange, step time.Duration) ([]model.Series, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if step < time.Millisecond {
		return nil, &model.Problem{Code: "query_invalid", Text: fmt.Sprintf("the step of a range query is %s", step), Hint: "give a step of a millisecond or more"}
	}
	q, err := s.costs.NewRangeQuery(ctx, s.Queryable(), nil, expr, r.Start, r.End, step)
	if err != nil {
		return nil, queryProblem(expr, err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, queryProblem(expr, res.Err)
	}
	m, err := res.Matrix()
	if err != nil {
		return nil, queryProblem(expr, err)
	}
	out := make([]model.Series, 0, len(m))
	for _, series := range m {
		if len(series.Histograms) > 0 {
			return nil, histogramProblem(expr)
		}
		points := make([]model.Point, len(series.Floats))
		for i, p := range series.Floats {
			points[i] = model.Point{T: p.T, V: p.F}
		}
		out = append(out, model.Series{Labels: labelMap(series.Metric), Points: points})
	}
	return out, nil
}

func labelMap(ls labels.Labels) map[string]string { return ls.Map() }

func histogramProblem(expr string) error {
	return &model.Problem{Code: "query_histogram_result", Text: fmt.Sprintf("the query %q gives native histograms, not numbers", expr), Hint: "wrap it in histogram_quantile(), histogram_avg(), histogram_count() or histogram_sum()"}
}

func queryProblem(expr string, err error) error {
	var (
		parse     parser.ParseErrors
		timeout   promql.ErrQueryTimeout
		cancelled promql.ErrQueryCanceled
		samples   promql.ErrTooManySamples
		own       *model.Problem
	)
	switch {
	case errors.As(err, &own):
		return err
	case errors.As(err, &timeout):
		return &model.Problem{Code: "query_timeout", Text: fmt.Sprintf("the query %q ran too long", expr), Hint: "ask for a shorter range or fewer series", Err: err}
	case errors.As(err, &cancelled), errors.Is(err, context.Canceled):
		return &model.Problem{Code: "query_cancelled", Text: fmt.Sprintf("the query %q was cancelled", expr), Err: err}
	case errors.As(err, &samples):
		return &model.Problem{Code: "query_too_many_samples", Text: fmt.Sprintf("the query %q needs more samples in memory than one query may use", expr), Hint: "ask for a shorter range, a longer step or fewer series", Err: err}
	case errors.As(err, &parse):
		return &model.Problem{Code: "query_invalid", Text: fmt.Sprintf("the query %q is not valid PromQL", expr), Err: err}
	}
	return &model.Problem{Code: "query_failed", Text: fmt.Sprintf("the query %q failed", expr), Err: err}
}
