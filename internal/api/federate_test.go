package api

import (
	"bytes"
	"io"
	"log/slog"
	"math"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/teststorage"
)

func TestSampleKindsAreTheStores(t *testing.T) {
	for ours, theirs := range map[chunkenc.ValueType]chunkenc.ValueType{
		kindNone: chunkenc.ValNone, kindFloat: chunkenc.ValFloat, kindHistogram: chunkenc.ValHistogram, kindFloatHistogram: chunkenc.ValFloatHistogram,
	} {
		if ours != theirs {
			t.Errorf("kind %d is %d in the store", ours, theirs)
		}
	}
}

// federated is a store with one series of every kind at a fixed time.
func federated(t *testing.T) *fixture {
	now := time.Unix(1767225600, 0)
	f := newFixture(t, func(_ *Config, d *Deps) { d.Now = func() time.Time { return now } })
	l := labels.FromStrings
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	f.append(ago(30), l("__name__", "model:requests:rate", "model", "resnet_mini", "service", "vision"), 12)
	f.append(ago(15), l("__name__", "model:requests:rate", "model", "resnet_mini", "service", "vision"), 12.5)
	f.append(ago(20), l("__name__", "model:requests:rate", "model", "tiny-chat", "service", "chat"), 3)
	f.append(ago(0), l("__name__", "instance:running:last", "instance", "demo/chat-0"), 4)
	f.append(ago(10), l("__name__", "odd", "quote", "a\"b\\c\nd", "instance", ""), math.Inf(1))
	f.append(ago(10), l("__name__", "odd", "nan", "true"), math.NaN())
	f.append(ago(301), l("__name__", "too_old"), 1)
	f.append(ago(60), l("__name__", "ended"), 1)
	f.append(ago(10), l("__name__", "ended"), math.Float64frombits(value.StaleNaN))
	f.append(now.Add(time.Second), l("__name__", "future"), 1)
	f.append(ago(5), l("__name__", "mixed", "kind", "float"), 1)
	native := &histogram.FloatHistogram{
		Schema: 1, Count: 10, Sum: 25, ZeroThreshold: 0.001, ZeroCount: 1,
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}, {Offset: 3, Length: 1}}, PositiveBuckets: []float64{2, 3, 1},
		NegativeSpans: []histogram.Span{{Offset: 1, Length: 1}}, NegativeBuckets: []float64{3},
	}
	f.appendHistogram(ago(5), l("__name__", "mixed", "kind", "native"), native)
	gauge := native.Copy()
	gauge.CounterResetHint = histogram.GaugeType
	f.appendHistogram(ago(5), l("__name__", "mixed", "kind", "gauge"), gauge)
	f.appendHistogram(ago(5), l("__name__", "latency_seconds", "service", "vision"), &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 9, Sum: 3, CustomValues: []float64{0.1, 0.2, 0.5, 1},
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 1}, {Offset: 1, Length: 1}, {Offset: 1, Length: 1}}, PositiveBuckets: []float64{4, 3, 2},
	})
	f.appendHistogram(ago(5), l("__name__", "rate_seconds", "service", "vision"), &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 1.5, Sum: 0.3, CustomValues: []float64{0.5},
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []float64{1, 0.5}, CounterResetHint: histogram.GaugeType,
	})
	f.appendHistogram(ago(60), l("__name__", "mixed", "kind", "stale"), native)
	f.appendHistogram(ago(5), l("__name__", "mixed", "kind", "stale"), &histogram.FloatHistogram{Sum: math.Float64frombits(value.StaleNaN)})
	return f
}

const everything = `/federate?match[]={__name__=~".%2B"}`

func TestFederateGolden(t *testing.T) {
	f := federated(t)
	for name, accept := range map[string]string{
		"federate.txt":         "*/*",
		"federate.openmetrics": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		"federate.prototext":   "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
	} {
		a := f.get(everything, "Accept", accept)
		if a.status != 200 {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		body := string(a.body)
		if name == "federate.prototext" {
			// The library varies blanks in this format on purpose.
			body = strings.ReplaceAll(body, "  ", " ")
		}
		golden(t, name, "# Content-Type: "+a.header.Get("Content-Type")+"\n"+body)
	}
	if a := f.get("/metrics"); !strings.Contains(string(a.body), `sightline_federation_skipped_series_total{reason="native_histogram_in_text"} 4`) || !strings.Contains(string(a.body), `{reason="fractional_histogram_in_openmetrics"} 1`) || !strings.Contains(string(a.body), "sightline_federation_errors_total 0") {
		t.Errorf("what a format cannot show is not counted: %s", a.body)
	}
}

func TestFederateProtobufKeepsNativeHistograms(t *testing.T) {
	f := federated(t)
	a := f.get(`/federate?match[]=mixed`, "Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;q=0.3")
	dec := expfmt.NewDecoder(bytes.NewReader(a.body), expfmt.NewFormat(expfmt.TypeProtoDelim))
	got := map[dto.MetricType]*dto.Metric{}
	for {
		var mf dto.MetricFamily
		if err := dec.Decode(&mf); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(mf.Metric) != 1 {
			t.Errorf("%s has %d metrics", mf.GetType(), len(mf.Metric))
		}
		got[mf.GetType()] = mf.Metric[0]
	}
	if len(got) != 3 || got[dto.MetricType_UNTYPED].GetUntyped().GetValue() != 1 {
		t.Fatalf("families: %v", got)
	}
	for _, typ := range []dto.MetricType{dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM} {
		h := got[typ].GetHistogram()
		if h.GetSchema() != 1 || h.GetSampleCountFloat() != 10 || h.GetZeroCountFloat() != 1 || len(h.PositiveSpan) != 2 || h.PositiveSpan[1].GetOffset() != 3 || len(h.NegativeCount) != 1 || got[typ].GetTimestampMs() != 1767225595000 {
			t.Errorf("%s: %v", typ, got[typ])
		}
	}
}

func TestFederateSelectors(t *testing.T) {
	f := federated(t)
	count := func(path string) int {
		a := f.get(path)
		if a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		n := 0
		for _, line := range strings.Split(string(a.body), "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				n++
			}
		}
		return n
	}
	for path, want := range map[string]int{
		"/federate":                             0,
		"/federate?match[]=model:requests:rate": 2,
		"/federate?match[]=" + url.QueryEscape(`model:requests:rate{service="chat"}`):                  1,
		"/federate?match[]=model:requests:rate&match[]=instance:running:last":                          3,
		"/federate?match[]=model:requests:rate&match[]=" + url.QueryEscape(`{service=~"vision|chat"}`): 2 + 7 + 4,
		"/federate?match[]=absent_metric":                                                              0,
		"/federate?match[]=ended":                                                                      0,
		"/federate?match[]=too_old":                                                                    0,
		"/federate?match[]=future":                                                                     0,
	} {
		if got := count(path); got != want {
			t.Errorf("%s: %d samples, want %d", path, got, want)
		}
	}
	a := f.get("/federate?match[]=" + url.QueryEscape("a{b="))
	if e := a.env(t); a.status != 400 || e.Code != "promql_syntax" || e.Position == nil {
		t.Errorf("bad selector: %d %s", a.status, a.body)
	}
	if a := f.get("/federate?match[]=%zz"); a.status != 400 {
		t.Errorf("half an escape: %d", a.status)
	}
}

// TestFederateParses lets promtool read the text.
func TestFederateParses(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("promtool is not installed (apt-get install prometheus): %v", err)
	}
	f := federated(t)
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(f.get(everything).body)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func FuzzFederateSelector(f *testing.F) {
	for _, s := range []string{"up", `{a="b"}`, `{a=~"("}`, "\x00", `{"a.b"="c"}`, "a[5m]", ""} {
		f.Add(s)
	}
	fed := federatedFuzz(f)
	f.Fuzz(func(t *testing.T, s string) {
		w := record(fed, "GET", "/federate?match[]="+url.QueryEscape(s))
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("%q: %d %s", s, w.Code, w.Body)
		}
	})
}

func federatedFuzz(f *testing.F) *federation {
	store, err := teststorage.NewWithError()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { store.Close() })
	app := store.AppenderV2(f.Context())
	if _, err := app.Append(0, labels.FromStrings("__name__", "up"), 0, 1000, 1, nil, nil, storage.AOptions{}); err != nil {
		f.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		f.Fatal(err)
	}
	return newFederation(store, time.Minute, time.Minute, func() time.Time { return time.UnixMilli(1000) }, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
}

func TestFederateIsBounded(t *testing.T) {
	f := federated(t)
	f.api.fed.limit = 3
	if a := f.get(everything); a.status != 422 || a.env(t).Code != "too_many_series" || a.env(t).Hint == "" {
		t.Errorf("more series than allowed: %d %s", a.status, a.body)
	}
	f.api.fed.limit, f.api.fed.timeout = 100, 0
	if a := f.get(everything); a.status != 503 {
		t.Errorf("out of time: %d %s", a.status, a.body)
	}
	f.api.fed.timeout = time.Minute
	f.api.fed.store = brokenStore{}
	if a := f.get(everything); a.status != 500 || a.env(t).Code != "query_failed" {
		t.Errorf("a store that fails: %d %s", a.status, a.body)
	}
	if a := f.get("/metrics"); !strings.Contains(string(a.body), "sightline_federation_errors_total 3") {
		t.Error("failures are not counted")
	}
}

type brokenStore struct{}

func (brokenStore) Querier(int64, int64) (storage.Querier, error) { return nil, io.ErrUnexpectedEOF }
