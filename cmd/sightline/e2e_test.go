//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"sightline/internal/demo/kservepb"
)

// running is one process of the real binary.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string // http://127.0.0.1:port
	mu   sync.Mutex
	out  bytes.Buffer
	done chan error
}

func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(b)
}

func (r *running) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

func binary(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("SIGHTLINE_BIN")
	if bin == "" {
		t.Fatal("SIGHTLINE_BIN is not set; run make e2e")
	}
	return bin
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func startBinary(t *testing.T, addr string, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(binary(t), append(args, "--listen", addr)...), base: "http://" + addr, done: make(chan error, 1)}
	r.cmd.Stdout, r.cmd.Stderr = r, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("the process said:\n%s", r.said())
		}
	})
	return r
}

// stop sends SIGTERM and demands a clean end within ten seconds.
func (r *running) stop() {
	r.t.Helper()
	begin := time.Now()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("ended with %v", err)
		}
		r.t.Logf("stopped in %.1f s", time.Since(begin).Seconds())
	case <-time.After(10 * time.Second):
		r.t.Error("did not stop within 10 s")
		_ = r.cmd.Process.Kill()
	}
}

func waitFor(t *testing.T, what string, limit time.Duration, ok func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for time.Since(begin) < limit {
		if ok() {
			return time.Since(begin)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s: not within %s", what, limit)
	return 0
}

func get(t *testing.T, u string) (int, []byte) {
	t.Helper()
	res, err := http.Get(u)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b
}

type value struct {
	Value     *float64
	Simulated bool
}

type nowRow struct {
	Service, Model                                           string
	RequestRate, ErrorRatio, LatencyP99, QueueShare, TTFTP99 value
	GPUBusy, GPUMemory, Waiting                              value
	Simulated, Stale                                         bool
}

func nowRows(t *testing.T, base string) map[string]nowRow {
	t.Helper()
	code, b := get(t, base+"/api/v1/sightline/now")
	if code != 200 {
		return nil
	}
	var a struct {
		Data struct {
			Rows []struct {
				Service, Model string
				RequestRate    value `json:"request_rate"`
				ErrorRatio     value `json:"error_ratio"`
				LatencyP99     value `json:"latency_p99"`
				TTFTP99        value `json:"ttft_p99"`
				QueueShare     value `json:"queue_share"`
				Waiting        value `json:"waiting"`
				GPUBusy        value `json:"gpu_busy"`
				GPUMemory      value `json:"gpu_memory"`
				Stale          bool
			}
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	rows := map[string]nowRow{}
	for _, r := range a.Data.Rows {
		rows[r.Service+"/"+r.Model] = nowRow{Service: r.Service, Model: r.Model, RequestRate: r.RequestRate, ErrorRatio: r.ErrorRatio, LatencyP99: r.LatencyP99,
			TTFTP99: r.TTFTP99, QueueShare: r.QueueShare, Waiting: r.Waiting, GPUBusy: r.GPUBusy, GPUMemory: r.GPUMemory, Stale: r.Stale}
	}
	return rows
}

const (
	visionRow, chatRow = "vision/resnet_mini", "chat/tiny-chat"
	chatModelName      = "tiny-chat"
)

// instant asks base for expr at a moment and returns value by label string.
func instant(t *testing.T, base, expr string, at float64) map[string]float64 {
	t.Helper()
	code, b := get(t, fmt.Sprintf("%s/api/v1/query?query=%s&time=%f", base, url.QueryEscape(expr), at))
	if code != 200 {
		t.Fatalf("%s: %d %s", expr, code, b)
	}
	var a struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, r := range a.Data.Result {
		delete(r.Metric, "monitor") // external label of the peer
		delete(r.Metric, "job")     // federated series get the job that fetched them
		m, _ := json.Marshal(r.Metric)
		var v float64
		fmt.Sscan(fmt.Sprint(r.Value[1]), &v)
		out[string(m)] = v
	}
	return out
}

func TestEndToEnd(t *testing.T) {
	addr, data := freeAddr(t), t.TempDir()
	begin := time.Now()
	r := startBinary(t, addr, "demo", "--data", data, "--log-level", "info")
	ready := waitFor(t, "readiness", 10*time.Second, func() bool { c, _ := get(t, r.base+"/readyz"); return c == 200 })
	t.Logf("ready after %.2f s", ready.Seconds())
	if ready > 3*time.Second {
		t.Errorf("ready after %s, want at most 3 s", ready)
	}
	var rows map[string]nowRow
	waitFor(t, "live numbers of both models", 30*time.Second-time.Since(begin), func() bool {
		rows = nowRows(t, r.base)
		v, c := rows[visionRow], rows[chatRow]
		return v.RequestRate.Value != nil && *v.RequestRate.Value > 0 && v.LatencyP99.Value != nil && v.GPUBusy.Value != nil && v.GPUMemory.Value != nil &&
			v.QueueShare.Value != nil && c.RequestRate.Value != nil && *c.RequestRate.Value > 0 && c.TTFTP99.Value != nil
	})
	t.Logf("live after %.1f s: vision %.2f/s, chat %.2f/s", time.Since(begin).Seconds(), *rows[visionRow].RequestRate.Value, *rows[chatRow].RequestRate.Value)
	if !rows[visionRow].GPUBusy.Simulated {
		t.Error("the simulated card is not marked as simulated")
	}
	ends := endpoints(t, r.said())
	// Clients look some seconds back, and a rate needs its window filled.
	waitFor(t, "a minute of history", 90*time.Second, func() bool {
		return len(instant(t, r.base, "model:requests:rate", float64(time.Now().Add(-time.Minute).Unix()))) >= 2
	})

	t.Run("promtool parses every exposition", func(t *testing.T) { promtoolMetrics(t, r.base, ends) })
	t.Run("promtool queries get our numbers", func(t *testing.T) { promtoolQueries(t, r.base) })
	t.Run("openai client streams from chat", func(t *testing.T) { openaiClient(t, ends["chat-0"]["http"]) })
	t.Run("curl infers on vision", func(t *testing.T) { curlVision(t, ends["vision-0"]["http"]) })
	t.Run("a generated gRPC client infers on vision", func(t *testing.T) { grpcVision(t, ends["vision-0"]["grpc"]) })
	t.Run("prometheus federates and writes", func(t *testing.T) { prometheusPeer(t, r.base, addr) })
	t.Run("another host is refused", func(t *testing.T) {
		req, _ := http.NewRequest(http.MethodGet, r.base+"/api/v1/query?query=up", nil)
		req.Host = "evil.example.net"
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode/100 != 4 {
			t.Errorf("a rebound host name got %s", res.Status)
		}
	})
	t.Run("browser", func(t *testing.T) { browser(t, r.base) })

	last := float64(time.Now().Unix()) - 5
	before := instant(t, r.base, "model:requests:rate", last)
	r.stop()

	t.Run("after a restart the past is there", func(t *testing.T) {
		s := startBinary(t, freeAddr(t), "serve", "--data", data)
		waitFor(t, "readiness", 10*time.Second, func() bool { c, _ := get(t, s.base+"/readyz"); return c == 200 })
		after := instant(t, s.base, "model:requests:rate", last)
		if len(before) == 0 || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("before %v, after %v", before, after)
		}
		if code, b := get(t, s.base+"/api/v1/query?query=sum((((("); code != 400 || !strings.Contains(string(b), "bad_data") {
			t.Errorf("malformed PromQL: %d %s", code, b)
		}
		taken := exec.Command(binary(t), "serve", "--listen", strings.TrimPrefix(s.base, "http://"), "--data", t.TempDir())
		if out, err := taken.CombinedOutput(); err == nil || !strings.Contains(string(out), "[port_in_use]") {
			t.Errorf("a taken port: %v %s", err, out)
		}
		locked := exec.Command(binary(t), "serve", "--listen", freeAddr(t), "--data", data)
		if out, err := locked.CombinedOutput(); err == nil || !strings.Contains(string(out), "[data_dir_locked]") {
			t.Errorf("a locked directory: %v %s", err, out)
		}
		s.stop()
	})
}

var endpointLine = regexp.MustCompile(`(?m)^\s*(\S+)\s+(http|grpc|metrics)=(\S+)`)

// endpoints reads the addresses that the demo prints: one line an engine,
// "vision-0 http=http://… grpc=… metrics=…".
func endpoints(t *testing.T, said string) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	s := bufio.NewScanner(strings.NewReader(said))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 2 || !endpointLine.MatchString(s.Text()) {
			continue
		}
		m := map[string]string{}
		for _, kv := range f[1:] {
			if k, v, ok := strings.Cut(kv, "="); ok {
				m[k] = v
			}
		}
		out[f[0]] = m
	}
	if len(out) < 4 {
		t.Fatalf("the demo printed %d endpoints: %v", len(out), out)
	}
	return out
}

func need(t *testing.T, program string) string {
	t.Helper()
	p, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is missing; scripts/need installs it", program)
	}
	return p
}

func promtoolMetrics(t *testing.T, base string, ends map[string]map[string]string) {
	promtool := need(t, "promtool")
	pages := map[string]string{"sightline": base + "/metrics"}
	for name, e := range ends {
		if e["metrics"] != "" {
			pages[name] = e["metrics"]
		}
	}
	for name, page := range pages {
		_, b := get(t, page)
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(b)
		out, err := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		if code != 0 && code != 3 {
			t.Errorf("%s: exit %d, %v\n%s", name, code, err, out)
		}
		for _, l := range strings.Split(string(out), "\n") {
			if strings.HasPrefix(l, "sightline_") {
				t.Errorf("%s: our own metric gets a lint: %s", name, l)
			}
		}
	}
}

func promtoolQueries(t *testing.T, base string) {
	promtool := need(t, "promtool")
	at := time.Now().Add(-15*time.Second).Unix() / 5 * 5 // a moment of the console's grid
	out, err := exec.Command(promtool, "query", "instant", "-o", "json", "--time", fmt.Sprint(at), base, "model:requests:rate").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []struct {
		Metric map[string]string
		Value  [2]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	console := consoleSeries(t, base, "model:requests:rate", at)
	if len(got) < 2 {
		t.Fatalf("promtool got %s", out)
	}
	for _, g := range got {
		key := g.Metric["service"] + "/" + g.Metric["model"]
		var v float64
		fmt.Sscan(fmt.Sprint(g.Value[1]), &v)
		c, ok := console[key]
		if !ok || math.Abs(c-v) > 1e-9*math.Abs(v) {
			t.Errorf("%s: promtool says %v, the console's API %v", key, v, c)
		}
	}
	out, err = exec.Command(promtool, "query", "range", "--start", fmt.Sprint(at-10), "--end", fmt.Sprint(at), "--step", "5s", base, "model:requests:rate").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "resnet_mini") {
		t.Errorf("range: %v\n%s", err, out)
	}
}

// consoleSeries reads what the Model page draws at a moment, by service/model.
func consoleSeries(t *testing.T, base, signal string, at int64) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	code, b := get(t, fmt.Sprintf("%s/api/v1/sightline/series?signal=%s&from=%d&to=%d&step=5", base, url.QueryEscape(signal), at-20, at))
	if code != 200 {
		t.Fatalf("series: %d %s", code, b)
	}
	var a struct {
		Data struct {
			Start       float64
			StepSeconds float64 `json:"step_seconds"`
			Signals     []struct {
				Series []struct {
					Labels map[string]string
					Values []*float64
				}
			}
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	for _, s := range a.Data.Signals {
		for _, l := range s.Series {
			// The last point of the grid that is not after at.
			i := int((float64(at) - a.Data.Start) / a.Data.StepSeconds)
			if i < len(l.Values) && l.Values[i] != nil {
				out[l.Labels["service"]+"/"+l.Labels["model"]] = *l.Values[i]
			}
		}
	}
	return out
}

func openaiClient(t *testing.T, base string) {
	web, _ := filepath.Abs("../../web")
	script, _ := filepath.Abs("../../internal/demo/chat/testdata/openai_client.mjs")
	cmd := exec.Command(need(t, "node"), script, base, chatModelName)
	cmd.Dir = web
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "OK") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func curlVision(t *testing.T, base string) {
	curl := need(t, "curl")
	out, err := exec.Command(curl, "-sf", base+"/v2/models/resnet_mini").CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	var meta struct {
		Inputs []struct {
			Name, Datatype string
			Shape          []int
		}
	}
	if err := json.Unmarshal(out, &meta); err != nil || len(meta.Inputs) == 0 {
		t.Fatalf("metadata %s", out)
	}
	in := meta.Inputs[0]
	shape, n := []int{1}, 1
	for _, d := range in.Shape[1:] {
		if d < 0 {
			d = 64
		}
		shape = append(shape, d)
		n *= d
	}
	body, _ := json.Marshal(map[string]any{"inputs": []any{map[string]any{"name": in.Name, "datatype": in.Datatype, "shape": shape, "data": make([]float32, n)}}})
	cmd := exec.Command(curl, "-sf", "-X", "POST", "--data-binary", "@-", base+"/v2/models/resnet_mini/infer")
	cmd.Stdin = bytes.NewReader(body)
	out, err = cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"outputs"`) {
		t.Fatalf("%v %s", err, out)
	}
}

// grpcVision infers through the client that protoc generated from the protocol.
func grpcVision(t *testing.T, addr string) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client := kservepb.NewGRPCInferenceServiceClient(conn)
	meta, err := client.ModelMetadata(ctx, &kservepb.ModelMetadataRequest{Name: "resnet_mini"})
	if err != nil || len(meta.Inputs) == 0 {
		t.Fatalf("metadata %v: %v", meta, err)
	}
	shape, n := []int64{1}, int64(1)
	for _, d := range meta.Inputs[0].Shape[1:] {
		if d < 0 {
			d = 64
		}
		shape, n = append(shape, d), n*d
	}
	res, err := client.ModelInfer(ctx, &kservepb.ModelInferRequest{ModelName: "resnet_mini",
		Inputs:           []*kservepb.ModelInferRequest_InferInputTensor{{Name: meta.Inputs[0].Name, Datatype: "FP32", Shape: shape}},
		RawInputContents: [][]byte{make([]byte, 4*n)}})
	if err != nil || len(res.Outputs) == 0 {
		t.Fatalf("infer %v: %v", res, err)
	}
}

// prometheusPeer runs Debian's Prometheus, which federates from us and writes
// back to us, and compares numbers at equal timestamps.
func prometheusPeer(t *testing.T, base, addr string) {
	dir := t.TempDir()
	peer := freeAddr(t)
	cfg := fmt.Sprintf(`global: {scrape_interval: 2s, external_labels: {monitor: peer}}
scrape_configs:
  - job_name: federate
    honor_labels: true
    metrics_path: /federate
    params: {'match[]': ['{__name__=~"model:.*"}']}
    static_configs: [{targets: ['%s']}]
remote_write:
  - url: %s/api/v1/write
    queue_config: {batch_send_deadline: 1s}
`, addr, base)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, need(t, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+peer)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	theirs := "http://" + peer
	waitFor(t, "federated series in Prometheus", 40*time.Second, func() bool {
		c, b := get(t, theirs+"/api/v1/query?query="+url.QueryEscape(`model:requests:rate{model="resnet_mini"}`))
		return c == 200 && strings.Contains(string(b), "resnet_mini")
	})
	waitFor(t, "remote-written series here", 40*time.Second, func() bool {
		_, b := get(t, base+"/api/v1/query?query="+url.QueryEscape(`up{monitor="peer"}`))
		return strings.Contains(string(b), `"monitor":"peer"`)
	})
	time.Sleep(5 * time.Second) // a few more rounds on both sides
	// What came back is a copy: the console still draws one line.
	_, b := get(t, fmt.Sprintf("%s/api/v1/sightline/series?signal=model:requests:rate&service=vision&model=resnet_mini&from=%d&to=%d", base, time.Now().Unix()-20, time.Now().Unix()))
	if n := strings.Count(string(b), `"labels":`); n != 1 {
		t.Errorf("the console draws %d lines, want 1: %s", n, b)
	}
	// Federation keeps our timestamps, so equal moments give equal numbers.
	at := float64(time.Now().Unix() - 4)
	for _, signal := range []string{"model:requests:rate", "model:request_latency_seconds:mean"} {
		them, us := instant(t, theirs, signal, at), instant(t, base, signal+`{monitor=""}`, at)
		matched := 0
		for k, v := range us {
			if w, ok := them[k]; ok {
				matched++
				if math.Abs(v-w) > 1e-9*math.Abs(v) {
					// One scrape may lie between the two newest samples.
					prev := instant(t, base, signal+`{monitor=""} offset 5s`, at)[k]
					if math.Abs(prev-w) > 1e-9*math.Abs(w) {
						t.Errorf("%s %s: we say %v, Prometheus %v", signal, k, v, w)
					}
				}
			}
		}
		if matched < 1 {
			t.Errorf("%s: nothing to compare: ours %v, theirs %v\n%s", signal, us, them, said.String())
		}
	}
}

// browser runs the console's tests in Chromium. On a small machine that also runs
// engines and load a click may come before a page is there; so what fails gets a
// second run, and only what fails twice fails.
func browser(t *testing.T, base string) {
	web, _ := filepath.Abs("../../web")
	for try := 1; ; try++ {
		cmd := exec.Command(need(t, "npm"), "run", "--silent", "e2e")
		cmd.Dir = web
		cmd.Env = append(os.Environ(), "BASE_URL="+base, "CI=1")
		out, err := cmd.CombinedOutput()
		t.Logf("try %d: %s", try, out)
		if err == nil {
			return
		}
		if try == 2 {
			t.Fatal(err)
		}
	}
}
