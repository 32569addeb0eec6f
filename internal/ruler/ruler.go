// Package ruler evaluates the dialects live: a Prometheus rule manager records
// candidates, canonical series and relations at every interval, for the
// dialects that were recognised and no others, beside the user's own rule
// files. Windows into which data arrived late are evaluated again.
package ruler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	pmodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
	"sightline/internal/signals"
)

// builtin names the groups that come from the dialects, where a file name would
// stand.
const builtin = "sightline"

// Options of a Ruler; zero values pick the defaults.
type Options struct {
	// Interval is the distance of two evaluations, default 5 s.
	Interval time.Duration
	// QueryOffset is how far behind the clock rules look, so that the samples
	// of that moment are in. Default 1 s; negative means none.
	QueryOffset time.Duration
	// Signals sets window and scrape interval; its Interval is Interval.
	Signals signals.Options
	// RuleFiles are the user's own rule files, in Prometheus' format.
	RuleFiles []string
	// DirtyQueue bounds the windows that wait to be evaluated again; default 1024.
	DirtyQueue int
	// Settle is how long a dirty window waits for more late data, default 15 s.
	Settle time.Duration
	// ExternalURL is where alerts point to; may be nil.
	ExternalURL *url.URL
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Ruler owns a rule manager. It is safe for concurrent use.
type Ruler struct {
	o      Options
	cat    *signals.Catalogue
	engine promql.QueryEngine
	q      storage.Queryable
	app    storage.AppendableV2
	log    *slog.Logger
	health *health.Registry

	manager *rules.Manager
	stop    context.CancelFunc
	notes   atomic.Uint64

	mu       sync.Mutex // guards dialects and the manager's updates
	dialects []string
	running  bool
	stopped  bool

	dirty dirtyQueue
	own   *ownMetrics
	known map[string]bool // conditions that the watcher has set
}

// New checks the options and builds the manager; nothing runs before Run.
func New(o Options, engine promql.QueryEngine, q storage.Queryable, app storage.AppendableV2, cat *signals.Catalogue, log *slog.Logger, reg prometheus.Registerer, h *health.Registry) (*Ruler, error) {
	if o.Interval <= 0 {
		o.Interval = signals.DefaultInterval
	}
	if o.QueryOffset == 0 {
		o.QueryOffset = time.Second
	}
	o.QueryOffset = max(o.QueryOffset, 0)
	if o.DirtyQueue <= 0 {
		o.DirtyQueue = 1024
	}
	if o.Settle <= 0 {
		o.Settle = 15 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ExternalURL == nil {
		o.ExternalURL = &url.URL{}
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if h == nil {
		h = health.New(log, o.Now)
	}
	o.Signals.Interval = o.Interval
	r := &Ruler{o: o, cat: cat, engine: engine, q: q, app: app, log: log, health: h, known: map[string]bool{}}
	r.dirty = dirtyQueue{limit: o.DirtyQueue, wake: make(chan struct{}, 1)}
	r.own = newMetrics(reg, r)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.manager = rules.NewManager(&rules.ManagerOptions{
		NameValidationScheme:   pmodel.UTF8Validation,
		ExternalURL:            o.ExternalURL,
		QueryFunc:              rules.EngineQueryFunc(engine, q),
		NotifyFunc:             func(_ context.Context, _ string, alerts ...*rules.Alert) { r.notes.Add(uint64(len(alerts))) },
		Context:                ctx,
		AppendableV2:           app,
		Queryable:              q,
		Logger:                 log,
		Registerer:             reg,
		OutageTolerance:        time.Hour,
		ForGracePeriod:         10 * time.Minute,
		ResendDelay:            time.Minute,
		GroupLoader:            loader{r},
		DefaultRuleQueryOffset: func() time.Duration { return o.QueryOffset },
		MaxConcurrentEvals:     2,
		ConcurrentEvalsEnabled: false,
		Parser:                 promqlParser,
	})
	h.SetPart("rules", health.Starting, "no dialect is recognised yet")
	return r, nil
}

var promqlParser = parser.NewParser(parser.Options{})

// loader gives the manager the dialects' rules from memory and the user's from
// their files.
type loader struct{ r *Ruler }

// Load implements rules.GroupLoader.
func (l loader) Load(id string, ignoreUnknown bool, scheme pmodel.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	if id != builtin {
		return rulefmt.ParseFile(id, ignoreUnknown, scheme, promqlParser, l.r.log)
	}
	out := &rulefmt.RuleGroups{}
	for _, g := range l.r.cat.Rules(l.r.dialects, l.r.o.Signals) {
		rg := rulefmt.RuleGroup{Name: g.Name, Interval: pmodel.Duration(l.r.o.Interval)}
		for _, x := range g.Rules {
			rg.Rules = append(rg.Rules, rulefmt.Rule{Record: x.Record, Expr: x.Expr, Labels: x.Labels})
		}
		out.Groups = append(out.Groups, rg)
	}
	return out, nil
}

// Parse implements rules.GroupLoader.
func (loader) Parse(expr string) (parser.Expr, error) { return promqlParser.ParseExpr(expr) }

// SetDialects makes live rules run for exactly the named dialects. Groups that
// did not change keep running.
func (r *Ruler) SetDialects(names []string) error {
	names = slices.Clone(names)
	if names == nil {
		names = []string{}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Equal(names, r.dialects) && r.dialects != nil {
		return nil
	}
	r.dialects = names
	return r.update()
}

// Dialects lists the dialects for which rules run.
func (r *Ruler) Dialects() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.dialects)
}

// Reload reads the user's rule files again.
func (r *Ruler) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.update()
}

// update loads the groups. A file that does not load is left out and named in
// a condition: it must not take the canonical series with it.
func (r *Ruler) update() error {
	if r.stopped {
		return nil
	}
	// A group stops only once the manager runs: before Run, groups that are
	// loaded are left as they are, and Run loads what is wanted by then.
	if !r.running && len(r.manager.RuleGroups()) > 0 {
		return nil
	}
	files := []string{}
	if len(r.dialects) > 0 {
		files = append(files, builtin)
	}
	var errs []error
	for _, f := range r.o.RuleFiles {
		if _, bad := rulefmt.ParseFile(f, false, pmodel.UTF8Validation, promqlParser, r.log); len(bad) > 0 {
			r.health.Set(health.Condition{Code: "rule_file_invalid", Severity: health.Error, Subject: f, Text: fmt.Sprintf("rule file %s is left out: %v", f, errors.Join(bad...)), Hint: "correct the file and reload; promtool check rules shows the same errors"})
			errs = append(errs, bad...)
			continue
		}
		r.health.Clear("rule_file_invalid", f)
		files = append(files, f)
	}
	if err := r.manager.Update(r.o.Interval, files, labels.EmptyLabels(), r.o.ExternalURL.String(), rules.DefaultEvalIterationFunc); err != nil {
		return fmt.Errorf("load rules: %w", err)
	}
	return errors.Join(errs...)
}

// Run evaluates until ctx ends. Rules in progress finish.
func (r *Ruler) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(r.manager.Run)
	r.mu.Lock()
	r.running = true
	err := r.update()
	r.mu.Unlock()
	if err != nil {
		r.log.Error("rules are loaded in part", "error", err)
	}
	wg.Go(func() { r.workDirty(ctx) })
	wg.Go(func() { r.watch(ctx) })
	r.health.SetPart("rules", health.Ready, "")
	<-ctx.Done()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.manager.Stop()
	r.stop()
	wg.Wait()
	r.health.SetPart("rules", health.Stopped, "")
	return nil
}

// Manager gives the Prometheus rule manager, for the rules and alerts pages.
func (r *Ruler) Manager() *rules.Manager { return r.manager }

// RuleHealth is the state of one rule group.
type RuleHealth struct {
	Name           string
	File           string
	Rules          int
	LastEvaluation time.Time
	LastDuration   time.Duration
	// Failed counts the rules whose last evaluation failed.
	Failed    int
	LastError string
}

// Health gives the state of every group, by name.
func (r *Ruler) Health() []RuleHealth {
	var out []RuleHealth
	for _, g := range r.manager.RuleGroups() {
		h := RuleHealth{Name: g.Name(), File: g.File(), Rules: len(g.Rules()), LastEvaluation: g.GetLastEvaluation(), LastDuration: g.GetEvaluationTime()}
		for _, rule := range g.Rules() {
			if err := rule.LastError(); err != nil {
				h.Failed++
				h.LastError = fmt.Sprintf("%s: %v", rule.Name(), err)
			}
		}
		out = append(out, h)
	}
	return out
}

// watch turns failing rules and cards without a clear owner into conditions.
func (r *Ruler) watch(ctx context.Context) {
	t := time.NewTicker(3 * r.o.Interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			r.watchOnce(ctx)
		}
	}
}

func (r *Ruler) watchOnce(ctx context.Context) {
	now := map[string]health.Condition{}
	for _, h := range r.Health() {
		if h.Failed > 0 {
			now["rule_failing "+h.Name] = health.Condition{Code: "rule_failing", Severity: health.Error, Subject: h.Name, Text: fmt.Sprintf("%d rules of group %s fail: %s", h.Failed, h.Name, h.LastError), Hint: "look at the rule on the Status page"}
		}
		if h.LastDuration > r.o.Interval {
			now["rules_slow "+h.Name] = health.Condition{Code: "rules_slow", Severity: health.Warning, Subject: h.Name, Text: fmt.Sprintf("group %s takes %s of an interval of %s", h.Name, h.LastDuration.Round(time.Millisecond), r.o.Interval), Hint: "lengthen the rule interval or spread the targets over several servers"}
		}
	}
	at := r.o.Now().Add(-r.o.QueryOffset)
	owners, err := rules.EngineQueryFunc(r.engine, r.q)(ctx, signals.GPUOwnerCandidates+" > 1", at)
	if err != nil && ctx.Err() == nil {
		r.log.Warn("owners of cards are not known", "error", err)
	}
	for _, s := range owners {
		gpu, node := s.Metric.Get("gpu"), s.Metric.Get("node")
		now["gpu_owner_ambiguous "+gpu] = health.Condition{Code: "gpu_owner_ambiguous", Severity: health.Warning, Subject: gpu, Text: fmt.Sprintf("card %s on %s may belong to any of %v servers there", gpu, node, s.F), Hint: "give dcgm-exporter its Kubernetes mapping, or name the card in the target's configuration"}
	}
	for k, c := range now {
		r.health.Set(c)
		r.known[k] = true
	}
	for k := range maps.Clone(r.known) {
		if _, still := now[k]; !still {
			code, subject := cut(k)
			r.health.Clear(code, subject)
			delete(r.known, k)
		}
	}
}

func cut(k string) (code, subject string) {
	for i := range k {
		if k[i] == ' ' {
			return k[:i], k[i+1:]
		}
	}
	return k, ""
}
