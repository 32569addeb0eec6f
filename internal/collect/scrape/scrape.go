// Package scrape collects metrics from HTTP targets with Prometheus' own scrape
// loops: native histograms, exemplars and staleness included. Around them it
// adds the canonical identity of every target, a status per target with a code
// and advice, the names of the metrics seen, and refusal of redirects and
// link-local addresses.
package scrape

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	configutil "github.com/prometheus/common/config"
	common "github.com/prometheus/common/model"
	promconfig "github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
	"sightline/internal/model"
)

// Limiter is a sink that bounds the series of each source. The ingest guard is
// one; a sink that is none gets everything.
type Limiter interface {
	storage.AppendableV2
	// AppenderFor opens an append transaction on behalf of source.
	AppenderFor(ctx context.Context, source string) storage.AppenderV2
	// Usage tells how many series source keeps alive, its limit, how many were
	// refused lately, and the label that makes it grow.
	Usage(source string) (series, limit, refused int, label string, known bool)
}

// Manager scrapes the configured and discovered targets.
type Manager struct {
	log    *slog.Logger
	reg    prometheus.Registerer
	health *health.Registry
	loops  *scrape.Manager
	sd     *discovery.SDMetrics
	sink   *sink
	drops  *prometheus.CounterVec
	allow  *addressPolicy

	mu       sync.Mutex
	config   Config
	finder   *discovery.Manager // nil unless running
	watchers *promconfig.Config
}

// New checks the configuration whole and prepares the loops; Run starts them.
// Errors are model.Problems with a code such as target_url_invalid. When sink
// is a Limiter, each target is a source of its own. reg and h may be nil.
func New(c Config, to storage.AppendableV2, log *slog.Logger, reg prometheus.Registerer, h *health.Registry) (*Manager, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	if h == nil {
		h = health.New(log, nil)
	}
	c = c.withDefaults()
	allow, err := newAddressPolicy(c.AllowLinkLocal)
	if err != nil {
		return nil, err
	}
	m := &Manager{log: log, reg: reg, health: h, config: c, allow: allow}
	if m.watchers, _, err = c.build(allow); err != nil {
		return nil, err
	}
	m.drops = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sightline_scrape_dropped_samples_total",
		Help: "Samples of scrapes that were dropped, by reason.",
	}, []string{"reason"})
	if err := reg.Register(m.drops); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	m.sink = newSink(to, m)
	m.loops, err = scrape.NewManager(&scrape.Options{
		PassMetadataInContext:    true,
		DiscoveryReloadInterval:  common.Duration(250 * time.Millisecond),
		DiscoveryReloadOnStartup: true,
		InitialScrapeOffset:      c.firstScrapeOffset(),
		HTTPClientOptions:        []configutil.HTTPClientOption{configutil.WithDialContextFunc(allow.dial), configutil.WithUserAgent("sightline")},
	}, slog.New(dropWatch{Handler: log.Handler(), sink: m.sink}), nil, nil, m.sink, reg)
	if err != nil {
		return nil, err
	}
	if m.sd, err = discovery.CreateAndRegisterSDMetrics(reg); err != nil {
		return nil, err
	}
	return m, nil
}

// Run scrapes until ctx ends. It may run once.
func (m *Manager) Run(ctx context.Context) error {
	m.health.SetPart("scrape", health.Starting, "discovering targets")
	m.mu.Lock()
	finder := discovery.NewManager(ctx, m.log, m.reg, m.sd,
		discovery.Name("scrape"), discovery.Updatert(250*time.Millisecond),
		discovery.HTTPClientOptions(configutil.WithDialContextFunc(m.allow.dial)))
	if finder == nil {
		m.mu.Unlock()
		return errors.New("discovery cannot register its metrics; give each scrape manager its own registry")
	}
	m.finder = finder
	err := m.apply(m.config)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	var owned sync.WaitGroup
	owned.Go(func() {
		if err := finder.Run(); err != nil && ctx.Err() == nil {
			m.log.Error("target discovery ended", "err", err)
		}
	})
	owned.Go(func() { m.prune(ctx) })
	owned.Go(func() {
		<-ctx.Done()
		m.loops.Stop()
	})
	m.health.SetPart("scrape", health.Ready, "")
	err = m.loops.Run(finder.SyncCh())
	owned.Wait()
	m.health.SetPart("scrape", health.Stopped, "stopped")
	if err != nil {
		return fmt.Errorf("scrape loops: %w", err)
	}
	return nil
}

// Apply replaces the configuration while Run runs; targets that stay keep
// their loops. On an error nothing changes.
func (m *Manager) Apply(c Config) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c = c.withDefaults()
	if m.finder == nil {
		built, _, err := c.build(m.allow)
		if err == nil {
			m.config, m.watchers = c, built
		}
		return err
	}
	return m.apply(c)
}

// apply hands the configuration to both managers; m.mu is held.
func (m *Manager) apply(c Config) error {
	loops, sources, err := c.build(m.allow)
	if err != nil {
		return err
	}
	if err := m.loops.ApplyConfig(loops); err != nil {
		return &model.Problem{Code: "scrape_config_invalid", Text: "the scrape loops refuse their configuration", Err: err}
	}
	if err := m.finder.ApplyConfig(sources); err != nil {
		return &model.Problem{Code: "scrape_config_invalid", Text: "the target discovery refuses its configuration", Err: err}
	}
	m.config, m.watchers = c, loops
	return nil
}

// Discovery is Prometheus' scrape manager, for its API's page of targets.
func (m *Manager) Discovery() *scrape.Manager { return m.loops }

// MetricNames lists, sorted, the names that the target's last successful scrape
// gave, at most maxNames; nil for a target that is not known.
func (m *Manager) MetricNames(targetID string) []string { return m.sink.names(targetID) }

// pruneEvery is how often targets that are gone are forgotten.
const pruneEvery = 15 * time.Second

// prune forgets targets that are no longer scraped and clears their conditions.
func (m *Manager) prune(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.pruneOnce()
		}
	}
}

func (m *Manager) pruneOnce() {
	active := map[string]bool{}
	for _, targets := range m.loops.TargetsActive() {
		for _, t := range targets {
			active[targetID(t)] = true
		}
	}
	for _, id := range m.sink.forget(active) {
		for _, code := range targetCodes {
			m.health.Clear(code, id)
		}
	}
}
