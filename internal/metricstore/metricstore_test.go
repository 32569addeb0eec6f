package metricstore

import (
	"context"
	"math"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
