package agent

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"go.uber.org/goleak"

	"sightline/internal/app/config"
	"sightline/internal/model"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// receiver is a server that takes remote write v2 and remembers the series.
type receiver struct {
	mu   sync.Mutex
	seen map[string]float64
	auth string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		body, err = snappy.Decode(nil, body)
	}
	var wr writev2.Request
	if err == nil {
		err = wr.Unmarshal(body)
	}
	if err != nil || req.URL.Path != "/api/v1/write" {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.auth = req.Header.Get("Authorization")
	b := labels.NewScratchBuilder(0)
	for _, ts := range wr.Timeseries {
		ls, err := ts.ToLabels(&b, wr.Symbols)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, s := range ts.Samples {
			r.seen[ls.String()] = s.Value
		}
	}
	w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "1")
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) has(parts ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.seen {
		ok := true
		for _, p := range parts {
			ok = ok && strings.Contains(s, p)
		}
		if ok {
			return true
		}
	}
	return false
}

// TestAgentScrapesAndSends runs the whole agent over real sockets.
func TestAgentScrapesAndSends(t *testing.T) {
	rec := &receiver{seen: map[string]float64{}}
	server := httptest.NewServer(rec)
	defer server.Close()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "# TYPE nv_inference_count counter\nnv_inference_count{model=\"m\",version=\"1\"} 5\n")
	}))
	defer target.Close()

	sc := config.Default().Scrape
	sc.Interval, sc.Timeout = config.Duration(time.Second), config.Duration(time.Second)
	sc.Targets = []config.Target{{URL: target.URL, Service: "vision", Namespace: "ns", Pod: "pod-0", Node: "n1"}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Settings{Server: server.URL, Listen: "127.0.0.1:0", Scrape: sc}) }()
	deadline := time.Now().Add(20 * time.Second)
	for !rec.has(`__name__="nv_inference_count"`, `instance="ns/pod-0"`, `service="vision"`, `node="n1"`) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond) // real sockets: there is no clock to fake
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !rec.has(`__name__="nv_inference_count"`, `instance="ns/pod-0"`, `service="vision"`, `node="n1"`) || !rec.has(`__name__="up"`) {
		t.Fatalf("the server got %v", rec.seen)
	}
}

func TestSettingsAreValidatedBeforeAnythingStarts(t *testing.T) {
	ok := Settings{Server: "http://127.0.0.1:1", Listen: "127.0.0.1:0", Scrape: config.Default().Scrape}
	ok.Scrape.Targets = []config.Target{{URL: "h:1"}}
	for code, change := range map[string]func(*Settings){
		"server_missing":        func(s *Settings) { s.Server = "" },
		"targets_missing":       func(s *Settings) { s.Scrape.Targets = nil },
		"listen_open":           func(s *Settings) { s.Listen = "0.0.0.0:0" },
		"listen_invalid":        func(s *Settings) { s.Listen = "x" },
		"server_url_invalid":    func(s *Settings) { s.Server = "ftp://x" },
		"token_file_unreadable": func(s *Settings) { s.TokenFile = "/nowhere" },
		"config_invalid":        func(s *Settings) { s.Scrape.Interval = 0 },
	} {
		s := ok
		change(&s)
		if err := Run(t.Context(), s); model.CodeOf(err) != code {
			t.Errorf("want %s, got %v", code, err)
		}
	}
}
