package vision

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"sightline/internal/demo/accel"
)

// clockwork is a classifier whose work is a sleep, for tests in fake time.
type clockwork struct {
	net           *network
	fixed, perImg time.Duration
}

func (c clockwork) infer(images []float32, batch, h, w int, cost float64) []float32 {
	time.Sleep(time.Duration(float64(c.fixed+time.Duration(batch)*c.perImg) * cost))
	out := make([]float32, batch*c.net.classes)
	for i := range batch {
		out[i*c.net.classes+int(images[i*channelsIn*h*w])%c.net.classes] = 5 // the first pixel names the class
	}
	return out
}
func (c clockwork) weightBytes() int64 { return 10 * accel.MiB }
func (c clockwork) activationBytes(batch, h, w int) int64 {
	return int64(batch) * int64(h) * int64(w) * 100
}

// fakeRepo is a loaded repository in fake time: 2 ms for a batch and 8 ms for
// each image in it.
func fakeRepo(t *testing.T, m ModelConfig, dev accel.Config) *repository {
	t.Helper()
	dev.Stretch = time.Sleep
	cfg, err := Config{Device: accel.New(dev), Models: []ModelConfig{m}, ContextBytes: 64 * accel.MiB, SummaryLatencies: true, HistogramLatencies: true}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	dctx, err := openContext(cfg.Device, cfg.ContextBytes)
	if err != nil {
		t.Fatal(err)
	}
	r := newRepository(dctx, cfg)
	r.build = func(m ModelConfig, _ VersionConfig) classifier {
		return clockwork{&network{classes: m.Classes}, 2 * ms, 8 * ms}
	}
	if f := r.load(m.Name); f != nil {
		t.Fatal(f)
	}
	return r
}

func fakeModel() ModelConfig {
	return ModelConfig{Name: "m", Versions: []VersionConfig{{Version: "1"}, {Version: "2"}}, Height: 8, Width: 8, Classes: 10, RecoveryPasses: 100,
		MaxBatchSize: 4, MaxQueueDelay: 5 * ms, QueueTimeout: 500 * ms, MaxQueueSize: 1000}
}

func image(class, n, side int) *inferRequest {
	x := make([]float32, n*channelsIn*side*side)
	for i := range n {
		x[i*channelsIn*side*side] = float32(class + i)
	}
	return &inferRequest{timing: true, inputs: []tensorIn{{name: inputName, datatype: datatypeF, shape: []int64{int64(n), channelsIn, int64(side), int64(side)}, data: payload{floats: x}}}}
}

func TestCountersAreThoseOfAHandCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRepo(t, fakeModel(), accel.Config{})
		defer r.stopAll()
		var wg sync.WaitGroup
		ask := func(req *inferRequest) {
			wg.Go(func() {
				if _, f := r.infer(t.Context(), "m", "1", req); f != nil {
					t.Error(f)
				}
			})
		}
		// Batch A: one request of one image; waits 5 ms, executes 2+8 = 10 ms.
		ask(image(1, 1, 8))
		wg.Wait()
		// Batch B: 1 + 2 images within the window (2 ms apart): handed over 5 ms
		// after the first, executes 2+24 = 26 ms.
		ask(image(1, 1, 8))
		time.Sleep(2 * ms)
		ask(image(2, 2, 8))
		wg.Wait()
		v, f := r.find("m", "1")
		if f != nil {
			t.Fatal(f)
		}
		s := v.reading()
		if s.success != 3 || s.items != 4 || s.executions != 2 {
			t.Errorf("success %d, count %d, exec_count %d; want 3, 4, 2", s.success, s.items, s.executions)
		}
		// Queue: 5 + 5 + 3. Infer: each request gets the whole batch's time: 10 + 26 + 26.
		// Request: 15 + 31 + 29. Input and output take no fake time.
		if want := [5]uint64{75000, 13000, 0, 62000, 0}; s.us != want {
			t.Errorf("microseconds %v, want %v", s.us, want)
		}
		if s.formation.count != 2 || s.formation.sum != 0.01 {
			t.Errorf("formation: %d batches, %g s; want 2 and 0.01", s.formation.count, s.formation.sum)
		}
		if q := s.quantiles[0]; q[0] != 29000 || q[4] != 31000 {
			t.Errorf("quantiles of the request time %v, want 29000 … 31000", q)
		}
		st, f := r.statistics("m", "1")
		if f != nil || len(st) != 1 {
			t.Fatal(st, f)
		}
		b, _ := json.Marshal(st[0])
		for _, want := range []string{`"inference_count":4,"execution_count":2`, `"success":{"count":3,"ns":75000000}`, `"queue":{"count":3,"ns":13000000}`,
			`"compute_infer":{"count":3,"ns":62000000}`, `"batch_stats":[{"batch_size":1,"compute_input":{"count":1,"ns":0},"compute_infer":{"count":1,"ns":10000000}`,
			`{"batch_size":3,"compute_input":{"count":1,"ns":0},"compute_infer":{"count":1,"ns":26000000}`} {
			if !strings.Contains(string(b), want) {
				t.Errorf("statistics lack %s:\n%s", want, b)
			}
		}
		time.Sleep(61 * time.Second)
		if q := v.reading().quantiles[0]; q[0] == q[0] {
			t.Errorf("a minute later the quantile is still %g", q[0])
		}
	})
}

func TestFailuresAreCountedOnceWithTheirReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fakeModel()
		m.MaxQueueSize, m.QueueTimeout, m.MaxBatchSize, m.MaxQueueDelay = 2, 20*ms, 1, 0
		m.Instances = 1
		r := fakeRepo(t, m, accel.Config{})
		defer r.stopAll()
		v, _ := r.find("m", "1")
		v.setCost(10) // 100 ms a batch
		var wg sync.WaitGroup
		results := make([]*failure, 4)
		ctx, cancel := context.WithCancel(t.Context())
		for i, c := range []context.Context{t.Context(), t.Context(), ctx, t.Context()} {
			wg.Go(func() { _, results[i] = r.infer(c, "m", "1", image(1, 1, 8)) })
			synctest.Wait()
		}
		if n := v.batcher.pending(); n != 2 {
			t.Errorf("pending %d, want 2", n)
		}
		cancel() // the third
		wg.Wait()
		if results[0] != nil || results[1] == nil || results[1].text != "Request timeout expired" || results[2] == nil || results[2].code != codes.Canceled ||
			results[3] == nil || !strings.Contains(results[3].text, "Exceeds maximum queue size") {
			t.Errorf("results %v", results)
		}
		s := v.reading()
		if s.success != 1 || s.failures[reasonRejected] != 1 || s.failures[reasonCanceled] != 1 || len(s.failures) != 2 || s.pending != 0 {
			t.Errorf("success %d, failures %v, pending %d; a full queue is not a failure", s.success, s.failures, s.pending)
		}
	})
}

// load sends n requests, one every gap, and returns the mean phases.
func load(t *testing.T, r *repository, ver string, n int, gap time.Duration) (mean phases, batch float64) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sum phases
	for range n {
		wg.Go(func() {
			res, f := r.infer(t.Context(), "m", ver, image(1, 1, 8))
			if f != nil {
				t.Error(f)
				return
			}
			us := func(k string) time.Duration { return time.Duration(res.timing[k]) * time.Microsecond }
			mu.Lock()
			defer mu.Unlock()
			sum.request += us("request_us")
			sum.queue += us("queue_us")
			sum.input += us("compute_input_us")
			sum.infer += us("compute_infer_us")
			sum.output += us("compute_output_us")
			batch += float64(res.timing["batch_size"])
		})
		time.Sleep(gap)
	}
	wg.Wait()
	d := time.Duration(n)
	return phases{sum.request / d, sum.queue / d, sum.input / d, sum.infer / d, sum.output / d}, batch / float64(n)
}

func TestHalvingTheInstancesMovesQueueOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fakeModel()
		m.MaxBatchSize, m.MaxQueueDelay, m.Instances, m.QueueTimeout = 1, 0, 2, time.Hour
		r := fakeRepo(t, m, accel.Config{Streams: 2})
		defer r.stopAll()
		before, _ := load(t, r, "1", 200, 6*ms)
		v, _ := r.find("m", "1")
		v.setInstances(1)
		after, _ := load(t, r, "1", 200, 6*ms)
		if after.infer != before.infer || after.input != before.input || after.output != before.output {
			t.Errorf("compute moved: %+v, then %+v", before, after)
		}
		if before.queue > ms || after.queue < 100*ms {
			t.Errorf("queue time %v with two instances and %v with one", before.queue, after.queue)
		}
		if d := after.request - after.queue - after.infer; d != 0 {
			t.Errorf("%v of the request time is in no phase", d)
		}
		v.setInstances(2)
		if again, _ := load(t, r, "1", 200, 6*ms); again.queue > ms {
			t.Errorf("queue time %v with two instances again", again.queue)
		}
	})
}

func TestASlowerVersionMovesComputeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fakeModel()
		m.Versions[1].Cost = 1.5
		m.Instances = 1
		r := fakeRepo(t, m, accel.Config{})
		defer r.stopAll()
		one, _ := load(t, r, "1", 100, 40*ms)
		two, _ := load(t, r, "2", 100, 40*ms)
		if two.infer != one.infer*3/2 || two.queue != one.queue || two.input != one.input || two.output != one.output {
			t.Errorf("version 1 %+v, version 2 %+v: want only infer to move, by half", one, two)
		}
		if one.infer != 10*ms || one.queue != 5*ms {
			t.Errorf("version 1 computes %v and queues %v, want 10 ms and 5 ms", one.infer, one.queue)
		}
	})
}

func TestSlowCardMovesCompute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRepo(t, fakeModel(), accel.Config{})
		defer r.stopAll()
		r.ctx.dev.SetPowerLimit(40)
		ratio := r.ctx.dev.ClockRatio()
		slow, _ := load(t, r, "1", 10, 100*ms)
		near(t, "infer time on a slow card in ms", slow.infer.Seconds()*1000, 10/ratio, 0.01)
	})
}

func TestOutOfMemoryDropsTheContextAndLoadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 64 MiB of context, 2 × 10 MiB of weights, 256 MiB in all.
		r := fakeRepo(t, fakeModel(), accel.Config{MemoryBytes: 256 * accel.MiB, ReservedBytes: 16 * accel.MiB})
		defer r.stopAll()
		dev := r.ctx.dev
		dev.Start(t.Context())
		defer dev.Close()
		if _, f := r.infer(t.Context(), "m", "1", image(1, 1, 1024)); f != nil { // 100 MiB: fits, and stays with the process
			t.Fatal(f)
		}
		_, high, _ := dev.Memory()
		if high < 180*accel.MiB {
			t.Fatalf("%d MiB used after a large batch", high/accel.MiB)
		}
		_, f := r.infer(t.Context(), "m", "1", image(1, 2, 1024)) // 200 MiB
		if f == nil || f.httpStatus() != 500 || f.code != codes.Internal {
			t.Fatalf("a batch that does not fit: %+v", f)
		}
		want := "PyTorch execute failure: CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total capacity of 256.00 MiB of which 56.00 MiB is free."
		if f.text != want {
			t.Errorf("text %q, want %q", f.text, want)
		}
		synctest.Wait()
		if !r.ctx.lost() {
			t.Fatal("the context was not lost")
		}
		begin := time.Now()
		// Loading again tunes both versions with 100 passes of 10 ms. Requests
		// queue and time out after 500 ms, the card is idle, the memory stays.
		_, f = r.infer(t.Context(), "m", "2", image(1, 1, 8))
		if f == nil || f.text != "Request timeout expired" || time.Since(begin) != 500*ms {
			t.Errorf("a request while loading: %v after %v", f, time.Since(begin))
		}
		time.Sleep(1490 * ms)
		if s := dev.Snapshot(); s.Busy != 0 || s.MemoryUsed < high-20*accel.MiB {
			t.Errorf("while loading the card is busy %g and holds %d MiB of %d", s.Busy, s.MemoryUsed/accel.MiB, high/accel.MiB)
		}
		time.Sleep(100 * ms)
		if r.ctx.lost() {
			t.Error("the context is still lost after two loads of one second")
		}
		if _, f := r.infer(t.Context(), "m", "1", image(1, 1, 8)); f != nil {
			t.Errorf("after the recovery: %v", f)
		}
		v, _ := r.find("m", "1")
		s := v.reading()
		if s.failures[reasonBackend] != 1 || s.success != 2 || s.loadSecs != 1 {
			t.Errorf("failures %v, success %d, load %g s", s.failures, s.success, s.loadSecs)
		}
		if _, used, _ := dev.Memory(); used != high {
			t.Errorf("%d MiB used after the recovery, %d before", used/accel.MiB, high/accel.MiB)
		}
	})
}

func TestStopGivesAllMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRepo(t, fakeModel(), accel.Config{})
		if _, f := r.infer(t.Context(), "m", "", image(1, 1, 64)); f != nil {
			t.Fatal(f)
		}
		r.stopAll()
		if _, used, _ := r.ctx.dev.Memory(); used != 0 {
			t.Errorf("%d bytes are still allocated", used)
		}
	})
}

func TestReloadStartsAtZeroAndKeepsServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRepo(t, fakeModel(), accel.Config{})
		defer r.stopAll()
		load(t, r, "1", 10, 20*ms)
		old, _ := r.find("m", "1")
		var wg sync.WaitGroup
		wg.Go(func() { load(t, r, "1", 20, 5*ms) }) // across the reload
		time.Sleep(20 * ms)
		if f := r.load("m"); f != nil {
			t.Fatal(f)
		}
		wg.Wait()
		fresh, _ := r.find("m", "1")
		a, b := old.reading().success, fresh.reading().success
		if fresh == old || a+b != 30 || b == 0 || b >= 20 {
			t.Errorf("old version %d successes, new %d; want 30 together and the new one to begin at zero", a, b)
		}
	})
}

func TestUnloadAndTheStatesOfARepository(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRepo(t, fakeModel(), accel.Config{})
		defer r.stopAll()
		text := func(name, ver string) string {
			_, f := r.find(name, ver)
			if f == nil {
				return "ready"
			}
			return fmt.Sprintf("%d %s", f.httpStatus(), f.text)
		}
		check := func(name, ver, want string) {
			t.Helper()
			if got := text(name, ver); got != want {
				t.Errorf("model %q version %q: %q, want %q", name, ver, got, want)
			}
		}
		check("m", "", "ready")
		check("m", "2", "ready")
		check("foo", "", "404 Request for unknown model: 'foo' is not found")
		check("m", "99", "404 Request for unknown model: 'm' version 99 is not found")
		if v, _ := r.find("m", ""); v.name != "2" {
			t.Errorf("the newest version is %s", v.name)
		}
		if _, f := r.find("m", "x"); f == nil || f.httpStatus() != 400 {
			t.Errorf("version x: %v", f)
		}
		if f := r.unload("m"); f != nil {
			t.Fatal(f)
		}
		check("m", "", "404 Request for unknown model: 'm' has no available versions")
		check("m", "1", "503 Request for unknown model: 'm' version 1 is not at ready state")
		if len(r.all()) != 0 {
			t.Error("an unloaded version has series")
		}
		if i := r.index(false); len(i) != 2 || i[0] != (indexEntry{"m", "1", "UNAVAILABLE", "unloaded"}) {
			t.Errorf("index %+v", i)
		}
		if f := r.load("model_0"); f == nil || f.text != "failed to load 'model_0', failed to poll from model repository" || f.httpStatus() != 400 {
			t.Errorf("unknown model loads: %v", f)
		}
		if f := r.load("m"); f != nil {
			t.Fatal(f)
		}
		check("m", "1", "ready")
	})
}

func TestLoadThatDoesNotFitSaysSo(t *testing.T) {
	cfg, err := Config{Device: accel.New(accel.Config{MemoryBytes: 70 * accel.MiB, ReservedBytes: 1}), ContextBytes: 64 * accel.MiB, Models: []ModelConfig{fakeModel()}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	dctx, err := openContext(cfg.Device, cfg.ContextBytes)
	if err != nil {
		t.Fatal(err)
	}
	r := newRepository(dctx, cfg)
	r.build = func(ModelConfig, VersionConfig) classifier { return clockwork{&network{classes: 10}, 0, 0} }
	f := r.load("m")
	if f == nil || !strings.HasPrefix(f.text, "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: CUDA out of memory.") {
		t.Errorf("%v", f)
	}
	if r.ready() || r.index(false)[0].State != stateUnavailable || !strings.Contains(r.index(false)[0].Reason, "out of memory") {
		t.Errorf("index %+v", r.index(false))
	}
	r.stopAll()
}

func TestConfigIsChecked(t *testing.T) {
	dev := accel.New(accel.Config{})
	for name, c := range map[string]Config{
		"no device":   {},
		"bad version": {Device: dev, Models: []ModelConfig{{Name: "m", Versions: []VersionConfig{{Version: "one"}}}}},
		"no name":     {Device: dev, Models: []ModelConfig{{}}},
		"tiny image":  {Device: dev, Models: []ModelConfig{{Name: "m", Height: 4}}},
		"bad address": {Device: dev, ListenGRPC: "127.0.0.1:99999"},
	} {
		if s, err := New(c); err == nil {
			t.Errorf("%s: passes", name)
			s.closeListeners()
		}
	}
	if _, used, _ := dev.Memory(); used != 0 {
		t.Errorf("a failed New keeps %d bytes of the card", used)
	}
}
