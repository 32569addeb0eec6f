package app

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"time"

	"sightline/internal/collect/scrape"
	"sightline/internal/health"
	"sightline/internal/model"
	"sightline/internal/ruler"
	"sightline/internal/signals"
)

// recogniser watches which metric names targets expose and what has been
// written from elsewhere, and tells the ruler which dialects are spoken.
type recogniser struct {
	cat    *signals.Catalogue
	scrape *scrape.Manager
	store  instantQuerier
	rules  *ruler.Ruler
	log    *slog.Logger
	health *health.Registry

	mu       sync.Mutex
	byTarget map[string][]signals.Recognition
	names    []string // active dialects, sorted

	// exposed is what each target exposed at the last look; only look uses it.
	exposed map[string][]string
}

// instantQuerier is the store as far as the recogniser needs it.
type instantQuerier interface {
	QueryInstant(ctx context.Context, expr string, at time.Time) ([]model.Series, error)
}

// Times between two looks: often while nothing is known yet, so that a new
// target speaks within seconds, and rarely into the whole store.
const (
	recogniseEvery = 2 * time.Second
	storeLookEvery = 15 * time.Second
)

func newRecogniser(cat *signals.Catalogue, m *scrape.Manager, st instantQuerier, r *ruler.Ruler, log *slog.Logger, h *health.Registry) *recogniser {
	return &recogniser{cat: cat, scrape: m, store: st, rules: r, log: log, health: h, byTarget: map[string][]signals.Recognition{}, exposed: map[string][]string{}}
}

// active lists the dialects for which rules run.
func (r *recogniser) active() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.names...)
}

// of gives what a target speaks.
func (r *recogniser) of(target string) []signals.Recognition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byTarget[target]
}

func (r *recogniser) run(ctx context.Context) error {
	tick := time.NewTicker(recogniseEvery)
	defer tick.Stop()
	var stored []string
	var lastLook time.Time
	for {
		if time.Since(lastLook) >= storeLookEvery {
			stored, lastLook = r.inStore(ctx), time.Now()
		}
		r.look(stored)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// inStore recognises dialects in series that did not come by our own scrapes:
// remote write, OTLP, or the past of this data directory. One existence query
// for each dialect is cheap; listing all metric names is not.
func (r *recogniser) inStore(ctx context.Context) []string {
	var found []string
	for _, d := range r.cat.Dialects() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		s, err := r.store.QueryInstant(ctx, d.Probe(), time.Now())
		cancel()
		if err == nil && len(s) > 0 {
			found = append(found, d.Name)
		}
	}
	return found
}

func (r *recogniser) look(stored []string) {
	names := map[string]bool{}
	for _, n := range stored {
		names[n] = true
	}
	byTarget := map[string][]signals.Recognition{}
	for _, t := range r.scrape.Targets() {
		exposes := r.scrape.MetricNames(t.ID)
		got := r.cat.Recognise(exposes)
		r.compare(t.ID, exposes)
		byTarget[t.ID] = got
		for _, g := range got {
			names[g.Dialect] = true
		}
		r.mu.Lock()
		before := r.byTarget[t.ID]
		r.mu.Unlock()
		if say(before) != say(got) {
			r.log.Info("dialect recognised", "target", t.ID, "instance", t.Instance, "dialects", say(got))
		}
		if t.Health == "up" && t.Samples > 0 && len(got) == 0 {
			r.health.Set(health.Condition{Code: "dialect_unknown", Severity: health.Info, Subject: t.ID,
				Text: "target " + t.ID + " speaks no dialect that is known here", Hint: "its series can be queried in Explore; canonical signals need a dialect"})
		} else {
			r.health.Clear("dialect_unknown", t.ID)
		}
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	sort.Strings(sorted)
	r.mu.Lock()
	changed := strings.Join(sorted, ",") != strings.Join(r.names, ",")
	r.byTarget = byTarget
	r.mu.Unlock()
	if !changed {
		return
	}
	if err := r.rules.SetDialects(sorted); err != nil {
		r.log.Error("rules of the dialects cannot be loaded", "dialects", sorted, "err", err)
		return
	}
	r.mu.Lock()
	r.names = sorted
	r.mu.Unlock()
}

// compare names, once, the metrics that a target gave and gives no more, as
// after an upgrade: their signals go on under the new names or say why not.
func (r *recogniser) compare(target string, now []string) {
	before := r.exposed[target]
	if len(now) == 0 {
		return // down, or not scraped yet: that is told elsewhere
	}
	r.exposed[target] = now
	for _, l := range r.cat.Lost(before, now) {
		c := health.Condition{Code: "metric_renamed", Severity: health.Info, Subject: target + " " + l.Name,
			Text: fmt.Sprintf("target %s no longer exposes %s; it exposes %s (%s), and the signals go on", target, l.Name, l.Successor, l.Since),
			Hint: "dashboards and rules that name the old metric need the new one"}
		if !l.Covered {
			c.Code, c.Severity = "metric_lost", health.Warning
			c.Text = fmt.Sprintf("target %s no longer exposes %s, nor its successor %s", target, l.Name, l.Successor)
			c.Hint = "look at the release notes of the server; signals that need it are shown as absent"
		}
		r.health.Set(c)
	}
}

func say(rs []signals.Recognition) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Dialect)
	}
	return strings.Join(out, ",")
}
