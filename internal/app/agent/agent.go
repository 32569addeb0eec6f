// Package agent composes the agent's role: it scrapes the servers and exporters
// beside it and sends what it gets to a Sightline server by remote write v2. It
// reaches none of the server's packages, so that its binary stays small.
package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sightline/internal/app/config"
	"sightline/internal/app/lifecycle"
	"sightline/internal/app/scraping"
	"sightline/internal/collect/scrape"
	"sightline/internal/health"
	"sightline/internal/ingest"
	"sightline/internal/model"
	"sightline/internal/spool"
)

// Settings is everything that the agent needs to run.
type Settings struct {
	// Server is the base address of a Sightline server.
	Server string
	// TokenFile holds a token with the scope write; "" sends none.
	TokenFile string
	// Listen is a loopback address for the agent's own /metrics and /healthz.
	Listen string
	// Scrape says what is scraped.
	Scrape config.ScrapeConfig
	Log    *slog.Logger
	Out    io.Writer
	// Version is shown in sightline_build_info.
	Version string
}

// validate checks everything before anything starts.
func (s Settings) validate() error {
	if s.Server == "" {
		return &model.Problem{Code: "server_missing", Text: "no server is named", Hint: "give --server http://HOST:7070"}
	}
	if len(s.Scrape.Targets)+len(s.Scrape.Files)+len(s.Scrape.HTTP)+len(s.Scrape.DNS) == 0 {
		return &model.Problem{Code: "targets_missing", Text: "there is nothing to scrape", Hint: "give --target [SERVICE=]URL, or a configuration file with scrape.targets"}
	}
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return &model.Problem{Code: "listen_invalid", Text: fmt.Sprintf("%q is no HOST:PORT", s.Listen), Hint: "write 127.0.0.1:7071", Err: err}
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return &model.Problem{Code: "listen_open", Text: fmt.Sprintf("the agent's own listener %s can be reached by others", s.Listen), Hint: "bind it to 127.0.0.1"}
	}
	return nil
}

// Run scrapes and sends until ctx ends.
func Run(ctx context.Context, s Settings) error {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Out == nil {
		s.Out = io.Discard
	}
	c := config.Default()
	c.Scrape = s.Scrape
	if err := c.Validate(); err != nil {
		return err
	}
	if err := s.validate(); err != nil {
		return err
	}
	reg := prometheus.NewRegistry()
	h := health.New(s.Log, nil)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sightline_build_info", Help: "1, with the version as a label."}, []string{"version"})
	build.WithLabelValues(s.Version).Set(1)
	for _, col := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build, h} {
		if err := reg.Register(col); err != nil {
			return err
		}
	}
	ln, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return &model.Problem{Code: "listen_failed", Text: "cannot listen on " + s.Listen, Hint: "choose another address with --listen", Err: err}
	}
	defer ln.Close()

	sc := spool.DefaultConfig(s.Server)
	if sc.Source, err = os.Hostname(); err != nil {
		sc.Source = "agent"
	}
	if s.TokenFile != "" {
		b, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return &model.Problem{Code: "token_file_unreadable", Text: "token file " + s.TokenFile + " cannot be read", Hint: "check its path and permissions", Err: err}
		}
		sc.Token = strings.TrimSpace(string(b))
	}
	sp, err := spool.New(sc, s.Log.With("part", "spool"), reg)
	if err != nil {
		return err
	}
	limits := ingest.DefaultLimits()
	limits.SeriesPerTarget = s.Scrape.SeriesLimit
	guard := ingest.NewGuard(sp, limits, reg, h)
	m, err := scrape.New(scraping.Settings(s.Scrape), guard, s.Log.With("part", "scrape"), reg, h)
	if err != nil {
		return err
	}

	srv := &http.Server{Handler: probes(reg, h), ReadHeaderTimeout: 5 * time.Second}
	s.Log.Info("agent started", "server", s.Server, "listen", ln.Addr().String(), "targets", len(s.Scrape.Targets))
	fmt.Fprintf(s.Out, "\n  Sightline agent: sends to %s, own metrics at http://%s/metrics, stop with Ctrl-C\n\n", s.Server, ln.Addr())
	return lifecycle.Run(ctx, s.Log, lifecycle.StopBudget,
		lifecycle.Service{Name: "http", Run: func(ctx context.Context) error {
			stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
			defer stop()
			if err := srv.Serve(ln); err != http.ErrServerClosed {
				return err
			}
			return nil
		}},
		lifecycle.Service{Name: "spool", Run: sp.Run},
		lifecycle.Service{Name: "scrape", Run: m.Run},
	)
}

// probes serves the agent's own page: metrics, and whether it lives.
func probes(reg *prometheus.Registry, h *health.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ready, waiting := h.Ready(); !ready {
			http.Error(w, waiting[0].Name+": "+waiting[0].Text, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
