package metricstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
)

const (
	// maxQueryBytes bounds a query's text. The parser's time grows with the
	// square of some of them, and it cannot be interrupted.
	maxQueryBytes = 128 << 10
	// maxQueryDepth bounds how deep expressions are nested: the engine visits
	// each level anew for the levels above, without looking at its deadline.
	maxQueryDepth = 250
	// surelyCheap is a text too short to be nested badly; it is not parsed twice
	// unless it has a subquery.
	surelyCheap = 400
	// samplesPerStep makes the bound of a subquery's steps from that of samples:
	// the engine reserves room for every step of every series before it counts
	// the first sample.
	samplesPerStep = 20
)

// CheckQueryText refuses a query whose text alone says that reading it would
// take too long. Errors are *model.Problem with code query_too_complex.
func CheckQueryText(text string) error {
	if len(text) > maxQueryBytes {
		return tooComplex(fmt.Sprintf("has %d bytes, at most %d are read", len(text), maxQueryBytes))
	}
	depth, signs, quote := 0, 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
			continue
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == '-' || c == '+':
			signs++
		case c != ' ' && c != '\t' && c != '\n':
			signs = 0
		}
		if max(depth, signs) > maxQueryDepth {
			return tooDeep()
		}
	}
	return nil
}

func tooComplex(why string) error {
	return &model.Problem{Code: "query_too_complex", Text: "the query " + why, Hint: "split it, or record parts of it by rules"}
}

func tooDeep() error { return tooComplex(fmt.Sprintf("nests more than %d levels", maxQueryDepth)) }

// costEngine refuses queries that the engine would die of before its own limits
// on samples and time are looked at.
type costEngine struct {
	next         promql.QueryEngine
	parse        parser.Parser
	subqueryStep time.Duration
	maxSteps     int64
}

// NewInstantQuery implements promql.QueryEngine.
func (e *costEngine) NewInstantQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, qs string, ts time.Time) (promql.Query, error) {
	if err := e.check(qs, 0); err != nil {
		return nil, err
	}
	return e.next.NewInstantQuery(ctx, q, opts, qs, ts)
}

// NewRangeQuery implements promql.QueryEngine.
func (e *costEngine) NewRangeQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, qs string, start, end time.Time, interval time.Duration) (promql.Query, error) {
	if err := e.check(qs, end.Sub(start)); err != nil {
		return nil, err
	}
	return e.next.NewRangeQuery(ctx, q, opts, qs, start, end, interval)
}

func (e *costEngine) check(text string, span time.Duration) error {
	if err := CheckQueryText(text); err != nil {
		return err
	}
	if len(text) <= surelyCheap && !strings.Contains(text, "[") {
		return nil
	}
	expr, err := e.parse.ParseExpr(text)
	if err != nil {
		return nil //nolint:nilerr // the engine says it better, with the position
	}
	return e.visit(expr, span, 1)
}

// visit walks an expression. span is the time over which it is evaluated: a
// subquery evaluates what is in it over the span around it and its own range.
func (e *costEngine) visit(n parser.Node, span time.Duration, depth int) error {
	if depth > maxQueryDepth {
		return tooDeep()
	}
	if s, ok := n.(*parser.SubqueryExpr); ok {
		step := s.Step
		if step <= 0 {
			step = e.subqueryStep
		}
		if span += s.Range; span < 0 || int64(span/step) >= e.maxSteps {
			return &model.Problem{
				Code: "query_too_many_steps",
				Text: fmt.Sprintf("a subquery takes more than %d steps of %s", e.maxSteps, step),
				Hint: "give it a longer step or a shorter range",
			}
		}
	}
	for c := range parser.ChildrenIter(n) {
		if err := e.visit(c, span, depth+1); err != nil {
			return err
		}
	}
	return nil
}
