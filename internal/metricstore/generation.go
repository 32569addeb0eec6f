package metricstore

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/compression"

	"sightline/internal/health"
	"sightline/internal/model"
)

// generation is one opening of the TSDB. A store has one after the other: after
// a failed write to the log the only safe repair is to open it again.
type generation struct {
	number   uint64
	db       *tsdb.DB
	stats    *tsdb.DBStats
	registry *logFailures
	users    atomic.Int64
}

// options translates the configuration into the TSDB's, with the block and log
// settings that Prometheus' own server uses.
func (c Config) options() *tsdb.Options {
	o := tsdb.DefaultOptions()
	o.RetentionDuration = c.Retention.Milliseconds()
	o.MaxBytes = c.RetentionBytes
	o.OutOfOrderTimeWindow = c.OutOfOrderWindow.Milliseconds()
	o.EnableExemplarStorage = c.MaxExemplars > 0
	o.MaxExemplars = c.MaxExemplars
	o.WALCompression = compression.Snappy
	o.NoLockfile = true // the store holds the same lock for its whole life
	o.MaxBlockDuration = maxBlock(c.Retention).Milliseconds()
	// The write buffer only batches chunks on their way to a memory-mapped
	// file; a quarter of the default is enough for tens of thousands of series.
	o.HeadChunksWriteBufferSize = chunks.DefaultWriteBufferSize / 4
	return o
}

// maxBlock is the longest range of a compacted block: a tenth of the retention,
// between 2 hours and 31 days, as Prometheus' server computes it.
func maxBlock(retention time.Duration) time.Duration {
	const longest = 31 * 24 * time.Hour
	if retention == 0 {
		return longest
	}
	return max(2*time.Hour, min(longest, retention/10))
}

// openGeneration opens the TSDB and tells what replay had to cut from its log.
func (s *Store) openGeneration(number uint64) (*generation, error) {
	g := &generation{number: number, stats: tsdb.NewDBStats(), registry: &logFailures{Registry: prometheus.NewRegistry()}}
	before := snapshotLogs(s.cfg.Dir)
	watch := &repairWatch{}
	db, err := tsdb.Open(s.cfg.Dir, slog.New(watch.wrap(s.log.Handler())), g.registry, s.cfg.options(), g.stats)
	if err != nil {
		return nil, dirProblem(s.cfg.Dir, err)
	}
	g.db = db
	for _, r := range before.repaired(watch) {
		s.health.Set(health.Condition{
			Code: "wal_repaired", Severity: health.Warning, Subject: r.segment,
			Text: r.text(), Hint: "samples in the part that was cut are lost; remote writers that were not acknowledged send them again",
		})
		s.log.Warn("log repaired", "segment", r.segment, "offset", r.offset, "bytes_cut", r.cut)
	}
	return g, nil
}

// What readers and writers get instead of a generation.
var (
	errClosed    = &model.Problem{Code: "storage_closed", Text: "the metric store is closed"}
	errReopening = &model.Problem{Code: "storage_reopening", Text: "the metric store is being opened again", Hint: "try again in a few seconds"}
)

const (
	// drainFor is how long a generation's users are waited for. Queries end
	// sooner, by the query timeout.
	drainFor  = 40 * time.Second
	drainPoll = 20 * time.Millisecond
)

// join enters the current generation; the caller must call leave exactly once.
// It never waits for users to leave: a request that holds one querier and opens
// another would wait for itself.
func (s *Store) join() (*generation, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.closed:
		return nil, errClosed
	case s.draining:
		return nil, errReopening
	}
	s.gen.users.Add(1)
	return s.gen, nil
}

func (g *generation) leave() { g.users.Add(-1) }

// drained waits until nobody uses g; it reports false after timeout.
func (g *generation) drained(timeout time.Duration) bool {
	deadline := time.Now().Add(timeout)
	for g.users.Load() > 0 {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(drainPoll)
	}
	return true
}

// reopen replaces the generation after a failed log write. Queries fail with
// storage_reopening while it runs; whatever was acknowledged is in the log and
// comes back. When it fails the store stays without a generation and the disk
// watch tries again.
func (s *Store) reopen() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	s.draining = true
	old := s.gen
	s.mu.Unlock()
	if old != nil {
		if !old.drained(drainFor) {
			s.mu.Lock()
			s.draining = false
			s.mu.Unlock()
			return errors.New("queries or appends did not end in time")
		}
		if err := old.db.Close(); err != nil {
			// Close gives up half way when the disk is full again; what was
			// acknowledged is in the log's files.
			s.log.Warn("closing the store before opening it again", "err", err)
		}
		s.mu.Lock()
		s.gen = nil
		s.opened = old.number
		s.mu.Unlock()
		s.proxy.set(nil)
	}
	g, err := s.openGeneration(s.opened + 1)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.gen, s.draining = g, false
	s.mu.Unlock()
	s.proxy.set(g.registry.Registry)
	s.metrics.reopened.Inc()
	return nil
}
