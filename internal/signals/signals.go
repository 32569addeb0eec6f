// Package signals holds the canonical signals and the dialects of servers and
// exporters that give them: which native metrics make which signal, in which
// unit, under which labels, since which version, and why a signal is absent.
// A dialect compiles to one PromQL expression per signal and level. Live rules
// record it, and Range evaluates the same expression over any store and window,
// so both give the same numbers. The package knows the language of PromQL but no
// engine and no store.
package signals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sightline/internal/model"
)

// Reason says why a signal is absent and what would give it.
type Reason struct {
	Code   string `yaml:"code" json:"code"`
	Text   string `yaml:"text" json:"text"`
	Remedy string `yaml:"remedy" json:"remedy,omitempty"`
}

// Signal is one canonical quantity with one operation, at all its levels.
type Signal struct {
	// Name is the middle part of the full name, with its unit.
	Name string
	// Operation is rate, ratio, mean, p50, p90, p95, p99, max or last.
	Operation string
	Unit      string
	Meaning   string
	Group     string
	Levels    []model.Level
	// Labels are the extra labels beside the identity of the level.
	Labels []string
	// Absent is said when no source at all gives the signal.
	Absent Reason
}

// At gives the full name level:name:operation.
func (s *Signal) At(l model.Level) string { return string(l) + ":" + s.Name + ":" + s.Operation }

// key is the name without the level.
func (s *Signal) key() string { return s.Name + ":" + s.Operation }

// Catalogue is every signal and every dialect, validated. It is immutable and
// safe for concurrent use.
type Catalogue struct {
	groups   []group
	signals  []*Signal
	byFull   map[string]*Signal
	dialects []*Dialect
}

// identity lists the labels of each level's entities. gpu carries no pod: a card
// may serve several pods or none, so who uses it is a relation (InstanceGPU).
var identity = map[model.Level][]string{
	model.LevelService:  {"cluster", "region", "namespace", "service"},
	model.LevelModel:    {"cluster", "region", "namespace", "service", "model"},
	model.LevelInstance: {"cluster", "region", "namespace", "service", "model", "version", "instance", "pod", "node"},
	model.LevelGPU:      {"cluster", "region", "node", "gpu", "gpu_index", "gpu_model"},
	model.LevelNode:     {"cluster", "region", "node"},
}

// entity lists the labels on which two sources of one signal are matched. A
// card's UUID identifies it alone, and a server that reports it knows no more.
func entity(l model.Level) []string {
	if l == model.LevelGPU {
		return []string{"gpu"}
	}
	return identity[l]
}

// Identity lists the labels that identify an entity of the level.
func Identity(l model.Level) []string { return slices.Clone(identity[l]) }

// All lists every signal in the order of the catalogue.
func (c *Catalogue) All() []*Signal { return slices.Clone(c.signals) }

// Dialects lists the dialects in the order in which they are preferred when two
// of them give the same signal of the same entity.
func (c *Catalogue) Dialects() []*Dialect { return slices.Clone(c.dialects) }

// Dialect finds a dialect by name.
func (c *Catalogue) Dialect(name string) (*Dialect, bool) {
	for _, d := range c.dialects {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}

// Lookup finds the signal and the level of a full name such as
// model:requests:rate.
func (c *Catalogue) Lookup(full string) (*Signal, model.Level, error) {
	if s, ok := c.byFull[full]; ok {
		l, _, _ := strings.Cut(full, ":")
		return s, model.Level(l), nil
	}
	return nil, "", &model.Problem{
		Code: "signal_unknown",
		Text: fmt.Sprintf("signal %q is not in the catalogue", full),
		Hint: "names are level:signal_unit:operation, such as " + c.nearest(full) + "; the list is at /api/v1/sightline/signals",
	}
}

// nearest gives the known name that shares most with full, for hints.
func (c *Catalogue) nearest(full string) string {
	best, most := "model:requests:rate", -1
	for _, s := range c.signals {
		for _, l := range s.Levels {
			n, name := 0, s.At(l)
			for _, part := range strings.FieldsFunc(full, func(r rune) bool { return r == ':' || r == '_' }) {
				if part != "" && strings.Contains(name, part) {
					n++
				}
			}
			if n > most {
				best, most = name, n
			}
		}
	}
	return best
}

// Options are what an expression depends on beside the signal.
type Options struct {
	// Window is over what rates and means are taken; zero picks 1 minute.
	Window time.Duration
	// Interval is the distance of two evaluations; zero picks 5 seconds.
	Interval time.Duration
	// ScrapeInterval is the longest interval of the scraped targets. The window
	// is at least four of them: rate needs two samples and one may be lost.
	ScrapeInterval time.Duration
}

// Defaults of Options, see DESIGN.md.
const (
	DefaultWindow   = time.Minute
	DefaultInterval = 5 * time.Second
	// Hysteresis is how long a more trusted source must have been steady
	// before it takes over.
	Hysteresis = 5 * time.Minute
	// steady is the share of the less trusted source's samples that the more
	// trusted one must have within the hysteresis.
	steady = "0.9"
)

func (o Options) window() time.Duration {
	w := o.Window
	if w <= 0 {
		w = DefaultWindow
	}
	return max(w, 4*o.ScrapeInterval)
}

func (o Options) interval() time.Duration {
	if o.Interval <= 0 {
		return DefaultInterval
	}
	return o.Interval
}

// promDuration writes d the way PromQL reads it, in milliseconds when needed.
func promDuration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}
