package vision

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sightline/internal/demo/accel"
	"sightline/internal/demo/kservepb"
	"sightline/internal/model"
)

// binaryBody is an infer request with one binary input and timing asked for.
func binaryBody(n, side int) (body []byte, header map[string]string) {
	raw := rawFP32(make([]float32, n*3*side*side))
	head := fmt.Sprintf(`{"parameters":{"timing":true},"inputs":[{"name":"input","shape":[%d,3,%d,%d],"datatype":"FP32","parameters":{"binary_data_size":%d}}],"outputs":[{"name":"probabilities","parameters":{"classification":1}}]}`, n, side, side, len(raw))
	return append([]byte(head), raw...), map[string]string{headerLength: strconv.Itoa(len(head))}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not within 15 s: %s", what)
		}
		time.Sleep(ms)
	}
}

// The phases that a client is told add up to what it measures itself. A busy
// machine adds time between the measured places, so a few rounds are tried.
func TestPhasesAddUpToTheClientsOwnTime(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{{Name: "resnet_mini", Seed: 1, Versions: []VersionConfig{{Version: "1", Width: 2}}, MaxQueueDelay: 5 * ms}}})
	url := "http://" + s.HTTPAddr() + "/v2/models/resnet_mini/infer"
	body, header := binaryBody(1, 64)
	var inner, outer float64
	for range 8 {
		var in, out []float64
		for range 15 {
			begin := time.Now()
			code, _, b := call(t, "POST", url, body, header)
			e2e := float64(time.Since(begin).Microseconds())
			p := decode(t, b).Parameters
			if code != 200 {
				t.Fatalf("%d %s", code, b)
			}
			request := float64(p["request_us"])
			phases := float64(p["queue_us"] + p["compute_input_us"] + p["compute_infer_us"] + p["compute_output_us"])
			in, out = append(in, 1-phases/request), append(out, 1-(request+float64(p["receive_us"]))/e2e)
		}
		sort.Float64s(in)
		sort.Float64s(out)
		inner, outer = in[len(in)/2], out[len(out)/2]
		t.Logf("in no phase: %.2f %% of the request, %.2f %% of the client's time", 100*inner, 100*outer)
		if inner >= 0 && inner < 0.02 && outer >= 0 && outer < 0.02 {
			return
		}
	}
	t.Errorf("in no phase: %.2f %% of the request, %.2f %% of the client's time; want at most 2 %%", 100*inner, 100*outer)
}

// The counters are the sums of what the clients were told, to the microsecond.
func TestCountersAreTheSumsOfTheAnswers(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{small()}, SummaryLatencies: true})
	url := "http://" + s.HTTPAddr() + "/v2/models/resnet_mini/versions/1/infer"
	var mu sync.Mutex
	sum := map[string]int64{}
	var executions float64
	var wg sync.WaitGroup
	for c := range 6 {
		wg.Go(func() {
			for range 20 {
				n := 1 + c%3
				body, header := binaryBody(n, 16)
				_, _, b := call(t, "POST", url, body, header)
				p := decode(t, b).Parameters
				mu.Lock()
				for k, v := range p {
					sum[k] += v
				}
				sum["items"] += int64(n)
				executions += float64(n) / float64(p["batch_size"])
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	_, _, page := call(t, "GET", "http://"+s.MetricsAddr()+"/metrics", nil, nil)
	get := func(name string) int64 {
		m := regexp.MustCompile(`(?m)^` + name + `\{gpu_uuid="[^"]+",model="resnet_mini",version="1"\} (\d+)$`).FindSubmatch(page)
		if m == nil {
			t.Fatalf("no series of %s in\n%s", name, page)
		}
		v, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return v
	}
	for _, p := range phaseNames {
		if got, want := get("nv_inference_"+p+"_duration_us"), sum[p+"_us"]; got != want {
			t.Errorf("%s: counter %d, clients %d", p, got, want)
		}
	}
	if get("nv_inference_request_success") != 120 || get("nv_inference_count") != sum["items"] {
		t.Errorf("success %d, count %d; want 120, %d", get("nv_inference_request_success"), get("nv_inference_count"), sum["items"])
	}
	near(t, "exec_count", float64(get("nv_inference_exec_count")), executions, 0.001)
}

func TestClientsThatLeaveAreCountedAsCanceled(t *testing.T) {
	m := small()
	m.MaxQueueDelay = time.Hour
	m.PreferredBatchSizes = nil
	m.QueueTimeout = 0
	s := serve(t, Config{Models: []ModelConfig{m}})
	v, _ := s.repo.find("resnet_mini", "1")
	body, header := binaryBody(1, 16)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+s.HTTPAddr()+"/v2/models/resnet_mini/versions/1/infer", strings.NewReader(string(body)))
		for k, val := range header {
			req.Header.Set(k, val)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			t.Error("a cancelled request was answered")
		}
	})
	c := dial(t, s)
	ask := func(ctx context.Context) error {
		_, err := c.ModelInfer(ctx, &kservepb.ModelInferRequest{ModelName: "resnet_mini", ModelVersion: "1", RawInputContents: [][]byte{make([]byte, 4*192)},
			Inputs: []*kservepb.ModelInferRequest_InferInputTensor{{Name: "input", Datatype: "FP32", Shape: []int64{1, 3, 8, 8}}}})
		return err
	}
	eventually(t, "the request is queued", func() bool { return v.batcher.pending() == 1 })
	cancel()
	wg.Wait()
	eventually(t, "the HTTP client is counted", func() bool { return v.reading().failures[reasonCanceled] == 1 })
	ctx, cancel = context.WithTimeout(t.Context(), 30*ms)
	defer cancel()
	if err := ask(ctx); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a deadline gives %v", err)
	}
	eventually(t, "the gRPC client is counted", func() bool { return v.reading().failures[reasonCanceled] == 2 && v.batcher.pending() == 0 })
}

func TestOutOfMemoryWithRealArithmetic(t *testing.T) {
	m := small()
	m.RecoveryPasses = 200
	m.QueueTimeout = 40 * ms
	dev := accel.New(accel.Config{MemoryBytes: 96 * accel.MiB, ReservedBytes: 1})
	s := serve(t, Config{Models: []ModelConfig{m}, Device: dev})
	url := "http://" + s.HTTPAddr() + "/v2/models/resnet_mini/versions/2/infer"
	body, header := binaryBody(8, 256)
	code, _, b := call(t, "POST", url, body, header)
	if a := decode(t, b); code != 500 || !regexp.MustCompile(`^PyTorch execute failure: CUDA out of memory\. Tried to allocate [0-9.]+ MiB\. GPU 0 has a total capacity of 96\.00 MiB of which [0-9.]+ MiB is free\.$`).MatchString(a.Error) {
		t.Fatalf("%d %s", code, b)
	}
	_, err := dial(t, s).ModelInfer(t.Context(), &kservepb.ModelInferRequest{ModelName: "resnet_mini", RawInputContents: [][]byte{make([]byte, 4*8*3*256*256)},
		Inputs: []*kservepb.ModelInferRequest_InferInputTensor{{Name: "input", Datatype: "FP32", Shape: []int64{8, 3, 256, 256}}}})
	if c := status.Code(err); c != codes.Unavailable && c != codes.Internal { // still loading, or out of memory again
		t.Errorf("gRPC: %v", err)
	}
	small, header := binaryBody(1, 16)
	eventually(t, "requests are answered again", func() bool {
		code, _, b := call(t, "POST", url, small, header)
		if code == 503 && !strings.Contains(string(b), "Request timeout expired") {
			t.Errorf("while loading: %s", b)
		}
		return code == 200
	})
	v, _ := s.repo.find("resnet_mini", "2")
	if n := v.reading().failures[reasonBackend]; n < 1 {
		t.Errorf("%d backend failures", n)
	}
}

// Every error that we give has the status and the words of a recorded one.
func TestErrorsMatchTheRecordedOnes(t *testing.T) {
	b, err := os.ReadFile("testdata/triton.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	normal := func(s string) string {
		s = regexp.MustCompile(` Images have sides.*$`).ReplaceAllString(s, "")
		s = regexp.MustCompile(`inputs? but got`).ReplaceAllString(s, "inputs but got")
		s = regexp.MustCompile(`'[^']*'(,'[^']*')*`).ReplaceAllString(s, "'X'")
		s = strings.ReplaceAll(s, "input(s) []", "input(s) ['X']")
		s = regexp.MustCompile(`\[-?\d[^\]]*\]`).ReplaceAllString(s, "[S]")
		s = regexp.MustCompile(`Tried to allocate .*$`).ReplaceAllString(s, "Tried to allocate")
		return regexp.MustCompile(`\d+`).ReplaceAllString(s, "N")
	}
	recorded := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		var r struct {
			Protocol, Body string
			Status         int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		text := r.Body
		var e struct{ Error string }
		if json.Unmarshal([]byte(r.Body), &e) == nil {
			text = e.Error
		}
		recorded[fmt.Sprint(r.Protocol, " ", r.Status, " ", normal(text))] = true
	}
	r := newRepository(nil, Config{Models: []ModelConfig{fakeModel()}})
	r.models["m"].slots[0].state = stateReady
	r.models["m"].slots[0].loaded = &version{model: &ModelConfig{Name: "m", MaxBatchSize: 8, MaxSide: 64}}
	v := r.models["m"].slots[0].loaded
	var all []*failure
	find := func(name, ver string) {
		_, f := r.find(name, ver)
		all = append(all, f)
	}
	accept := func(in ...tensorIn) {
		_, f := v.accept(&inferRequest{inputs: in})
		all = append(all, f)
	}
	find("foo", "")
	find("m", "99")
	find("m", "2") // not loaded
	accept()
	accept(tensorIn{name: inputName, datatype: datatypeF, shape: []int64{1, 17}})
	accept(tensorIn{name: inputName, datatype: datatypeF, shape: []int64{9, 3, 8, 8}})
	accept(tensorIn{name: inputName, datatype: "INT32"})
	accept(tensorIn{name: "INPUT9"})
	closed := newBatcher(policy{maxQueue: 1}, nil, nil)
	if f := closed.enqueue(&job{}); f != nil {
		t.Fatal(f)
	}
	all = append(all, closed.enqueue(&job{}))
	closed.close()
	all = append(all, closed.enqueue(&job{}), r.load("nope"))
	_, oom := accel.New(accel.Config{}).Alloc(1 << 40)
	all = append(all, &failure{code: codes.Internal, text: "PyTorch execute failure: " + oom.Error()})
	for _, f := range all {
		if key := fmt.Sprint("http ", f.httpStatus(), " ", normal(f.text)); !recorded[key] {
			t.Errorf("no recorded error is like %q", key)
		}
	}
	for _, i := range []int{0, 2, 4, len(all) - 1, 8} {
		if key := fmt.Sprint("grpc ", int(status.Code(all[i].grpcError())), " ", normal(all[i].text)); !recorded[key] {
			t.Errorf("no recorded error is like %q", key)
		}
	}
}

func TestStopAnswersWhatIsQueued(t *testing.T) {
	m := small()
	m.MaxQueueDelay = time.Hour // only draining ends the wait
	m.PreferredBatchSizes = nil
	m.QueueTimeout = 0
	s, err := New(Config{Models: []ModelConfig{m}, Device: accel.New(accel.Config{}), DrainTimeout: 300 * ms})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	eventually(t, "ready", s.Ready)
	var wg sync.WaitGroup
	wg.Go(func() {
		body, header := binaryBody(1, 16)
		req, _ := http.NewRequest("POST", "http://"+s.HTTPAddr()+"/v2/models/resnet_mini/infer", strings.NewReader(string(body)))
		for k, val := range header {
			req.Header.Set(k, val)
		}
		if res, err := http.DefaultClient.Do(req); err == nil { // the grace ends before the window: an error or a 503, but an end
			res.Body.Close()
		}
	})
	eventually(t, "queued", func() bool { v, f := s.repo.find("resnet_mini", ""); return f == nil && v.batcher.pending() == 1 })
	begin := time.Now()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	wg.Wait()
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("the stop took %v", d)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("a stopped engine runs again")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestControlsChangeARunningEngine(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{small()}})
	for what, err := range map[string]error{
		"window": s.SetBatchWindow("resnet_mini", "", 42*ms), "cost": s.SetVersionCost("resnet_mini", "2", 1.5), "instances": s.SetInstances("", "1", 3)} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	one, _ := s.repo.find("resnet_mini", "1")
	two, _ := s.repo.find("resnet_mini", "2")
	if one.batcher.policy().window != 42*ms || one.instanceCount() != 3 || two.instanceCount() != 1 || two.cost.Load() != 1500 || one.cost.Load() != 1000 {
		t.Error("a control missed its version")
	}
	for what, err := range map[string]error{
		"unknown model": s.SetBatchWindow("nope", "", 0), "cost 0": s.SetVersionCost("", "", 0), "minus one": s.SetInstances("", "", -1)} {
		if err == nil {
			t.Errorf("%s passes", what)
		}
	}
}

func TestATakenPortIsSaidOrReplaced(t *testing.T) {
	dev := accel.New(accel.Config{})
	s := serve(t, Config{Models: []ModelConfig{small()}, Device: dev})
	taken := Config{Device: accel.New(accel.Config{}), ListenHTTP: s.HTTPAddr()}
	if _, err := New(taken); model.CodeOf(err) != "port_in_use" || !strings.Contains(err.Error(), s.HTTPAddr()) {
		t.Errorf("a taken port gives %v", err)
	}
	taken.AnyPortIfTaken = true
	other, err := New(taken)
	if err != nil {
		t.Fatal(err)
	}
	defer other.closeListeners()
	if other.HTTPAddr() == s.HTTPAddr() || other.HTTPAddr() == "" {
		t.Errorf("the replacement is %q", other.HTTPAddr())
	}
}

// The default model is a few milliseconds of work, and both versions differ.
func TestDefaultModelsLoadAndDiffer(t *testing.T) {
	s := serve(t, Config{})
	body, header := binaryBody(1, 64)
	infer := map[string]int64{}
	for _, v := range []string{"1", "2"} {
		code, _, b := call(t, "POST", "http://"+s.HTTPAddr()+"/v2/models/resnet_mini/versions/"+v+"/infer", body, header)
		if code != 200 {
			t.Fatalf("version %s: %d %s", v, code, b)
		}
		infer[v] = decode(t, b).Parameters["compute_infer_us"]
	}
	if infer["1"] < 1000 || infer["2"] < 1000 {
		t.Errorf("execution takes %v µs; that is not the work of a network of this size", infer)
	}
	one, _ := s.repo.find("resnet_mini", "1")
	two, _ := s.repo.find("resnet_mini", "2")
	if a, b := (*one.net.Load()).weightBytes(), (*two.net.Load()).weightBytes(); b <= a {
		t.Errorf("version 2 has %d bytes of weights, version 1 %d", b, a)
	}
	// On a card of 512 MiB one image of 1024 by 1024 does not fit, and the stop
	// of the engine does not wait for the models to be tuned again.
	body, header = binaryBody(1, 1024)
	code, _, b := call(t, "POST", "http://"+s.HTTPAddr()+"/v2/models/resnet_mini/versions/1/infer", body, header)
	if code != 500 || !strings.Contains(decode(t, b).Error, "CUDA out of memory. Tried to allocate") {
		t.Errorf("a megapixel: %d %s", code, b)
	}
}
