package scrape

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
)

// maxNames bounds the metric names remembered per target.
const maxNames = 5_000

// drops counts the samples of one scrape that were not stored, by reason.
type drops struct{ refused, duplicate, outOfOrder, outOfBounds int }

// state is what is remembered of a target between scrapes.
type state struct {
	mu        sync.Mutex
	scrape    uint64            // number of the scrape in progress
	complete  uint64            // number of the last scrape that succeeded
	seen      map[string]uint64 // metric name → scrape that last had it
	overflow  bool              // more than maxNames names
	pending   drops             // of the scrape in progress
	last      drops             // of the last finished scrape
	samples   int               // of the last finished scrape, as exposed
	simulated bool
}

// sink stands between the scrape loops and the store: it makes each target a
// source of its own and watches what passes.
type sink struct {
	next    storage.AppendableV2
	limiter Limiter // nil when next has no limits
	m       *Manager

	mu     sync.Mutex
	states map[string]*state
}

func newSink(next storage.AppendableV2, m *Manager) *sink {
	s := &sink{next: next, m: m, states: map[string]*state{}}
	s.limiter, _ = next.(Limiter)
	return s
}

func targetID(t *scrape.Target) string { return t.URL().String() }

func (s *sink) state(id string) *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.states[id]
	if st == nil {
		st = &state{scrape: 1, seen: map[string]uint64{}}
		s.states[id] = st
	}
	return st
}

// known is state without making one.
func (s *sink) known(id string) *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[id]
}

// forget drops the targets that are not in active and returns their ids.
func (s *sink) forget(active map[string]bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	for id := range s.states {
		if !active[id] {
			gone = append(gone, id)
			delete(s.states, id)
		}
	}
	return gone
}

func (s *sink) names(id string) []string {
	st := s.known(id)
	if st == nil {
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	out := make([]string, 0, len(st.seen))
	for name, at := range st.seen {
		if at >= st.complete {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// AppenderV2 implements storage.AppendableV2; the loops put their target into
// the context.
func (s *sink) AppenderV2(ctx context.Context) storage.AppenderV2 {
	t, ok := scrape.TargetFromContext(ctx)
	if !ok {
		return s.next.AppenderV2(ctx)
	}
	id := targetID(t)
	a := &appender{sink: s, target: t, id: id, state: s.state(id)}
	t.LabelsRange(func(labels.Label) { a.own++ })
	if s.limiter != nil {
		a.next = s.limiter.AppenderFor(ctx, id)
	} else {
		a.next = s.next.AppenderV2(ctx)
	}
	return a
}

// appender watches one append transaction of one target.
type appender struct {
	next    storage.AppenderV2
	sink    *sink
	target  *scrape.Target
	id      string
	state   *state
	names   map[string]struct{}
	last    string
	own     int // labels of the target itself
	refused int
	samples int
	sim     bool
	// done is set by the report that ends a scrape, up by its value.
	done, up bool
}

// reports are the series that the loop itself adds at the end of a scrape.
var reports = map[string]bool{
	"up": true, "scrape_duration_seconds": true, "scrape_samples_scraped": true,
	"scrape_samples_post_metric_relabeling": true, "scrape_series_added": true,
}

// Append implements storage.AppenderV2.
func (a *appender) Append(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AOptions) (storage.SeriesRef, error) {
	name := ls.Get("__name__")
	if reports[name] && ls.Len() == a.own+1 {
		return a.report(name, ref, ls, st, t, v, opts)
	}
	if h != nil || fh != nil || math.Float64bits(v) != value.StaleNaN {
		a.observe(ref, name, ls)
	}
	out, err := a.next.Append(ref, ls, st, t, v, h, fh, opts)
	switch {
	case errors.Is(err, storage.ErrTooOldSample):
		// The loop gives up on the whole scrape for this error; as out of
		// bounds it drops the one sample.
		return 0, fmt.Errorf("%w: %w", storage.ErrOutOfBounds, err)
	case errors.Is(err, storage.ErrOutOfBounds), err == nil && out == 0:
		a.refused++
	}
	return out, err
}

// unlimited is what an appender offers for series that must pass.
type unlimited interface {
	AppendUnlimited(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AOptions) (storage.SeriesRef, error)
}

// report passes on what the loop says about the scrape itself. Such a series
// has the target's labels and no others, so there are only as many as reports.
func (a *appender) report(name string, ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, opts storage.AOptions) (storage.SeriesRef, error) {
	switch name {
	case "up":
		a.done, a.up = !value.IsStaleNaN(v), v == 1
	case "scrape_samples_scraped":
		a.samples = int(v)
	}
	if next, ok := a.next.(unlimited); ok {
		return next.AppendUnlimited(ref, ls, st, t, v, nil, nil, opts)
	}
	return a.next.Append(ref, ls, st, t, v, nil, nil, opts)
}

// observe notes the metric's name; series of one family follow each other, so
// most calls end at a comparison.
func (a *appender) observe(ref storage.SeriesRef, name string, ls labels.Labels) {
	if ref == 0 && !a.sim && ls.Get(model.LabelSimulated) == "true" {
		a.sim = true
	}
	if name == a.last {
		return
	}
	name = strings.Clone(name)
	a.last = name
	if a.names == nil {
		a.names = map[string]struct{}{}
	}
	if len(a.names) <= maxNames {
		a.names[name] = struct{}{}
	}
}

// AppendExemplars implements storage.ExemplarAppenderV2.
func (a *appender) AppendExemplars(ref storage.SeriesRef, ls labels.Labels, es []exemplar.Exemplar) (storage.SeriesRef, error) {
	if next, ok := a.next.(storage.ExemplarAppenderV2); ok {
		return next.AppendExemplars(ref, ls, es)
	}
	return 0, errors.New("the store takes no exemplars")
}

// Commit implements storage.AppenderV2.
func (a *appender) Commit() error {
	err := a.next.Commit()
	a.settle(err)
	return err
}

// Rollback implements storage.AppenderV2. The loop rolls back a scrape that
// cannot be read and reports with a new appender.
func (a *appender) Rollback() error {
	if a.done {
		// The report itself was refused, as on a full disk: this scrape never
		// was, and its counts must not be added to the next one's.
		a.state.mu.Lock()
		a.state.pending = drops{}
		a.state.mu.Unlock()
		return a.next.Rollback()
	}
	a.settle(nil)
	return a.next.Rollback()
}

// settle moves what one transaction saw into the target's state, and at the end
// of a scrape judges the target.
func (a *appender) settle(commitErr error) {
	st := a.state
	st.mu.Lock()
	st.pending.refused += a.refused
	for name := range a.names {
		if _, ok := st.seen[name]; !ok && len(st.seen) >= maxNames {
			st.overflow = true
			continue
		}
		st.seen[name] = st.scrape
	}
	st.simulated = st.simulated || a.sim
	if !a.done {
		st.mu.Unlock()
		return
	}
	d := st.pending
	// A refused series and a sample from the future carry the same error.
	d.outOfBounds = max(0, d.outOfBounds-d.refused)
	st.last, st.pending, st.samples = d, drops{}, a.samples
	if a.up {
		st.complete = st.scrape
		for name, at := range st.seen {
			if at < st.complete {
				delete(st.seen, name)
			}
		}
	}
	st.scrape++
	st.mu.Unlock()
	a.sink.m.judge(a.target, a.id, d, commitErr)
}

// dropped takes a count from the loop's log: the only place where it says how
// many samples of a scrape it dropped by itself.
func (s *sink) dropped(id string, add func(*drops)) {
	st := s.known(id)
	if st == nil {
		return
	}
	st.mu.Lock()
	add(&st.pending)
	st.mu.Unlock()
}
