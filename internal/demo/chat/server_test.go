package chat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sightline/internal/demo/chat/tinylm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// card is an accelerator with a memory and a counter.
type card struct {
	mu   sync.Mutex
	free int64
	runs int
	gate chan struct{} // when set, every step takes one value first
}

func (c *card) Run(f func()) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	c.runs++
	c.mu.Unlock()
	f()
}

// feed lets the card do a step every 5 ms until the end of the test. Call it
// before start: the server must stop first.
func (c *card) feed(t *testing.T) {
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			select {
			case c.gate <- struct{}{}:
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() { close(stop); wg.Wait() })
}

func (c *card) Alloc(n int64) (func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.free {
		return nil, errors.New("CUDA out of memory. Tried to allocate too much")
	}
	c.free -= n
	return func() { c.mu.Lock(); c.free += n; c.mu.Unlock() }, nil
}

func smallConfig() Config {
	return Config{
		Shape: tinylm.Config{Layers: 2, Width: 32, Heads: 4, Hidden: 48, MaxPositions: 256, Seed: 3}, KVBlocks: 64, MaxNumBatchedTokens: 32,
		Accelerator: &card{free: 1 << 30}, Log: slog.New(slog.DiscardHandler), DrainTimeout: 300 * time.Millisecond,
	}
}

type running struct {
	*Server
	t      *testing.T
	client *http.Client
	stop   func()
}

// start runs a server for the length of a test.
func start(t *testing.T, c Config) *running {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, s)
}

func serve(t *testing.T, s *Server) *running {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	tr := &http.Transport{}
	r := &running{Server: s, t: t, client: &http.Client{Transport: tr, Timeout: 20 * time.Second}}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		tr.CloseIdleConnections()
	})
	t.Cleanup(r.stop)
	return r
}

func (r *running) do(method, path, body string, header ...string) (*http.Response, string) {
	r.t.Helper()
	resp := r.open(context.Background(), method, path, body, header...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(b)
}

func (r *running) open(ctx context.Context, method, path, body string, header ...string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

// ask posts to a completion API and decodes the answer.
func (r *running) ask(path, body string) (int, *envelope) {
	r.t.Helper()
	resp, text := r.do("POST", path, body)
	var e envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		r.t.Fatalf("%s: %v in %s", path, err, text)
	}
	return resp.StatusCode, &e
}

const chatPath, textPath = "/v1/chat/completions", "/v1/completions"

// sse reads the data lines of a stream.
func sse(t *testing.T, r io.Reader) []string {
	t.Helper()
	var out []string
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if line := sc.Text(); line != "" {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				t.Errorf("line %q is not data", line)
			}
			out = append(out, data)
		}
	}
	return out
}

// metric reads one sample; the name is followed by its labels as exposed.
func (r *running) metric(series string) float64 {
	r.t.Helper()
	_, text := r.do("GET", "/metrics", "")
	for _, l := range strings.Split(text, "\n") {
		if v, ok := strings.CutPrefix(l, series+" "); ok {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return f
		}
	}
	r.t.Fatalf("no series %s", series)
	return 0
}

// until polls a condition over real sockets.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within 10 s", what)
		}
	}
}

func TestSmallRoutes(t *testing.T) {
	r := start(t, smallConfig())
	for _, x := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/health", "", 200, ""},
		{"GET", "/ping", "", 200, ""},
		{"POST", "/ping", "", 200, ""},
		{"GET", "/version", "", 200, `{"version":"0.32.0+sightline"}`},
		{"GET", "/load", "", 200, `{"server_load":0}`},
		{"POST", "/tokenize", `{"prompt":" the time"}`, 200, `{"count":2,"max_model_len":256,"token_strs":null,"tokens":[278,324]}`},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":" the"}]}`, 200, `{"count":4,"max_model_len":256,"token_strs":null,"tokens":[2,278,5,3]}`},
	} {
		resp, text := r.do(x.method, x.path, x.body)
		if resp.StatusCode != x.code || text != x.want {
			t.Errorf("%s %s: %d %s, want %d %s", x.method, x.path, resp.StatusCode, text, x.code, x.want)
		}
	}
	_, text := r.do("GET", "/v1/models", "")
	var list struct {
		Object string
		Data   []struct {
			ID, Object  string
			MaxModelLen int `json:"max_model_len"`
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || list.Object != "list" || len(list.Data) != 1 || list.Data[0].ID != "tiny-chat" || list.Data[0].MaxModelLen != 256 {
		t.Errorf("%v %s", err, text)
	}
	resp, _ := r.do("GET", "/metrics", "")
	if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
		t.Error(ct)
	}
	if resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("the server invites other origins")
	}
}

func TestStartFailures(t *testing.T) {
	code := func(c Config) string {
		s, err := New(c)
		if err == nil {
			_ = s.listener.Close()
			return "none"
		}
		return codeOf(err)
	}
	if got := code(Config{}); got != "chat_no_accelerator" {
		t.Error(got)
	}
	c := smallConfig()
	dev := &card{free: 300_000} // weights fit, the cache does not
	c.Accelerator = dev
	if got := code(c); got != "chat_out_of_memory" || dev.free != 300_000 {
		t.Errorf("%s, %d bytes free afterwards", got, dev.free)
	}
	c = smallConfig()
	c.MaxModelLen = 300
	if got := code(c); got != "chat_engine_config" {
		t.Error(got)
	}
	c = smallConfig()
	c.KVBlocks = 8
	if got := code(c); got != "chat_cache_too_small" {
		t.Error(got)
	}
	c = smallConfig()
	c.Shape.Width = 33
	if got := code(c); got != "chat_model_shape" {
		t.Error(got)
	}
	r := start(t, smallConfig())
	c = smallConfig()
	c.Listen = r.HTTPAddr()
	dev = c.Accelerator.(*card)
	if got := code(c); got != "port_in_use" || dev.free != 1<<30 {
		t.Errorf("%s, %d bytes free afterwards", got, dev.free)
	}
	c.Listen = "256.0.0.1:x"
	if got := code(c); got != "listen_failed" {
		t.Error(got)
	}
}

func TestCacheFillsTheDevice(t *testing.T) {
	c := smallConfig()
	c.KVBlocks, c.MemoryBytes = 0, 4<<20
	dev := &card{free: 4 << 20}
	c.Accelerator = dev
	r := start(t, c)
	used := float64(4<<20-dev.free) / (4 << 20)
	if used < .87 || used > .9 {
		t.Errorf("the engine took %.3f of the device, want just below 0.9", used)
	}
	_, text := r.do("GET", "/metrics", "")
	if !strings.Contains(text, `gpu_memory_utilization="0.9"`) || !strings.Contains(text, `num_gpu_blocks="`+strconv.Itoa(r.KVBlocks())+`"`) {
		t.Error("cache_config_info does not say so")
	}
	r.stop()
	if dev.free != 4<<20 {
		t.Errorf("%d bytes are still taken after the end", 4<<20-dev.free)
	}
}

func TestStopLetsShortRequestsFinishAndTellsLongOnes(t *testing.T) {
	c := smallConfig()
	dev := &card{free: 1 << 30, gate: make(chan struct{})}
	c.Accelerator, c.DrainTimeout, c.Shape.MaxPositions = dev, time.Second, 1024
	dev.feed(t)
	r := start(t, c)
	long := r.open(t.Context(), "POST", textPath, `{"prompt":" of","max_tokens":1000,"stream":true,"temperature":0}`)
	short := r.open(t.Context(), "POST", textPath, `{"prompt":" the","max_tokens":8,"stream":true,"temperature":0}`)
	r.stop()
	for resp, want := range map[*http.Response]string{short: `"finish_reason":"length"`, long: "The engine is shutting down"} {
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Contains(b, []byte(want)) || !bytes.HasSuffix(b, []byte("data: [DONE]\n\n")) {
			t.Errorf("%v %s", err, b)
		}
	}
}
