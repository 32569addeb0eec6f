package ruler

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
)

// Watching gives next with an eye on the clock: samples that are committed after
// the live rules have passed their moment mark their window dirty. It belongs
// between ingest and the store, and not in the ruler's own way to the store.
func (r *Ruler) Watching(next storage.AppendableV2) storage.AppendableV2 { return watching{next, r} }

type watching struct {
	next storage.AppendableV2
	r    *Ruler
}

// AppenderV2 implements storage.AppendableV2.
func (w watching) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &watched{AppenderV2: w.next.AppenderV2(ctx), r: w.r, limit: w.r.o.Now().Add(-w.r.LateAfter()).UnixMilli()}
}

// watched remembers the span of the late samples of one transaction.
type watched struct {
	storage.AppenderV2
	r        *Ruler
	limit    int64
	any      bool
	from, to int64
}

// Append implements storage.AppenderV2.
func (a *watched) Append(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o storage.AOptions) (storage.SeriesRef, error) {
	ref, err := a.AppenderV2.Append(ref, ls, st, t, v, h, fh, o)
	if err == nil && t < a.limit {
		if !a.any || t < a.from {
			a.from = t
		}
		if !a.any || t > a.to {
			a.to = t
		}
		a.any = true
	}
	return ref, err
}

// Commit implements storage.AppenderV2.
func (a *watched) Commit() error {
	if err := a.AppenderV2.Commit(); err != nil {
		return err
	}
	if a.any {
		a.r.MarkDirty(model.TimeRange{Start: time.UnixMilli(a.from), End: time.UnixMilli(a.to)})
	}
	return nil
}
