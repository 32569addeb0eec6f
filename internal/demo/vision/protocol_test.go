package vision

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"sightline/internal/demo/accel"
	"sightline/internal/demo/kservepb"
)

// small is a real engine with little arithmetic.
func small() ModelConfig {
	return ModelConfig{Name: "resnet_mini", Versions: []VersionConfig{{Version: "1", Width: 0.25}, {Version: "2", Width: 0.5}}, Height: 16, Width: 16, Classes: 10,
		Hidden: 32, Seed: 3, MaxBatchSize: 8, PreferredBatchSizes: []int{4, 8}, MaxQueueDelay: ms, MaxQueueSize: 32, QueueTimeout: 2 * time.Second, AllowTimeoutOverride: true}
}

// serve runs an engine on real sockets until the test ends.
func serve(t *testing.T, cfg Config) *Server {
	t.Helper()
	if cfg.Device == nil {
		cfg.Device = accel.New(accel.Config{Node: "demo-node-1", MemoryBytes: 512 * accel.MiB})
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, used, _ := cfg.Device.Memory(); used != 0 {
			t.Errorf("the stopped engine holds %d bytes of the card", used)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	for end := time.Now().Add(20 * time.Second); !s.Ready(); {
		if time.Now().After(end) {
			t.Fatal("the engine is not ready after 20 s")
		}
		time.Sleep(ms)
	}
	return s
}

func call(t *testing.T, method, url string, body []byte, header map[string]string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, b
}

func jsonBody(t *testing.T, n, side int, extra string) (string, []float32) {
	x := testImage(4, n*3*side*side)
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{%s"inputs":[{"name":"input","shape":[%d,3,%d,%d],"datatype":"FP32","data":%s}]}`, extra, n, side, side, data), x
}

type answer struct {
	Model      string           `json:"model_name"`
	Version    string           `json:"model_version"`
	ID         string           `json:"id"`
	Parameters map[string]int64 `json:"parameters"`
	Outputs    []struct {
		Name       string         `json:"name"`
		Datatype   string         `json:"datatype"`
		Shape      []int64        `json:"shape"`
		Parameters map[string]int `json:"parameters"`
		Data       []any          `json:"data"`
	} `json:"outputs"`
	Error string `json:"error"`
}

func decode(t *testing.T, b []byte) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return a
}

func TestHTTPDescribesServerAndModel(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{small()}})
	base := "http://" + s.HTTPAddr()
	for path, want := range map[string]string{
		"/v2/health/live":                         "",
		"/v2/health/ready":                        "",
		"/v2/models/resnet_mini/ready":            "",
		"/v2/models/resnet_mini/versions/2/ready": "",
		"/v2":                           `"extensions":["classification"`,
		"/v2/models/resnet_mini":        `"versions":["1","2"],"platform":"sightline_conv","inputs":[{"name":"input","datatype":"FP32","shape":[-1,3,-1,-1]}]`,
		"/v2/models/resnet_mini/config": `"dynamic_batching":{"preferred_batch_size":[4,8],"max_queue_delay_microseconds":1000,"preserve_ordering":false,"default_queue_policy":{"timeout_action":"REJECT","default_timeout_microseconds":2000000,"allow_timeout_override":true,"max_queue_size":32}}`,
		"/v2/models/resnet_mini/versions/1/config": `"instance_group":[{"name":"resnet_mini_0","kind":"KIND_GPU","count":1,"gpus":[0]}]`,
		"/v2/models/stats":                         `{"model_stats":[{"name":"resnet_mini","version":"1",`,
		"/v2/models/resnet_mini/versions/2/stats":  `{"model_stats":[{"name":"resnet_mini","version":"2",`,
	} {
		code, _, b := call(t, "GET", base+path, nil, nil)
		if code != 200 || !strings.Contains(string(b), want) {
			t.Errorf("%s: %d %s, want %s", path, code, b, want)
		}
	}
	if code, _, _ := call(t, "GET", base+"/v2/models/foo/ready", nil, nil); code != 400 {
		t.Errorf("an unknown model is ready with %d", code)
	}
	code, _, b := call(t, "POST", base+"/v2/repository/index", []byte(`{"ready":true}`), nil)
	if code != 200 || string(b) != `[{"name":"resnet_mini","version":"1","state":"READY"},{"name":"resnet_mini","version":"2","state":"READY"}]` {
		t.Errorf("index: %d %s", code, b)
	}
}

func TestHTTPInferInJSONAndBinaryGivesTheSameNumbers(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{small()}})
	url := "http://" + s.HTTPAddr() + "/v2/models/resnet_mini/versions/1/infer"
	body, x := jsonBody(t, 2, 16, `"id":"a \"1\"","parameters":{"timing":true},`)
	code, head, b := call(t, "POST", url, []byte(body), nil)
	a := decode(t, b)
	if code != 200 || a.ID != `a "1"` || a.Version != "1" || len(a.Outputs) != 2 || head.Get("Content-Type") != "application/json" || head.Get(headerLength) != "" {
		t.Fatalf("%d %v %s", code, head, b)
	}
	want := softmax(newNetwork(3001, 0.25, 32, 10).infer(x, 2, 16, 16, 1), 10)
	for i, v := range a.Outputs[0].Data {
		near(t, "probability", v.(float64), float64(want[i]), 1e-6)
	}
	for _, k := range []string{"queue_us", "compute_input_us", "compute_infer_us", "compute_output_us", "request_us", "batch_size", "instance", "receive_us"} {
		if _, ok := a.Parameters[k]; !ok {
			t.Errorf("the answer lacks the parameter %s", k)
		}
	}
	if a.Parameters["batch_size"] < 2 || a.Parameters["compute_infer_us"] == 0 {
		t.Errorf("parameters %v", a.Parameters)
	}

	// The same, binary both ways, one output only.
	raw := rawFP32(x)
	header := fmt.Sprintf(`{"inputs":[{"name":"input","shape":[2,3,16,16],"datatype":"FP32","parameters":{"binary_data_size":%d}}],"outputs":[{"name":"probabilities","parameters":{"binary_data":true}}]}`, len(raw))
	code, head, b = call(t, "POST", url, append([]byte(header), raw...), map[string]string{headerLength: strconv.Itoa(len(header))})
	n, err := strconv.Atoi(head.Get(headerLength))
	if code != 200 || err != nil || n >= len(b) || head.Get("Content-Type") != "application/octet-stream" {
		t.Fatalf("binary: %d %v %q", code, head, b)
	}
	if a := decode(t, b[:n]); len(a.Outputs) != 1 || a.Outputs[0].Parameters["binary_data_size"] != 2*10*4 || a.Parameters != nil {
		t.Errorf("binary answer %+v", a)
	}
	if !bytes.Equal(b[n:], rawFP32(want)) {
		t.Error("the binary answer has other numbers")
	}

	// Classification, and another size of image.
	body, _ = jsonBody(t, 1, 24, `"outputs":[{"name":"logits","parameters":{"classification":3}}],`)
	code, _, b = call(t, "POST", url, []byte(body), nil)
	if a := decode(t, b); code != 200 || a.Outputs[0].Datatype != "BYTES" || len(a.Outputs[0].Data) != 3 || strings.Count(a.Outputs[0].Data[0].(string), ":") != 2 {
		t.Errorf("classification: %d %s", code, b)
	}
}

func TestErrorsAreTritons(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{small()}, MaxBodyBytes: 200_000})
	base := "http://" + s.HTTPAddr() + "/v2/models/"
	input := func(name, typ, shape, data string) string {
		return fmt.Sprintf(`{"inputs":[{"name":%q,"shape":%s,"datatype":%q,"data":%s}]}`, name, shape, typ, data)
	}
	const note = " NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape."
	for _, tc := range []struct {
		path, body, header string
		code               int
		want               string
	}{
		{"foo/infer", "{}", "", 404, "Request for unknown model: 'foo' is not found"},
		{"resnet_mini/versions/99/infer", "{}", "", 404, "Request for unknown model: 'resnet_mini' version 99 is not found"},
		{"resnet_mini/infer", "{", "", 400, "failed to parse the request JSON buffer: "},
		{"resnet_mini/infer", "{}", "", 400, "[request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'resnet_mini'. Got input(s) [], but missing required input(s) ['input']. Please provide all required input(s)."},
		{"resnet_mini/infer", input("INPUT9", "FP32", "[1]", "[1]"), "", 400, "unexpected inference input 'INPUT9' for model 'resnet_mini'"},
		{"resnet_mini/infer", input("input", "INT32", "[1]", "[1]"), "", 400, "[request id: <id_unknown>] inference input 'input' data-type is 'INT32', but model 'resnet_mini' expects 'FP32'"},
		{"resnet_mini/infer", input("input", "FP32", "[1,17]", "[1]"), "", 400, "[request id: <id_unknown>] unexpected shape for input 'input' for model 'resnet_mini'. Expected [-1,3,-1,-1], got [1,17]." + note},
		{"resnet_mini/infer", input("input", "FP32", "[9,3,8,8]", "[1]"), "", 400, "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'resnet_mini'"},
		{"resnet_mini/infer", input("input", "FP32", "[1,3,8,8]", "[1]"), "", 400, "expected 192 elements, got 1"},
		{"resnet_mini/infer", input("input", "FP32", "[1,3,8,8]", `["a"]`), "", 400, "unable to parse 'data' of input 'input'"},
		{"resnet_mini/infer", `{"inputs":[{"name":"input","shape":[1,3,8,8],"datatype":"FP32","parameters":{"binary_data_size":8}}]}` + "12345678", "94", 400, "byte size mismatch for input 'input' for model 'resnet_mini'. Expected 768, got 8"},
		{"resnet_mini/infer", "{}", "77", 400, "inference header content length 77 is larger than the body of 2 bytes"},
		{"resnet_mini/infer", "{}", "x", 400, "unable to parse Inference-Header-Content-Length, got: x"},
		{"resnet_mini/infer", strings.Repeat(" ", 200_001), "", 400, "request body exceeds the maximum allowed value of 200000 bytes"},
	} {
		h := map[string]string{}
		if tc.header != "" {
			h[headerLength] = tc.header
		}
		if tc.header == "94" {
			h[headerLength] = strconv.Itoa(strings.Index(tc.body, "12345678"))
		}
		code, _, b := call(t, "POST", base+tc.path, []byte(tc.body), h)
		if a := decode(t, b); code != tc.code || !strings.Contains(a.Error, tc.want) {
			t.Errorf("%s %.60s: %d %q, want %d %q", tc.path, tc.body, code, a.Error, tc.code, tc.want)
		}
	}
	v, _ := s.repo.find("resnet_mini", "")
	if r := v.reading(); len(r.failures) != 0 || r.success != 0 {
		t.Errorf("requests that never reached the model are counted: %v", r.failures)
	}
	code, _, b := call(t, "POST", "http://"+s.HTTPAddr()+"/v2/repository/models/model_0/load", nil, nil)
	if code != 400 || string(b) != `{"error":"failed to load 'model_0', failed to poll from model repository"}` {
		t.Errorf("load of an unknown model: %d %s", code, b)
	}
}

func TestRepositoryOverHTTP(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{small()}})
	base := "http://" + s.HTTPAddr()
	body, _ := jsonBody(t, 1, 16, "")
	for _, step := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"/v2/repository/models/resnet_mini/unload", "", 200, ""},
		{"/v2/models/resnet_mini/versions/1/infer", body, 503, "Request for unknown model: 'resnet_mini' version 1 is not at ready state"},
		{"/v2/models/resnet_mini/infer", body, 404, "has no available versions"},
		{"/v2/repository/index", "", 200, `"version":"1","state":"UNAVAILABLE","reason":"unloaded"`},
		{"/v2/repository/models/resnet_mini/load", "", 200, ""},
		{"/v2/models/resnet_mini/infer", body, 200, `"model_version":"2"`},
	} {
		code, _, b := call(t, "POST", base+step.path, []byte(step.body), nil)
		if code != step.code || !strings.Contains(string(b), step.want) {
			t.Errorf("%s: %d %s, want %d %s", step.path, code, b, step.code, step.want)
		}
	}
}

func dial(t *testing.T, s *Server) kservepb.GRPCInferenceServiceClient {
	t.Helper()
	c, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return kservepb.NewGRPCInferenceServiceClient(c)
}

func TestGRPCSpeaksTheWholeProtocol(t *testing.T) {
	s := serve(t, Config{Models: []ModelConfig{small()}})
	c, ctx := dial(t, s), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	live, err := c.ServerLive(ctx, &kservepb.ServerLiveRequest{})
	must(err)
	ready, err := c.ServerReady(ctx, &kservepb.ServerReadyRequest{})
	must(err)
	mready, err := c.ModelReady(ctx, &kservepb.ModelReadyRequest{Name: "resnet_mini", Version: "2"})
	must(err)
	if !live.Live || !ready.Ready || !mready.Ready {
		t.Error("the server is not live and ready")
	}
	meta, err := c.ServerMetadata(ctx, &kservepb.ServerMetadataRequest{})
	must(err)
	mm, err := c.ModelMetadata(ctx, &kservepb.ModelMetadataRequest{Name: "resnet_mini"})
	must(err)
	cfg, err := c.ModelConfig(ctx, &kservepb.ModelConfigRequest{Name: "resnet_mini"})
	must(err)
	if meta.Name != serverName || len(mm.Versions) != 2 || mm.Inputs[0].Datatype != "FP32" || cfg.Config.MaxBatchSize != 8 ||
		cfg.Config.DynamicBatching.MaxQueueDelayMicroseconds != 1000 || cfg.Config.InstanceGroup[0].Count != 1 {
		t.Errorf("metadata %v %v %v", meta, mm, cfg)
	}
	x := testImage(4, 2*3*16*16)
	req := func(in *kservepb.ModelInferRequest_InferInputTensor, raw ...[]byte) *kservepb.ModelInferRequest {
		return &kservepb.ModelInferRequest{ModelName: "resnet_mini", ModelVersion: "1", Id: "g1", RawInputContents: raw, Inputs: []*kservepb.ModelInferRequest_InferInputTensor{in},
			Parameters: map[string]*kservepb.InferParameter{"timing": {ParameterChoice: &kservepb.InferParameter_BoolParam{BoolParam: true}}}}
	}
	shape := []int64{2, 3, 16, 16}
	want := rawFP32(softmax(newNetwork(3001, 0.25, 32, 10).infer(x, 2, 16, 16, 1), 10))
	for name, q := range map[string]*kservepb.ModelInferRequest{
		"raw":   req(&kservepb.ModelInferRequest_InferInputTensor{Name: "input", Datatype: "FP32", Shape: shape}, rawFP32(x)),
		"typed": req(&kservepb.ModelInferRequest_InferInputTensor{Name: "input", Datatype: "FP32", Shape: shape, Contents: &kservepb.InferTensorContents{Fp32Contents: x}}),
	} {
		res, err := c.ModelInfer(ctx, q)
		must(err)
		if res.Id != "g1" || res.ModelVersion != "1" || len(res.Outputs) != 2 || !bytes.Equal(res.RawOutputContents[0], want) || res.Parameters["request_us"].GetInt64Param() <= 0 {
			t.Errorf("%s: %v", name, res)
		}
	}
	q := req(&kservepb.ModelInferRequest_InferInputTensor{Name: "input", Datatype: "FP32", Shape: shape}, rawFP32(x))
	q.Outputs = []*kservepb.ModelInferRequest_InferRequestedOutputTensor{{Name: "probabilities", Parameters: map[string]*kservepb.InferParameter{"classification": {ParameterChoice: &kservepb.InferParameter_Int64Param{Int64Param: 1}}}}}
	if res, err := c.ModelInfer(ctx, q); err != nil || res.Outputs[0].Datatype != "BYTES" || !strings.Contains(string(res.RawOutputContents[0]), ":class_0") {
		t.Errorf("classification: %v %v", res, err)
	}
	st, err := c.ModelStatistics(ctx, &kservepb.ModelStatisticsRequest{Name: "resnet_mini", Version: "1"})
	must(err)
	if len(st.ModelStats) != 1 || st.ModelStats[0].InferenceCount != 6 || st.ModelStats[0].InferenceStats.Success.Count != 3 || st.ModelStats[0].BatchStats[0].BatchSize != 2 ||
		st.ModelStats[0].InferenceStats.ComputeInfer.Ns == 0 || st.ModelStats[0].MemoryUsage[0].ByteSize == 0 {
		t.Errorf("statistics %v", st)
	}
	_, err = c.RepositoryModelUnload(ctx, &kservepb.RepositoryModelUnloadRequest{ModelName: "resnet_mini"})
	must(err)
	ix, err := c.RepositoryIndex(ctx, &kservepb.RepositoryIndexRequest{})
	must(err)
	if len(ix.Models) != 2 || ix.Models[0].State != "UNAVAILABLE" {
		t.Errorf("index %v", ix)
	}
	if _, err := c.ModelInfer(ctx, q); status.Code(err) != codes.Unavailable {
		t.Errorf("an unloaded version answers %v", err)
	}
	_, err = c.RepositoryModelLoad(ctx, &kservepb.RepositoryModelLoadRequest{ModelName: "resnet_mini"})
	must(err)

	for name, tc := range map[string]struct {
		q    *kservepb.ModelInferRequest
		code codes.Code
	}{
		"unknown model": {&kservepb.ModelInferRequest{ModelName: "foo"}, codes.NotFound},
		"wrong shape":   {req(&kservepb.ModelInferRequest_InferInputTensor{Name: "input", Datatype: "FP32", Shape: []int64{1, 17}}, []byte{}), codes.InvalidArgument},
		"raw and typed": {req(&kservepb.ModelInferRequest_InferInputTensor{Name: "input", Datatype: "FP32", Shape: shape, Contents: &kservepb.InferTensorContents{}}, rawFP32(x)), codes.InvalidArgument},
		"raw count":     {req(&kservepb.ModelInferRequest_InferInputTensor{Name: "input", Datatype: "FP32", Shape: shape}, nil, nil), codes.InvalidArgument},
	} {
		if _, err := c.ModelInfer(ctx, tc.q); status.Code(err) != tc.code {
			t.Errorf("%s: %v, want %v", name, err, tc.code)
		}
	}
}

// A client that nobody here wrote: curl, JSON and binary.
func TestCurlInfers(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skipf("curl is not installed (%v); install Debian's package curl", err)
	}
	s := serve(t, Config{Models: []ModelConfig{small()}})
	dir := t.TempDir()
	body, x := jsonBody(t, 1, 16, `"parameters":{"binary_data_output":true},`)
	raw := rawFP32(x)
	header := fmt.Sprintf(`{"inputs":[{"name":"input","shape":[1,3,16,16],"datatype":"FP32","parameters":{"binary_data_size":%d}}],"outputs":[{"name":"probabilities"}]}`, len(raw))
	for name, b := range map[string][]byte{"json": []byte(body), "binary": append([]byte(header), raw...)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := "http://" + s.HTTPAddr() + "/v2/models/resnet_mini/infer"
	out, err := exec.Command(curl, "-sS", "-f", "--data-binary", "@"+filepath.Join(dir, "json"), url).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(`"binary_data_size":40`)) {
		t.Errorf("json: %v %q", err, out)
	}
	out, err = exec.Command(curl, "-sS", "-f", "-H", fmt.Sprintf("%s: %d", headerLength, len(header)), "--data-binary", "@"+filepath.Join(dir, "binary"), url).CombinedOutput()
	if err != nil || len(decode(t, out).Outputs[0].Data) != 10 {
		t.Errorf("binary: %v %s", err, out)
	}
}
