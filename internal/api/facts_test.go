package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"sightline/internal/collect/scrape"
	"sightline/internal/ingest"
	"sightline/internal/metricstore"
	"sightline/internal/model"
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
		d.Storage = func() StorageStatus { return StorageFacts(store.Stats()) }
		d.Ingest = func() IngestStatus { return IngestFacts(guard.Sources()) }
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

func TestTargetFacts(t *testing.T) {
	now := time.Unix(1767225600, 0)
	got := TargetFacts(scrape.TargetStatus{
		ID: "http://u:hunter2@gpu:8002/metrics", URL: "http://u:hunter2@gpu:8002/metrics", Health: "down",
		Error:      &model.Problem{Code: "target_unreachable", Text: "no answer", Hint: "start it", Err: errors.New("refused")},
		Warnings:   []*model.Problem{{Code: "target_series_limit", Text: "too many"}},
		LastScrape: now, LastDuration: 250 * time.Millisecond, Interval: 5 * time.Second, Samples: 7, Series: 5, SeriesLimit: 9, SeriesRefused: 2, RefusedLabel: "user",
	}, []TargetDialect{{Name: "triton"}})
	if strings.Contains(got.ID+got.URL, "hunter2") || got.Error.Text != "no answer: refused" || got.Warnings[0].Code != "target_series_limit" || *got.LastDurationSeconds != 0.25 || *got.Samples != 7 || *got.Series != 5 || got.RefusedLabel != "user" {
		t.Errorf("target: %+v", got)
	}
	fresh := TargetFacts(scrape.TargetStatus{Health: "unknown"}, nil)
	if fresh.Samples != nil || fresh.Series != nil || fresh.LastDurationSeconds != nil || fresh.Error != nil {
		t.Errorf("a target that was never scraped has numbers: %+v", fresh)
	}
}

func TestStorageFacts(t *testing.T) {
	at := time.Unix(1767225600, 0)
	got := StorageFacts(metricstore.Stats{Retention: time.Hour, Newest: at, Quarantined: []metricstore.Quarantined{{Block: "01ABC", Reason: "bad checksum", MinTime: at, MaxTime: at}}})
	if got.RetentionSeconds != 3600 || !got.Oldest.IsZero() || len(got.Quarantined) != 1 || got.Quarantined[0].Name != "01ABC" || !got.Quarantined[0].From.Equal(at) {
		t.Errorf("storage: %+v", got)
	}
}

func TestIngestFacts(t *testing.T) {
	got := IngestFacts([]ingest.SourceStatus{{Name: "a", Future: 2}, {Name: "b", Future: 1, TooOld: 4, Refused: 5, Label: "x"}})
	if got.Dropped["future"] != 3 || got.Dropped["too_old"] != 4 || got.Sources[1].Refused != 5 || got.Sources[1].Label != "x" {
		t.Errorf("ingest: %+v", got)
	}
}
