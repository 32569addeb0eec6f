// Package api is the product's HTTP face: the complete Prometheus API with
// federation, remote write and OTLP at the usual paths, the console's own
// questions under /api/v1/sightline, probes, own metrics and the console
// itself. It is closed by default: it answers only to its own name, refuses
// what other origins make a browser send, and every route has a token scope.
// Handlers turn requests into questions and answers into JSON; the facts come
// from the interfaces and functions in Deps.
package api

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/storage"
	apiv1 "github.com/prometheus/prometheus/web/api/v1"

	"sightline/internal/health"
	"sightline/internal/model"
	"sightline/internal/query"
)

// Discovery shows what is scraped in the Prometheus API's own terms; the scrape
// manager is one.
type Discovery interface {
	apiv1.ScrapePoolsRetriever
	apiv1.TargetRetriever
}

// Canonical answers the console's questions about services and models.
type Canonical interface {
	Now(ctx context.Context, r query.NowRequest) (query.NowAnswer, error)
	Series(ctx context.Context, r query.SeriesRequest) (query.SeriesAnswer, error)
}

// Inventory answers what there is: hardware and signals.
type Inventory interface {
	Hardware(ctx context.Context, r query.HardwareRequest) (query.HardwareAnswer, error)
	Signals(ctx context.Context, r query.SignalsRequest) (query.SignalsAnswer, error)
}

// Deps are the parts behind the API. All are required unless said otherwise.
type Deps struct {
	// Engine is the store's promql.QueryEngine. It is not named by its type,
	// whose package stays behind metricstore.
	Engine    any
	Queryable storage.SampleAndChunkQueryable
	Exemplars storage.ExemplarQueryable
	// Appendable takes remote write and OTLP: the ingest guard.
	Appendable storage.AppendableV2
	// Admin gives statistics, deletion and snapshots of the store.
	Admin     apiv1.TSDBAdminStats
	Discovery Discovery
	// Rules is the rule manager.
	Rules apiv1.RulesRetriever

	// Canonical and Inventory are the query package.
	Canonical Canonical
	Inventory Inventory

	// Facts for the status page.
	Targets func() []TargetStatus
	RuleSet func() RulesStatus
	Storage func() StorageStatus
	Ingest  func() IngestStatus
	// ConfigText is the running configuration as YAML with secrets replaced.
	ConfigText func() (string, error)

	// WithSource marks a write's context with its ingest source.
	WithSource func(ctx context.Context, source string) context.Context
	// WriteV1 stores a remote write 1.0 message and tells what of it was
	// refused. Optional: without it one bad sample voids its request.
	WriteV1 func(ctx context.Context, body []byte) error

	Health     *health.Registry
	Gatherer   prometheus.Gatherer
	Registerer prometheus.Registerer
	// Console is the built web console with index.html at its root; optional.
	Console fs.FS
	// Log is optional.
	Log *slog.Logger
	// Now is the clock; optional.
	Now func() time.Time
}

// API is the assembled HTTP face.
type API struct {
	cfg     Config
	deps    Deps
	auth    *authenticator
	gate    *gate
	room    *room
	observe *observer
	fed     *federation
	console *console
	prom    http.Handler
	metrics http.Handler
	now     func() time.Time
	started time.Time
	handler http.Handler
	routes  []endpoint
}

// New assembles the API. Errors are *model.Problem with code config_invalid,
// token_invalid, engine_invalid or dependency_missing.
func New(cfg Config, deps Deps) (*API, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := deps.check(); err != nil {
		return nil, err
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	keys, err := newKeyring(cfg.Tokens)
	if err != nil {
		return nil, err
	}
	cfg.Tokens = nil // only their hashes stay
	a := &API{
		cfg: cfg, deps: deps, now: deps.Now, started: deps.Now(),
		auth:    &authenticator{keys: keys, sessions: newSessions(cfg.SessionLife, deps.Now)},
		gate:    newGate(cfg.QueryConcurrency, cfg.QueryWait, deps.Registerer),
		room:    newRoom(cfg.WriteBodyLimit, cfg.QueryWait),
		observe: newObserver(deps.Registerer, deps.Log),
		fed:     newFederation(deps.Queryable, cfg.LookbackDelta, cfg.QueryTimeout, deps.Now, deps.Registerer, deps.Log),
		metrics: metricsHandler(deps.Gatherer, deps.Log),
	}
	if deps.Console != nil {
		a.console = newConsole(deps.Console)
	}
	if a.prom, err = a.newPrometheus(); err != nil {
		return nil, err
	}
	a.routes = a.table()
	a.handler = a.assemble()
	return a, nil
}

// Handler serves everything; mount it at the root of the listener.
func (a *API) Handler() http.Handler { return a.handler }

// check names the first part that is missing.
func (d Deps) check() error {
	for _, p := range []struct {
		name    string
		missing bool
	}{
		{"Engine", d.Engine == nil}, {"Queryable", d.Queryable == nil}, {"Exemplars", d.Exemplars == nil},
		{"Appendable", d.Appendable == nil}, {"Admin", d.Admin == nil}, {"Discovery", d.Discovery == nil},
		{"Rules", d.Rules == nil}, {"Canonical", d.Canonical == nil}, {"Inventory", d.Inventory == nil},
		{"Targets", d.Targets == nil}, {"RuleSet", d.RuleSet == nil}, {"Storage", d.Storage == nil},
		{"Ingest", d.Ingest == nil}, {"ConfigText", d.ConfigText == nil}, {"WithSource", d.WithSource == nil},
		{"Health", d.Health == nil}, {"Gatherer", d.Gatherer == nil}, {"Registerer", d.Registerer == nil},
	} {
		if p.missing {
			return &model.Problem{Code: "dependency_missing", Text: "the API was given no " + p.name, Hint: "this is a fault of the program; please report it"}
		}
	}
	return nil
}
