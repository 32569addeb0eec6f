package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"sightline/internal/ingest"
	"sightline/internal/metricstore"
)

// TestRealStore wires the product's own store and guard behind the API: what
// is written is read, and the guard's refusals show up under the writer's name.
func TestRealStore(t *testing.T) {
	f := newFixture(t, func(c *Config, d *Deps) {
		dir := t.TempDir()
		store, err := metricstore.Open(context.Background(), metricstore.DefaultConfig(dir), nil, nil, d.Health)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		guard := ingest.NewGuard(store.Appendable(), ingest.Limits{SeriesPerSource: 3}, d.Registerer, d.Health)
		d.Engine, d.Queryable, d.Exemplars, d.Admin = store.Engine(), store.Queryable(), store.Exemplars(), store.Admin()
		d.Appendable, d.WithSource = guard, ingest.WithSource
		d.Storage = func() StorageStatus {
			st := store.Stats()
			return StorageStatus{Series: st.Series, RetentionSeconds: st.Retention.Seconds(), Newest: Moment{st.Newest}}
		}
		d.Ingest = func() IngestStatus {
			var out IngestStatus
			for _, s := range guard.Sources() {
				out.Sources = append(out.Sources, IngestSource{Name: s.Name, Series: s.Series, Limit: s.Limit, Refused: uint64(s.Refused), Label: s.Label})
			}
			return out
		}
	})
	now := time.Now()
	ts := now.UnixMilli()
	a := sendWrite(f, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{Labels: []prompb.Label{{Name: "__name__", Value: "nv_inference_count"}, {Name: "model", Value: "resnet_mini"}}, Samples: []prompb.Sample{{Value: 42, Timestamp: ts}}},
		{
			Labels: []prompb.Label{{Name: "__name__", Value: "latency_seconds"}}, Histograms: []prompb.Histogram{prompb.FromIntHistogram(ts, nativeInt())},
			Exemplars: []prompb.Exemplar{{Labels: []prompb.Label{{Name: "trace_id", Value: "4bf92f3577b34da6a3ce929d0e0e4736"}}, Value: 0.7, Timestamp: ts}},
		},
	}}, "application/x-protobuf", "0.1.0")
	if a.status != 204 {
		t.Fatalf("write: %d %s", a.status, a.body)
	}
	wantRead(t, f, "nv_inference_count", "latency_seconds", now)
	if a := f.get("/federate?match[]=nv_inference_count"); !strings.Contains(string(a.body), fmt.Sprintf(`nv_inference_count{model="resnet_mini",instance=""} 42 %d`, ts)) {
		t.Errorf("federate: %s", a.body)
	}
	var bomb prompb.WriteRequest
	for i := range 50 {
		bomb.Timeseries = append(bomb.Timeseries, prompb.TimeSeries{
			Labels: []prompb.Label{{Name: "__name__", Value: "requests"}, {Name: "request_id", Value: fmt.Sprint(i)}}, Samples: []prompb.Sample{{Value: 1, Timestamp: ts}},
		})
	}
	sendWrite(f, &bomb, "application/x-protobuf", "0.1.0")
	body := string(f.get("/api/v1/sightline/status").body)
	for _, want := range []string{`"name":"127.0.0.1","series":3,"limit":3`, `"label":"request_id"`, `"quarantined":[]`, `"retention_seconds":1296000`, `"series":3`} {
		if !strings.Contains(body, want) {
			t.Errorf("status lacks %s: %s", want, body)
		}
	}
	for _, path := range []string{"/api/v1/status/tsdb", "/api/v1/status/walreplay", "/api/v1/status/tsdb/blocks", "/api/v1/search/metric_names?search=lat", "/api/v1/metadata"} {
		if a := f.get(path); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
