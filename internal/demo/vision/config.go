package vision

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"sightline/internal/demo/accel"
)

// Config describes one engine process.
type Config struct {
	Name   string        // of the pod, used in logs and server metadata
	Node   string        // host that the engine believes it runs on
	Device *accel.Device // the card; required
	Models []ModelConfig // DefaultModels when empty

	// Addresses to listen on, default 127.0.0.1:0 each.
	ListenHTTP, ListenGRPC, ListenMetrics string
	// AnyPortIfTaken makes the addresses wishes: where one is in use, a free
	// port of the same host is taken instead.
	AnyPortIfTaken bool

	SummaryLatencies   bool          // Triton's summary_latencies=true
	HistogramLatencies bool          // Triton's histogram_latencies=true
	ContextBytes       int64         // device memory taken at the start, default half of the card: servers preallocate
	MaxBodyBytes       int64         // largest request, default 64 MiB as Triton's
	DrainTimeout       time.Duration // how long a stop waits for queued requests, default 3 s
	Log                *slog.Logger
}

// ModelConfig describes a model: its shape, its versions and its batching, in
// Triton's terms.
type ModelConfig struct {
	Name                 string
	Versions             []VersionConfig
	Height, Width        int // usual image, default 64 × 64; other sizes are accepted
	MaxSide              int // largest height or width, default 2048
	Classes              int // default 100
	Hidden               int // size of the hidden dense layer, default 1024
	Seed                 uint64
	MaxBatchSize         int   // items, default 8
	PreferredBatchSizes  []int // default {4, 8} cut to MaxBatchSize; sent without waiting longer
	MaxQueueDelay        time.Duration
	MaxQueueSize         int           // requests, 0: no limit
	QueueTimeout         time.Duration // 0: none; the action is REJECT
	AllowTimeoutOverride bool          // requests may carry a parameter timeout, in µs
	Instances            int           // instance_group count, default 1
	// RecoveryPasses is the work of loading again after the context was lost:
	// forward passes on the host with which each version is tuned anew. Default
	// 150, about two seconds.
	RecoveryPasses int
}

// VersionConfig describes one version of a model.
type VersionConfig struct {
	Version string  // a positive number
	Width   float64 // scale of the channels, default 1.6: about 11 ms an image
	Cost    float64 // views per image, default 1; see Server.SetVersionCost
}

// DefaultModels is the demo's model: two versions, the second wider and so
// slower, batches up to 8 with a window of 5 ms.
func DefaultModels() []ModelConfig {
	return []ModelConfig{{
		Name:     "resnet_mini",
		Versions: []VersionConfig{{Version: "1", Width: 1.6}, {Version: "2", Width: 2}},
		Seed:     20240117, MaxBatchSize: 8, PreferredBatchSizes: []int{4, 8}, MaxQueueDelay: 5 * time.Millisecond,
		MaxQueueSize: 64, QueueTimeout: 2 * time.Second, AllowTimeoutOverride: true,
	}}
}

func (c Config) withDefaults() (Config, error) {
	if c.Device == nil {
		return c, problem("vision_no_device", "the vision engine has no device", "set Config.Device")
	}
	if len(c.Models) == 0 {
		c.Models = DefaultModels()
	}
	for _, a := range []*string{&c.ListenHTTP, &c.ListenGRPC, &c.ListenMetrics} {
		if *a == "" {
			*a = "127.0.0.1:0"
		}
	}
	if c.ContextBytes == 0 {
		total, _, _ := c.Device.Memory()
		c.ContextBytes = total / 2
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = 64 << 20
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 3 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	models := make([]ModelConfig, len(c.Models))
	for i, m := range c.Models {
		var err error
		if models[i], err = m.withDefaults(); err != nil {
			return c, err
		}
	}
	c.Models = models
	return c, nil
}

func (m ModelConfig) withDefaults() (ModelConfig, error) {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&m.Height, 64)
	set(&m.Width, 64)
	set(&m.MaxSide, 2048)
	set(&m.Classes, 100)
	set(&m.Hidden, 1024)
	set(&m.MaxBatchSize, 8)
	set(&m.Instances, 1)
	set(&m.RecoveryPasses, 150)
	if len(m.Versions) == 0 {
		m.Versions = []VersionConfig{{Version: "1"}}
	}
	vs := make([]VersionConfig, len(m.Versions))
	for i, v := range m.Versions {
		if n, err := strconv.ParseInt(v.Version, 10, 64); err != nil || n < 1 {
			return m, problem("vision_bad_version", fmt.Sprintf("model %q has version %q", m.Name, v.Version), "versions are positive numbers")
		}
		if v.Width == 0 {
			v.Width = 1.6
		}
		if v.Cost == 0 {
			v.Cost = 1
		}
		vs[i] = v
	}
	m.Versions = vs
	if m.Name == "" {
		return m, problem("vision_no_model_name", "a model has no name", "name it")
	}
	if m.Height < minSide || m.Width < minSide || m.Height > m.MaxSide || m.Width > m.MaxSide {
		return m, problem("vision_bad_image", fmt.Sprintf("model %q takes images of %d by %d", m.Name, m.Width, m.Height), fmt.Sprintf("use sides from %d to %d", minSide, m.MaxSide))
	}
	var fit []int
	for _, p := range m.PreferredBatchSizes {
		if p >= 1 && p <= m.MaxBatchSize {
			fit = append(fit, p)
		}
	}
	m.PreferredBatchSizes = fit
	return m, nil
}

func (m *ModelConfig) policy() policy {
	return policy{maxBatch: m.MaxBatchSize, preferred: m.PreferredBatchSizes, window: m.MaxQueueDelay,
		maxQueue: m.MaxQueueSize, timeout: m.QueueTimeout, allowOverride: m.AllowTimeoutOverride}
}
