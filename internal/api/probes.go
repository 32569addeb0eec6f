package api

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sightline/internal/health"
	"sightline/internal/model"
)

// ReadyAnswer says whether the server serves, and what it waits for.
type ReadyAnswer struct {
	Ready bool          `json:"ready"`
	Parts []health.Part `json:"parts"`
}

// serveHealthz answers as long as the process lives.
func (a *API) serveHealthz(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, r, http.StatusOK, map[string]string{"status": "alive"})
}

// serveReadyz is 503 until every part is ready or degraded. Its sentences can
// name directories and targets, so they need the scope read.
func (a *API) serveReadyz(w http.ResponseWriter, r *http.Request) {
	ready, _ := a.deps.Health.Ready()
	ans := ReadyAnswer{Ready: ready, Parts: a.deps.Health.Parts()}
	if _, err := a.auth.authorize(r, ScopeRead); err != nil {
		for i := range ans.Parts {
			ans.Parts[i].Text = ""
		}
	}
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, r, status, ans)
}

// serveHealthy and serveReady are Prometheus' probes.
func (a *API) serveHealthy(w http.ResponseWriter, r *http.Request) {
	writeText(w, r, http.StatusOK, "Sightline is Healthy.\n")
}

func (a *API) serveReady(w http.ResponseWriter, r *http.Request) {
	if ready, waiting := a.deps.Health.Ready(); !ready {
		w.Header().Set("Retry-After", "1")
		writeText(w, r, http.StatusServiceUnavailable, fmt.Sprintf("Service Unavailable: waiting for %d parts, first %s\n", len(waiting), waiting[0].Name))
		return
	}
	writeText(w, r, http.StatusOK, "Sightline is Ready.\n")
}

// metricsHandler exposes our own metrics in every format a scraper asks for.
func metricsHandler(g prometheus.Gatherer, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError, DisableCompression: true,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError),
	})
}

// Starting answers while the server is not there yet: alive, not ready, and 503
// with Retry-After for everything else. Put it on the listener while the store
// replays its log.
func Starting(h *health.Registry) http.Handler {
	a := &API{deps: Deps{Health: h}, auth: &authenticator{keys: &keyring{}}}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", a.serveHealthz)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		parts := h.Parts()
		for i := range parts {
			parts[i].Text = ""
		}
		writeJSON(w, r, http.StatusServiceUnavailable, ReadyAnswer{Parts: parts})
	})
	mux.HandleFunc("/-/healthy", a.serveHealthy)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		writeProblem(w, r, http.StatusServiceUnavailable, "unavailable", &model.Problem{Code: "starting", Text: "the server is starting", Hint: "try again in a moment; /readyz tells what it waits for"})
	})
	return secured(mux)
}
