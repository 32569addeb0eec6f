package loadgen

import (
	"math"
	"math/rand/v2"
	"time"
)

// Process names how requests arrive.
type Process string

// The arrival processes. All give the same mean rate and differ in burstiness.
const (
	// ArrivalTrace replays a trace with time stretched or compressed to the
	// wanted mean rate, so bursts and lulls keep their shape.
	ArrivalTrace Process = "trace"
	// ArrivalPoisson has independent exponential gaps.
	ArrivalPoisson Process = "poisson"
	// ArrivalConstant has equal gaps.
	ArrivalConstant Process = "constant"
)

// arrivals yields an endless sequence of arrivals in time order. Offsets count
// from the start of the sequence at the base rate. It is owned by one goroutine.
type arrivals struct {
	process Process
	rate    float64
	rows    []Arrival
	scale   float64       // plan time per trace time
	period  time.Duration // trace time of one loop, the gap from last to first included
	next    int
	loop    time.Duration // trace time at which the current loop began
	at      float64       // seconds, for poisson and constant
	rng     *rand.Rand
}

// newArrivals prepares a sequence with the mean rate (requests per second).
// The seed chooses the row at which a trace begins, or the gaps of Poisson.
func newArrivals(p Process, rate float64, rows []Arrival, seed uint64) *arrivals {
	a := &arrivals{process: p, rate: rate, rows: rows, rng: rand.New(rand.NewPCG(seed, 0x5eed_a221))}
	if len(rows) > 1 {
		span := rows[len(rows)-1].Offset - rows[0].Offset
		// A loop closes with one mean gap, so that the mean rate of the looped
		// trace is exactly rows / period.
		a.period = span + span/time.Duration(len(rows)-1)
		a.scale = float64(len(rows)) / a.period.Seconds() / rate
		if seed != 0 {
			a.next = a.rng.IntN(len(rows))
		}
		a.loop = -rows[a.next].Offset
	}
	return a
}

// pull returns the next arrival. Token counts come from the trace row by row;
// the other processes draw rows at random.
func (a *arrivals) pull() Arrival {
	if a.process == ArrivalTrace {
		row := a.rows[a.next]
		row.Offset = time.Duration(float64(a.loop+row.Offset) * a.scale)
		if a.next++; a.next == len(a.rows) {
			a.next, a.loop = 0, a.loop+a.period
		}
		return row
	}
	gap := 1 / a.rate
	if a.process == ArrivalPoisson {
		gap *= a.rng.ExpFloat64()
	}
	a.at += gap
	out := Arrival{Offset: time.Duration(math.Round(a.at * float64(time.Second)))}
	if len(a.rows) > 0 {
		row := a.rows[a.rng.IntN(len(a.rows))]
		out.ContextTokens, out.GeneratedTokens = row.ContextTokens, row.GeneratedTokens
	}
	return out
}

// pacer turns offsets at the base rate into wall-clock times while the rate
// factor changes. It is owned by one goroutine.
type pacer struct {
	factor  float64
	anchor  time.Time     // wall time at which offset base was reached
	reached time.Duration // offset at anchor
}

// due returns when offset is due; ok is false while the factor is 0.
func (p *pacer) due(offset time.Duration) (at time.Time, ok bool) {
	if p.factor <= 0 {
		return time.Time{}, false
	}
	return p.anchor.Add(time.Duration(float64(offset-p.reached) / p.factor)), true
}

// setFactor changes the speed at now without moving what has already passed.
// next is the first offset that has not left: time never runs beyond it, so a
// request that is overdue at the change stays due now.
func (p *pacer) setFactor(now time.Time, factor float64, next time.Duration) {
	reached := p.reached + time.Duration(float64(now.Sub(p.anchor))*p.factor)
	if reached > next {
		reached = next
	}
	p.reached, p.anchor, p.factor = reached, now, factor
}
