package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sightline/internal/api"
	"sightline/internal/app/config"
	"sightline/internal/app/lifecycle"
	"sightline/internal/app/scraping"
	"sightline/internal/collect/scrape"
	"sightline/internal/health"
	"sightline/internal/ingest"
	"sightline/internal/metricstore"
	"sightline/internal/model"
	"sightline/internal/query"
	"sightline/internal/ruler"
	"sightline/internal/signals"
	"sightline/web"
)

// serverGCPercent is what GOGC is set to when the environment does not say;
// Prometheus ships the same.
const serverGCPercent = 75

// demoThreads is how many threads the demo runs at least.
const demoThreads = 6

// Settings is everything that a role needs to run.
type Settings struct {
	Role   Role
	Config config.Config
	Log    *slog.Logger
	// Out takes the few lines that are meant for the person at the terminal.
	Out  io.Writer
	Demo DemoSettings
}

// CheckConfig validates c whole, the listener's openness included, without
// starting anything.
func CheckConfig(c config.Config) error {
	return errors.Join(c.Validate(), api.CheckListen(c.Listen, c.TLS.CertFile != "", len(c.Tokens) > 0, c.InsecureListen))
}

// Run composes and runs one role until ctx ends, in the order of the way of
// data (docs/way-of-data.md).
func Run(ctx context.Context, s Settings) error {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Out == nil {
		s.Out = io.Discard
	}
	if err := CheckConfig(s.Config); err != nil {
		return err
	}
	if s.Role == RoleDemo {
		if err := s.Demo.validate(); err != nil {
			return err
		}
	}
	front, err := listen(s.Config)
	if err != nil {
		return err
	}
	defer front.close()

	// Most of a server's memory is the store's head, which lives long: collecting
	// a little more often costs some per cent of CPU and saves a quarter of memory.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(serverGCPercent)
	}
	reg := prometheus.NewRegistry()
	h := health.New(s.Log, nil)
	if err := registerOwn(reg, h); err != nil {
		return err
	}
	if s.Config.InsecureListen && api.CheckListen(s.Config.Listen, s.Config.TLS.CertFile != "", len(s.Config.Tokens) > 0, false) != nil {
		h.Set(health.Condition{Code: "listen_insecure", Severity: health.Warning, Subject: s.Config.Listen,
			Text: "the listener " + s.Config.Listen + " can be reached by others without TLS and token", Hint: "set tls and tokens, then drop --insecure-listen"})
	}

	// Probes answer while the store replays its log.
	front.serve(api.Starting(h))
	frontDone := make(chan error, 1)
	go func() { frontDone <- front.run() }()

	fail := func(err error) error {
		front.close()
		<-frontDone
		return err
	}
	var services []lifecycle.Service
	var demo *fleet
	if s.Role == RoleDemo {
		// The engines' arithmetic keeps every core busy for milliseconds on end;
		// with as few threads as cores, the network would wait behind it and show
		// up as latency that no engine has.
		runtime.GOMAXPROCS(max(demoThreads, runtime.GOMAXPROCS(0)))
		if demo, err = newFleet(s.Demo, s.Log, reg, h); err != nil {
			return fail(err)
		}
		// The demo's targets become configuration, so that what the server says
		// it runs with is what it runs with.
		s.Config.Scrape.Targets = append(s.Config.Scrape.Targets, demo.targets()...)
		services = demo.services()
	}
	sv, err := openServer(ctx, s, reg, h)
	if err != nil {
		return fail(err)
	}
	if len(s.Config.Scrape.Targets)+len(s.Config.Scrape.Files)+len(s.Config.Scrape.HTTP)+len(s.Config.Scrape.DNS) == 0 && s.Role == RoleUp {
		s.Log.Warn("nothing is scraped yet", "hint", "give --target [SERVICE=]URL, or scrape.targets in a configuration file")
	}
	services = sv.services(services)
	services = append(services, lifecycle.Service{Name: "http", Run: func(ctx context.Context) error {
		front.serve(sv.api.Handler())
		h.SetPart("api", health.Ready, "")
		s.Log.Info("listening", "address", front.address(), "role", string(s.Role), "version", Version)
		printStart(s.Out, front, s.Role)
		if demo != nil {
			demo.print(s.Out)
		}
		select {
		case err := <-frontDone:
			return err
		case <-ctx.Done():
			h.SetPart("api", health.Stopped, "stopping")
			return front.shutdown()
		}
	}})
	h.SetPart("api", health.Starting, "")
	return lifecycle.Run(ctx, s.Log, lifecycle.StopBudget, services...)
}

// server is the parts of a role that holds a server, in the way of data.
type server struct {
	store  *metricstore.Store
	guard  *ingest.Guard
	scrape *scrape.Manager
	cat    *signals.Catalogue
	rules  *ruler.Ruler
	query  *query.Query
	api    *api.API
	known  *recogniser
	remote *remoteTargets
	// interval is the distance of two evaluations of the rules.
	interval time.Duration
}

// openServer wires the parts; only the store touches the disk here.
func openServer(ctx context.Context, s Settings, reg *prometheus.Registry, h *health.Registry) (_ *server, err error) {
	c := s.Config
	sv := &server{interval: time.Duration(c.Rules.Interval)}
	if sv.cat, err = signals.Load(); err != nil {
		return nil, err
	}
	mc := metricstore.DefaultConfig(c.Data)
	mc.Retention = time.Duration(c.Storage.Metrics.Retention)
	mc.RetentionBytes = int64(c.Storage.Metrics.RetentionBytes)
	mc.OutOfOrderWindow = time.Duration(c.Storage.Metrics.OutOfOrderWindow)
	mc.MaxExemplars = c.Storage.Metrics.MaxExemplars
	mc.QueryTimeout = time.Duration(c.Query.Timeout)
	mc.QueryMaxSamples = c.Query.MaxSamples
	mc.QueryConcurrency = c.Query.Concurrency
	mc.LookbackDelta = time.Duration(c.Query.Lookback)
	if sv.store, err = metricstore.Open(ctx, mc, quiet(s.Log).With("part", "storage"), reg, h); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, sv.store.Close())
		}
	}()

	limits := ingest.DefaultLimits()
	limits.SeriesPerTarget = c.Scrape.SeriesLimit
	limits.SeriesPerSource = c.Ingest.SeriesLimit
	limits.FutureTolerance = time.Duration(c.Ingest.FutureTolerance)
	sv.guard = ingest.NewGuard(sv.store.Appendable(), limits, reg, h)

	if sv.scrape, err = scrape.New(scraping.Settings(c.Scrape), sv.guard, s.Log.With("part", "scrape"), reg, h); err != nil {
		return nil, err
	}
	opts := signals.Options{Interval: time.Duration(c.Rules.Interval), ScrapeInterval: longestInterval(c)}
	sv.rules, err = ruler.New(ruler.Options{Interval: sv.interval, Signals: opts, QueryOffset: time.Duration(c.Rules.QueryOffset), RuleFiles: c.Rules.Files},
		sv.store.Engine(), sv.store.Queryable(), sv.store.Appendable(), sv.cat, quiet(s.Log).With("part", "rules"), reg, h)
	if err != nil {
		return nil, err
	}
	sv.guard.NotifyLate(sv.rules.LateAfter(), sv.rules.MarkDirty)
	sv.remote = &remoteTargets{store: sv.store, cat: sv.cat}
	sv.known = newRecogniser(sv.cat, sv.scrape, sv.store, sv.rules, s.Log, h)
	sv.query = query.New(sv.store, sv.cat, query.Options{Signals: opts, Dialects: sv.known.active})

	ac, err := apiConfig(s)
	if err != nil {
		return nil, err
	}
	console, _ := web.FS()
	sv.api, err = api.New(ac, api.Deps{
		Engine: sv.store.Engine(), Queryable: sv.store.Queryable(), Exemplars: sv.store.Exemplars(), Appendable: sv.guard,
		Admin: sv.store.Admin(), Discovery: sv.scrape.Discovery(), Rules: sv.rules.Manager(),
		Canonical: sv.query, Inventory: sv.query,
		Targets: sv.targetStatus, RuleSet: sv.ruleStatus, Storage: sv.storageStatus, Ingest: sv.ingestStatus,
		ConfigText: func() (string, error) { return c.YAML(), nil },
		WithSource: ingest.WithSource, WriteV1: sv.guard.WriteV1,
		Health: h, Gatherer: reg, Registerer: reg, Console: console, Log: s.Log.With("part", "api"),
	})
	return sv, err
}

// services lists the parts with a life of their own, in the order of start. The
// demo's come before those that watch them: at the stop the watching ends first,
// or every stop would look like an outage.
func (sv *server) services(watched []lifecycle.Service) []lifecycle.Service {
	out := []lifecycle.Service{{Name: "storage", Run: func(ctx context.Context) error {
		<-ctx.Done()
		return sv.store.Close()
	}}}
	out = append(out, watched...)
	return append(out,
		lifecycle.Service{Name: "rules", Run: sv.rules.Run},
		lifecycle.Service{Name: "recognise", Run: sv.known.run},
		lifecycle.Service{Name: "scrape", Run: sv.scrape.Run})
}

func registerOwn(reg *prometheus.Registry, h *health.Registry) error {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sightline_build_info", Help: "1, with the version as a label."}, []string{"version"})
	build.WithLabelValues(Version).Set(1)
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build, h} {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// longestInterval is what the window of rates must be wide enough for.
func longestInterval(c config.Config) time.Duration {
	d := time.Duration(c.Scrape.Interval)
	for _, t := range c.Scrape.Targets {
		d = max(d, time.Duration(t.Interval))
	}
	return d
}

func apiConfig(s Settings) (api.Config, error) {
	c, ac := s.Config, api.DefaultConfig()
	ac.Listen, ac.AllowedHosts, ac.TLS = c.Listen, c.AllowedHosts, c.TLS.CertFile != ""
	ac.Version, ac.Role, ac.DataDir = Version, string(s.Role), c.Data
	ac.Retention = time.Duration(c.Storage.Metrics.Retention)
	ac.WriteBodyLimit = int64(c.Ingest.BodySizeLimit)
	ac.QueryConcurrency, ac.QueryTimeout, ac.LookbackDelta = c.Query.Concurrency, time.Duration(c.Query.Timeout), time.Duration(c.Query.Lookback)
	for _, t := range c.Tokens {
		secret := string(t.Token)
		if t.TokenFile != "" {
			b, err := os.ReadFile(t.TokenFile)
			if err != nil {
				return ac, &model.Problem{Code: "token_file_unreadable", Text: fmt.Sprintf("token file of %q cannot be read", t.Name), Hint: "check tokens[].token_file and its permissions", Err: err}
			}
			secret = strings.TrimSpace(string(b))
		}
		var scopes []api.Scope
		for _, sc := range t.Scopes {
			scopes = append(scopes, api.Scope(sc))
		}
		ac.Tokens = append(ac.Tokens, api.Token{Name: t.Name, Scopes: scopes, Secret: secret})
	}
	return ac, nil
}

// listenProblem explains why an address cannot be bound.
func listenProblem(addr string, err error) error {
	p := &model.Problem{Code: "listen_failed", Text: fmt.Sprintf("cannot listen on %s", addr), Hint: "check the address given with --listen", Err: err}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		switch {
		case errors.Is(sys.Err, syscall.EADDRINUSE):
			p.Code, p.Hint = "port_in_use", "another process has it; choose another with --listen"
		case errors.Is(sys.Err, syscall.EACCES):
			p.Code, p.Hint = "listen_forbidden", "ports below 1024 need root; choose a higher one with --listen"
		}
	}
	return p
}
