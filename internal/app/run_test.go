package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/goleak"

	"sightline/internal/app/agent"
	"sightline/internal/app/config"
	"sightline/internal/model"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		// Started by the init of a package below the store; it has no end.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// quick is a configuration that evaluates every second.
func quick(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.Listen, c.Data = freeAddress(t), t.TempDir()
	c.Scrape.Interval, c.Scrape.Timeout = config.Duration(time.Second), config.Duration(time.Second)
	c.Rules.Interval = config.Duration(time.Second)
	return c
}

// started runs a role until the test ends and waits until it is ready.
func started(t *testing.T, s Settings) (base string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, s) }()
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(15 * time.Second):
			return fmt.Errorf("did not stop within 15 s")
		}
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	base = "http://" + s.Config.Listen
	eventually(t, "readiness", func() bool {
		select {
		case err := <-done:
			ended = true
			t.Fatalf("ended before it was ready: %v", err)
		default:
		}
		code, _ := fetch(t, base+"/readyz", "")
		return code == http.StatusOK
	})
	return base, stop
}

// eventually polls: these tests run whole processes over real sockets.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("no %s within 30 s", what)
}

func fetch(t *testing.T, u, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// TestObservationFromScrapeToRuleToJSON follows one observation with its
// exemplar: a native histogram is scraped as protobuf, stored, read by a rule,
// and all three come back as JSON.
func TestObservationFromScrapeToRuleToJSON(t *testing.T) {
	reg := prometheus.NewRegistry()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "work_seconds", Help: "x", NativeHistogramBucketFactor: 1.1, NativeHistogramMaxExemplars: 10})
	reg.MustRegister(h)
	h.(prometheus.ExemplarObserver).ObserveWithExemplar(0.25, prometheus.Labels{"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"})
	target := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	defer target.Close()

	c := quick(t)
	c.Scrape.Targets = []config.Target{{URL: target.URL, Service: "jobs"}}
	rules := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(rules, []byte("groups:\n  - name: own\n    interval: 1s\n    rules:\n      - record: service:work_seconds:p99\n        expr: histogram_quantile(0.99, sum by (service) (work_seconds))\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Rules.Files = []string{rules}
	base, _ := started(t, Settings{Role: RoleUp, Config: c})

	eventually(t, "recorded quantile", func() bool {
		_, b := fetch(t, base+"/api/v1/query?query="+url.QueryEscape(`service:work_seconds:p99{service="jobs"}`), "")
		var a struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if json.Unmarshal([]byte(b), &a) != nil || len(a.Data.Result) != 1 {
			return false
		}
		var v float64
		fmt.Sscan(fmt.Sprint(a.Data.Result[0].Value[1]), &v)
		// The bucket around 0.25 is 1.1 wide.
		if v < 0.25/1.1 || v > 0.25*1.1 {
			t.Fatalf("p99 of one observation of 0.25 is %v", v)
		}
		return true
	})
	_, b := fetch(t, base+"/api/v1/query?query=work_seconds", "")
	if !strings.Contains(b, `"histogram"`) || !strings.Contains(b, `"count":"1"`) || !strings.Contains(b, `"sum":"0.25"`) {
		t.Errorf("the native histogram does not come back as one: %s", b)
	}
	now := time.Now().Unix()
	_, b = fetch(t, fmt.Sprintf("%s/api/v1/query_exemplars?query=work_seconds&start=%d&end=%d", base, now-3600, now+60), "")
	if !strings.Contains(b, "4bf92f3577b34da6a3ce929d0e0e4736") || !strings.Contains(b, `"value":"0.25"`) {
		t.Errorf("the exemplar is lost: %s", b)
	}
	_, b = fetch(t, base+"/api/v1/rules", "")
	if !strings.Contains(b, "service:work_seconds:p99") {
		t.Errorf("the rule is not listed: %s", b)
	}
}

func TestTokensCloseEverythingButTheDoor(t *testing.T) {
	c := quick(t)
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("write-token-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Tokens = []config.TokenConfig{
		{Name: "reader", Scopes: []string{"read"}, Token: "read-token-0123456789"},
		{Name: "writer", Scopes: []string{"write"}, TokenFile: secret},
	}
	base, _ := started(t, Settings{Role: RoleServe, Config: c})
	for _, tc := range []struct {
		path, token string
		want        int
	}{
		{"/healthz", "", 200},
		{"/api/v1/query?query=1", "", 401},
		{"/api/v1/query?query=1", "wrong", 401},
		{"/api/v1/query?query=1", "read-token-0123456789", 200},
		{"/api/v1/query?query=1", "write-token-0123456789", 401},
		{"/api/v1/sightline/now", "", 401},
		{"/metrics", "", 401},
		{"/federate?match[]=up", "", 401},
	} {
		if got, b := fetch(t, base+tc.path, tc.token); got != tc.want {
			t.Errorf("%s with %q: %d, want %d: %.200s", tc.path, tc.token, got, tc.want, b)
		}
	}
	if code, b := fetch(t, base+"/api/v1/sightline/config", "read-token-0123456789"); code == 200 && strings.Contains(b, "read-token-0123456789") {
		t.Error("the configuration page shows a token")
	}
}

func TestStartProblemsHaveCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for code, change := range map[string]func(*config.Config){
		"port_in_use":              func(c *config.Config) { c.Listen = taken.Addr().String() },
		"listen_open":              func(c *config.Config) { c.Listen = "0.0.0.0:0" },
		"data_dir_not_a_directory": func(c *config.Config) { c.Data = file },
		"tls_invalid":              func(c *config.Config) { c.TLS = config.TLSConfig{CertFile: file, KeyFile: file} },
		"config_invalid":           func(c *config.Config) { c.Query.Concurrency = 0 },
		"token_file_unreadable": func(c *config.Config) {
			c.Tokens = []config.TokenConfig{{Name: "a", Scopes: []string{"read"}, TokenFile: "/nowhere"}}
		},
	} {
		c := quick(t)
		change(&c)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := Run(ctx, Settings{Role: RoleServe, Config: c}); model.CodeOf(err) != code {
			t.Errorf("want %s, got %v", code, err)
		}
		cancel()
	}
}

// TestAgentsTargetsShowOnTheServer sends what an agent would and reads the
// status page: the agent's target is there, with its dialect.
func TestAgentsTargetsShowOnTheServer(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "# TYPE nv_inference_request_success counter\nnv_inference_request_success{model=\"m\",version=\"1\"} 5\n")
	}))
	defer target.Close()
	base, _ := started(t, Settings{Role: RoleServe, Config: quick(t)})
	sc := config.Default().Scrape
	sc.Interval, sc.Timeout = config.Duration(time.Second), config.Duration(time.Second)
	sc.Targets = []config.Target{{URL: target.URL, Service: "vision", Instance: "engine-7"}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx, agent.Settings{Server: base, Listen: "127.0.0.1:0", Scrape: sc}) }()
	eventually(t, "the agent's target on the status page", func() bool {
		_, b := fetch(t, base+"/api/v1/sightline/status", "")
		return strings.Contains(b, `"instance":"engine-7"`) && strings.Contains(b, `"remote":true`) && strings.Contains(b, `"health":"up"`) && strings.Contains(b, `"name":"triton"`)
	})
	eventually(t, "canonical series of the agent's target", func() bool {
		_, b := fetch(t, base+"/api/v1/query?query="+url.QueryEscape(`instance:requests:rate{instance="engine-7"}`), "")
		return strings.Contains(b, "engine-7")
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLyingTargetLeavesTheOthersAlone scrapes a good and a bad target at once.
func TestLyingTargetLeavesTheOthersAlone(t *testing.T) {
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "# TYPE nv_inference_request_success counter\nnv_inference_request_success{model=\"m\",version=\"1\"} 5\n")
	}))
	defer good.Close()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><html><body>log in</body></html>")
	}))
	defer bad.Close()
	c := quick(t)
	c.Scrape.Targets = []config.Target{{URL: good.URL, Service: "good"}, {URL: bad.URL, Service: "bad"}}
	base, stop := started(t, Settings{Role: RoleUp, Config: c})
	eventually(t, "both verdicts", func() bool {
		_, b := fetch(t, base+"/api/v1/sightline/status", "")
		return strings.Contains(b, `"code":"target_not_exposition"`) && strings.Contains(b, `"name":"triton"`)
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
}
