// Package metricstore keeps numeric time series: Prometheus' TSDB and its
// PromQL engine, embedded. It opens a data directory under a lock, sets damaged
// blocks aside instead of failing whole, refuses writes before the disk is full
// rather than tearing its log, and answers queries throughout. Everything that
// goes wrong is a model.Problem with a code, a health condition and a metric.
package metricstore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"sightline/internal/health"
	"sightline/internal/model"
)

// uncleanMarker lies in the data directory while a store has it open. Finding
// it at Open means that the last process ended without Close.
const uncleanMarker = "sightline-open"

// closeWait bounds how long Close waits for queries and appends, within the 10 s
// that a graceful stop may take.
const closeWait = 8 * time.Second

// Store is an open data directory. It is safe for concurrent use.
type Store struct {
	cfg     Config
	log     *slog.Logger
	reg     prometheus.Registerer
	health  *health.Registry
	metrics *metrics
	locker  *tsdbutil.DirLocker
	engine  *promql.Engine
	costs   *costEngine
	proxy   *registryProxy

	// mu guards gen. Readers hold it only for the instant in which they join a
	// generation; replacing the generation waits until all have left.
	mu     sync.RWMutex
	gen    *generation
	closed bool
	// draining refuses new users while the generation is replaced.
	draining bool
	opened   uint64 // number of the last generation, while gen is nil

	quarantined []Quarantined
	disk        diskState
	appended    atomic.Uint64
	rate        rateMeter

	stop     chan struct{}
	done     sync.WaitGroup
	statfs   func(dir string) (free, total uint64, err error)
	interval time.Duration // of the disk watch
	patience time.Duration // of Close
}

// Open opens the data directory c.Dir, creating it when it does not exist, and
// replays its log. Errors are model.Problems with one of the codes
// data_dir_not_a_directory, data_dir_read_only, data_dir_locked,
// data_dir_damaged, disk_full or config_invalid. reg may be nil. ctx bounds the
// checks before the replay; the replay itself cannot be interrupted.
func Open(ctx context.Context, c Config, log *slog.Logger, reg prometheus.Registerer, h *health.Registry) (*Store, error) {
	return open(ctx, c, log, reg, h, nil)
}

// open is Open with a hook by which tests replace clocks and the disk.
func open(ctx context.Context, c Config, log *slog.Logger, reg prometheus.Registerer, h *health.Registry, adjust func(*Store)) (_ *Store, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if h == nil {
		h = health.New(log, nil)
	}
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	s := &Store{
		cfg: c, log: log, reg: reg, health: h,
		stop: make(chan struct{}), statfs: statfs, interval: time.Second, patience: closeWait,
	}
	if adjust != nil {
		adjust(s)
	}
	h.SetPart("storage", health.Starting, "opening "+c.Dir)
	defer func() {
		if err != nil {
			h.SetPart("storage", health.Stopped, err.Error())
		}
	}()

	if err := prepareDir(c.Dir); err != nil {
		return nil, err
	}
	s.locker, err = lockDir(c.Dir, log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = joinClose(err, s.locker.Release)
		}
	}()
	marker := filepath.Join(c.Dir, uncleanMarker)
	_, statErr := os.Stat(marker)
	unclean := statErr == nil
	if err := os.WriteFile(marker, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		return nil, dirProblem(c.Dir, err)
	}

	s.quarantined, err = quarantineDamaged(ctx, c.Dir, unclean, log)
	if err != nil {
		return nil, dirProblem(c.Dir, err)
	}
	for _, q := range s.quarantined {
		s.health.Set(q.condition())
	}

	s.metrics = newMetrics(s)
	engineReg := prometheus.NewRegistry()
	s.proxy = &registryProxy{lasting: engineReg}
	if err := registerAll(reg, s.metrics, s.proxy); err != nil {
		return nil, &model.Problem{Code: "config_invalid", Text: "cannot register the store's metrics", Hint: "open one store per metrics registry", Err: err}
	}
	defer func() {
		if err != nil {
			reg.Unregister(s.metrics)
			s.proxy.clear()
		}
	}()

	s.gen, err = s.openGeneration(1)
	if err != nil {
		return nil, err
	}
	s.proxy.set(s.gen.registry.Registry)

	queries, err := promql.NewActiveQueryTracker(c.Dir, c.QueryConcurrency, log)
	if err != nil {
		return nil, joinClose(dirProblem(c.Dir, err), s.gen.db.Close)
	}
	s.engine = promql.NewEngine(promql.EngineOpts{
		Logger:                   log,
		Reg:                      engineReg,
		MaxSamples:               c.QueryMaxSamples,
		Timeout:                  c.QueryTimeout,
		ActiveQueryTracker:       newTracker(queries),
		LookbackDelta:            c.LookbackDelta,
		NoStepSubqueryIntervalFn: func(int64) int64 { return c.SubqueryStep.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		Parser:                   parser.NewParser(parser.Options{}),
	})

	s.costs = &costEngine{next: s.engine, parse: parser.NewParser(parser.Options{}), subqueryStep: c.SubqueryStep, maxSteps: int64(max(1, c.QueryMaxSamples/samplesPerStep))}

	s.watchDiskOnce()
	s.done.Add(1)
	go s.watchDisk()
	s.setReady()
	return s, nil
}

// Engine is the PromQL engine with the store's limits.
func (s *Store) Engine() promql.QueryEngine { return s.costs }

// Queryable reads samples and chunks. It stays valid while the store re-opens
// its files underneath.
func (s *Store) Queryable() storage.SampleAndChunkQueryable { return source{s} }

// Exemplars reads exemplars.
func (s *Store) Exemplars() storage.ExemplarQueryable { return exemplarSource{s} }

// Appendable writes samples, native histograms and exemplars. A sample is
// acknowledged when Commit returned nil: from then on it survives kill -9.
func (s *Store) Appendable() storage.AppendableV2 { return sink{s} }

// Close stops writing, waits for running queries and appends, and closes the
// files. Calling it again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.done.Wait()
	s.mu.RLock()
	gen := s.gen
	s.mu.RUnlock()
	if gen != nil && !gen.drained(s.patience) {
		return &model.Problem{Code: "storage_busy", Text: fmt.Sprintf("%d queries or appends did not end within %s", gen.users.Load(), s.patience), Hint: "nothing acknowledged is lost; the next start checks the blocks"}
	}
	var err error
	if gen != nil {
		err = gen.db.Close()
	}
	if cerr := s.engine.Close(); err == nil {
		err = cerr
	}
	s.reg.Unregister(s.metrics)
	s.proxy.clear()
	if err == nil && gen != nil {
		// Only a directory that was closed whole is trusted at the next start.
		err = os.Remove(filepath.Join(s.cfg.Dir, uncleanMarker))
	}
	if lerr := s.locker.Release(); err == nil {
		err = lerr
	}
	s.health.SetPart("storage", health.Stopped, "closed")
	if err != nil {
		return dirProblem(s.cfg.Dir, err)
	}
	return nil
}

func (s *Store) setReady() {
	switch {
	case s.disk.full.Load():
		s.health.SetPart("storage", health.Degraded, "the disk is full; queries are answered, writes are refused")
	case len(s.quarantined) > 0:
		s.health.SetPart("storage", health.Degraded, fmt.Sprintf("%d damaged blocks are in quarantine", len(s.quarantined)))
	default:
		s.health.SetPart("storage", health.Ready, "")
	}
}
