package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
)

// memory is a store that keeps what it gets.
type memory struct {
	mu        sync.Mutex
	samples   map[string]int
	hist      []*histogram.Histogram
	exemplars int
	fail      error
}

func (m *memory) AppenderV2(context.Context) storage.AppenderV2 { return memoryAppender{m} }

type memoryAppender struct{ m *memory }

func (a memoryAppender) Append(_ storage.SeriesRef, ls labels.Labels, _, _ int64, _ float64, h *histogram.Histogram, _ *histogram.FloatHistogram, o storage.AOptions) (storage.SeriesRef, error) {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	if a.m.fail != nil {
		return 0, a.m.fail
	}
	if a.m.samples == nil {
		a.m.samples = map[string]int{}
	}
	a.m.samples[ls.String()]++
	a.m.exemplars += len(o.Exemplars)
	if h != nil {
		a.m.hist = append(a.m.hist, h)
	}
	return storage.SeriesRef(len(a.m.samples)), nil
}

func (a memoryAppender) AppendExemplars(ref storage.SeriesRef, _ labels.Labels, es []exemplar.Exemplar) (storage.SeriesRef, error) {
	a.m.exemplars += len(es)
	return ref, nil
}
func (memoryAppender) Commit() error   { return nil }
func (memoryAppender) Rollback() error { return nil }

// clock is a time that only the test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func guarded(l Limits) (*Guard, *memory, *health.Registry, *clock, *prometheus.Registry) {
	c := &clock{time.Unix(1_000_000, 0)}
	h := health.New(nil, c.now)
	m := &memory{}
	reg := prometheus.NewRegistry()
	g := NewGuard(m, l, reg, h)
	g.now = c.now
	return g, m, h, c, reg
}

func send(t *testing.T, app storage.AppenderV2, at time.Time, series ...labels.Labels) (refused int) {
	t.Helper()
	for _, ls := range series {
		ref, err := app.Append(0, ls, 0, at.UnixMilli(), 1, nil, nil, storage.AOptions{})
		switch {
		case errors.Is(err, ErrSeriesRefused), err == nil && ref == 0:
			refused++
		case err != nil:
			t.Fatal(err)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	return refused
}

func condition(h *health.Registry, code string) *health.Condition {
	for _, c := range h.Conditions() {
		if c.Code == code {
			return &c
		}
	}
	return nil
}

func TestOnlyNewSeriesAreRefusedAndTheLabelIsNamed(t *testing.T) {
	g, m, h, c, reg := guarded(Limits{SeriesPerTarget: 100})
	known := make([]labels.Labels, 90)
	for i := range known {
		known[i] = labels.FromStrings("__name__", "requests_total", "code", fmt.Sprint(i%5), "pod", fmt.Sprint(i))
	}
	if n := send(t, g.AppenderFor(t.Context(), "http://a/metrics"), c.t, known...); n != 0 {
		t.Fatalf("%d refused below the limit", n)
	}
	exploding := make([]labels.Labels, 1000)
	for i := range exploding {
		exploding[i] = labels.FromStrings("__name__", "requests_total", "code", fmt.Sprint(i%5), "request_id", fmt.Sprint("r", i))
	}
	if n := send(t, g.AppenderFor(t.Context(), "http://a/metrics"), c.t, exploding...); n != 990 {
		t.Errorf("%d refused, want 990", n)
	}
	if n := send(t, g.AppenderFor(t.Context(), "http://a/metrics"), c.t, known...); n != 0 {
		t.Errorf("%d known series were refused", n)
	}
	if m.samples[known[0].String()] != 2 || len(m.samples) != 100 {
		t.Errorf("store has %d series, first known %d samples", len(m.samples), m.samples[known[0].String()])
	}
	// What the loop says about the target passes nevertheless.
	always := g.AppenderFor(t.Context(), "http://a/metrics").(interface {
		AppendUnlimited(storage.SeriesRef, labels.Labels, int64, int64, float64, *histogram.Histogram, *histogram.FloatHistogram, storage.AOptions) (storage.SeriesRef, error)
	})
	if ref, err := always.AppendUnlimited(0, labels.FromStrings("__name__", "up"), 0, c.t.UnixMilli(), 1, nil, nil, storage.AOptions{}); ref == 0 || err != nil {
		t.Errorf("up was refused: %v", err)
	}
	// Another source is not touched.
	if n := send(t, g.AppenderFor(t.Context(), "http://b/metrics"), c.t, known...); n != 0 {
		t.Errorf("%d series of a source within its limit were refused", n)
	}
	cond := condition(h, "series_limit")
	if cond == nil || cond.Subject != "http://a/metrics" || !strings.Contains(cond.Text, `"request_id"`) {
		t.Fatalf("condition %+v", cond)
	}
	s := g.Sources()
	if len(s) != 2 || s[0].Series != 100 || s[0].Label != "request_id" || s[0].Values < 800 || s[0].Values > 1200 || s[0].Refused < 800 || s[0].Refused > 1200 || s[1].Refused != 0 || s[1].Label != "" {
		t.Errorf("sources %+v", s)
	}
	if got := testutil.ToFloat64(g.metrics.series.WithLabelValues("http://a/metrics")); got != 990 {
		t.Errorf("counted %g refusals", got)
	}
	lints, err := testutil.GatherAndLint(reg)
	if err != nil || len(lints) > 0 {
		t.Errorf("lint %v %v", lints, err)
	}
}

func TestSilentSeriesFreeTheirPlaceAndConditionsClear(t *testing.T) {
	g, _, h, c, _ := guarded(Limits{SeriesPerSource: 2, IdleAfter: 15 * time.Minute})
	app := func() storage.AppenderV2 { return g.AppenderV2(WithSource(t.Context(), "w")) }
	a, b, d := labels.FromStrings("pod", "a"), labels.FromStrings("pod", "b"), labels.FromStrings("pod", "d")
	if n := send(t, app(), c.t, a, b, d); n != 1 {
		t.Fatalf("%d refused", n)
	}
	for range 20 { // a stays alive, b is gone
		c.t = c.t.Add(time.Minute)
		send(t, app(), c.t, a)
	}
	if n := send(t, app(), c.t, d); n != 0 {
		t.Error("the place of a pod that is gone is still taken")
	}
	if condition(h, "series_limit") != nil {
		t.Error("the condition stays after the refusals ended")
	}
	c.t = c.t.Add(time.Hour)
	if s := g.Sources(); len(s) != 0 {
		t.Errorf("a source that is gone is still listed: %+v", s)
	}
}

func TestTimesOutsideTheBoundsAreRefusedAndCounted(t *testing.T) {
	g, m, h, c, _ := guarded(Limits{})
	app := g.AppenderV2(t.Context())
	ls := labels.FromStrings("__name__", "x")
	if _, err := app.Append(0, ls, 0, c.t.Add(9*time.Minute).UnixMilli(), 1, nil, nil, storage.AOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := app.Append(0, ls, 0, c.t.Add(11*time.Minute).UnixMilli(), 1, nil, nil, storage.AOptions{}); !errors.Is(err, storage.ErrOutOfBounds) {
		t.Errorf("future: %v", err)
	}
	for _, e := range []error{storage.ErrTooOldSample, storage.ErrOutOfOrderSample, storage.ErrDuplicateSampleForTimestamp} {
		m.fail = e
		if _, err := app.Append(0, ls, 0, c.t.UnixMilli(), 1, nil, nil, storage.AOptions{}); !errors.Is(err, e) {
			t.Errorf("%v became %v", e, err)
		}
	}
	if err := app.Rollback(); err != nil {
		t.Fatal(err)
	}
	if condition(h, "timestamp_future") == nil {
		t.Error("no condition names the source with a wrong clock")
	}
	for reason, want := range map[string]float64{"timestamp_future": 1, "timestamp_too_old": 1, "out_of_order": 1, "duplicate_timestamp": 1} {
		if got := testutil.ToFloat64(g.metrics.samples.WithLabelValues(reason)); got != want {
			t.Errorf("%s counted %g", reason, got)
		}
	}
	if d := g.Dropped(); d["timestamp_future"] != 1 || d["duplicate_timestamp"] != 1 || len(d) != len(reasons) {
		t.Errorf("dropped %v", d)
	}
	s := g.Sources()
	if len(s) != 1 || s[0].Name != DefaultSource || s[0].Future != 1 || s[0].TooOld != 1 {
		t.Errorf("sources %+v", s)
	}
	c.t = c.t.Add(16 * time.Minute)
	g.sweep(c.t, true)
	if condition(h, "timestamp_future") != nil {
		t.Error("the condition stays")
	}
}

func TestHistogramsAndExemplarsPassUnchanged(t *testing.T) {
	g, m, _, c, _ := guarded(Limits{SeriesPerSource: 1})
	app := g.AppenderV2(t.Context()).(storage.ExemplarAppenderV2)
	h := &histogram.Histogram{Schema: 3, Count: 1, Sum: 2}
	ls := labels.FromStrings("__name__", "h")
	es := []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "1"), Value: 2}}
	ref, err := app.Append(0, ls, 0, c.t.UnixMilli(), 0, h, nil, storage.AOptions{Exemplars: es})
	if err != nil || ref == 0 || len(m.hist) != 1 || m.hist[0] != h || m.exemplars != 1 {
		t.Fatalf("ref %d err %v store %+v", ref, err, m)
	}
	if _, err := app.AppendExemplars(ref, ls, es); err != nil || m.exemplars != 2 {
		t.Errorf("separate exemplars: %v, %d", err, m.exemplars)
	}
	other := labels.FromStrings("__name__", "other")
	if ref, err := app.Append(0, other, 0, c.t.UnixMilli(), 1, nil, nil, storage.AOptions{}); ref != 0 || err != nil {
		t.Errorf("a refused series answers %d, %v to a remote writer", ref, err)
	}
	if ref, err := app.AppendExemplars(0, other, es); ref != 0 || err != nil || m.exemplars != 2 {
		t.Errorf("exemplars of a refused series: %d, %v, %d", ref, err, m.exemplars)
	}
}

func TestParallelWritersNeverPassTheLimit(t *testing.T) {
	g, m, _, c, _ := guarded(Limits{SeriesPerSource: 500})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			app := g.AppenderV2(context.Background())
			for i := range 400 {
				_, _ = app.Append(0, labels.FromStrings("w", fmt.Sprint(w), "i", fmt.Sprint(i)), 0, c.t.UnixMilli(), 1, nil, nil, storage.AOptions{})
			}
			_ = app.Commit()
		})
	}
	wg.Wait()
	if len(m.samples) != 500 || g.Sources()[0].Series != 500 {
		t.Errorf("%d series stored, %d counted", len(m.samples), g.Sources()[0].Series)
	}
}

func TestSourcesAreBounded(t *testing.T) {
	g, _, _, c, _ := guarded(Limits{Sources: 3})
	for i := range 10 {
		send(t, g.AppenderV2(WithSource(t.Context(), fmt.Sprint(i))), c.t, labels.FromStrings("i", fmt.Sprint(i)))
	}
	s := g.Sources()
	if len(s) != 4 || s[3].Name != overflowSource || s[3].Series != 7 {
		t.Errorf("sources %+v", s)
	}
}

func TestDistinctEstimate(t *testing.T) {
	for _, n := range []int{1, 10, 100, 1000, 100_000} {
		var c labelCounter
		for i := range n {
			c.observe(labels.FromStrings("l", fmt.Sprint(i)), uint64(i), true)
		}
		got := c.now["l"].estimate()
		if math.Abs(float64(got-n)) > 0.2*float64(n)+1 {
			t.Errorf("%d values estimated as %d", n, got)
		}
	}
}

// BenchmarkAdmitKnown is what the Guard adds to each sample of a steady source.
func BenchmarkAdmitKnown(b *testing.B) {
	s := newSource("x", 1_000_000, time.Unix(0, 0))
	series := make([]labels.Labels, 20_000)
	for i := range series {
		series[i] = labels.FromStrings("__name__", "vllm:request_latency_seconds_bucket", "instance", "demo/chat-0", "le", fmt.Sprint(i%20), "model", "tiny-chat", "pod", fmt.Sprint("pod-", i))
		s.admit(series[i], 1)
	}
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		s.admit(series[i%len(series)], uint32(i/len(series)))
	}
}
