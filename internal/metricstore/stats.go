package metricstore

import (
	"context"
	"io/fs"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
)

// Stats describes what is stored.
type Stats struct {
	Dir    string
	Series uint64 // in memory, that is with a sample in the last hours
	Chunks uint64 // in memory
	// Bytes is everything under Dir, WALBytes the logs' share of it.
	Bytes, WALBytes int64
	// Oldest and Newest are the times of the first and last sample; zero when
	// the store is empty.
	Oldest, Newest   time.Time
	SamplesTotal     uint64  // acknowledged since the start
	SamplesPerSecond float64 // over the last minute or so
	Blocks           int
	Retention        time.Duration
	Quarantined      []Quarantined
	// ReadOnly is true while writes are refused because the disk is full.
	ReadOnly  bool
	FreeBytes uint64
}

// Stats reads counters and walks the data directory; it is cheap enough to be
// asked every few seconds.
func (s *Store) Stats() Stats {
	out := Stats{
		Dir: s.cfg.Dir, Retention: s.cfg.Retention, Quarantined: s.quarantined,
		ReadOnly: s.disk.full.Load(), FreeBytes: s.disk.free.Load(),
		SamplesTotal: s.appended.Load(), SamplesPerSecond: s.rate.perSecond(),
		Bytes:    dirSize(s.cfg.Dir),
		WALBytes: dirSize(filepath.Join(s.cfg.Dir, "wal")) + dirSize(filepath.Join(s.cfg.Dir, "wbl")),
	}
	g, err := s.join()
	if err != nil {
		return out
	}
	defer g.leave()
	head := g.db.Head()
	out.Series = head.NumSeries()
	out.Chunks = gauge(g.registry, "prometheus_tsdb_head_chunks")
	oldest, newest := int64(math.MaxInt64), int64(math.MinInt64)
	span := func(mint, maxt int64) {
		if mint <= maxt { // an empty head has them the wrong way round
			oldest, newest = min(oldest, mint), max(newest, maxt)
		}
	}
	span(head.MinTime(), head.MaxTime())
	span(head.MinOOOTime(), head.MaxOOOTime())
	for _, b := range g.db.BlockMetas() {
		out.Blocks++
		span(b.MinTime, b.MaxTime)
	}
	if oldest <= newest {
		out.Oldest, out.Newest = time.UnixMilli(oldest), time.UnixMilli(newest)
	}
	return out
}

// dirSize sums file sizes; files that vanish meanwhile count as nothing.
func dirSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a compaction removes files at any time
		}
		if st, err := d.Info(); err == nil {
			n += st.Size()
		}
		return nil
	})
	return n
}

// gauge reads one number from a registry; 0 when it is not there.
func gauge(reg prometheus.Gatherer, name string) uint64 {
	families, err := reg.Gather()
	if err != nil {
		return 0
	}
	for _, f := range families {
		if f.GetName() == name && len(f.GetMetric()) > 0 {
			return uint64(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	return 0
}

// rateMeter is an exponentially weighted mean of a counter's rate with a time
// constant of 15 s.
type rateMeter struct {
	mu    sync.Mutex
	at    time.Time
	total uint64
	rate  float64
}

const rateTau = 15 * time.Second

func (m *rateMeter) observe(now time.Time, total uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at.IsZero() {
		dt := now.Sub(m.at)
		if dt <= 0 {
			return
		}
		w := 1 - math.Exp(-dt.Seconds()/rateTau.Seconds())
		m.rate += w * (float64(total-m.total)/dt.Seconds() - m.rate)
	}
	m.at, m.total = now, total
}

func (m *rateMeter) perSecond() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rate
}

// Admin is what Prometheus' HTTP API calls its TSDB admin interface.
type Admin struct{ s *Store }

// Admin gives the administration face of the store.
func (s *Store) Admin() Admin { return Admin{s} }

// CleanTombstones removes deleted samples from disk.
func (a Admin) CleanTombstones() error {
	return a.with(func(db *tsdb.DB) error { return db.CleanTombstones() })
}

// Delete marks samples between mint and maxt (milliseconds) as deleted.
func (a Admin) Delete(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) error {
	return a.with(func(db *tsdb.DB) error { return db.Delete(ctx, mint, maxt, ms...) })
}

// Snapshot writes a copy of all blocks, and of the head when asked, into dir.
func (a Admin) Snapshot(dir string, withHead bool) error {
	return a.with(func(db *tsdb.DB) error { return db.Snapshot(dir, withHead) })
}

// Stats counts series by label.
func (a Admin) Stats(statsByLabelName string, limit int) (st *tsdb.Stats, err error) {
	err = a.with(func(db *tsdb.DB) error { st = db.Head().Stats(statsByLabelName, limit); return nil })
	return st, err
}

// WALReplayStatus tells how far the replay at the last opening came.
func (a Admin) WALReplayStatus() (tsdb.WALReplayStatus, error) {
	g, err := a.s.join()
	if err != nil {
		return tsdb.WALReplayStatus{}, err
	}
	defer g.leave()
	return g.stats.Head.WALReplayStatus.GetWALReplayStatus(), nil
}

// BlockMetas lists the blocks on disk.
func (a Admin) BlockMetas() (ms []tsdb.BlockMeta, err error) {
	err = a.with(func(db *tsdb.DB) error { ms = db.BlockMetas(); return nil })
	return ms, err
}

func (a Admin) with(f func(*tsdb.DB) error) error {
	g, err := a.s.join()
	if err != nil {
		return err
	}
	defer g.leave()
	return f(g.db)
}
