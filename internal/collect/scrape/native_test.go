package scrape

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/prometheus/model/labels"

	"sightline/internal/ingest"
)

// TestAnObservationArrivesAsNativeHistogramWithItsExemplar follows one
// observation from an exporter into the store and out by query: what is off by
// default in every part of Prometheus must be on.
func TestAnObservationArrivesAsNativeHistogramWithItsExemplar(t *testing.T) {
	exporter := prometheus.NewRegistry()
	latency := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "request_latency_seconds", Help: "x", Buckets: []float64{.1, .2, .5, 1},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxExemplars: 10,
	})
	exporter.MustRegister(latency)
	latency.(prometheus.ExemplarObserver).ObserveWithExemplar(0.3, prometheus.Labels{"trace_id": "4bf92f3577b34da6"})
	latency.Observe(0.31)
	s := serve(t, promhttp.HandlerFor(exporter, promhttp.HandlerOpts{}).ServeHTTP)
	r := run(t, Config{Targets: []TargetConfig{{URL: s.URL}}}, ingest.Limits{})

	eventually(t, "the native histogram", func() bool { _, ok := r.value(t, "histogram_count(request_latency_seconds)"); return ok })
	if v, _ := r.value(t, "histogram_count(request_latency_seconds)"); v != 2 {
		t.Errorf("count %g", v)
	}
	if v, _ := r.value(t, "histogram_quantile(0.5, request_latency_seconds)"); math.Abs(v-0.3) > 0.03 {
		t.Errorf("median %g, want .3 within a bucket's 10 %%", v)
	}
	if v, ok := r.value(t, `request_latency_seconds_bucket{le="0.5"}`); !ok || v != 2 {
		t.Errorf("classic bucket %g, %v: dialects need both", v, ok)
	}
	eq, err := r.store.Exemplars().ExemplarQuerier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	res, err := eq.Select(now.Add(-time.Minute).UnixMilli(), now.UnixMilli(), []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", "request_latency_seconds")})
	if err != nil {
		t.Fatal(err)
	}
	if len(res) != 1 || len(res[0].Exemplars) != 1 || res[0].Exemplars[0].Value != 0.3 || res[0].Exemplars[0].Labels.Get("trace_id") != "4bf92f3577b34da6" {
		t.Errorf("exemplars %+v", res)
	}
}
