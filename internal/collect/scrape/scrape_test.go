package scrape

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"sightline/internal/health"
	"sightline/internal/ingest"
	"sightline/internal/metricstore"
	"sightline/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is an HTTP server whose answer the test changes.
type target struct {
	*httptest.Server
	mu      sync.Mutex
	handler http.HandlerFunc
}

func serve(t *testing.T, h http.HandlerFunc) *target {
	t.Helper()
	s := &target{handler: h}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.handler
		s.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *target) answer(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// text answers with an exposition in the text format.
func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, body)
	}
}

// rig is a store, a guard and a scrape manager that run together.
type rig struct {
	*Manager
	store  *metricstore.Store
	guard  *ingest.Guard
	health *health.Registry
	reg    *prometheus.Registry
}

func run(t *testing.T, c Config, l ingest.Limits) *rig {
	t.Helper()
	h := health.New(nil, nil)
	reg := prometheus.NewRegistry()
	store, err := metricstore.Open(t.Context(), metricstore.DefaultConfig(t.TempDir()), nil, reg, h)
	if err != nil {
		t.Fatal(err)
	}
	guard := ingest.NewGuard(store.Appendable(), l, reg, h)
	if c.Interval == 0 {
		c.Interval = 200 * time.Millisecond
	}
	m, err := New(c, guard, nil, reg, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{Manager: m, store: store, guard: guard, health: h, reg: reg}
}

// eventually polls: what is waited for happens over real sockets.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, 15*time.Second, what, ok)
}

func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// of gives the status of the target at s.
func (r *rig) of(s *target) TargetStatus {
	for _, st := range r.Targets() {
		if strings.HasPrefix(st.URL, s.URL) {
			return st
		}
	}
	return TargetStatus{}
}

func (r *rig) value(t *testing.T, expr string) (float64, bool) {
	t.Helper()
	got, err := r.store.QueryInstant(t.Context(), expr, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 {
		return 0, false
	}
	return got[0].Points[0].V, true
}

func (r *rig) condition(code string) *health.Condition {
	for _, c := range r.health.Conditions() {
		if c.Code == code {
			return &c
		}
	}
	return nil
}

func TestFirstScrapeComesWithinTwoSecondsWithIdentity(t *testing.T) {
	s := serve(t, text("# TYPE nv_requests_total counter\nnv_requests_total{model=\"m\",instance=\"own\",simulated=\"true\"} 3\n"))
	addr := strings.TrimPrefix(s.URL, "http://")
	start := time.Now()
	r := run(t, Config{Interval: 15 * time.Second, Targets: []TargetConfig{{URL: addr, Service: "vision", Cluster: "c1", Labels: map[string]string{"team": "x"}}}}, ingest.Limits{})
	eventually(t, "the first sample", func() bool { _, ok := r.value(t, "nv_requests_total"); return ok })
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("the first scrape came after %s", d)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	port := addr[strings.LastIndex(addr, ":")+1:]
	got, err := r.store.QueryInstant(t.Context(), "nv_requests_total", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"service": "vision", "job": "vision", "node": host, "instance": host + ":" + port, "scrape_address": addr,
		"cluster": "c1", "team": "x", "model": "m", "exported_instance": "own",
	} {
		if got[0].Labels[name] != want {
			t.Errorf("label %s is %q, want %q", name, got[0].Labels[name], want)
		}
	}
	eventually(t, "status", func() bool { return r.of(s).Health == "up" && r.of(s).Samples == 1 })
	st := r.of(s)
	if st.ID != s.URL+"/metrics" || st.Service != "vision" || st.Instance != host+":"+port || st.Series == 0 || st.SeriesLimit != 50_000 || st.Error != nil || !st.Simulated || st.Interval != 15*time.Second {
		t.Errorf("status %+v", st)
	}
	if names := r.MetricNames(st.ID); !slices.Equal(names, []string{"nv_requests_total"}) {
		t.Errorf("metric names %v", names)
	}
	if r.MetricNames("http://nobody/metrics") != nil {
		t.Error("names of a target that is not known")
	}
	if lints, err := testutil.GatherAndLint(r.reg, "sightline_scrape_dropped_samples_total"); err != nil || len(lints) > 0 {
		t.Errorf("lint %v %v", lints, err)
	}
}

func TestIdentityRules(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := serve(t, text("x 1\n")), serve(t, text("x 1\n")), serve(t, text("x 1\n"))
	r := run(t, Config{Targets: []TargetConfig{
		{URL: a.URL, Namespace: "demo", Pod: "vision-0", Node: "demo-node-1"},
		{URL: b.URL, Instance: "mine"},
		{URL: c.URL, Node: "n7", Job: "special"},
	}}, ingest.Limits{})
	eventually(t, "three targets", func() bool { return len(r.Targets()) == 3 })
	if st := r.of(a); st.Instance != "demo/vision-0" || st.Node != "demo-node-1" || st.Service != "default" || st.Job != "default" {
		t.Errorf("pod: %+v", st)
	}
	if st := r.of(b); st.Instance != "mine" || st.Node != host {
		t.Errorf("named: %+v", st)
	}
	if st := r.of(c); st.Instance != "n7:"+c.URL[strings.LastIndex(c.URL, ":")+1:] || st.Job != "special" {
		t.Errorf("node: %+v", st)
	}
}

func TestNamesFollowTheTargetAndApplyReplacesTargets(t *testing.T) {
	s := serve(t, text("a 1\nb 2\n"))
	r := run(t, Config{Targets: []TargetConfig{{URL: s.URL}}}, ingest.Limits{})
	id := s.URL + "/metrics"
	eventually(t, "names", func() bool { return slices.Equal(r.MetricNames(id), []string{"a", "b"}) })
	s.answer(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "starting", http.StatusServiceUnavailable) })
	eventually(t, "down", func() bool { return r.of(s).Health == "down" })
	if names := r.MetricNames(id); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("a failed scrape changed the names: %v", names)
	}
	s.answer(text("b 2\nc 3\n"))
	eventually(t, "new names", func() bool { return slices.Equal(r.MetricNames(id), []string{"b", "c"}) })
	other := serve(t, text("d 1\n"))
	if err := r.Apply(Config{Interval: 200 * time.Millisecond, Targets: []TargetConfig{{URL: "not a url"}}}); model.CodeOf(err) != "target_url_invalid" {
		t.Errorf("a bad configuration is taken: %v", err)
	}
	if err := r.Apply(Config{Interval: 200 * time.Millisecond, Targets: []TargetConfig{{URL: other.URL}}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new target only", func() bool {
		ts := r.Targets()
		return len(ts) == 1 && ts[0].URL == other.URL+"/metrics" && ts[0].Health == "up"
	})
	r.pruneOnce()
	if r.MetricNames(id) != nil {
		t.Error("a target that is gone is remembered")
	}
}

func TestDiscoveryByFileAndHTTP(t *testing.T) {
	a, b := serve(t, text("x 1\n")), serve(t, text("x 1\n"))
	ua, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	ub, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	list := t.TempDir() + "/targets.json"
	if err := os.WriteFile(list, fmt.Appendf(nil, `[{"targets":[%q],"labels":{"pod":"p","namespace":"ns"}}]`, ua.Host), 0o600); err != nil {
		t.Fatal(err)
	}
	sd := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `[{"targets":[%q],"labels":{"service":"own"}}]`, ub.Host)
	})
	r := run(t, Config{Discovery: []DiscoveryConfig{
		{Name: "file", Files: []string{list}, Target: TargetConfig{Service: "fs", Interval: 300 * time.Millisecond, Timeout: 200 * time.Millisecond}},
		{Name: "http", HTTP: sd.URL, Target: TargetConfig{Service: "hs"}},
	}}, ingest.Limits{})
	eventually(t, "both found", func() bool { return r.of(a).Health == "up" && r.of(b).Health == "up" })
	if st := r.of(a); st.Service != "fs" || st.Job != "fs" || st.Instance != "ns/p" || st.Interval != 300*time.Millisecond {
		t.Errorf("file: %+v", st)
	}
	if st := r.of(b); st.Service != "own" {
		t.Errorf("http: a discovered label was overwritten: %+v", st)
	}
}

func TestBadConfigurationsAreNamed(t *testing.T) {
	for _, c := range []struct {
		config Config
		code   string
	}{
		{Config{Targets: []TargetConfig{{URL: ""}}}, "target_url_invalid"},
		{Config{Targets: []TargetConfig{{URL: "a:1"}, {URL: "http://a:1/metrics"}}}, "target_repeated"},
		{Config{Targets: []TargetConfig{{URL: "a:1", Labels: map[string]string{"__x": "1"}}}}, "target_label_invalid"},
		{Config{Targets: []TargetConfig{{URL: "a:1", Service: "\xff"}}}, "target_label_invalid"},
		{Config{Targets: []TargetConfig{{URL: "a:1", Interval: time.Second, Timeout: 2 * time.Second}}}, "scrape_config_invalid"},
		{Config{Targets: []TargetConfig{{URL: "a:1", Interval: time.Millisecond}}}, "scrape_config_invalid"},
		{Config{Targets: []TargetConfig{{URL: "169.254.169.254:80"}}}, "target_link_local"},
		{Config{AllowLinkLocal: []string{"here"}}, "scrape_config_invalid"},
		{Config{Discovery: []DiscoveryConfig{{Files: []string{"x.json"}}}}, "scrape_config_invalid"},
		{Config{Discovery: []DiscoveryConfig{{Name: "x"}}}, "scrape_config_invalid"},
		{Config{Discovery: []DiscoveryConfig{{Name: "x", HTTP: "ftp://x"}}}, "scrape_config_invalid"},
		{Config{Discovery: []DiscoveryConfig{{Name: "x", HTTP: "http://169.254.169.254/"}}}, "target_link_local"},
		{Config{Discovery: []DiscoveryConfig{{Name: "x", DNS: []string{"a"}, DNSType: "A"}}}, "scrape_config_invalid"},
		{Config{Discovery: []DiscoveryConfig{{Name: "x", DNS: []string{"a"}, DNSType: "TXT"}}}, "scrape_config_invalid"},
	} {
		if err := c.config.Validate(); model.CodeOf(err) != c.code {
			t.Errorf("%+v: %v, want code %s", c.config, err, c.code)
		}
	}
	good := Config{AllowLinkLocal: []string{"169.254.0.0/16", "fe80::1%eth0"}, Targets: []TargetConfig{{URL: "169.254.1.1:80"}, {URL: "https://b/m?x=1&x=2", BodyLimit: 1 << 20}},
		Discovery: []DiscoveryConfig{{Name: "d", DNS: []string{"_m._tcp.example.org"}, Refresh: time.Second, Target: TargetConfig{URL: "https://any/m"}}}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}
