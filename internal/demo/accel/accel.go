// Package accel models an accelerator card that is driven by real work: what
// runs through a Device is executed on the CPU and its time counts as busy
// time of the card. Power, temperature and clocks follow from it by simple
// physics, a clock below its maximum slows the work down, memory is a budget.
// Handler prints the cards as dcgm-exporter does, with simulated="true" on
// every series, so that nobody takes them for hardware.
package accel

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// MiB is the unit in which the exporter prints memory.
const MiB = 1 << 20

// Config describes one card. Zero values take the defaults named below.
type Config struct {
	UUID      string // GPU-…; derived from Node and Index when empty
	Index     int    // number of the card on its node
	Node      string // host name that the card reports
	Namespace string // pod that owns the card; all three empty: no owner
	Pod       string
	Container string
	ModelName string // "Simulated Accelerator" when empty
	Driver    string // driver version label, "580.95.05" when empty

	MemoryBytes   int64 // default 2 GiB
	ReservedBytes int64 // part of it that nobody can allocate, default 32 MiB
	Streams       int   // pieces of work that run at the same time, default 1

	PowerLimitWatts    float64       // default 150
	IdleWatts          float64       // default 12 % of the limit
	AmbientCelsius     float64       // default 30
	SlowdownCelsius    float64       // hardware slowdown, default 87; the driver starts to slow down 4 below it
	ThermalTimeConst   time.Duration // default 15 s
	MaxClockMHz        float64       // default 1980
	IdleClockMHz       float64       // default 345
	MemoryClockMHz     float64       // default 2619
	SampleInterval     time.Duration // default 1 s
	CountWindow        time.Duration // window of the event counts, default 5 min as the exporter's
	PCIeLinkGeneration int           // default 5
	PCIeLinkWidth      int           // default 16

	// Now reads the clock, default time.Now. Stretch spends the given time on
	// the card's account when its clock is low, default real arithmetic; tests
	// with a fake clock set time.Sleep, because arithmetic moves no fake clock.
	Now     func() time.Time
	Stretch func(time.Duration)
}

func (c Config) withDefaults() Config {
	setF := func(p *float64, v float64) {
		if *p == 0 {
			*p = v
		}
	}
	setD := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	if c.UUID == "" {
		h := sha256.Sum256(fmt.Appendf(nil, "%s/%d", c.Node, c.Index))
		c.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
	}
	if c.ModelName == "" {
		c.ModelName = "Simulated Accelerator"
	}
	if c.Driver == "" {
		c.Driver = "580.95.05"
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = 2048 * MiB
	}
	if c.ReservedBytes == 0 {
		c.ReservedBytes = 32 * MiB
	}
	if c.Streams <= 0 {
		c.Streams = 1
	}
	setF(&c.PowerLimitWatts, 150)
	setF(&c.IdleWatts, 0.12*c.PowerLimitWatts)
	setF(&c.AmbientCelsius, 30)
	setF(&c.SlowdownCelsius, 87)
	setF(&c.MaxClockMHz, 1980)
	setF(&c.IdleClockMHz, 345)
	setF(&c.MemoryClockMHz, 2619)
	setD(&c.ThermalTimeConst, 15*time.Second)
	setD(&c.SampleInterval, time.Second)
	setD(&c.CountWindow, 5*time.Minute)
	if c.PCIeLinkGeneration == 0 {
		c.PCIeLinkGeneration = 5
	}
	if c.PCIeLinkWidth == 0 {
		c.PCIeLinkWidth = 16
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Stretch == nil {
		c.Stretch = burner(c.Now)
	}
	return c
}

// Device is one card. All methods are safe for concurrent use.
type Device struct {
	cfg   Config
	slots chan struct{} // one token for each stream

	mu   sync.Mutex
	work account // what ran since the last sample
	mem  memory
	phys physics
	snap Snapshot
	xids []xidEvent
	hist []reasonSample // one entry for each sample in the count window
	ecc  eccCounts

	stop context.CancelFunc
	done chan struct{}
}

// New returns a card at ambient temperature with nothing allocated. Without
// Start it takes samples only when Sample is called.
func New(c Config) *Device {
	c = c.withDefaults()
	d := &Device{cfg: c, slots: make(chan struct{}, c.Streams), mem: memory{total: c.MemoryBytes, reserved: c.ReservedBytes}}
	now := c.Now()
	d.work.last = now
	d.work.since = now
	d.phys = newPhysics(c)
	d.snap = d.snapshotLocked(now, sampled{})
	return d
}

// Start samples the card every SampleInterval until ctx ends or Close is
// called. Starting twice does nothing.
func (d *Device) Start(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		return
	}
	ctx, d.stop = context.WithCancel(ctx)
	d.done = make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		t := time.NewTicker(d.cfg.SampleInterval)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				d.Sample()
			}
		}
	}(d.done)
}

// Close ends the sampling that Start began and waits for its goroutine.
func (d *Device) Close() {
	d.mu.Lock()
	stop, done := d.stop, d.done
	d.mu.Unlock()
	if stop != nil {
		stop()
		<-done
	}
}

// UUID is the card's unique name, as in the label UUID.
func (d *Device) UUID() string { return d.cfg.UUID }

// Index is the card's number on its node.
func (d *Device) Index() int { return d.cfg.Index }

// Node is the host name that the card reports.
func (d *Device) Node() string { return d.cfg.Node }
