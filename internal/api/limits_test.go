package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/prometheus"
)

func record(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestURLLimit(t *testing.T) {
	f := newFixture(t)
	if a := f.get("/api/v1/query?query=" + strings.Repeat("1", 33<<10)); a.status != http.StatusRequestURITooLong || a.env(t).Code != "url_too_long" {
		t.Errorf("a long address: %d %.200s", a.status, a.body)
	}
	if a := f.form("/api/v1/query", map[string][]string{"query": {`absent(up{job="` + strings.Repeat("1", 33<<10) + `"})`}}); a.status != 200 {
		t.Errorf("the same in a body: %d %.200s", a.status, a.body)
	}
}

func TestFormLimit(t *testing.T) {
	f := newFixture(t)
	big := "query=" + strings.Repeat("1", 2<<20)
	for _, path := range []string{"/api/v1/query", "/api/v1/read", "/api/v1/sightline/login"} {
		if a := f.post(path, big, "Content-Type", "application/x-www-form-urlencoded"); a.status != 413 || a.env(t).Code != "body_too_large" {
			t.Errorf("%s: %d %.200s", path, a.status, a.body)
		}
	}
	req := f.request("POST", "/api/v1/query", strings.NewReader(big), "Content-Type", "application/x-www-form-urlencoded")
	req.ContentLength = -1 // chunked: the length is not known in front
	if a := f.do(req); a.status != 413 || a.env(t).Code != "body_too_large" {
		t.Errorf("chunked: %d %.200s", a.status, a.body)
	}
}

// TestDecompressionBombs sends small bodies that unpack to more than allowed.
func TestDecompressionBombs(t *testing.T) {
	f := newFixture(t, func(c *Config, _ *Deps) { c.WriteBodyLimit = 1 << 20 })
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	chunk := make([]byte, 1<<20)
	for range 64 {
		if _, err := zw.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	lie := append(binary.AppendUvarint(nil, 1<<31), 0, 0, 0)
	for name, c := range map[string]struct {
		path, body, encoding, kind string
		status                     int
	}{
		"gzip bomb":        {"/api/v1/otlp/v1/metrics", zipped.String(), "gzip", "application/x-protobuf", 413},
		"not gzip":         {"/api/v1/otlp/v1/metrics", "hello", "gzip", "application/x-protobuf", 400},
		"snappy bomb":      {"/api/v1/write", string(snappy.Encode(nil, make([]byte, 8<<20))), "snappy", "application/x-protobuf", 413},
		"snappy lie":       {"/api/v1/write", string(lie), "snappy", "application/x-protobuf", 413},
		"unlabelled lie":   {"/api/v1/write", string(lie), "", "application/x-protobuf", 413},
		"plain":            {"/api/v1/otlp/v1/metrics", strings.Repeat("x", 2<<20), "", "application/json", 413},
		"snappy fits":      {"/api/v1/write", string(snappy.Encode(nil, nil)), "snappy", "application/x-protobuf", 204},
		"broken snappy":    {"/api/v1/write", "\x05hello-hello", "snappy", "application/x-protobuf", 400},
		"broken protobuf":  {"/api/v1/write", string(snappy.Encode(nil, []byte("hello"))), "snappy", "application/x-protobuf", 400},
		"unknown encoding": {"/api/v1/write", "x", "br", "application/x-protobuf", 415},
		"unknown type":     {"/api/v1/write", string(snappy.Encode(nil, nil)), "snappy", "text/plain", 415},
	} {
		t.Run(name, func(t *testing.T) {
			a := f.post(c.path, c.body, "Content-Encoding", c.encoding, "Content-Type", c.kind)
			if a.status != c.status {
				t.Errorf("%d %.200s, want %d", a.status, a.body, c.status)
			}
			if c.status == 413 && a.env(t).Code != "body_too_large" {
				t.Errorf("code: %s", a.body)
			}
		})
	}
	// A body of unknown length is cut off while it is read.
	req := f.request("POST", "/api/v1/otlp/v1/metrics", strings.NewReader(strings.Repeat("x", 2<<20)), "Content-Type", "application/json")
	req.ContentLength = -1
	if a := f.do(req); a.status < 400 || a.status >= 500 {
		t.Errorf("chunked: %d", a.status)
	}
}

func TestQueryConcurrency(t *testing.T) {
	f := newFixture(t, func(c *Config, _ *Deps) { c.QueryConcurrency = 2 })
	f.canned.block, f.canned.entered = make(chan struct{}), make(chan struct{}, 2)
	done := make(chan answer, 2)
	for range 2 {
		go func() { done <- f.get("/api/v1/sightline/now") }()
		<-f.canned.entered
	}
	a := f.get("/api/v1/query?query=1")
	if a.status != 503 || a.header.Get("Retry-After") != "1" || a.env(t).Code != "too_many_queries" {
		t.Errorf("third query: %d %s", a.status, a.body)
	}
	if a := f.get("/api/v1/sightline/status"); a.status != 200 {
		t.Errorf("status waits for queries: %d", a.status)
	}
	close(f.canned.block)
	for range 2 {
		if a := <-done; a.status != 200 {
			t.Errorf("a running query: %d", a.status)
		}
	}
	if a := f.get("/api/v1/query?query=1"); a.status != 200 {
		t.Errorf("afterwards: %d", a.status)
	}
	if a := f.get("/metrics"); !strings.Contains(string(a.body), "sightline_http_queries_refused_total 1") {
		t.Error("the refusal is not counted")
	}
}

func TestGateWaits(t *testing.T) {
	g := newGate(1, time.Minute, prometheus.NewRegistry())
	r := httptest.NewRequest("GET", "/", nil)
	if !g.enter(r) {
		t.Fatal("the first is refused")
	}
	got := make(chan bool)
	go func() { got <- g.enter(r) }()
	<-g.slots
	if !<-got {
		t.Error("the second did not get the free slot")
	}
}

func TestSources(t *testing.T) {
	body := string(snappy.Encode(nil, nil))
	h := func(more ...string) []string {
		return append([]string{"Content-Encoding", "snappy", "Content-Type", "application/x-protobuf"}, more...)
	}
	f := newFixture(t)
	f.post("/api/v1/write", body, h()...)
	f.post("/api/v1/write", body, h("X-Sightline-Source", "node-7/agent")...)
	if a := f.post("/api/v1/write", body, h("X-Sightline-Source", "a b\"")...); a.status != 400 || a.env(t).Code != "source_invalid" {
		t.Errorf("an odd source: %d %s", a.status, a.body)
	}
	if a := f.post("/api/v1/write", body, h("X-Sightline-Source", "http://gpu:8002/metrics")...); a.status != 400 {
		t.Errorf("a writer took the name of a scrape target: %d", a.status)
	}
	g := newFixture(t, withTokens)
	g.post("/api/v1/write", body, h("Authorization", "Bearer "+writeSecret)...)
	g.post("/api/v1/write", body, h("Authorization", "Bearer "+writeSecret, "X-Sightline-Source", "node-8")...)
	got := strings.Join(append(f.sources, g.sources...), " ")
	if got != "127.0.0.1 node-7/agent agent node-8" {
		t.Errorf("sources: %s", got)
	}
}

func TestPanicsAreAnswered(t *testing.T) {
	f := newFixture(t, func(_ *Config, d *Deps) {
		d.Targets = func() []TargetStatus { panic("targets are gone") }
	})
	for range 2 {
		a := f.get("/api/v1/sightline/status")
		if a.status != 500 || a.env(t).Code != "panic" || strings.Contains(string(a.body), "gone") {
			t.Errorf("a panic: %d %s", a.status, a.body)
		}
	}
	a := f.get("/metrics")
	for _, want := range []string{"sightline_http_panics_total 2", `sightline_http_requests_total{code="500",handler="/api/v1/sightline/status"} 2`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestAbortedAnswersAreCut(t *testing.T) {
	o := newObserver(prometheus.NewRegistry(), newFixture(t).api.deps.Log)
	srv := httptest.NewServer(o.recovered(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		panic("midway")
	})))
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		return // cut before the header arrived
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err == nil {
		t.Errorf("a broken answer reads as whole: %q", b.String())
	}
}

func TestRequestMetrics(t *testing.T) {
	f := newFixture(t)
	f.get("/api/v1/query?query=1")
	f.get("/api/v1/query?query=)")
	f.get("/some/page")
	f.get("/api/v1/label/a/values")
	f.get("/api/v1/label/b/values")
	f.get("/api/elsewhere/" + strings.Repeat("x", 50))
	a := f.get("/metrics", "Accept", "application/openmetrics-text;version=1.0.0")
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/openmetrics-text") || !strings.HasSuffix(string(a.body), "# EOF\n") {
		t.Errorf("no OpenMetrics: %s", a.header.Get("Content-Type"))
	}
	for _, want := range []string{
		`sightline_http_requests_total{code="200",handler="/api/v1/query"} 1.0`,
		`sightline_http_requests_total{code="400",handler="/api/v1/query"} 1.0`,
		`sightline_http_requests_total{code="200",handler="console"} 1.0`,
		`sightline_http_requests_total{code="200",handler="/api/v1/label/{name}/values"} 2.0`,
		`sightline_http_requests_total{code="404",handler="unknown"} 1.0`,
		`sightline_http_request_duration_seconds_bucket{handler="/api/v1/query",le="0.001"}`,
		`sightline_http_request_duration_seconds_bucket{handler="/api/v1/query",le="300.0"}`,
	} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	mfs, err := f.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, mf := range mfs {
		if mf.GetName() == "sightline_http_request_duration_seconds" {
			if h := mf.Metric[0].Histogram; h.Schema == nil || len(h.Bucket) != 18 {
				t.Errorf("the histogram is not native and classic: %v", h)
			}
		}
	}
}

func TestCompression(t *testing.T) {
	f := newFixture(t)
	a := f.get("/api/v1/openapi.yaml", "Accept-Encoding", "gzip")
	if a.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("not compressed: %v", a.header)
	}
	zr, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(zr); err != nil || !strings.Contains(b.String(), "openapi:") {
		t.Errorf("unpacked: %v %.100s", err, b.String())
	}
	if a := f.get("/healthz", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "" {
		t.Error("a few bytes are compressed")
	}
}

func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	o := newObserver(prometheus.NewRegistry(), nil)
	now := time.Unix(1000, 0)
	var got []bool
	for _, after := range []time.Duration{0, time.Second, 59 * time.Second, 61 * time.Second} {
		got = append(got, o.due("host_not_allowed", now.Add(after)))
	}
	if got[0] != true || got[1] || got[2] || !got[3] || !o.due("cross_origin", now) {
		t.Errorf("due: %v", got)
	}
}

func TestGateGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, 2*time.Second, prometheus.NewRegistry())
		ctx, cancel := context.WithCancel(context.Background())
		r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
		g.enter(r)
		start := time.Now()
		if g.enter(r) || time.Since(start) != 2*time.Second {
			t.Errorf("waited %s", time.Since(start))
		}
		cancel()
		start = time.Now()
		if g.enter(r) || time.Since(start) != 0 {
			t.Errorf("a client that left waited %s", time.Since(start))
		}
		w := httptest.NewRecorder()
		g.wrap(nil).ServeHTTP(w, r)
		if w.Code != 503 || w.Header().Get("Retry-After") != "2" {
			t.Errorf("answer %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
	})
}
