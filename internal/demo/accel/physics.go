package accel

import (
	"math"
	"time"
)

// Clock event reasons, the bits of DCGM field 112 (NVML's names).
const (
	ReasonIdle         = 0x1
	ReasonPowerCap     = 0x4
	ReasonHWSlowdown   = 0x8
	ReasonSWThermal    = 0x20
	ReasonHWThermal    = 0x40
	driverMargin       = 4.0  // °C below hardware slowdown at which the driver starts to lower the clock
	driverSlope        = 0.08 // share of the clock taken for each °C above that
	hardwareRatio      = 0.5  // hardware slowdown halves the clock or worse
	minRatio           = 0.15
	powerExponent      = 2.4  // dynamic power ~ f·V², voltage rising with the clock
	fullLoadOfLimit    = 0.85 // power of the heaviest load to the factory limit
	fullLoadRiseKelvin = 38.0 // temperature above ambient at that power
)

// physics holds what moves with inertia and the limits that act on the clock.
type physics struct {
	limit, idle, dynamic float64 // W; dynamic at full clock and full intensity
	ambient, slowdown    float64 // °C
	resistance, tau      float64 // K/W, s
	temp                 float64
	intensity            float64 // of the work seen last
	powerRatio           float64
	thermalRatio         float64
	hwThermal            bool
	energyJoules         float64
	powerViolation       time.Duration
	thermalViolation     time.Duration
}

func newPhysics(c Config) physics {
	p := physics{
		limit: c.PowerLimitWatts, idle: c.IdleWatts, dynamic: fullLoadOfLimit*c.PowerLimitWatts - c.IdleWatts,
		ambient: c.AmbientCelsius, slowdown: c.SlowdownCelsius,
		resistance: fullLoadRiseKelvin / (fullLoadOfLimit * c.PowerLimitWatts), tau: c.ThermalTimeConst.Seconds(),
		intensity: DefaultLoad.intensity(),
	}
	p.temp = p.ambient + p.resistance*p.idle
	p.limits()
	return p
}

// limits sets the clock ratios that power cap and temperature allow.
func (p *physics) limits() {
	p.powerRatio = 1
	if want := p.dynamic * p.intensity; p.idle+want > p.limit {
		p.powerRatio = max(minRatio, math.Pow(max(0, p.limit-p.idle)/want, 1/powerExponent))
	}
	p.thermalRatio = 1
	if over := p.temp - (p.slowdown - driverMargin); over > 0 {
		p.thermalRatio = max(minRatio, 1-driverSlope*over)
	}
	p.hwThermal = p.temp >= p.slowdown
	if p.hwThermal {
		p.thermalRatio = min(p.thermalRatio, hardwareRatio)
	}
}

func (p *physics) ratio() float64 { return min(p.powerRatio, p.thermalRatio) }

// sampled is what one interval showed.
type sampled struct {
	busy    float64 // share of the interval
	load    Load    // mean over the interval
	power   float64 // mean W
	clock   float64 // MHz
	reasons int
	rx, tx  float64 // B/s
}

// step moves the model over dt seconds in which the card was busy for busy
// seconds with energyShare intensity-seconds.
func (p *physics) step(dt, busy, energyShare float64) (power float64, reasons int) {
	r := p.ratio()
	power = p.idle + p.dynamic*(energyShare/dt)*math.Pow(r, powerExponent)
	p.energyJoules += power * dt
	// First-order lag towards the steady temperature, exact for constant power.
	steady := p.ambient + p.resistance*power
	p.temp += (steady - p.temp) * (1 - math.Exp(-dt/p.tau))
	if busy > 0 {
		p.intensity = energyShare / busy
		held := time.Duration(busy * float64(time.Second))
		if p.powerRatio < 1 && p.powerRatio <= p.thermalRatio {
			reasons |= ReasonPowerCap
			p.powerViolation += held
		}
		if p.thermalRatio < 1 {
			reasons |= ReasonSWThermal
			if p.hwThermal {
				reasons |= ReasonHWThermal | ReasonHWSlowdown
			}
			p.thermalViolation += held
		}
	} else {
		reasons = ReasonIdle
	}
	p.limits()
	return power, reasons
}

// Sample closes the interval since the last sample and computes the values
// that Snapshot and Handler show. Start calls it once every SampleInterval.
func (d *Device) Sample() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.cfg.Now()
	d.work.advance(now)
	dt := now.Sub(d.work.since).Seconds()
	if dt <= 0 {
		return
	}
	w := d.work
	s := sampled{busy: min(1, w.busy/dt), load: w.load.times(1 / dt), rx: float64(w.rx) / dt, tx: float64(w.tx) / dt}
	s.clock = d.cfg.IdleClockMHz
	if w.busy > 0 {
		s.clock = d.cfg.MaxClockMHz * d.phys.ratio()
	}
	s.power, s.reasons = d.phys.step(dt, w.busy, w.energyShare)
	d.work = account{since: now, last: now, active: w.active, current: w.current}
	d.hist = append(d.hist, reasonSample{now, s.reasons})
	d.forgetLocked(now)
	d.snap = d.snapshotLocked(now, s)
}

// Snapshot is the state of a card at its last sample.
type Snapshot struct {
	At                 time.Time
	Busy               float64 // share of the last interval
	Load               Load    // means over the last interval
	PowerWatts         float64
	PowerLimitWatts    float64
	EnergyJoules       float64 // since New
	TemperatureCelsius float64
	MemoryCelsius      float64
	ClockMHz           float64
	MaxClockMHz        float64
	Reasons            int // clock event reasons, a bit mask
	PowerViolation     time.Duration
	ThermalViolation   time.Duration
	MemoryTotal        int64 // bytes; used is what Alloc gave out
	MemoryUsed         int64
	MemoryReserved     int64
	PCIeRxPerSecond    float64 // bytes per second, seen from the card
	PCIeTxPerSecond    float64
}

func (d *Device) snapshotLocked(now time.Time, s sampled) Snapshot {
	if s.clock == 0 {
		s.clock, s.power, s.reasons = d.cfg.IdleClockMHz, d.phys.idle, ReasonIdle
	}
	return Snapshot{
		At: now, Busy: s.busy, Load: s.load, PowerWatts: s.power, PowerLimitWatts: d.phys.limit, EnergyJoules: d.phys.energyJoules,
		TemperatureCelsius: d.phys.temp, MemoryCelsius: d.phys.temp + 4 + 6*s.load.DRAM,
		ClockMHz: s.clock, MaxClockMHz: d.cfg.MaxClockMHz, Reasons: s.reasons,
		PowerViolation: d.phys.powerViolation, ThermalViolation: d.phys.thermalViolation,
		MemoryTotal: d.mem.total, MemoryUsed: d.mem.used, MemoryReserved: d.mem.reserved,
		PCIeRxPerSecond: s.rx, PCIeTxPerSecond: s.tx,
	}
}

// Snapshot returns the values of the last sample; memory is read as of now.
func (d *Device) Snapshot() Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.snap
	s.MemoryTotal, s.MemoryUsed, s.MemoryReserved = d.mem.total, d.mem.used, d.mem.reserved
	s.PowerLimitWatts = d.phys.limit
	return s
}
