package metricstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"sightline/internal/model"
)

// Each of these ended the process, or held a core for minutes, far beyond the
// query timeout.
func TestQueriesOfDeathAreRefused(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	now := time.Now()
	for name, c := range map[string]struct{ query, code string }{
		"steps of a subquery":  {"sum_over_time(vector(1)[1y:1ms])", "query_too_many_steps"},
		"nested subqueries":    {strings.Repeat("max_over_time(", 5) + "vector(1)" + strings.Repeat("[1y:1m])", 5), "query_too_many_steps"},
		"nested calls":         {strings.Repeat("sum(", 5000) + "up" + strings.Repeat(")", 5000), "query_too_complex"},
		"chain":                {strings.Repeat("1+", 5000) + "1", "query_too_complex"},
		"signs":                {strings.Repeat("-", 5000) + "1", "query_too_complex"},
		"long":                 {`up{a="` + strings.Repeat("x", 1<<20) + `"}`, "query_too_complex"},
		"parentheses unclosed": {strings.Repeat("(", 5000), "query_too_complex"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.QueryInstant(context.Background(), c.query, now)
			if got := model.CodeOf(err); got != c.code {
				t.Errorf("instant: code %q, want %q (%.200v)", got, c.code, err)
			}
			_, err = s.QueryRange(context.Background(), c.query, model.TimeRange{Start: now.Add(-time.Hour), End: now}, time.Minute)
			if got := model.CodeOf(err); got != c.code {
				t.Errorf("range: code %q, want %q (%.200v)", got, c.code, err)
			}
		})
	}
	for _, q := range []string{
		"max_over_time(vector(1)[1d:1m])",
		`count({__name__=~"((((((((((a))))))))))", b!="` + strings.Repeat("(", 1000) + `"}) or vector(0)`,
		strings.Repeat("1+", 100) + "1",
	} {
		if _, err := s.QueryInstant(context.Background(), q, now); err != nil {
			t.Errorf("%.60s: %v", q, err)
		}
	}
}
