package accel

import "time"

type xidEvent struct {
	at   time.Time
	code int
}

type reasonSample struct {
	at      time.Time
	reasons int
}

// eccCounts holds the counters that only faults move.
type eccCounts struct {
	single, double                         int64
	correctableRemaps, uncorrectableRemaps int64
	remapPending, remapFailed              bool
	lastXID                                int
	pcieReplays                            int64
}

// SetPowerLimit changes the enforced power limit in watts; a busy card above it
// lowers its clock at once.
func (d *Device) SetPowerLimit(watts float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.phys.limit = watts
	d.phys.limits()
}

// PowerLimit is the limit in force, in watts.
func (d *Device) PowerLimit() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.phys.limit
}

// SetAmbient changes the temperature of the air that cools the card, in °C: a
// dead fan is a hot ambient. The card follows with its thermal inertia.
func (d *Device) SetAmbient(celsius float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.phys.ambient = celsius
}

// SetTemperature puts the card at a temperature at once, in °C, for tests and
// for faults that should not take a minute to show.
func (d *Device) SetTemperature(celsius float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.phys.temp = celsius
	d.phys.limits()
}

// RaiseXID records a driver error with its code. The last code stays on show
// for ever, as the driver does it.
func (d *Device) RaiseXID(code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ecc.lastXID = code
	d.xids = append(d.xids, xidEvent{d.cfg.Now(), code})
	d.forgetLocked(d.cfg.Now())
}

// AddECC adds memory errors: corrected single-bit and uncorrectable double-bit.
func (d *Device) AddECC(single, double int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ecc.single += single
	d.ecc.double += double
}

// AddRemappedRows adds rows remapped after correctable and uncorrectable errors.
func (d *Device) AddRemappedRows(correctable, uncorrectable int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ecc.correctableRemaps += correctable
	d.ecc.uncorrectableRemaps += uncorrectable
}

// SetRowRemap says whether a remap waits for a reset and whether one failed.
func (d *Device) SetRowRemap(pending, failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ecc.remapPending, d.ecc.remapFailed = pending, failed
}

// AddPCIeReplays adds link-level repeats on the bus.
func (d *Device) AddPCIeReplays(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ecc.pcieReplays += n
}

// forgetLocked drops events that left the count window.
func (d *Device) forgetLocked(now time.Time) {
	oldest := now.Add(-d.cfg.CountWindow)
	for len(d.xids) > 0 && d.xids[0].at.Before(oldest) {
		d.xids = d.xids[1:]
	}
	for len(d.hist) > 0 && d.hist[0].at.Before(oldest) {
		d.hist = d.hist[1:]
	}
}
