package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
	"sightline/internal/metricstore"
	"sightline/internal/model"
	"sightline/internal/query"
	"sightline/internal/signals"
)

var t0 = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)

type fixture struct {
	t     testing.TB
	store *metricstore.Store
	cat   *signals.Catalogue
	q     *query.Query
	app   storage.AppenderV2
}

func setup(t testing.TB, dialects ...string) *fixture {
	t.Helper()
	cat, err := signals.Load()
	if err != nil {
		t.Fatal(err)
	}
	s, err := metricstore.Open(context.Background(), metricstore.DefaultConfig(t.TempDir()), nil, prometheus.NewRegistry(), health.New(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t: t, store: s, cat: cat, q: query.New(s, cat, query.Options{Dialects: func() []string { return dialects }})}
}

// add appends one sample; labels alternate names and values after the metric.
func (f *fixture) add(at time.Time, v float64, name string, lbls ...string) {
	f.t.Helper()
	if f.app == nil {
		f.app = f.store.Appendable().AppenderV2(context.Background())
	}
	if _, err := f.app.Append(0, labels.FromStrings(append([]string{"__name__", name}, lbls...)...), 0, at.UnixMilli(), v, nil, nil, storage.AOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) commit() {
	f.t.Helper()
	if f.app != nil {
		if err := f.app.Commit(); err != nil {
			f.t.Fatal(err)
		}
		f.app = nil
	}
}

var target = []string{"namespace", "prod", "service", "vision", "instance", "prod/t-0", "pod", "t-0", "node", "n1"}

// triton writes a Triton without summaries from t0+from to t0+to: version 1
// does 20 and version 2 does 5 requests a second; each takes 40 ms, 10 of them
// in the queue; one in 50 of version 1 fails.
func (f *fixture) triton(from, to time.Duration) {
	for d := from; d <= to; d += 5 * time.Second {
		at, s := t0.Add(d), d.Seconds()
		for v, rate := range map[string]float64{"1": 20, "2": 5} {
			l := append(append([]string{}, target...), "model", "resnet", "version", v, "gpu_uuid", "GPU-1")
			f.add(at, rate*s, "nv_inference_request_success", l...)
			f.add(at, rate*s*40000, "nv_inference_request_duration_us", l...)
			f.add(at, rate*s*10000, "nv_inference_queue_duration_us", l...)
			if v == "1" {
				f.add(at, 0.4*s, "nv_inference_request_failure", append(l, "reason", "BACKEND")...)
			} else {
				f.add(at, 0, "nv_inference_request_failure", append(l, "reason", "BACKEND")...)
			}
			f.add(at, 3, "nv_inference_pending_request_count", append(append([]string{}, target...), "model", "resnet", "version", v)...)
		}
	}
}

// dcgm writes the card of the Triton above and an idle one.
func (f *fixture) dcgm(from, to time.Duration) {
	for d := from; d <= to; d += 5 * time.Second {
		for i, busy := range []float64{80, 0} {
			l := []string{"node", "n1", "gpu", fmt.Sprint(i), "UUID", fmt.Sprintf("GPU-%d", i+1), "modelName", "X", "simulated", "true"}
			f.add(t0.Add(d), busy, "DCGM_FI_DEV_GPU_UTIL", l...)
			f.add(t0.Add(d), 1000, "DCGM_FI_DEV_FB_USED", l...)
			f.add(t0.Add(d), 3000, "DCGM_FI_DEV_FB_FREE", l...)
			f.add(t0.Add(d), 50, "DCGM_FI_DEV_GPU_TEMP", l...)
		}
	}
}

func near(t *testing.T, what string, v query.Value, want float64) {
	t.Helper()
	if v.Value == nil || math.Abs(*v.Value-want) > 1e-6*math.Abs(want)+1e-12 {
		b, _ := json.Marshal(v)
		t.Errorf("%s is %s, want %v", what, b, want)
	}
}

// The first answer after a start, when no rule has run yet, and a Triton whose
// summaries are off: no empty latency.
func TestNowOverNativeSeries(t *testing.T) {
	f := setup(t, "triton", "dcgm")
	f.triton(0, 5*time.Minute)
	f.dcgm(0, 5*time.Minute)
	f.commit()
	ans, err := f.q.Now(t.Context(), query.NowRequest{At: t0.Add(5 * time.Minute), Window: 5 * time.Minute, Points: 10})
	if err != nil || len(ans.Rows) != 1 || len(ans.Warnings) != 0 {
		t.Fatalf("%+v %v", ans, err)
	}
	r := ans.Rows[0]
	if r.ID != "vision/resnet" || r.Namespace != "prod" || strings.Join(r.Versions, ",") != "1,2" || strings.Join(r.Instances, ",") != "prod/t-0" || strings.Join(r.Dialects, ",") != "triton" || strings.Join(r.GPUs, ",") != "GPU-1" || r.Stale {
		t.Errorf("row %+v", r)
	}
	near(t, "rate", r.RequestRate, 25.4)
	near(t, "errors", r.ErrorRatio, 0.4/25.4)
	near(t, "p99 by its mean", r.LatencyP99, 0.04)
	if s := r.LatencyP99; s.Substitute == nil || s.Substitute.Op != "mean" || s.Reason == nil || s.Reason.Code != "triton_no_summaries" || s.Reason.Remedy == "" || s.Signal != "model:request_latency_seconds:p99" || s.Source != "server" {
		t.Errorf("p99 %+v", s)
	}
	near(t, "queue share", r.QueueShare, 0.25)
	near(t, "waiting", r.Waiting, 6)
	near(t, "busy", r.GPUBusy, 0.8)
	near(t, "memory", r.GPUMemory, 0.25)
	if !r.GPUBusy.Simulated || !r.Simulated {
		t.Error("simulated hardware is not marked")
	}
	if r.TTFTP99.Value != nil || r.TTFTP99.Reason == nil || r.TTFTP99.Reason.Code != "triton_no_first_response" {
		t.Errorf("ttft %+v", r.TTFTP99)
	}
	if n := len(r.Spark.Values); n != 10 || r.Spark.Values[9] == nil || math.Abs(*r.Spark.Values[9]-25.4) > 1e-6 {
		t.Errorf("spark %v", r.Spark)
	}
	b, err := json.Marshal(ans)
	if err != nil || !strings.Contains(string(b), `"ttft_p99":{"value":null`) {
		t.Errorf("a missing number must be null: %s %v", b, err)
	}
}

// Copies of canonical series that come back from another server are no second
// lines, neither on a chart nor on Now.
func TestCopiesOfCanonicalSeriesAreLeftOut(t *testing.T) {
	f := setup(t, "triton")
	for d := time.Duration(0); d <= 3*time.Minute; d += 5 * time.Second {
		f.add(t0.Add(d), 1, signals.DialectEvaluated, "dialect", "triton")
		f.add(t0.Add(d), 1, signals.InstanceDialect, "service", "s", "model", "m", "instance", "i", "node", "n", "dialect", "triton")
		f.add(t0.Add(d), 7, "model:requests:rate", "service", "s", "model", "m")
		f.add(t0.Add(d), 99, "model:requests:rate", "service", "s", "model", "m", "job", "federate")
		f.add(t0.Add(d), 98, "model:requests:rate", "service", "s", "model", "m", "monitor", "peer")
	}
	f.commit()
	at := t0.Add(3 * time.Minute)
	ans, err := f.q.Series(t.Context(), query.SeriesRequest{Signals: []string{"model:requests:rate"}, From: t0, To: at, Filter: query.Filter{Service: "s", Model: "m"}})
	if err != nil || len(ans.Signals) != 1 || len(ans.Signals[0].Series) != 1 {
		t.Fatalf("%+v %v", ans, err)
	}
	for _, v := range ans.Signals[0].Series[0].Values {
		if v != nil && *v != 7 {
			t.Errorf("a copy's value %v is drawn", *v)
		}
	}
	now, err := f.q.Now(t.Context(), query.NowRequest{At: at})
	if err != nil || len(now.Rows) != 1 {
		t.Fatalf("%+v %v", now, err)
	}
	near(t, "rate", now.Rows[0].RequestRate, 7)
}

// When nothing says whose card it is, the reason is that and not a lack of traffic.
func TestSeriesSaysWhenACardHasNoKnownOwner(t *testing.T) {
	for code, candidates := range map[string]float64{"gpu_owner_ambiguous": 2, "gpu_unknown": 0} {
		f := setup(t, "triton")
		for d := time.Duration(0); d <= time.Minute; d += 5 * time.Second {
			f.add(t0.Add(d), 1, signals.DialectEvaluated, "dialect", "triton")
			f.add(t0.Add(d), 1, signals.InstanceDialect, "service", "s", "model", "m", "instance", "i", "node", "n", "dialect", "triton")
			f.add(t0.Add(d), 0.5, "gpu:busy:ratio", "gpu", "GPU-9", "node", "n")
			if candidates > 0 {
				f.add(t0.Add(d), candidates, signals.GPUOwnerCandidates, "gpu", "GPU-9", "node", "n")
			}
		}
		f.commit()
		ans, err := f.q.Series(t.Context(), query.SeriesRequest{Signals: []string{"gpu:busy:ratio"}, From: t0, To: t0.Add(time.Minute), Filter: query.Filter{Service: "s", Model: "m"}})
		if err != nil || len(ans.Signals) != 1 {
			t.Fatalf("%+v %v", ans, err)
		}
		if g := ans.Signals[0]; g.Absent == nil || g.Absent.Code != code || len(g.Series) != 0 {
			t.Errorf("want %s: %+v", code, g)
		}
	}
}

// The rate of an instance that is known for less than the window reads too low,
// and the row says so.
func TestNowSaysWhenARateIsStillFilling(t *testing.T) {
	for _, tc := range []struct {
		known   time.Duration
		warming bool
	}{{20 * time.Second, true}, {5 * time.Minute, false}} {
		f := setup(t, "triton")
		for d := time.Duration(0); d <= tc.known; d += 5 * time.Second {
			f.add(t0.Add(d), 1, signals.DialectEvaluated, "dialect", "triton")
			f.add(t0.Add(d), 7, "model:requests:rate", "service", "s", "model", "m")
			f.add(t0.Add(d), 1, signals.InstanceDialect, "service", "s", "model", "m", "version", "1", "instance", "i", "node", "n", "dialect", "triton")
		}
		f.commit()
		ans, err := f.q.Now(t.Context(), query.NowRequest{At: t0.Add(tc.known), Window: 5 * time.Minute, Points: 10})
		if err != nil || len(ans.Rows) != 1 {
			t.Fatalf("%+v %v", ans, err)
		}
		r := ans.Rows[0]
		said := r.RequestRate.Reason != nil && r.RequestRate.Reason.Code == "window_filling"
		if r.Warming != tc.warming || said != tc.warming || r.RequestRate.Value == nil {
			t.Errorf("known for %s: %+v", tc.known, r)
		}
	}
}

// A model that is gone stays as a stale row, without numbers.
func TestNowKeepsRowsThatWent(t *testing.T) {
	f := setup(t, "triton")
	for d := time.Duration(0); d <= 20*time.Minute; d += 5 * time.Second {
		f.add(t0.Add(d), 1, signals.DialectEvaluated, "dialect", "triton")
		if d <= 5*time.Minute {
			f.add(t0.Add(d), 7, "model:requests:rate", "service", "s", "model", "m")
			f.add(t0.Add(d), 1, signals.InstanceDialect, "service", "s", "model", "m", "version", "1", "instance", "i", "node", "n", "dialect", "triton")
		}
	}
	f.commit()
	ans, err := f.q.Now(t.Context(), query.NowRequest{At: t0.Add(20 * time.Minute), Window: 20 * time.Minute, Points: 20})
	if err != nil || len(ans.Rows) != 1 {
		t.Fatalf("%+v %v", ans, err)
	}
	r := ans.Rows[0]
	if !r.Stale || r.RequestRate.Value != nil || r.LastSample < float64(t0.Unix())+240 || r.LastSample > float64(t0.Unix())+660 {
		t.Errorf("row %+v", r)
	}
}

// Where rules ran, the recorded series answers; before, the native ones do.
func TestSeriesFillsHoles(t *testing.T) {
	f := setup(t, "triton")
	f.triton(0, 10*time.Minute)
	for d := 5 * time.Minute; d <= 10*time.Minute; d += 5 * time.Second {
		f.add(t0.Add(d), 1, signals.DialectEvaluated, "dialect", "triton")
		// A value that only the recorded series can have.
		f.add(t0.Add(d), 99, "model:requests:rate", "namespace", "prod", "service", "vision", "model", "resnet")
	}
	f.commit()
	ans, err := f.q.Series(t.Context(), query.SeriesRequest{Signals: []string{"model:requests:rate"}, From: t0, To: t0.Add(10 * time.Minute), Step: 30 * time.Second, Filter: query.Filter{Service: "vision", Model: "resnet"}})
	if err != nil || len(ans.Signals[0].Series) != 1 {
		t.Fatalf("%+v %v", ans, err)
	}
	v := ans.Signals[0].Series[0].Values
	if len(v) != 21 || v[0] != nil || v[4] == nil || math.Abs(*v[4]-25.4) > 1e-6 || v[12] == nil || *v[12] != 99 || v[20] == nil || *v[20] != 99 {
		t.Errorf("values %v", deref(v))
	}
	s := ans.Signals[0]
	if s.Level != "model" || s.Unit != "per_second" || s.Method != "counter" || s.Source != "server" {
		t.Errorf("%+v", s)
	}
}

// After a crash the last value must not live on for the length of the
// look-back, and the stretch is named.
func TestSeriesNamesGaps(t *testing.T) {
	f := setup(t, "triton")
	for d := time.Duration(0); d <= 20*time.Minute; d += 5 * time.Second {
		if d > 5*time.Minute && d < 15*time.Minute {
			continue
		}
		f.add(t0.Add(d), 1, signals.DialectEvaluated, "dialect", "triton")
		f.add(t0.Add(d), 7, "model:requests:rate", "service", "s", "model", "m")
	}
	f.commit()
	ans, err := f.q.Series(t.Context(), query.SeriesRequest{Signals: []string{"model:requests:rate"}, From: t0, To: t0.Add(20 * time.Minute), Step: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	v := ans.Signals[0].Series[0].Values
	if v[5] == nil || v[6] != nil || v[14] != nil || v[15] == nil {
		t.Errorf("values %v", deref(v))
	}
	if len(ans.Gaps) != 1 || ans.Gaps[0].Reason != "not_running" || ans.Gaps[0].From != float64(t0.Unix()+360) || ans.Gaps[0].To != float64(t0.Unix()+840) {
		t.Errorf("gaps %+v", ans.Gaps)
	}
}

func TestSeriesSplitsSubstitutesAndExplains(t *testing.T) {
	f := setup(t, "triton", "dcgm")
	f.triton(0, 5*time.Minute)
	f.dcgm(0, 5*time.Minute)
	f.commit()
	ask := func(by query.By, filter query.Filter, names ...string) []query.SignalSeries {
		t.Helper()
		ans, err := f.q.Series(t.Context(), query.SeriesRequest{Signals: names, From: t0.Add(2 * time.Minute), To: t0.Add(5 * time.Minute), Step: time.Minute, By: by, Filter: filter})
		if err != nil || len(ans.Warnings) > 0 {
			t.Fatalf("%v %v", err, ans.Warnings)
		}
		return ans.Signals
	}
	vision := query.Filter{Service: "vision", Model: "resnet"}
	got := ask(query.ByVersion, vision, "model:requests:rate")[0]
	if len(got.Series) != 2 || got.Series[0].Labels["version"] != "1" || math.Abs(*got.Series[0].Values[3]-20.4) > 1e-6 || math.Abs(*got.Series[1].Values[3]-5) > 1e-6 {
		t.Errorf("by version %+v", got)
	}
	got = ask(query.ByGPU, vision, "model:requests:rate")[0]
	if len(got.Series) != 1 || got.Series[0].Labels["gpu"] != "GPU-1" || got.Level != "instance" {
		t.Errorf("by gpu %+v", got)
	}
	for _, by := range []query.By{query.ByInstance, query.ByNode} {
		if got = ask(by, vision, "model:queue_latency_seconds:mean")[0]; len(got.Series) != 1 || got.Series[0].Labels[string(by)] == "" || math.Abs(*got.Series[0].Values[3]-0.01) > 1e-9 {
			t.Errorf("by %s %+v", by, got)
		}
	}
	got = ask(query.ByNothing, vision, "model:request_latency_seconds:p95")[0]
	if got.Substitute == nil || got.Substitute.Signal != "model:request_latency_seconds:mean" || got.Reason.Code != "triton_no_summaries" || got.Absent != nil || math.Abs(*got.Series[0].Values[3]-0.04) > 1e-9 {
		t.Errorf("p95 %+v", got)
	}
	got = ask(query.ByNothing, vision, "model:tokens_out:rate")[0]
	if got.Absent == nil || got.Absent.Code != "triton_no_tokens" || len(got.Series) != 0 {
		t.Errorf("tokens %+v", got)
	}
	// The cards of a model are those that its instances use.
	got = ask(query.ByNothing, vision, "gpu:busy:ratio")[0]
	if len(got.Series) != 1 || got.Series[0].Labels["gpu"] != "GPU-1" || got.Series[0].Labels["gpu_index"] != "0" || got.Series[0].Labels["instance"] != "prod/t-0" || !got.Simulated {
		t.Errorf("cards %+v", got)
	}
	if got = ask(query.ByNothing, query.Filter{}, "gpu:busy:ratio")[0]; len(got.Series) != 2 {
		t.Errorf("all cards %+v", got)
	}
	// A filter beyond the level selects by splitting.
	if got = ask(query.ByNothing, query.Filter{Version: "2"}, "model:requests:rate")[0]; len(got.Series) != 1 || math.Abs(*got.Series[0].Values[3]-5) > 1e-6 {
		t.Errorf("version 2 %+v", got)
	}
}

func TestSeriesRefusesWhatItCannotAnswer(t *testing.T) {
	f := setup(t, "triton")
	for code, req := range map[string]query.SeriesRequest{
		"too_many_points":     {Signals: []string{"model:requests:rate"}, From: t0, To: t0.Add(24 * time.Hour), Step: 5 * time.Second},
		"signal_unknown":      {Signals: []string{"model:requests:speed"}, From: t0, To: t0.Add(time.Hour)},
		"signal_missing":      {From: t0, To: t0.Add(time.Hour)},
		"split_unknown":       {Signals: []string{"model:requests:rate"}, By: "colour", From: t0, To: t0.Add(time.Hour)},
		"time_range_reversed": {Signals: []string{"model:requests:rate"}, From: t0.Add(time.Hour), To: t0},
		"too_many_signals":    {Signals: make([]string, 61), From: t0, To: t0.Add(time.Hour)},
	} {
		if _, err := f.q.Series(t.Context(), req); model.CodeOf(err) != code {
			t.Errorf("want %s, got %v", code, err)
		}
	}
	if _, err := f.q.Now(t.Context(), query.NowRequest{At: t0, Points: 20000}); model.CodeOf(err) != "too_many_points" {
		t.Errorf("now: %v", err)
	}
}

func TestHardwareShowsCardsByNode(t *testing.T) {
	f := setup(t, "triton", "dcgm")
	f.triton(0, 5*time.Minute)
	f.dcgm(0, 5*time.Minute)
	f.commit()
	ans, err := f.q.Hardware(t.Context(), query.HardwareRequest{At: t0.Add(5 * time.Minute)})
	if err != nil || len(ans.Nodes) != 1 || len(ans.Nodes[0].GPUs) != 2 {
		t.Fatalf("%+v %v", ans, err)
	}
	g := ans.Nodes[0].GPUs[0]
	if g.GPU != "GPU-1" || g.GPUIndex != "0" || g.GPUModel != "X" || !g.Simulated || strings.Join(g.Instances, "") != "prod/t-0" || strings.Join(g.Models, "") != "resnet" || g.Stale {
		t.Errorf("card %+v", g)
	}
	near(t, "busy", g.Busy, 0.8)
	near(t, "used", g.MemoryUsedBytes, 1000<<20)
	near(t, "total", g.MemoryTotalBytes, 4000<<20)
	near(t, "temperature", g.Temperature, 50)
	if g.PowerLimitWatts.Value != nil || g.PowerLimitWatts.Reason == nil || g.PowerLimitWatts.Reason.Code != "dcgm_field_off" {
		t.Errorf("power limit %+v", g.PowerLimitWatts)
	}
	// Triton names its card itself, so the other one is idle, not its own.
	if other := ans.Nodes[0].GPUs[1]; len(other.Instances) != 0 {
		t.Errorf("the idle card has owners: %+v", other)
	}
	if ans, err = f.q.Hardware(t.Context(), query.HardwareRequest{At: t0.Add(5 * time.Minute), Filter: query.Filter{Node: "n2"}}); err != nil || len(ans.Nodes) != 0 {
		t.Errorf("another node: %+v %v", ans, err)
	}
}

// A card that only a server names says that no exporter sees it, not that a
// counter file lacks a field.
func TestHardwareOfACardWithoutExporter(t *testing.T) {
	f := setup(t, "triton", "dcgm")
	f.dcgm(0, 5*time.Minute)
	for d := time.Duration(0); d <= 5*time.Minute; d += 10 * time.Second {
		f.add(t0.Add(d), 0.4, "nv_gpu_utilization", "service", "vision", "instance", "b", "node", "n2", "gpu_uuid", "GPU-9")
	}
	f.commit()
	ans, err := f.q.Hardware(t.Context(), query.HardwareRequest{At: t0.Add(5 * time.Minute), Filter: query.Filter{Node: "n2"}})
	if err != nil || len(ans.Nodes) != 1 || len(ans.Nodes[0].GPUs) != 1 {
		t.Fatalf("%+v %v", ans, err)
	}
	g := ans.Nodes[0].GPUs[0]
	near(t, "busy", g.Busy, 0.4)
	for what, v := range map[string]query.Value{"temperature": g.Temperature, "clock limits": g.ClockLimited, "highest clock": g.SMClockMaxHertz} {
		if v.Value != nil || v.Reason == nil || v.Reason.Code != "no_gpu_exporter" {
			t.Errorf("%s: %+v", what, v)
		}
	}
}

func TestSignalsExplainsEveryAbsence(t *testing.T) {
	f := setup(t, "triton", "dcgm")
	f.triton(0, 5*time.Minute)
	f.dcgm(0, 5*time.Minute)
	f.commit()
	ans, err := f.q.Signals(t.Context(), query.SignalsRequest{At: t0.Add(5 * time.Minute), Filter: query.Filter{Service: "vision"}})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]query.SignalRow{}
	for _, r := range ans.Signals {
		rows[r.Signal] = r
		if r.Present == (r.Absent != nil) || !r.Present && (r.Absent.Code == "" || r.Absent.Text == "" || r.Absent.Remedy == "") {
			t.Errorf("%+v", r)
		}
	}
	if r := rows["model:requests:rate"]; !r.Present || r.Entities != 1 || r.Method != "counter" {
		t.Errorf("%+v", r)
	}
	if r := rows["instance:requests:rate"]; r.Entities != 2 {
		t.Errorf("two versions on an instance: %+v", r)
	}
	if r := rows["gpu:busy:ratio"]; r.Entities != 1 {
		t.Errorf("%+v", r)
	}
	for name, code := range map[string]string{
		"model:request_latency_seconds:p99": "triton_no_summaries", "model:tokens_out:rate": "triton_no_tokens",
		"node:cpu_used_cores:mean": "no_host_collector", "gpu:sm_active:ratio": "dcgm_field_off", "model:input_bytes:p99": "needs_proxy",
	} {
		if r := rows[name]; r.Absent == nil || r.Absent.Code != code {
			t.Errorf("%s: %+v, want %s", name, r, code)
		}
	}
	if len(ans.Dialects) != 3 || !ans.Dialects[0].Active || ans.Dialects[1].Active {
		t.Errorf("dialects %+v", ans.Dialects)
	}
}

// broken fails for queries that hold a word.
type broken struct {
	query.Store
	word string
}

func (b broken) QueryInstant(ctx context.Context, expr string, at time.Time) ([]model.Series, error) {
	if strings.Contains(expr, b.word) {
		return nil, errors.New("the disk is gone")
	}
	return b.Store.QueryInstant(ctx, expr, at)
}

func TestNowGivesWhatItCan(t *testing.T) {
	f := setup(t, "triton")
	f.triton(0, 5*time.Minute)
	f.commit()
	q := query.New(broken{f.store, "sightline_signal_source"}, f.cat, query.Options{})
	ans, err := q.Now(t.Context(), query.NowRequest{At: t0.Add(5 * time.Minute)})
	if err != nil || len(ans.Rows) != 1 || len(ans.Warnings) != 1 || !strings.Contains(ans.Warnings[0], "disk") {
		t.Errorf("%d rows, %v, %v", len(ans.Rows), ans.Warnings, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Now(ctx, query.NowRequest{At: t0.Add(5 * time.Minute)}); err == nil {
		t.Error("an answer without anything must be an error")
	}
}

func deref(v []*float64) []any {
	out := make([]any, len(v))
	for i, p := range v {
		if p != nil {
			out[i] = *p
		}
	}
	return out
}
