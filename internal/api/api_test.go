package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/teststorage"
	"go.uber.org/goleak"

	"sightline/internal/health"
	"sightline/internal/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// storeAdmin adds to the test storage what the store's admin face has.
type storeAdmin struct{ *teststorage.TestStorage }

func (s storeAdmin) Stats(label string, limit int) (*tsdb.Stats, error) {
	return s.Head().Stats(label, limit), nil
}

func (s storeAdmin) WALReplayStatus() (tsdb.WALReplayStatus, error) {
	return tsdb.WALReplayStatus{}, nil
}
func (s storeAdmin) BlockMetas() ([]tsdb.BlockMeta, error) { return s.DB.BlockMetas(), nil }
func (s storeAdmin) Delete(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) error {
	return s.DB.Delete(ctx, mint, maxt, ms...)
}

// discovery and ruleset are a server that scrapes one unreachable target and
// runs no rules, in the real managers' types.
type discovery struct{}

func (discovery) ScrapePools() []string                       { return []string{"engines"} }
func (discovery) TargetsActive() map[string][]*scrape.Target  { return map[string][]*scrape.Target{} }
func (discovery) TargetsDropped() map[string][]*scrape.Target { return map[string][]*scrape.Target{} }
func (discovery) TargetsDroppedCounts() map[string]int        { return map[string]int{} }
func (discovery) ScrapePoolConfig(string) (*promconfig.ScrapeConfig, error) {
	return &promconfig.ScrapeConfig{JobName: "engines"}, nil
}

type ruleset struct{}

func (ruleset) RuleGroups() []*rules.Group           { return nil }
func (ruleset) AlertingRules() []*rules.AlertingRule { return nil }

// canned answers the console's questions and remembers what was asked.
type canned struct {
	mu       sync.Mutex
	now      query.NowRequest
	series   query.SeriesRequest
	hardware query.HardwareRequest
	signals  query.SignalsRequest
	err      error
	block    chan struct{}
	entered  chan struct{}
}

func (c *canned) Now(ctx context.Context, r query.NowRequest) (query.NowAnswer, error) {
	if c.entered != nil {
		c.entered <- struct{}{}
	}
	if c.block != nil {
		select {
		case <-c.block:
		case <-ctx.Done():
			return query.NowAnswer{}, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = r
	rate := 12.5
	return query.NowAnswer{At: 1, Rows: []query.NowRow{{ID: "vision/resnet_mini", RequestRate: query.Value{Value: &rate}}}, Warnings: []string{"one part is missing"}}, c.err
}

func (c *canned) Series(_ context.Context, r query.SeriesRequest) (query.SeriesAnswer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.series = r
	return query.SeriesAnswer{Signals: []query.SignalSeries{}}, c.err
}

func (c *canned) Hardware(_ context.Context, r query.HardwareRequest) (query.HardwareAnswer, error) {
	c.hardware = r
	return query.HardwareAnswer{Nodes: []query.NodeRow{}}, c.err
}

func (c *canned) Signals(_ context.Context, r query.SignalsRequest) (query.SignalsAnswer, error) {
	c.signals = r
	return query.SignalsAnswer{}, c.err
}

type fixture struct {
	t       *testing.T
	api     *API
	store   *teststorage.TestStorage
	health  *health.Registry
	reg     *prometheus.Registry
	canned  *canned
	srv     *httptest.Server
	mu      sync.Mutex
	sources []string
}

func newFixture(t *testing.T, adjust ...func(*Config, *Deps)) *fixture {
	t.Helper()
	f := &fixture{t: t, store: teststorage.New(t), reg: prometheus.NewRegistry(), canned: &canned{}, health: health.New(nil, nil)}
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 5_000_000, Timeout: 10 * time.Second, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{}),
	})
	t.Cleanup(func() { engine.Close() })
	cfg := DefaultConfig()
	cfg.Version, cfg.DataDir, cfg.QueryWait = "0.1.0", t.TempDir(), 0
	cfg.Flags = map[string]string{"listen": "127.0.0.1:7070", "web.admin-token": "hunter2hunter2hunter2"}
	deps := Deps{
		Engine: engine, Queryable: f.store, Exemplars: f.store, Appendable: f.store, Admin: storeAdmin{f.store},
		Discovery: discovery{}, Rules: ruleset{}, Canonical: f.canned, Inventory: f.canned,
		Targets: func() []TargetStatus { return nil }, RuleSet: func() RulesStatus { return RulesStatus{} },
		Storage: func() StorageStatus { return StorageStatus{} }, Ingest: func() IngestStatus { return IngestStatus{} },
		ConfigText: func() (string, error) { return "listen: 127.0.0.1:7070\ntokens: <secret>\n", nil },
		WithSource: func(ctx context.Context, s string) context.Context {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.sources = append(f.sources, s)
			return ctx
		},
		Health: f.health, Gatherer: f.reg, Registerer: f.reg,
		Console: fstest.MapFS{
			"index.html":                  {Data: []byte("<!doctype html><div id=root></div>" + strings.Repeat("<!-- console -->", 100))},
			"assets/index-BdVk3a9Q.js":    {Data: []byte("export const a=1;" + strings.Repeat("// code\n", 500))},
			"assets/logo.svg":             {Data: []byte("<svg/>")},
			"assets/style-0123456789.css": {Data: []byte("a{}")},
		},
	}
	for _, a := range adjust {
		a(&cfg, &deps)
	}
	a, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	f.api = a
	f.srv = httptest.NewServer(a.Handler())
	t.Cleanup(func() {
		f.srv.Client().CloseIdleConnections()
		f.srv.Close()
	})
	return f
}

// load appends lines "name{labels} value" at the given time.
func (f *fixture) append(at time.Time, lset labels.Labels, v float64) {
	f.t.Helper()
	app := f.store.AppenderV2(context.Background())
	if _, err := app.Append(0, lset, 0, at.UnixMilli(), v, nil, nil, storage.AOptions{}); err != nil {
		f.t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) appendHistogram(at time.Time, lset labels.Labels, h *histogram.FloatHistogram) {
	f.t.Helper()
	app := f.store.AppenderV2(context.Background())
	if _, err := app.Append(0, lset, 0, at.UnixMilli(), 0, nil, h, storage.AOptions{}); err != nil {
		f.t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		f.t.Fatal(err)
	}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) env(t *testing.T) (e struct {
	Status, ErrorType, Error, Code, Hint string
	Data                                 json.RawMessage
	Warnings                             []string
	Position                             *position
}) {
	t.Helper()
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Fatalf("answer %d is no envelope: %v: %.300s", a.status, err, a.body)
	}
	return e
}

func (f *fixture) do(req *http.Request) answer {
	f.t.Helper()
	c := *f.srv.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, b}
}

func (f *fixture) request(method, path string, body io.Reader, headers ...string) *http.Request {
	f.t.Helper()
	req, err := http.NewRequest(method, f.srv.URL+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (f *fixture) get(path string, headers ...string) answer {
	f.t.Helper()
	return f.do(f.request("GET", path, nil, headers...))
}

func (f *fixture) post(path, body string, headers ...string) answer {
	f.t.Helper()
	return f.do(f.request("POST", path, strings.NewReader(body), headers...))
}

func (f *fixture) form(path string, v url.Values) answer {
	f.t.Helper()
	return f.post(path, v.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// golden compares got with testdata/name; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		adjust func(*Config, *Deps)
		code   string
	}{
		"no health":   {func(_ *Config, d *Deps) { d.Health = nil }, "dependency_missing"},
		"no engine":   {func(_ *Config, d *Deps) { d.Engine = nil }, "dependency_missing"},
		"no limit":    {func(c *Config, _ *Deps) { c.WriteBodyLimit = 0 }, "config_invalid"},
		"no parallel": {func(c *Config, _ *Deps) { c.QueryConcurrency = 0 }, "config_invalid"},
		"not engine":  {func(_ *Config, d *Deps) { d.Engine = "engine" }, "engine_invalid"},
		"weak token":  {func(c *Config, _ *Deps) { c.Tokens = []Token{{Name: "a", Secret: "short", Scopes: []Scope{ScopeRead}}} }, "token_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, deps := f.api.cfg, f.api.deps
			deps.Registerer = prometheus.NewRegistry()
			c.adjust(&cfg, &deps)
			_, err := New(cfg, deps)
			wantCode(t, err, c.code)
		})
	}
}
