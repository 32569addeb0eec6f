// Package health is how the product watches itself: a registry of conditions
// (what is wrong, with a code for machines and a sentence for people), the
// readiness of each part, and both as metrics. Parts report here; the API and
// the console read here. Nothing in it blocks or does I/O.
package health

import (
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Severity ranks a condition.
type Severity string

// Severities, from a remark to a stop.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Condition is one thing that is wrong or noteworthy. Code and Subject together
// identify it: setting it again updates the text and keeps Since.
type Condition struct {
	Code     string    `json:"code"`
	Severity Severity  `json:"severity"`
	Subject  string    `json:"subject"`
	Text     string    `json:"text"`
	Hint     string    `json:"hint,omitempty"`
	Since    time.Time `json:"since"`
	Updated  time.Time `json:"updated"`
}

// State is the life of a part.
type State string

// States of a part. A degraded part serves what it can.
const (
	Starting State = "starting"
	Ready    State = "ready"
	Degraded State = "degraded"
	Stopped  State = "stopped"
)

// Part is the state of one component, with a sentence when it is not ready.
type Part struct {
	Name  string    `json:"name"`
	State State     `json:"state"`
	Text  string    `json:"text,omitempty"`
	Since time.Time `json:"since"`
}

type key struct{ code, subject string }

// maxConditions bounds the registry: a fault that repeats over ever new
// subjects must not eat the memory of the process that reports it.
const maxConditions = 1000

// Registry holds conditions and parts. It is safe for concurrent use and a
// prometheus.Collector.
type Registry struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex
	conditions map[key]Condition
	overflow   float64
	parts      map[string]Part
}

// New returns an empty registry. Every state change is logged once to log.
func New(log *slog.Logger, now func() time.Time) *Registry {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Registry{log: log, now: now, conditions: map[key]Condition{}, parts: map[string]Part{}}
}

// Set records c, or updates its text when the same code and subject are known.
func (r *Registry) Set(c Condition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{c.Code, c.Subject}
	now := r.now()
	old, known := r.conditions[k]
	if !known && len(r.conditions) >= maxConditions {
		r.overflow++
		return
	}
	c.Since, c.Updated = now, now
	if known {
		c.Since = old.Since
	} else {
		r.log.Warn("condition set", "code", c.Code, "subject", c.Subject, "severity", string(c.Severity), "text", c.Text)
	}
	r.conditions[k] = c
}

// Clear removes the condition; clearing one that is not set does nothing.
func (r *Registry) Clear(code, subject string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{code, subject}
	if _, known := r.conditions[k]; known {
		delete(r.conditions, k)
		r.log.Info("condition cleared", "code", code, "subject", subject)
	}
}

// Conditions returns a copy, worst first, then oldest first.
func (r *Registry) Conditions() []Condition {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Condition, 0, len(r.conditions))
	for _, c := range r.conditions {
		out = append(out, c)
	}
	rank := map[Severity]int{Error: 0, Warning: 1, Info: 2}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if rank[a.Severity] != rank[b.Severity] {
			return rank[a.Severity] < rank[b.Severity]
		}
		if !a.Since.Equal(b.Since) {
			return a.Since.Before(b.Since)
		}
		if a.Code != b.Code {
			return a.Code < b.Code
		}
		return a.Subject < b.Subject
	})
	return out
}

// SetPart records the state of a component.
func (r *Registry) SetPart(name string, s State, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.parts[name]
	p := Part{Name: name, State: s, Text: text, Since: r.now()}
	if known && old.State == s {
		p.Since = old.Since
	}
	r.parts[name] = p
}

// Parts returns a copy, by name.
func (r *Registry) Parts() []Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Part, 0, len(r.parts))
	for _, p := range r.parts {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Ready reports whether every part is ready or degraded, and names those that
// are not.
func (r *Registry) Ready() (ready bool, waiting []Part) {
	for _, p := range r.Parts() {
		if p.State != Ready && p.State != Degraded {
			waiting = append(waiting, p)
		}
	}
	return len(waiting) == 0, waiting
}

var (
	conditionDesc = prometheus.NewDesc("sightline_conditions", "Number of conditions that are set, by code and severity.", []string{"code", "severity"}, nil)
	overflowDesc  = prometheus.NewDesc("sightline_conditions_dropped_total", "Conditions that were not kept because too many were set.", nil, nil)
	partDesc      = prometheus.NewDesc("sightline_part_ready", "1 when the part is ready or degraded, 0 when it is starting or stopped.", []string{"part"}, nil)
)

// Describe implements prometheus.Collector.
func (r *Registry) Describe(ch chan<- *prometheus.Desc) {
	ch <- conditionDesc
	ch <- overflowDesc
	ch <- partDesc
}

// Collect implements prometheus.Collector.
func (r *Registry) Collect(ch chan<- prometheus.Metric) {
	type cs struct {
		code string
		sev  Severity
	}
	n := map[cs]float64{}
	for _, c := range r.Conditions() {
		n[cs{c.Code, c.Severity}]++
	}
	for k, v := range n {
		ch <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, v, k.code, string(k.sev))
	}
	r.mu.Lock()
	over := r.overflow
	r.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(overflowDesc, prometheus.CounterValue, over)
	for _, p := range r.Parts() {
		v := 0.0
		if p.State == Ready || p.State == Degraded {
			v = 1
		}
		ch <- prometheus.MustNewConstMetric(partDesc, prometheus.GaugeValue, v, p.Name)
	}
}
