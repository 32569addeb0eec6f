package metricstore

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"go.uber.org/goleak"

	"sightline/internal/health"
	"sightline/internal/model"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDirEnv); dir != "" {
		os.Exit(child(dir))
	}
	goleak.VerifyTestMain(m)
}

// opened gives a store in dir that the test closes.
func opened(t *testing.T, dir string, adjust func(*Store)) (*Store, *health.Registry) {
	t.Helper()
	h := health.New(nil, nil)
	s, err := open(context.Background(), DefaultConfig(dir), nil, prometheus.NewRegistry(), h, adjust)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, h
}

func appendOne(s *Store, t int64, v float64, lbls ...string) error {
	app := s.Appendable().AppenderV2(context.Background())
	if _, err := app.Append(0, labels.FromStrings(lbls...), 0, t, v, nil, nil, storage.AOptions{}); err != nil {
		_ = app.Rollback()
		return err
	}
	return app.Commit()
}

func TestQueriesGiveBackWhatWasCommitted(t *testing.T) {
	s, h := opened(t, t.TempDir(), nil)
	start := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	for i := range 11 {
		if err := appendOne(s, start.Add(time.Duration(i)*time.Minute).UnixMilli(), float64(i), "__name__", "x", "a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.QueryInstant(t.Context(), `x`, start.Add(10*time.Minute))
	if err != nil || len(got) != 1 || got[0].Points[0].V != 10 || got[0].Labels["a"] != "b" {
		t.Fatalf("instant %v %v", got, err)
	}
	got, err = s.QueryRange(t.Context(), `x offset -1m`, model.TimeRange{Start: start, End: start.Add(9 * time.Minute)}, time.Minute)
	if err != nil || len(got) != 1 || len(got[0].Points) != 10 || got[0].Points[0].V != 1 {
		t.Fatalf("range %v %v", got, err)
	}
	if got, err = s.QueryInstant(t.Context(), `1+1`, start); err != nil || got[0].Points[0].V != 2 {
		t.Fatalf("scalar %v %v", got, err)
	}
	if got, err = s.QueryInstant(t.Context(), `sum_over_time(x[11m] @ end())`, start.Add(10*time.Minute)); err != nil || got[0].Points[0].V != 55 {
		t.Fatalf("@ modifier %v %v", got, err)
	}
	if got, err = s.QueryInstant(t.Context(), `x / 0 * 0`, start.Add(time.Minute)); err != nil || !math.IsNaN(got[0].Points[0].V) {
		t.Fatalf("NaN %v %v", got, err)
	}
	st := s.Stats()
	if st.Series != 1 || st.Chunks == 0 || st.WALBytes == 0 || st.SamplesTotal != 11 || !st.Oldest.Equal(start) || !st.Newest.Equal(start.Add(10*time.Minute)) {
		t.Errorf("stats %+v", st)
	}
	if ready, waiting := h.Ready(); !ready {
		t.Errorf("not ready: %v", waiting)
	}
}

func TestQueryProblemsCarryCodes(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx        context.Context
		expr, code string
	}{
		{t.Context(), `rate(x`, "query_invalid"},
		{t.Context(), `x[5m]`, "query_invalid"},
		{t.Context(), `"word"`, "query_invalid"},
		{cancelled, `x`, "query_cancelled"},
	} {
		_, err := s.QueryInstant(c.ctx, c.expr, time.Now())
		if got := model.CodeOf(err); got != c.code {
			t.Errorf("%s: code %q (%v), want %q", c.expr, got, err, c.code)
		}
	}
	if _, err := s.QueryRange(t.Context(), `x`, model.TimeRange{}, 0); model.CodeOf(err) != "query_invalid" {
		t.Errorf("a step of nothing passes: %v", err)
	}
}

func TestAClosedStoreRefusesAndClosesOnce(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := appendOne(s, 1, 1, "__name__", "x"); model.CodeOf(err) != "storage_closed" {
		t.Errorf("append: %v", err)
	}
	if _, err := s.QueryInstant(t.Context(), "x", time.Now()); model.CodeOf(err) != "storage_closed" {
		t.Errorf("query: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestLimitsOfQueriesAreProblems(t *testing.T) {
	c := DefaultConfig(t.TempDir())
	c.QueryMaxSamples = 100
	s, err := Open(t.Context(), c, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	for i := range int64(200) {
		if err := appendOne(s, now.UnixMilli()+i, 1, "__name__", "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.QueryInstant(t.Context(), "sum_over_time(x[1m])", now.Add(time.Second)); model.CodeOf(err) != "query_too_many_samples" {
		t.Errorf("too many samples: %v", err)
	}
	expired, cancel := context.WithDeadline(t.Context(), now.Add(-time.Second))
	defer cancel()
	if _, err := s.QueryInstant(expired, "x", now); model.CodeOf(err) != "query_timeout" && model.CodeOf(err) != "query_failed" {
		t.Errorf("timeout: %v", err)
	}
	app := s.Appendable().AppenderV2(t.Context())
	h := &histogram.Histogram{Schema: 0, Count: 1, Sum: 1, PositiveSpans: []histogram.Span{{Offset: 0, Length: 1}}, PositiveBuckets: []int64{1}}
	if _, err := app.Append(0, labels.FromStrings("__name__", "h"), 0, now.UnixMilli(), 0, h, nil, storage.AOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.QueryInstant(t.Context(), "h", now.Add(time.Second)); model.CodeOf(err) != "query_histogram_result" {
		t.Errorf("histogram: %v", err)
	}
	if got, err := s.QueryInstant(t.Context(), "histogram_count(h)", now.Add(time.Second)); err != nil || got[0].Points[0].V != 1 {
		t.Errorf("histogram_count: %v %v", got, err)
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"dir": func(c *Config) { c.Dir = "" }, "retention": func(c *Config) { c.Retention = -1 }, "retention_bytes": func(c *Config) { c.RetentionBytes = -1 },
		"out_of_order_window": func(c *Config) { c.OutOfOrderWindow = -1 }, "max_exemplars": func(c *Config) { c.MaxExemplars = -1 },
		"query_timeout": func(c *Config) { c.QueryTimeout = 0 }, "query_max_samples": func(c *Config) { c.QueryMaxSamples = 0 },
		"query_concurrency": func(c *Config) { c.QueryConcurrency = 0 }, "lookback_delta": func(c *Config) { c.LookbackDelta = 0 }, "subquery_step": func(c *Config) { c.SubqueryStep = 0 },
	} {
		c := DefaultConfig("x")
		change(&c)
		err := c.Validate()
		if model.CodeOf(err) != "config_invalid" || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := DefaultConfig("x").Validate(); err != nil {
		t.Error(err)
	}
}

func TestOwnMetricsAreCleanAndSurviveAReopen(t *testing.T) {
	reg := prometheus.NewRegistry()
	s, err := Open(t.Context(), DefaultConfig(t.TempDir()), nil, reg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.reopen(); err != nil {
		t.Fatal(err)
	}
	if err := appendOne(s, time.Now().UnixMilli(), 1, "__name__", "x"); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	var own []string
	for _, f := range families {
		if m := f.GetMetric()[0]; m.GetGauge() != nil {
			got[f.GetName()] = m.GetGauge().GetValue()
		} else {
			got[f.GetName()] = m.GetCounter().GetValue()
		}
		if strings.HasPrefix(f.GetName(), "sightline_") {
			own = append(own, f.GetName())
		}
	}
	for name, want := range map[string]float64{"prometheus_tsdb_head_series": 1, "sightline_storage_acknowledged_samples_total": 1, "sightline_storage_reopened_total": 1, "prometheus_engine_queries": 0} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %g, %v; want %g", name, v, ok, want)
		}
	}
	if lints, err := testutil.GatherAndLint(reg, own...); err != nil || len(lints) > 0 || len(own) < 6 {
		t.Errorf("%v: lint %v %v", own, lints, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if families, err := reg.Gather(); err != nil || len(families) != 0 {
		t.Errorf("%d metrics stay after Close: %v", len(families), err)
	}
}

func TestRateMeter(t *testing.T) {
	var m rateMeter
	start := time.Unix(0, 0)
	for i := range uint64(120) {
		m.observe(start.Add(time.Duration(i)*time.Second), i*500)
	}
	if r := m.perSecond(); math.Abs(r-500) > 1 {
		t.Errorf("500 a second are measured as %g", r)
	}
	for i := range 120 {
		m.observe(start.Add(time.Duration(120+i)*time.Second), 119*500)
	}
	if r := m.perSecond(); r > 1 {
		t.Errorf("nothing is measured as %g", r)
	}
}
