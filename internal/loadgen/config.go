package loadgen

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"sightline/internal/model"
)

// Config says what traffic to make. The zero value of a number means its
// default where DefaultConfig has one.
type Config struct {
	// Seed makes the sequence of arrivals, inputs, targets and versions
	// repeatable. 0 starts the trace at its first row.
	Seed   uint64
	Vision []VisionPlan
	Chat   []ChatPlan
	// RingSize is how many records stay in memory.
	RingSize int
	// LogPath, if set, is a file that takes one JSON object per record; a name
	// that ends in .gz is compressed. It is created anew with mode 0600.
	LogPath string
	// DrainTimeout is how long requests in flight may finish after the end.
	DrainTimeout time.Duration
}

// Traffic is what all plans share.
type Traffic struct {
	// Name is how controls, metrics and records call the plan.
	Name  string
	Model string
	// Arrivals is the process, Rate its mean in requests per second.
	Arrivals Process
	Rate     float64
	// Trace replaces the embedded excerpt.
	Trace []Arrival
	// MaxInFlight bounds the requests that are open at once; a request that is
	// due beyond it is dropped, counted and logged.
	MaxInFlight int
	// Timeout ends a request; it counts from sending.
	Timeout time.Duration
	Targets []Target
}

// Target is one server that a plan sends to.
type Target struct {
	// URL is scheme, host and port, such as http://127.0.0.1:8000.
	URL string
	// Instance is the name that records carry.
	Instance string
	// Weight is the share of requests relative to the other targets. When all
	// are equal, targets take turns.
	Weight float64
}

// Choice is one of several values with its relative weight.
type Choice[T any] struct {
	Value  T
	Weight float64
}

// Defaults that two shared cores bear next to two engines and a server.
const (
	DefaultVisionRate   = 8.0
	DefaultChatRate     = 0.7
	defaultRing         = 10_000
	defaultMaxInFlight  = 128
	defaultTimeout      = 30 * time.Second
	defaultDrainTimeout = 5 * time.Second
)

// DefaultConfig returns a Config without plans.
func DefaultConfig() Config {
	return Config{Seed: 1, RingSize: defaultRing, DrainTimeout: defaultDrainTimeout}
}

// withDefaults fills what may be left out.
func (c Config) withDefaults() Config {
	if c.RingSize == 0 {
		c.RingSize = defaultRing
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = defaultDrainTimeout
	}
	vision, chat := c.Vision, c.Chat
	c.Vision, c.Chat = make([]VisionPlan, len(vision)), make([]ChatPlan, len(chat))
	for i, v := range vision {
		c.Vision[i] = v.withDefaults()
	}
	for i, v := range chat {
		c.Chat[i] = v.withDefaults()
	}
	return c
}

func (t Traffic) withDefaults(name string, rate float64) Traffic {
	if t.Name == "" {
		t.Name = name
	}
	if t.Arrivals == "" {
		t.Arrivals = ArrivalTrace
	}
	if t.Rate == 0 {
		t.Rate = rate
	}
	if t.MaxInFlight == 0 {
		t.MaxInFlight = defaultMaxInFlight
	}
	if t.Timeout == 0 {
		t.Timeout = defaultTimeout
	}
	targets := make([]Target, len(t.Targets))
	even := true
	for _, x := range t.Targets {
		even = even && x.Weight == 0
	}
	for i, x := range t.Targets {
		x.URL = strings.TrimSuffix(x.URL, "/")
		if even {
			x.Weight = 1
		}
		if x.Instance == "" {
			if u, err := url.Parse(x.URL); err == nil {
				x.Instance = u.Host
			}
		}
		targets[i] = x
	}
	t.Targets = targets
	return t
}

// Validate checks c after defaults are filled in. Its errors are
// *model.Problem with the code loadgen_config.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case len(c.Vision)+len(c.Chat) == 0:
		return configProblem("no plan is given", "give at least one vision or chat plan")
	case c.RingSize < 0 || c.RingSize > 1_000_000:
		return configProblem(fmt.Sprintf("ring size %d is outside 1 to 1000000", c.RingSize), "leave it out for 10000")
	case c.DrainTimeout < 0:
		return configProblem(fmt.Sprintf("drain timeout %v is negative", c.DrainTimeout), "leave it out for 5s")
	}
	names := map[string]bool{}
	seen := func(name string) error {
		if names[name] {
			return configProblem(fmt.Sprintf("two plans are named %q", name), "give each plan a name of its own")
		}
		names[name] = true
		return nil
	}
	for _, p := range c.Vision {
		if err := p.validate(); err != nil {
			return err
		}
		if err := seen(p.Name); err != nil {
			return err
		}
	}
	for _, p := range c.Chat {
		if err := p.validate(); err != nil {
			return err
		}
		if err := seen(p.Name); err != nil {
			return err
		}
	}
	return nil
}

func (t Traffic) validate() error {
	where := fmt.Sprintf("plan %q", t.Name)
	if t.Model == "" {
		return configProblem(where+" names no model", "set its model")
	}
	switch t.Arrivals {
	case ArrivalTrace, ArrivalPoisson, ArrivalConstant:
	default:
		return configProblem(fmt.Sprintf("%s has arrivals %q", where, t.Arrivals), "choose trace, poisson or constant")
	}
	if !(t.Rate > 0) || t.Rate > 100_000 {
		return configProblem(fmt.Sprintf("%s has rate %v", where, t.Rate), "give requests per second above 0 and up to 100000")
	}
	if t.MaxInFlight < 0 || t.MaxInFlight > 100_000 {
		return configProblem(fmt.Sprintf("%s allows %d requests in flight", where, t.MaxInFlight), "give 1 to 100000")
	}
	if t.Timeout < 0 {
		return configProblem(fmt.Sprintf("%s has timeout %v", where, t.Timeout), "give a positive duration")
	}
	if len(t.Trace) > 0 && (len(t.Trace) < 2 || t.Trace[len(t.Trace)-1].Offset <= t.Trace[0].Offset) {
		return configProblem(where+" has a trace without two rows at different times", "leave it out for the embedded excerpt")
	}
	if len(t.Targets) == 0 {
		return configProblem(where+" has no target", "give at least one URL")
	}
	weights := make([]float64, len(t.Targets))
	for i, x := range t.Targets {
		u, err := url.Parse(x.URL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return configProblem(fmt.Sprintf("%s has target %q", where, shorten(x.URL, 100)), "give a URL like http://127.0.0.1:8000")
		}
		weights[i] = x.Weight
	}
	return validateWeights(where+" target", weights)
}

func validateShare(where string, v float64) error {
	if !(v >= 0 && v <= 1) {
		return configProblem(fmt.Sprintf("%s is %v", where, v), "give a share from 0 to 1")
	}
	return nil
}

func validateWeights(where string, w []float64) error {
	sum := 0.0
	for _, v := range w {
		if !(v >= 0) || math.IsInf(v, 1) {
			return configProblem(fmt.Sprintf("%s weight is %v", where, v), "give weights of 0 or more")
		}
		sum += v
	}
	if len(w) > 0 && sum == 0 {
		return configProblem(where+" weights are all 0", "give at least one a positive weight")
	}
	return nil
}

func weightsOf[T any](cs []Choice[T]) []float64 {
	out := make([]float64, len(cs))
	for i, c := range cs {
		out[i] = c.Weight
	}
	return out
}

func configProblem(text, hint string) error {
	return &model.Problem{Code: "loadgen_config", Text: text, Hint: hint}
}
