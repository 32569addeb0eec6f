package api

import (
	"compress/gzip"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"sightline/internal/model"
)

// cost says which limits guard a route.
type cost int

const (
	light cost = iota // small body, no store
	asks              // small body, takes a query slot
	write             // large body, names its ingest source
	plain             // as light, and its answer is never compressed here
	bulk              // as asks, and its answer is never compressed here
)

// endpoint is one path of the API. The path is a pattern of http.ServeMux and the
// handler label of its metrics.
type endpoint struct {
	methods string // "GET,POST"; GET includes HEAD
	path    string
	scope   Scope
	cost    cost
	handler http.Handler
}

// table lists every path that is served besides the console. Paths of the
// Prometheus API that are not here cannot be reached.
func (a *API) table() []endpoint {
	f := func(h http.HandlerFunc) http.Handler { return h }
	return []endpoint{
		{"GET", "/healthz", ScopePublic, light, f(a.serveHealthz)},
		{"GET", "/readyz", ScopePublic, light, f(a.serveReadyz)},
		{"GET", "/-/healthy", ScopePublic, light, f(a.serveHealthy)},
		{"GET", "/-/ready", ScopePublic, light, f(a.serveReady)},
		{"GET", "/metrics", ScopeRead, light, a.metrics},
		{"GET", "/federate", ScopeRead, asks, a.fed},

		{"GET,POST", "/api/v1/query", ScopeRead, asks, a.prom},
		{"GET,POST", "/api/v1/query_range", ScopeRead, asks, a.prom},
		{"GET,POST", "/api/v1/query_exemplars", ScopeRead, asks, a.prom},
		{"GET,POST", "/api/v1/format_query", ScopeRead, light, a.prom},
		{"GET,POST", "/api/v1/parse_query", ScopeRead, light, a.prom},
		{"GET,POST", "/api/v1/labels", ScopeRead, asks, a.prom},
		{"GET", "/api/v1/label/{name}/values", ScopeRead, asks, a.prom},
		{"GET,POST", "/api/v1/series", ScopeRead, asks, a.prom},
		{"GET,POST", "/api/v1/search/metric_names", ScopeRead, asks, a.prom},
		{"GET,POST", "/api/v1/search/label_names", ScopeRead, asks, a.prom},
		{"GET,POST", "/api/v1/search/label_values", ScopeRead, asks, a.prom},
		{"GET", "/api/v1/scrape_pools", ScopeRead, light, a.prom},
		{"GET", "/api/v1/targets", ScopeRead, light, a.prom},
		{"GET", "/api/v1/targets/metadata", ScopeRead, light, a.prom},
		{"GET", "/api/v1/targets/relabel_steps", ScopeRead, light, a.prom},
		{"GET", "/api/v1/metadata", ScopeRead, light, a.prom},
		{"GET", "/api/v1/alertmanagers", ScopeRead, light, a.prom},
		{"GET", "/api/v1/alerts", ScopeRead, light, a.prom},
		{"GET", "/api/v1/rules", ScopeRead, light, a.prom},
		{"GET", "/api/v1/status/config", ScopeRead, light, a.prom},
		{"GET", "/api/v1/status/runtimeinfo", ScopeRead, light, a.prom},
		{"GET", "/api/v1/status/buildinfo", ScopeRead, light, a.prom},
		{"GET", "/api/v1/status/flags", ScopeRead, light, a.prom},
		{"GET", "/api/v1/status/tsdb", ScopeRead, asks, a.prom},
		{"GET", "/api/v1/status/tsdb/blocks", ScopeRead, light, a.prom},
		{"GET", "/api/v1/status/self_metrics", ScopeRead, light, a.prom},
		{"GET", "/api/v1/status/walreplay", ScopeRead, light, a.prom},
		{"GET", "/api/v1/features", ScopeRead, light, a.prom},
		{"GET", "/api/v1/notifications", ScopeRead, light, a.prom},
		{"GET", "/api/v1/notifications/live", ScopeRead, plain, a.prom},
		{"GET", "/api/v1/openapi.yaml", ScopeRead, light, a.prom},
		{"POST", "/api/v1/read", ScopeRead, bulk, a.prom},
		{"POST", "/api/v1/write", ScopeWrite, write, a.prom},
		{"POST", "/api/v1/otlp/v1/metrics", ScopeWrite, write, a.prom},
		{"POST,PUT", "/api/v1/admin/tsdb/delete_series", ScopeAdmin, asks, a.prom},
		{"POST,PUT", "/api/v1/admin/tsdb/clean_tombstones", ScopeAdmin, asks, a.prom},
		{"POST,PUT", "/api/v1/admin/tsdb/snapshot", ScopeAdmin, asks, a.prom},
		// The configuration of a scrape pool may name credentials and files.
		{"GET", "/api/v1/scrape_pools/config", ScopeAdmin, light, a.prom},

		{"GET", "/api/v1/sightline/now", ScopeRead, asks, f(a.serveNow)},
		{"GET", "/api/v1/sightline/series", ScopeRead, asks, f(a.serveSeries)},
		{"GET", "/api/v1/sightline/hardware", ScopeRead, asks, f(a.serveHardware)},
		{"GET", "/api/v1/sightline/signals", ScopeRead, asks, f(a.serveSignals)},
		{"GET", "/api/v1/sightline/status", ScopeRead, light, f(a.serveStatus)},
		{"GET", "/api/v1/sightline/config", ScopeRead, light, f(a.serveConfig)},
		{"GET", "/api/v1/sightline/session", ScopePublic, light, f(a.serveSession)},
		{"POST", "/api/v1/sightline/login", ScopePublic, light, f(a.serveLogin)},
		{"POST", "/api/v1/sightline/logout", ScopePublic, light, f(a.serveLogout)},
	}
}

// assemble builds the chain, outermost first: recover, browser headers, length
// of the address, host name, origin, route.
func (a *API) assemble() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range a.routes {
		mux.Handle(rt.path, a.guarded(rt))
	}
	mux.Handle("/api/", a.observe.wrap("unknown", http.HandlerFunc(serveUnknown)))
	mux.Handle("/", a.observe.wrap("console", http.HandlerFunc(a.serveConsole)))

	h := sameOrigin(mux, a.observe.refuse)
	h = newHostGuard(a.cfg.Listen, a.cfg.AllowedHosts).wrap(h, a.observe.refuse)
	h = limitURL(a.cfg.URLLimit, h, a.observe.refuse)
	return a.observe.recovered(paced(readPatience, secured(h)))
}

// guarded puts a route's own limits around its handler.
func (a *API) guarded(rt endpoint) http.Handler {
	h := rt.handler
	switch rt.cost {
	case write:
		bare := ""
		if rt.path == "/api/v1/write" {
			bare = "snappy" // remote write is never sent plain
			h = a.writeV1(h)
		}
		h = limitWrite(a.cfg.WriteBodyLimit, bare, a.room, a.sourced(h))
	case asks, bulk:
		h = a.gate.wrap(h)
	}
	if rt.cost == asks || rt.path == "/api/v1/format_query" || rt.path == "/api/v1/parse_query" {
		h = limitQueries(h)
	}
	if rt.cost == light || rt.cost == asks {
		h = compressed(h)
	}
	if rt.cost != write {
		// Outside the gate: a body that drips in must not hold a query's place.
		h = received(a.cfg.FormBodyLimit, formPatience, h)
	}
	if rt.scope != ScopePublic {
		h = a.auth.wrap(rt.scope, h)
	}
	return a.observe.wrap(rt.path, methods(rt.methods, h))
}

// compressed answers in gzip or zstd where the client takes it and it pays.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		panic(err) // constant options
	}
	return wrap(next)
}

// methods refuses what the route does not take. OPTIONS tells what it does.
func methods(list string, next http.Handler) http.Handler {
	allowed := strings.Split(list, ",")
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	allow := strings.Join(append(slices.Clone(allowed), http.MethodOptions), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case slices.Contains(allowed, r.Method):
			next.ServeHTTP(w, r)
		case r.Method == http.MethodOptions:
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", allow)
			writeProblem(w, r, http.StatusMethodNotAllowed, "bad_data", &model.Problem{
				Code: "method_not_allowed", Text: "this path does not take " + clip(r.Method, 20), Hint: "use " + strings.Join(allowed, " or "),
			})
		}
	})
}

func serveUnknown(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, r, http.StatusNotFound, "not_found", &model.Problem{
		Code: "path_unknown", Text: "there is nothing at " + clip(r.URL.Path, 200), Hint: "see /api/v1/openapi.yaml and the API page of the documentation",
	})
}
