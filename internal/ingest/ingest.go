// Package ingest stands between whoever sends series and the store. Its Guard
// bounds how many series one source may keep alive, refuses samples from the
// future, and says which label makes a source explode. It refuses only what is
// new: series that are known keep updating. Everything refused is counted and
// shown as a condition.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
)

// DefaultSource is the source of data that names none.
const DefaultSource = "remote"

type sourceKey struct{}

// WithSource names the sender of what is appended under ctx: a remote writer,
// an OTLP client. Its limit is Limits.SeriesPerSource.
func WithSource(ctx context.Context, source string) context.Context {
	return context.WithValue(ctx, sourceKey{}, source)
}

// Guard is a storage.AppendableV2 that passes on what its limits allow. It is
// safe for concurrent use and starts no goroutine.
type Guard struct {
	next    storage.AppendableV2
	limits  Limits
	health  *health.Registry
	metrics *metrics
	now     func() time.Time
	late    *lateness // nil: nobody asked

	mu      sync.RWMutex
	sources map[string]*source
	swept   atomic.Int64 // unix seconds of the last sweep
}

// NewGuard puts limits before next. Fields of l that are zero take their
// defaults. reg and h may be nil.
func NewGuard(next storage.AppendableV2, l Limits, reg prometheus.Registerer, h *health.Registry) *Guard {
	if h == nil {
		h = health.New(nil, nil)
	}
	g := &Guard{next: next, limits: l.withDefaults(), health: h, now: time.Now, sources: map[string]*source{}}
	g.metrics = newMetrics(g)
	if reg != nil {
		reg.MustRegister(g.metrics)
	}
	return g
}

// AppenderV2 implements storage.AppendableV2. A refused series is dropped
// without an error: one error would make the remote-write receiver throw away
// the whole request, and with it the series that are known.
func (g *Guard) AppenderV2(ctx context.Context) storage.AppenderV2 {
	name, _ := ctx.Value(sourceKey{}).(string)
	if name == "" {
		name = DefaultSource
	}
	return g.appender(ctx, name, g.limits.SeriesPerSource, nil)
}

// AppenderFor is AppenderV2 for the scrape target named source, with the limit
// Limits.SeriesPerTarget. A refused series is answered with ErrSeriesRefused,
// so that the scrape loop does not keep it in its cache.
func (g *Guard) AppenderFor(ctx context.Context, source string) storage.AppenderV2 {
	return g.appender(ctx, source, g.limits.SeriesPerTarget, ErrSeriesRefused)
}

// ErrSeriesRefused answers a series beyond the limit of a scrape target. It is
// also a storage.ErrOutOfBounds, an error that drops one sample and lets the
// scrape go on.
var ErrSeriesRefused = fmt.Errorf("series limit of the source reached: %w", storage.ErrOutOfBounds)

func (g *Guard) appender(ctx context.Context, name string, limit int, refusal error) storage.AppenderV2 {
	now := g.now()
	g.sweep(now, false)
	a := &appender{
		g: g, next: g.next.AppenderV2(ctx), source: g.source(name, limit), refusal: refusal,
		now: uint32(now.Unix()), maxTime: now.Add(g.limits.FutureTolerance).UnixMilli(),
	}
	if g.late != nil {
		a.lateBefore = now.Add(-g.late.after).UnixMilli()
	}
	return a
}

func (g *Guard) source(name string, limit int) *source {
	g.mu.RLock()
	s := g.sources[name]
	g.mu.RUnlock()
	if s != nil {
		return s
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sources[name]; s != nil {
		return s
	}
	if len(g.sources) >= g.limits.Sources {
		// Names come from senders; they share what is left.
		name = overflowSource
		if s := g.sources[name]; s != nil {
			return s
		}
	}
	s = newSource(name, limit, g.now())
	g.sources[name] = s
	return s
}

// overflowSource stands for all sources beyond Limits.Sources.
const overflowSource = "others"

// SourceStatus is what the Guard knows of one source.
type SourceStatus struct {
	Name   string
	Series int // alive: with a sample within Limits.IdleAfter
	Limit  int
	// Refused estimates how many different series were refused lately.
	Refused int
	// Label is the label with the most new values lately, Values their
	// estimated number. Empty while nothing was refused.
	Label  string
	Values int
	// Future and TooOld count samples refused for their time since the start.
	Future, TooOld uint64
}

// Sources lists the sources by name.
func (g *Guard) Sources() []SourceStatus {
	g.sweep(g.now(), false)
	g.mu.RLock()
	defer g.mu.RUnlock()
	out := make([]SourceStatus, 0, len(g.sources))
	for _, s := range g.sources {
		out = append(out, s.status())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Usage gives one source's numbers without building the whole list; known is
// false for a source that has sent nothing lately.
func (g *Guard) Usage(source string) (series, limit, refused int, label string, known bool) {
	g.mu.RLock()
	s := g.sources[source]
	g.mu.RUnlock()
	if s == nil {
		return 0, g.limits.SeriesPerTarget, 0, "", false
	}
	st := s.status()
	return st.Series, st.Limit, st.Refused, st.Label, true
}

// Dropped counts, by reason, the samples refused since the start for anything
// but the series limit.
func (g *Guard) Dropped() map[string]uint64 { return g.metrics.dropped() }

type appender struct {
	g       *Guard
	next    storage.AppenderV2
	source  *source
	refusal error
	now     uint32
	maxTime int64
	refused int
	future  int
	tooOld  int
	// lateBefore is the time before which a sample is late; late is their extent.
	lateBefore int64
	late       lateRange
}

// Append implements storage.AppenderV2.
func (a *appender) Append(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AOptions) (storage.SeriesRef, error) {
	if t > a.maxTime {
		a.future++
		return 0, fmt.Errorf("%w: timestamp %s lies more than %s in the future", storage.ErrOutOfBounds, time.UnixMilli(t).UTC().Format(time.RFC3339), a.g.limits.FutureTolerance)
	}
	if !a.source.admit(ls, a.now) {
		a.refused++
		return 0, a.refusal
	}
	ref, err := a.next.Append(ref, ls, st, t, v, h, fh, opts)
	if err != nil {
		a.countError(err)
	} else if t < a.lateBefore {
		a.late.add(t)
	}
	return ref, err
}

// AppendUnlimited is Append for the few series that a scrape loop adds about
// itself, such as up: when one of them is refused the loop throws away the whole
// scrape. The caller makes sure that their number is bounded.
func (a *appender) AppendUnlimited(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AOptions) (storage.SeriesRef, error) {
	ref, err := a.next.Append(ref, ls, st, t, v, h, fh, opts)
	if err != nil {
		a.countError(err)
	}
	return ref, err
}

func (a *appender) countError(err error) {
	if errors.Is(err, storage.ErrTooOldSample) || errors.Is(err, storage.ErrOutOfBounds) {
		a.tooOld++
	}
	a.g.metrics.countError(err)
}

// AppendExemplars implements storage.ExemplarAppenderV2. Exemplars of a series
// that was refused go with it.
func (a *appender) AppendExemplars(ref storage.SeriesRef, ls labels.Labels, es []exemplar.Exemplar) (storage.SeriesRef, error) {
	next, ok := a.next.(storage.ExemplarAppenderV2)
	if !ok {
		return 0, fmt.Errorf("appender %T takes no exemplars", a.next)
	}
	if ref == 0 && !a.source.knows(ls) {
		a.g.metrics.samples.WithLabelValues("exemplar_of_refused_series").Add(float64(len(es)))
		return 0, nil
	}
	return next.AppendExemplars(ref, ls, es)
}

// GetRef implements storage.GetRef.
func (a *appender) GetRef(ls labels.Labels, hash uint64) (storage.SeriesRef, labels.Labels) {
	if next, ok := a.next.(storage.GetRef); ok {
		return next.GetRef(ls, hash)
	}
	return 0, labels.EmptyLabels()
}

// Commit implements storage.AppenderV2.
func (a *appender) Commit() error {
	a.settle()
	err := a.next.Commit()
	if err == nil {
		a.g.late.notify(a.late)
	}
	return err
}

// Rollback implements storage.AppenderV2.
func (a *appender) Rollback() error {
	a.settle()
	return a.next.Rollback()
}

// settle moves what the appender counted to where it is seen, once per append
// transaction instead of once per sample.
func (a *appender) settle() {
	if a.refused == 0 && a.future == 0 && a.tooOld == 0 {
		return
	}
	m, s := a.g.metrics, a.source
	if a.refused > 0 {
		m.series.WithLabelValues(s.name).Add(float64(a.refused))
		s.limitHit.Store(int64(a.now))
		a.g.setSeriesLimit(s)
	}
	if a.future > 0 {
		m.samples.WithLabelValues("timestamp_future").Add(float64(a.future))
		s.future.Add(uint64(a.future))
		s.futureHit.Store(int64(a.now))
		a.g.setFuture(s)
	}
	s.tooOld.Add(uint64(a.tooOld))
	a.refused, a.future, a.tooOld = 0, 0, 0
}

func (g *Guard) setSeriesLimit(s *source) {
	st := s.status()
	blame := ""
	if st.Label != "" {
		blame = fmt.Sprintf("; the label %q has the most new values (about %d)", st.Label, st.Values)
	}
	g.health.Set(health.Condition{
		Code: "series_limit", Severity: health.Warning, Subject: s.name,
		Text: fmt.Sprintf("source %s has reached its limit of %d series: known series keep updating, about %d new ones are refused%s", s.name, st.Limit, st.Refused, blame),
		Hint: "remove the label at its origin or drop it by relabelling; ids of requests and users belong into traces, not into labels",
	})
}

func (g *Guard) setFuture(s *source) {
	g.health.Set(health.Condition{
		Code: "timestamp_future", Severity: health.Warning, Subject: s.name,
		Text: fmt.Sprintf("source %s sends samples more than %s ahead of this server's clock; %d were refused", s.name, g.limits.FutureTolerance, s.future.Load()),
		Hint: "compare the clocks of both machines, or stop the exporter from setting timestamps",
	})
}

// sweep frees the slots of series that stopped, forgets sources that are gone
// and clears conditions that are over. It runs on a caller's time, at most once
// per sweepEvery unless forced.
func (g *Guard) sweep(now time.Time, force bool) {
	last := g.swept.Load()
	if !force && (now.Unix()-last < int64(g.limits.IdleAfter.Seconds()/sweepsPerIdle) || !g.swept.CompareAndSwap(last, now.Unix())) {
		return
	}
	oldest := uint32(max(0, now.Add(-g.limits.IdleAfter).Unix()))
	g.mu.RLock()
	all := make([]*source, 0, len(g.sources))
	for _, s := range g.sources {
		all = append(all, s)
	}
	g.mu.RUnlock()
	for _, s := range all {
		s.expire(oldest)
		s.labels.rotate(now, g.limits.IdleAfter)
		if s.limitHit.Load() < int64(oldest) {
			g.health.Clear("series_limit", s.name)
		}
		if s.futureHit.Load() < int64(oldest) {
			g.health.Clear("timestamp_future", s.name)
		}
		if s.count.Load() == 0 && s.used.Load() < int64(oldest) {
			g.mu.Lock()
			delete(g.sources, s.name)
			g.mu.Unlock()
			g.metrics.series.DeleteLabelValues(s.name)
		}
	}
}

// sweepsPerIdle is how often within Limits.IdleAfter the sweep runs.
const sweepsPerIdle = 8
