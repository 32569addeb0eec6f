// The receiver and the store behind it would be built again, instrumented, for
// the race detector, which has the guard in its other tests.
//go:build !race

package ingest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang/snappy"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/compression"

	"sightline/internal/ingest"
	"sightline/internal/metricstore"
)

// request is a remote-write body of series, one sample each at time t.
func request(series int, t int64, rnd *rand.Rand, extra func(i int) prompb.Label) []byte {
	var req prompb.WriteRequest
	for i := range series {
		ls := []prompb.Label{
			{Name: "__name__", Value: fmt.Sprintf("engine_requests_total_%d", i%50)},
			{Name: "instance", Value: fmt.Sprintf("demo/vision-%d", i/500)},
			{Name: "model", Value: fmt.Sprintf("model-%d", i%20)},
			{Name: "namespace", Value: "demo"},
			{Name: "series", Value: fmt.Sprint(i)},
		}
		if extra != nil {
			ls = append(ls, extra(i))
		}
		req.Timeseries = append(req.Timeseries, prompb.TimeSeries{Labels: ls, Samples: []prompb.Sample{{Timestamp: t, Value: rnd.Float64() * 1000}}})
	}
	b, err := req.Marshal()
	if err != nil {
		panic(err)
	}
	return snappy.Encode(nil, b)
}

func post(h http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/write", bytes.NewReader(body))
	r.Header.Set("Content-Encoding", "snappy")
	r.Header.Set("Content-Type", "application/x-protobuf")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func receiver(to storage.AppendableV2) http.Handler {
	return remote.NewWriteHandler(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), to, remoteapi.MessageTypes{remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType}, false, false)
}

// TestARemoteWriterBeyondItsLimitKeepsItsKnownSeries goes through Prometheus'
// receiver, which throws a whole request away for one error.
func TestARemoteWriterBeyondItsLimitKeepsItsKnownSeries(t *testing.T) {
	s, err := metricstore.Open(t.Context(), metricstore.DefaultConfig(t.TempDir()), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := receiver(ingest.NewGuard(s.Appendable(), ingest.Limits{SeriesPerSource: 600}, nil, nil))
	rnd := rand.New(rand.NewPCG(1, 2))
	now := time.Now()
	for round := range 3 {
		id := func(i int) prompb.Label {
			if i < 500 {
				return prompb.Label{Name: "shard", Value: "1"}
			}
			return prompb.Label{Name: "user_id", Value: fmt.Sprint(round, "-", i)}
		}
		if w := post(h, request(1000, now.UnixMilli()+int64(round), rnd, id)); w.Code/100 != 2 {
			t.Fatalf("round %d: %d %s", round, w.Code, w.Body)
		}
	}
	for expr, want := range map[string]float64{
		`count(count_over_time({shard="1"}[1m]) == 3)`: 500,
		`count({user_id=~".+"})`:                       100,
	} {
		got, err := s.QueryInstant(t.Context(), expr, now.Add(time.Second))
		if err != nil || len(got) != 1 || got[0].Points[0].V != want {
			t.Errorf("%s: %v %v, want %g", expr, got, err, want)
		}
	}
}

// BenchmarkReceiver compares the way of a remote-write request through a plain
// TSDB, as in Prometheus, through our store, and through guard and store.
func BenchmarkReceiver(b *testing.B) {
	const series = 5_000
	for _, name := range []string{"plain", "store", "guard"} {
		b.Run(name, func(b *testing.B) {
			var to storage.AppendableV2
			if name == "plain" {
				o := tsdb.DefaultOptions()
				o.WALCompression = compression.Snappy
				o.OutOfOrderTimeWindow = (24 * time.Hour).Milliseconds()
				o.EnableExemplarStorage, o.MaxExemplars = true, 100_000
				db, err := tsdb.Open(b.TempDir(), nil, prometheus.NewRegistry(), o, nil)
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				to = db
			} else {
				s, err := metricstore.Open(b.Context(), metricstore.DefaultConfig(b.TempDir()), nil, nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				to = s.Appendable()
				if name == "guard" {
					to = ingest.NewGuard(to, ingest.Limits{}, nil, nil)
				}
			}
			h := receiver(to)
			start := time.Now().Add(-time.Hour).UnixMilli()
			rnd := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				body := request(series, start+int64(i)*1000, rnd, nil)
				b.StartTimer()
				if w := post(h, body); w.Code/100 != 2 {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			b.ReportMetric(float64(b.N)*series/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
