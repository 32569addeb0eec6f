package ruler_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"go.uber.org/goleak"

	"sightline/internal/health"
	"sightline/internal/metricstore"
	"sightline/internal/model"
	"sightline/internal/ruler"
	"sightline/internal/signals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var t0 = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)

type fixture struct {
	t     testing.TB
	store *metricstore.Store
	cat   *signals.Catalogue
	r     *ruler.Ruler
	h     *health.Registry
	reg   *prometheus.Registry
	now   time.Time
}

func setup(t testing.TB, o ruler.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, h: health.New(nil, nil), reg: prometheus.NewRegistry(), now: t0}
	var err error
	if f.cat, err = signals.Load(); err != nil {
		t.Fatal(err)
	}
	if f.store, err = metricstore.Open(context.Background(), metricstore.DefaultConfig(t.TempDir()), nil, prometheus.NewRegistry(), f.h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Now = func() time.Time { return f.now }
	if f.r, err = ruler.New(o, f.store.Engine(), f.store.Queryable(), f.store.Appendable(), f.cat, nil, f.reg, f.h); err != nil {
		t.Fatal(err)
	}
	return f
}

// batch collects samples and commits them at once.
type batch struct {
	t   testing.TB
	app storage.AppenderV2
}

func (f *fixture) batch() *batch {
	return &batch{f.t, f.store.Appendable().AppenderV2(context.Background())}
}

func (b *batch) add(at time.Time, v float64, lbls ...string) {
	b.t.Helper()
	if _, err := b.app.Append(0, labels.FromStrings(lbls...), 0, at.UnixMilli(), v, nil, nil, storage.AOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *batch) commit() {
	b.t.Helper()
	if err := b.app.Commit(); err != nil {
		b.t.Fatal(err)
	}
}

// run starts the ruler and gives a function that stops it and waits.
func (f *fixture) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.r.Run(ctx) }()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if ready, _ := f.h.Ready(); ready {
			break
		}
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
	}
}

// groups are loaded but never tick before run: the tests evaluate them at
// moments of their own.
func (f *fixture) groups() map[string]*rules.Group {
	out := map[string]*rules.Group{}
	for _, g := range f.r.Manager().RuleGroups() {
		out[g.Name()] = g
	}
	return out
}

// evaluate drives every group at one moment, relations first.
func (f *fixture) evaluate(at time.Time) {
	gs := f.groups()
	gs["relations"].Eval(context.Background(), at)
	for n, g := range gs {
		if n != "relations" {
			g.Eval(context.Background(), at)
		}
	}
	for _, h := range f.r.Health() {
		if h.Failed > 0 {
			f.t.Fatalf("at %s group %s: %s", at, h.Name, h.LastError)
		}
	}
}

// hour writes an hour of a service with two instances and two versions, one of
// which restarts, a card seen by Triton and, from minute 20 with a gap, by dcgm.
func (f *fixture) hour(step time.Duration) {
	b := f.batch()
	for i := range int(time.Hour/step) + 1 {
		at := t0.Add(time.Duration(i) * step)
		s := float64(i) * step.Seconds()
		for k, inst := range []string{"prod/t-0", "prod/t-1"} {
			since := s
			if k == 1 && s >= 1800 {
				since = s - 1800 // a restart: counters begin again
			}
			tl := []string{"service", "vision", "namespace", "prod", "instance", inst, "pod", inst[5:], "node", "n1", "scrape_address", inst, "job", "triton"}
			b.add(at, 1, append(tl, "__name__", "up")...)
			for v, speed := range map[string]float64{"1": 10, "2": 3} {
				l := append(tl, "model", "resnet", "version", v, "gpu_uuid", fmt.Sprintf("GPU-%d", k))
				wave := speed * (since + 30*math.Sin(since/200))
				b.add(at, wave, append(l, "__name__", "nv_inference_request_success")...)
				b.add(at, math.Floor(wave/50), append(l, "__name__", "nv_inference_request_failure", "reason", "BACKEND")...)
				b.add(at, wave*9000+since*speed*math.Sin(since/300)*100, append(l, "__name__", "nv_inference_request_duration_us")...)
				b.add(at, wave*2000, append(l, "__name__", "nv_inference_queue_duration_us")...)
				b.add(at, wave*4, append(l, "__name__", "nv_inference_count")...)
				b.add(at, wave, append(l, "__name__", "nv_inference_exec_count")...)
				if s >= 600 && s < 3000 {
					b.add(at, 20000+since, append(l, "__name__", "nv_inference_request_summary_us", "quantile", "0.99")...)
				}
			}
			b.add(at, 0.3+0.1*float64(k), append(tl, "gpu_uuid", fmt.Sprintf("GPU-%d", k), "__name__", "nv_gpu_utilization")...)
		}
		if s >= 1200 && !(s >= 2400 && s < 2700) {
			for k := range 2 {
				b.add(at, float64(50+k), "__name__", "DCGM_FI_DEV_GPU_UTIL", "gpu", fmt.Sprint(k), "UUID", fmt.Sprintf("GPU-%d", k), "modelName", "X", "node", "n1", "job", "dcgm")
				b.add(at, 1000, "__name__", "DCGM_FI_DEV_FB_USED", "gpu", fmt.Sprint(k), "UUID", fmt.Sprintf("GPU-%d", k), "modelName", "X", "node", "n1", "job", "dcgm")
			}
		}
	}
	b.commit()
}

// The heart of the design: live rules and Range give the same numbers for the
// same hour, choice of source included.
func TestLiveRulesAndRangeAgree(t *testing.T) {
	const interval = time.Minute
	f := setup(t, ruler.Options{Interval: interval, QueryOffset: -1, Signals: signals.Options{Window: 4 * time.Minute}})
	f.hour(20 * time.Second)
	dialects := []string{"triton", "dcgm"}
	if err := f.r.SetDialects(dialects); err != nil {
		t.Fatal(err)
	}
	window := model.TimeRange{Start: t0, End: t0.Add(time.Hour)}
	for at := window.Start; !at.After(window.End); at = at.Add(interval) {
		f.evaluate(at)
	}
	defer f.run()()
	compared, switched := 0, 0
	for _, s := range f.cat.All() {
		for _, l := range s.Levels {
			name := s.At(l)
			want, err := f.cat.Range(t.Context(), f.store, signals.RangeRequest{Signal: name, Dialects: dialects, Time: window, Step: interval, Options: signals.Options{Window: 4 * time.Minute, Interval: interval}})
			if err != nil {
				t.Fatal(err)
			}
			// A selector looks back; last_over_time over less than an interval
			// reads what was recorded at each moment and nothing else.
			got, err := f.store.QueryRange(t.Context(), fmt.Sprintf(`last_over_time({__name__=%q}[59s])`, name), window, interval)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Errorf("%s: %d series recorded, %d computed", name, len(got), len(want))
				continue
			}
			byLabels := map[string][]model.Point{}
			for _, x := range got {
				delete(x.Labels, "__name__")
				byLabels[fmt.Sprint(x.Labels)] = x.Points
			}
			for _, x := range want {
				have := byLabels[fmt.Sprint(x.Labels)]
				if len(have) != len(x.Points) {
					t.Errorf("%s%v: %d points recorded, %d computed", name, x.Labels, len(have), len(x.Points))
					continue
				}
				for i, p := range x.Points {
					if have[i].T != p.T || math.Abs(have[i].V-p.V) > 1e-12*math.Abs(p.V) {
						t.Fatalf("%s%v at %d: recorded %v, computed %v", name, x.Labels, p.T, have[i], p)
					}
					compared++
					if name == "gpu:busy:ratio" && p.V >= 0.5 {
						switched++
					}
				}
			}
		}
	}
	if compared < 2500 {
		t.Errorf("only %d points compared", compared)
	}
	// dcgm is there from minute 20 to 40 and 45 to 60 and wins once it was
	// steady: from about minute 24.5, and again as soon as it is back for long.
	if switched == 0 {
		t.Error("the more trusted source never won")
	}
	t.Logf("%d points agree", compared)
}

// Data that arrives late corrects what was recorded without it.
func TestLateDataIsEvaluatedAgain(t *testing.T) {
	const interval = 5 * time.Second
	f := setup(t, ruler.Options{Interval: interval, QueryOffset: -1})
	write := func(inst string) {
		b := f.batch()
		for i := range 61 {
			b.add(t0.Add(time.Duration(i)*interval), float64(i*10), "__name__", "nv_inference_request_success", "service", "vision", "model", "m", "version", "1", "instance", inst)
		}
		b.commit()
	}
	write("a")
	if err := f.r.SetDialects([]string{"triton"}); err != nil {
		t.Fatal(err)
	}
	gs := f.groups()
	for i := range 61 {
		at := gs["requests"].EvalTimestamp(t0.Add(time.Duration(i) * interval).UnixNano())
		gs["requests"].Eval(t.Context(), at)
	}
	end := t0.Add(5 * time.Minute)
	rate := func() float64 {
		t.Helper()
		got, err := f.store.QueryInstant(t.Context(), `model:requests:rate`, end)
		if err != nil || len(got) != 1 {
			t.Fatalf("%v %v", got, err)
		}
		return got[0].Points[0].V
	}
	if v := rate(); math.Abs(v-2) > 1e-9 {
		t.Fatalf("before the late data %v, want 2", v)
	}
	write("b") // an agent that was cut off catches up
	f.now = end.Add(time.Minute)
	if err := f.r.Again(t.Context(), model.TimeRange{Start: t0, End: end}); err != nil {
		t.Fatal(err)
	}
	if v := rate(); math.Abs(v-4) > 1e-9 {
		t.Fatalf("after the late data %v, want 4", v)
	}
	got, err := f.store.QueryInstant(t.Context(), `instance:requests:rate{instance="b"}`, end)
	if err != nil || len(got) != 1 || math.Abs(got[0].Points[0].V-2) > 1e-9 {
		t.Fatalf("the late instance: %v %v", got, err)
	}
	before := counter(t, f.reg, "sightline_ruler_corrections_total")
	if before == 0 {
		t.Error("corrections are not counted")
	}
	// Evaluating the same again writes nothing.
	if err := f.r.Again(t.Context(), model.TimeRange{Start: t0, End: end}); err != nil {
		t.Fatal(err)
	}
	if after := counter(t, f.reg, "sightline_ruler_corrections_total"); after != before {
		t.Errorf("a repeated evaluation wrote %v samples", after-before)
	}
	defer f.run()()
}

func counter(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	ms, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if m.GetName() == name {
			return m.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestMarksAreBoundedAndCounted(t *testing.T) {
	f := setup(t, ruler.Options{DirtyQueue: 2})
	mark := func(from, to int) {
		f.r.MarkDirty(model.TimeRange{Start: t0.Add(time.Duration(from) * time.Minute), End: t0.Add(time.Duration(to) * time.Minute)})
	}
	mark(0, 1)
	mark(10, 11)
	mark(1, 5) // touches the first: no third window
	if v := counter(t, f.reg, "sightline_ruler_dirty_dropped_total"); v != 0 {
		t.Errorf("%v marks dropped although windows merge", v)
	}
	mark(30, 31)
	if v := counter(t, f.reg, "sightline_ruler_dirty_dropped_total"); v != 1 {
		t.Errorf("%v marks dropped, want 1", v)
	}
	if cs := f.h.Conditions(); len(cs) != 1 || cs[0].Code != "late_data_not_evaluated" {
		t.Errorf("conditions %v", cs)
	}
	if problems, err := testutil.GatherAndLint(f.reg, "sightline_ruler_dirty_marks_total", "sightline_ruler_dirty_dropped_total", "sightline_ruler_dirty_windows_total", "sightline_ruler_corrections_total", "sightline_ruler_dirty_failures_total", "sightline_ruler_dirty_pending", "sightline_ruler_alerts_unsent_total"); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	defer f.run()()
}

func TestDialectsSwitchWhileRunning(t *testing.T) {
	f := setup(t, ruler.Options{})
	// Before Run the last word counts, and nobody waits for it.
	for _, d := range []string{"vllm", "triton", ""} {
		if err := f.r.SetDialects(strings.Fields(d)); err != nil {
			t.Fatal(err)
		}
	}
	stop := f.run()
	if n := len(f.r.Health()); n != 0 {
		t.Errorf("%d groups before anything is recognised", n)
	}
	if err := f.r.SetDialects([]string{"vllm"}); err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		for _, h := range f.r.Health() {
			if h.Name == name {
				return true
			}
		}
		return false
	}
	if !has("tokens") || has("gpu") {
		t.Errorf("groups of vllm: %+v", f.r.Health())
	}
	if err := f.r.SetDialects([]string{"dcgm", "vllm", "vllm"}); err != nil {
		t.Fatal(err)
	}
	if !has("gpu") || strings.Join(f.r.Dialects(), ",") != "dcgm,vllm" {
		t.Errorf("groups of both: %+v", f.r.Health())
	}
	if err := f.r.SetDialects(nil); err != nil {
		t.Fatal(err)
	}
	if n := len(f.r.Health()); n != 0 {
		t.Errorf("%d groups after all targets went", n)
	}
	stop()
	if err := f.r.SetDialects([]string{"vllm"}); err != nil {
		t.Errorf("after the stop: %v", err)
	}
}

func TestABadRuleFileLeavesTheRestRunning(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(good, "groups:\n- name: mine\n  rules:\n  - {record: mine, expr: vector(1)}\n")
	write(bad, "groups:\n- name: worse\n  rules:\n  - {record: x, expr: 'sum('}\n")
	f := setup(t, ruler.Options{RuleFiles: []string{good, bad}})
	defer f.run()()
	if err := f.r.SetDialects([]string{"triton"}); err == nil {
		t.Error("a bad file passes in silence")
	}
	names := ""
	for _, h := range f.r.Health() {
		names += h.Name + " "
	}
	if !strings.Contains(names, "mine") || !strings.Contains(names, "requests") || strings.Contains(names, "worse") {
		t.Errorf("groups %s", names)
	}
	cs := f.h.Conditions()
	if len(cs) != 1 || cs[0].Code != "rule_file_invalid" || cs[0].Subject != bad {
		t.Errorf("conditions %v", cs)
	}
	write(bad, "groups:\n- name: better\n  rules:\n  - {record: x, expr: vector(1)}\n")
	if err := f.r.Reload(); err != nil || len(f.h.Conditions()) != 0 {
		t.Errorf("after the correction: %v %v", err, f.h.Conditions())
	}
}

// An observation and its exemplar go in as a native histogram; a rule's
// quantile comes out, and the exemplar is still there.
func TestANativeHistogramGoesThroughARule(t *testing.T) {
	f := setup(t, ruler.Options{Interval: 5 * time.Second, QueryOffset: -1})
	ls := labels.FromStrings("__name__", "vllm:time_to_first_token_seconds", "service", "chat", "model_name", "m", "instance", "c-0")
	for i := range 13 {
		at := t0.Add(time.Duration(i) * 5 * time.Second).UnixMilli()
		n := uint64(i * 10)
		h := &histogram.Histogram{Schema: 0, Count: n, Sum: 3 * float64(n), ZeroThreshold: 1e-128, PositiveSpans: []histogram.Span{{Offset: 2, Length: 1}}, PositiveBuckets: []int64{int64(n)}}
		app := f.store.Appendable().AppenderV2(t.Context())
		if _, err := app.Append(0, ls, 0, at, 0, h, nil, storage.AOptions{Exemplars: []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", fmt.Sprintf("%032x", i)), Value: 3, Ts: at, HasTs: true}}}); err != nil {
			t.Fatal(err)
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.r.SetDialects([]string{"vllm"}); err != nil {
		t.Fatal(err)
	}
	at := t0.Add(time.Minute)
	f.evaluate(at)
	got, err := f.store.QueryInstant(t.Context(), `model:ttft_seconds:p50{model="m"}`, at)
	if err != nil || len(got) != 1 || math.Abs(got[0].Points[0].V-2*math.Sqrt2) > 1e-6 {
		t.Fatalf("p50 %v %v, want 2.8284", got, err)
	}
	eq, err := f.store.Exemplars().ExemplarQuerier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ex, err := eq.Select(t0.UnixMilli(), at.UnixMilli(), []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", "vllm:time_to_first_token_seconds")})
	if err != nil || len(ex) != 1 || len(ex[0].Exemplars) != 13 || ex[0].Exemplars[12].Labels.Get("trace_id") != fmt.Sprintf("%032x", 12) {
		t.Fatalf("exemplars %v %v", ex, err)
	}
	defer f.run()()
}

// A card that two servers on its node may own is named, and the name goes when
// the matter is settled.
func TestAnAmbiguousOwnerIsACondition(t *testing.T) {
	f := setup(t, ruler.Options{QueryOffset: -1})
	f.now = t0.Add(time.Minute)
	owners := func(at time.Time, n float64) {
		b := f.batch()
		b.add(at, n, "__name__", signals.GPUOwnerCandidates, "gpu", "GPU-1", "node", "n1")
		b.commit()
	}
	owners(t0.Add(time.Minute), 2)
	ruler.WatchOnce(f.r, t.Context())
	if cs := f.h.Conditions(); len(cs) != 1 || cs[0].Code != "gpu_owner_ambiguous" || cs[0].Subject != "GPU-1" || cs[0].Hint == "" {
		t.Fatalf("conditions %v", cs)
	}
	f.now = t0.Add(2 * time.Minute)
	owners(f.now, 1)
	ruler.WatchOnce(f.r, t.Context())
	if cs := f.h.Conditions(); len(cs) != 0 {
		t.Fatalf("conditions %v", cs)
	}
	defer f.run()()
}

// A mark leads to the evaluation of its window.
func TestADirtyWindowIsDrained(t *testing.T) {
	f := setup(t, ruler.Options{QueryOffset: -1})
	if err := f.r.SetDialects([]string{"triton"}); err != nil {
		t.Fatal(err)
	}
	b := f.batch()
	for i := range 61 {
		b.add(t0.Add(time.Duration(i)*5*time.Second), float64(i*10), "__name__", "nv_inference_request_success", "service", "s", "model", "m", "version", "1", "instance", "a")
	}
	b.commit()
	f.now = t0.Add(10 * time.Minute)
	f.r.MarkDirty(model.TimeRange{Start: t0, End: t0.Add(5 * time.Minute)})
	ruler.Drain(f.r, t.Context())
	got, err := f.store.QueryInstant(t.Context(), "model:requests:rate", t0.Add(5*time.Minute))
	if err != nil || len(got) != 1 || math.Abs(got[0].Points[0].V-2) > 1e-9 {
		t.Fatalf("%v %v", got, err)
	}
	if counter(t, f.reg, "sightline_ruler_dirty_windows_total") != 1 {
		t.Error("the window is not counted")
	}
	if late := f.r.LateAfter(); late != 10*time.Second {
		t.Errorf("late after %s", late)
	}
	defer f.run()()
}

// What ingest commits late marks its window; what is on time or rolled back
// does not.
func TestWatchingMarksWhatIsLate(t *testing.T) {
	f := setup(t, ruler.Options{QueryOffset: -1})
	f.now = t0.Add(10 * time.Minute)
	app := f.r.Watching(f.store.Appendable())
	put := func(ago time.Duration, commit bool) {
		t.Helper()
		a := app.AppenderV2(t.Context())
		if _, err := a.Append(0, labels.FromStrings("__name__", "x", "ago", ago.String()), 0, f.now.Add(-ago).UnixMilli(), 1, nil, nil, storage.AOptions{}); err != nil {
			t.Fatal(err)
		}
		end := a.Commit
		if !commit {
			end = a.Rollback
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	marks := func() float64 { return counter(t, f.reg, "sightline_ruler_dirty_marks_total") }
	put(time.Second, true)
	put(9*time.Second, true)
	put(time.Minute, false)
	if marks() != 0 {
		t.Errorf("%v marks for nothing late", marks())
	}
	put(time.Minute, true)
	if marks() != 1 {
		t.Errorf("%v marks, want 1", marks())
	}
	if got, err := f.store.QueryInstant(t.Context(), `x{ago="1m0s"}`, f.now.Add(-time.Minute)); err != nil || len(got) != 1 {
		t.Errorf("the late sample is not stored: %v %v", got, err)
	}
	defer f.run()()
}
