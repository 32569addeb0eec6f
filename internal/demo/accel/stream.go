package accel

import (
	"context"
	"time"
)

// Load says how a piece of work uses the card while it runs, each part as a
// share from 0 to 1. It shapes the profiling values and the power; it does not
// change how long the work takes.
type Load struct {
	SM        float64 // multiprocessors with work
	Occupancy float64 // resident warps to the maximum
	DRAM      float64 // memory interface active
	Tensor    float64 // tensor pipe active
	FP32      float64 // fp32 pipe active
}

// DefaultLoad is a kernel of middling size in fp32.
var DefaultLoad = Load{SM: 0.8, Occupancy: 0.45, DRAM: 0.4, FP32: 0.5}

// intensity maps a load to the share of the card's dynamic power (our choice:
// a resident but stalled kernel still draws 40 %).
func (l Load) intensity() float64 { return 0.4 + 0.3*l.SM + 0.3*l.DRAM }

func (l Load) plus(o Load, sign float64) Load {
	return Load{l.SM + sign*o.SM, l.Occupancy + sign*o.Occupancy, l.DRAM + sign*o.DRAM, l.Tensor + sign*o.Tensor, l.FP32 + sign*o.FP32}
}

func (l Load) times(f float64) Load { return Load{}.plus(l, f) }

// clamp limits every share to [0, 1]: streams that together ask for more than
// the card has get the card.
func (l Load) clamp() Load {
	c := func(v float64) float64 { return min(1, max(0, v)) }
	return Load{c(l.SM), c(l.Occupancy), c(l.DRAM), c(l.Tensor), c(l.FP32)}
}

// account integrates busy time and load between two samples.
type account struct {
	since, last time.Time
	active      int
	current     Load    // sum of the loads that run now
	busy        float64 // seconds with at least one piece of work
	load        Load    // seconds, weighted by load
	energyShare float64 // seconds, weighted by intensity
	rx, tx      int64   // bytes over the bus, seen from the card
}

func (a *account) advance(now time.Time) {
	dt := now.Sub(a.last).Seconds()
	a.last = now
	if a.active == 0 || dt <= 0 {
		return
	}
	l := a.current.clamp()
	a.busy += dt
	a.load = a.load.plus(l, dt)
	a.energyShare += dt * l.intensity()
}

// Stream is the right to run work on the card, held by one caller at a time.
type Stream struct{ d *Device }

// Acquire waits for a free stream. The wait is the caller's to account for: a
// scheduler that acquires before it forms a batch keeps it out of compute time.
func (d *Device) Acquire(ctx context.Context) (*Stream, error) {
	select {
	case d.slots <- struct{}{}:
		return &Stream{d}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TryAcquire takes a free stream and reports whether there was one.
func (d *Device) TryAcquire() (*Stream, bool) {
	select {
	case d.slots <- struct{}{}:
		return &Stream{d}, true
	default:
		return nil, false
	}
}

// Release gives the stream back.
func (s *Stream) Release() { <-s.d.slots }

// Run executes f in the calling goroutine and counts its time as busy. When
// the card's clock is at a share r of its maximum the work takes 1/r of its
// time: the rest is spent on arithmetic whose result nobody needs.
func (s *Stream) Run(l Load, f func()) {
	d := s.d
	d.mu.Lock()
	start := d.cfg.Now()
	d.work.advance(start)
	d.work.active++
	d.work.current = d.work.current.plus(l, 1)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.work.advance(d.cfg.Now())
		d.work.active--
		d.work.current = d.work.current.plus(l, -1)
		if d.work.active == 0 {
			d.work.current = Load{} // no rounding is left behind
		}
		d.mu.Unlock()
	}()
	f()
	took := d.cfg.Now().Sub(start)
	if r := d.ClockRatio(); r < 1 && took > 0 {
		d.cfg.Stretch(time.Duration(float64(took) * (1/r - 1)))
	}
}

// Run waits for a free stream and runs f on it with DefaultLoad.
func (d *Device) Run(f func()) { d.RunLoad(DefaultLoad, f) }

// RunLoad waits for a free stream and runs f on it.
func (d *Device) RunLoad(l Load, f func()) {
	d.slots <- struct{}{}
	s := &Stream{d}
	defer s.Release()
	s.Run(l, f)
}

// Transfer counts bytes that moved over the bus: rx from host to card, tx back.
func (d *Device) Transfer(rx, tx int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work.rx += rx
	d.work.tx += tx
}

// ClockRatio is the SM clock that work gets now, as a share of the maximum.
func (d *Device) ClockRatio() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.phys.ratio()
}

// sink keeps the compiler from removing the burner's arithmetic.
var sink float64

// burner returns a function that spends time with multiply-adds, looking at
// the clock about every 20 µs.
func burner(now func() time.Time) func(time.Duration) {
	return func(dur time.Duration) {
		end := now().Add(dur)
		x := 1.0
		for now().Before(end) {
			for range 10000 {
				x = x*0.999999 + 1e-6
			}
		}
		if x == 0 {
			sink = x
		}
	}
}
