package metricstore

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
)

// sink writes to whichever generation is current.
type sink struct{ s *Store }

// AppenderV2 implements storage.AppendableV2.
func (k sink) AppenderV2(ctx context.Context) storage.AppenderV2 {
	g, err := k.s.join()
	if err != nil {
		return refusing{err}
	}
	return &appender{s: k.s, g: g, next: g.db.AppenderV2(ctx)}
}

// A reference carries its generation in the top byte. After the store was
// opened again the TSDB may give an old number to another series, and callers
// such as the scrape loop keep references for hours.
const (
	refBits = 56
	refMask = 1<<refBits - 1
)

func (g *generation) outer(ref storage.SeriesRef) storage.SeriesRef {
	if ref == 0 {
		return 0
	}
	return ref&refMask | storage.SeriesRef(g.number<<refBits)
}

func (g *generation) inner(ref storage.SeriesRef) storage.SeriesRef {
	if uint64(ref)>>refBits != g.number&(1<<(64-refBits)-1) {
		return 0
	}
	return ref & refMask
}

type appender struct {
	s       *Store
	g       *generation
	next    storage.AppenderV2
	samples uint64
	left    bool
}

// Append implements storage.AppenderV2. While the disk is full it fails with
// the problem disk_full.
func (a *appender) Append(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AOptions) (storage.SeriesRef, error) {
	if a.s.disk.full.Load() {
		a.s.metrics.refused.Inc()
		return 0, a.s.diskFullProblem(nil)
	}
	ref, err := a.next.Append(a.g.inner(ref), ls, st, t, v, h, fh, opts)
	if err == nil {
		a.samples++
	} else {
		var partial *storage.AppendPartialError
		if errors.As(err, &partial) {
			a.samples++
		}
	}
	return a.g.outer(ref), err
}

// AppendExemplars implements storage.ExemplarAppenderV2.
func (a *appender) AppendExemplars(ref storage.SeriesRef, ls labels.Labels, es []exemplar.Exemplar) (storage.SeriesRef, error) {
	ea, ok := a.next.(storage.ExemplarAppenderV2)
	if !ok {
		return 0, fmt.Errorf("appender %T takes no exemplars", a.next)
	}
	ref, err := ea.AppendExemplars(a.g.inner(ref), ls, es)
	return a.g.outer(ref), err
}

// GetRef implements storage.GetRef.
func (a *appender) GetRef(ls labels.Labels, hash uint64) (storage.SeriesRef, labels.Labels) {
	if g, ok := a.next.(storage.GetRef); ok {
		ref, known := g.GetRef(ls, hash)
		return a.g.outer(ref), known
	}
	return 0, labels.EmptyLabels()
}

// Commit implements storage.AppenderV2. When it returns nil the samples are in
// the log; when the log cannot be written, nothing is acknowledged and the
// store refuses writes until it could be opened again.
func (a *appender) Commit() error {
	if a.left {
		return errors.New("appender was already committed or rolled back")
	}
	defer a.leave()
	if a.s.disk.full.Load() && a.samples > 0 {
		a.s.metrics.refused.Add(float64(a.samples))
		if err := a.next.Rollback(); err != nil {
			a.s.log.Warn("rollback while the disk is full", "err", err)
			a.s.tearLog(err)
		}
		return a.s.diskFullProblem(nil)
	}
	if err := a.next.Commit(); err != nil {
		a.s.tearLog(err)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			a.s.metrics.refused.Add(float64(a.samples))
			return a.s.diskFullProblem(err)
		}
		return &model.Problem{Code: "log_write_failed", Text: "cannot write the log in " + a.s.cfg.Dir, Hint: "look at the disk; the store opens itself again when it can", Err: err}
	}
	if a.g.registry.any() {
		// Another append tore the log before this one was written, so this one
		// would be cut off with it.
		err := errors.New("the log was torn by a write that failed")
		a.s.tearLog(err)
		return a.s.diskFullProblem(err)
	}
	a.s.appended.Add(a.samples)
	return nil
}

// Rollback implements storage.AppenderV2.
func (a *appender) Rollback() error {
	if a.left {
		return nil
	}
	defer a.leave()
	err := a.next.Rollback()
	if err != nil {
		// The TSDB logs the series of a rolled-back append; when that fails
		// they exist in memory only and their later samples would not replay.
		a.s.tearLog(err)
	}
	return err
}

func (a *appender) leave() {
	if !a.left {
		a.left = true
		a.g.leave()
	}
}

// refusing is the appender of a closed store.
type refusing struct{ err error }

func (r refusing) Append(storage.SeriesRef, labels.Labels, int64, int64, float64, *histogram.Histogram, *histogram.FloatHistogram, storage.AOptions) (storage.SeriesRef, error) {
	return 0, r.err
}
func (r refusing) Commit() error   { return r.err }
func (r refusing) Rollback() error { return nil }
