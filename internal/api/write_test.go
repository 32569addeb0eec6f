package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

func nativeInt() *histogram.Histogram {
	return &histogram.Histogram{
		Schema: 2, Count: 7, Sum: 3.5, ZeroThreshold: 0.001, ZeroCount: 1,
		PositiveSpans: []histogram.Span{{Offset: -3, Length: 2}}, PositiveBuckets: []int64{2, 2},
	}
}

func sendWrite(f *fixture, m proto.Message, contentType, version string) answer {
	f.t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.post("/api/v1/write", string(snappy.Encode(nil, b)), "Content-Encoding", "snappy", "Content-Type", contentType, "X-Prometheus-Remote-Write-Version", version)
}

// wantRead checks that the written counter, its exemplar and the native
// histogram come back through the query API.
func wantRead(t *testing.T, f *fixture, counter, hist string, now time.Time) {
	t.Helper()
	at := fmt.Sprintf("&time=%d", now.Unix()+1)
	if a := f.get("/api/v1/query?query=" + counter + at); !strings.Contains(string(a.body), `"42"`) || !strings.Contains(string(a.body), `"model":"resnet_mini"`) {
		t.Errorf("counter: %s", a.body)
	}
	if a := f.get("/api/v1/query?query=histogram_count(" + hist + ")" + at); !strings.Contains(string(a.body), `"7"`) {
		t.Errorf("native histogram count: %s", a.body)
	}
	if a := f.get("/api/v1/query?query=" + hist + at); !strings.Contains(string(a.body), `"histogram":[`) || !strings.Contains(string(a.body), `"sum":"3.5"`) {
		t.Errorf("native histogram: %s", a.body)
	}
	a := f.get(fmt.Sprintf("/api/v1/query_exemplars?query=%s&start=%d&end=%d", hist, now.Unix()-60, now.Unix()+60))
	if !strings.Contains(string(a.body), `"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"`) || !strings.Contains(string(a.body), `"value":"0.7"`) {
		t.Errorf("exemplar: %s", a.body)
	}
}

func TestRemoteWrite1(t *testing.T) {
	f := newFixture(t)
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
	old := sendWrite(f, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{Labels: []prompb.Label{{Name: "__name__", Value: "nv_inference_count"}, {Name: "model", Value: "resnet_mini"}}, Samples: []prompb.Sample{{Value: 1, Timestamp: ts - 3600_000}}},
	}}, "application/x-protobuf", "0.1.0")
	if old.status != 400 {
		t.Errorf("a sample out of order is answered %d: a sender would send it again for ever", old.status)
	}
}

func TestRemoteWrite2(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	ts := now.UnixMilli()
	sym := writev2.NewSymbolTable()
	refs := func(s ...string) (out []uint32) {
		for _, x := range s {
			out = append(out, sym.Symbolize(x))
		}
		return out
	}
	counter := writev2.TimeSeries{
		LabelsRefs: refs("__name__", "nv_inference_count_total", "model", "resnet_mini"), Samples: []writev2.Sample{{Value: 42, Timestamp: ts}},
		Metadata: writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER, HelpRef: sym.Symbolize("Inferences.")},
	}
	hist := writev2.TimeSeries{
		LabelsRefs: refs("__name__", "latency_seconds"), Histograms: []writev2.Histogram{writev2.FromIntHistogram(0, ts, nativeInt())},
		Exemplars: []writev2.Exemplar{{LabelsRefs: refs("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"), Value: 0.7, Timestamp: ts}},
	}
	a := sendWrite(f, &writev2.Request{Symbols: sym.Symbols(), Timeseries: []writev2.TimeSeries{counter, hist}}, "application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0")
	if a.status != 204 {
		t.Fatalf("write: %d %s", a.status, a.body)
	}
	for h, want := range map[string]string{"X-Prometheus-Remote-Write-Samples-Written": "1", "X-Prometheus-Remote-Write-Histograms-Written": "1", "X-Prometheus-Remote-Write-Exemplars-Written": "1"} {
		if got := a.header.Get(h); got != want {
			t.Errorf("%s is %q, want %s", h, got, want)
		}
	}
	wantRead(t, f, "nv_inference_count_total", "latency_seconds", now)
}

func TestOTLP(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "vision")
	rm.Resource().Attributes().PutStr("service.instance.id", "demo/vision-0")
	ms := rm.ScopeMetrics().AppendEmpty().Metrics()
	sum := ms.AppendEmpty()
	sum.SetName("inference.requests")
	sum.SetEmptySum().SetIsMonotonic(true)
	sum.Sum().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	p := sum.Sum().DataPoints().AppendEmpty()
	p.SetIntValue(42)
	p.SetTimestamp(pcommon.NewTimestampFromTime(now))
	p.Attributes().PutStr("model", "resnet_mini")
	exp := ms.AppendEmpty()
	exp.SetName("inference.latency")
	exp.SetUnit("s")
	eh := exp.SetEmptyExponentialHistogram()
	eh.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	hp := eh.DataPoints().AppendEmpty()
	hp.SetTimestamp(pcommon.NewTimestampFromTime(now))
	hp.SetCount(7)
	hp.SetSum(3.5)
	hp.SetScale(2)
	hp.SetZeroCount(1)
	hp.Positive().SetOffset(-3)
	hp.Positive().BucketCounts().FromRaw([]uint64{2, 4})
	ex := hp.Exemplars().AppendEmpty()
	ex.SetTimestamp(pcommon.NewTimestampFromTime(now))
	ex.SetDoubleValue(0.7)
	ex.SetTraceID([16]byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36})
	req := pmetricotlp.NewExportRequestFromMetrics(md)
	pb, err := req.MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	if a := f.post("/api/v1/otlp/v1/metrics", string(pb), "Content-Type", "application/x-protobuf"); a.status != http.StatusOK {
		t.Fatalf("otlp: %d %s", a.status, a.body)
	}
	wantRead(t, f, "inference_requests_total", "inference_latency_seconds", now)
	if a := f.get(`/api/v1/query?query=inference_requests_total`); !strings.Contains(string(a.body), `"service_name":"vision"`) || !strings.Contains(string(a.body), `"instance":"demo/vision-0"`) || !strings.Contains(string(a.body), `"job":"vision"`) {
		t.Errorf("the resource's identity is lost: %s", a.body)
	}
	if a := f.post("/api/v1/otlp/v1/metrics", `{"resourceMetrics":[]}`, "Content-Type", "application/json"); a.status != 200 {
		t.Errorf("otlp as JSON: %d %s", a.status, a.body)
	}
	if a := f.post("/api/v1/otlp/v1/metrics", "x", "Content-Type", "text/plain"); a.status != 400 {
		t.Errorf("otlp as text: %d", a.status)
	}
}

func TestRemoteRead(t *testing.T) {
	f := newFixture(t)
	now := time.Now().UnixMilli()
	sendWrite(f, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{Labels: []prompb.Label{{Name: "__name__", Value: "up"}}, Samples: []prompb.Sample{{Value: 1, Timestamp: now}}},
	}}, "application/x-protobuf", "0.1.0")
	b, err := proto.Marshal(&prompb.ReadRequest{Queries: []*prompb.Query{{
		StartTimestampMs: now - 1000, EndTimestampMs: now + 1000, Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_EQ, Name: "__name__", Value: "up"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	a := f.post("/api/v1/read", string(snappy.Encode(nil, b)), "Content-Encoding", "snappy", "Content-Type", "application/x-protobuf", "Accept-Encoding", "gzip")
	plain, err := snappy.Decode(nil, a.body)
	if err != nil {
		t.Fatalf("read: %d %v %.100q", a.status, err, a.body)
	}
	var resp prompb.ReadResponse
	if err := proto.Unmarshal(plain, &resp); err != nil || len(resp.Results) != 1 || len(resp.Results[0].Timeseries) != 1 || resp.Results[0].Timeseries[0].Samples[0].Value != 1 {
		t.Errorf("read: %v %+v", err, resp)
	}
}
