package ingest

import (
	"time"

	"sightline/internal/model"
)

// lateness is who wants to know about samples that arrive late, and from when
// a sample counts as late.
type lateness struct {
	after time.Duration
	mark  func(model.TimeRange)
}

// NotifyLate calls mark, once for each committed transaction, with the range of
// the samples in it that were older than after when they arrived: whoever has
// already evaluated that moment has to do it again. mark must not block. It is
// set once, before the first sample.
func (g *Guard) NotifyLate(after time.Duration, mark func(model.TimeRange)) {
	g.late = &lateness{after, mark}
}

// lateRange is the extent of late samples of one transaction; the zero value
// holds none.
type lateRange struct{ from, to int64 }

// add widens r by t, in milliseconds since the epoch.
func (r *lateRange) add(t int64) {
	if r.to == 0 {
		r.from, r.to = t, t
		return
	}
	r.from, r.to = min(r.from, t), max(r.to, t)
}

// notify tells about a committed transaction.
func (l *lateness) notify(r lateRange) {
	if l != nil && r.to != 0 {
		l.mark(model.TimeRange{Start: time.UnixMilli(r.from), End: time.UnixMilli(r.to)})
	}
}
