package loadgen

import (
	"math/rand/v2"
	"sync"
	"time"
)

// dropNotice is how often drops of one lane are logged at most.
const dropNotice = 10 * time.Second

// lane is one plan at work: its schedule, its draws and its bound.
type lane struct {
	traffic  Traffic
	source   source
	arrivals *arrivals  // owned by the dispatcher
	rng      *rand.Rand // owned by the dispatcher
	changed  chan struct{}

	mu       sync.Mutex
	factor   float64
	mix      Mix
	inFlight int
	drops    uint64
	unsaid   uint64
	said     time.Time
}

func newLane(t Traffic, m Mix, s source, seed uint64) *lane {
	return &lane{
		traffic: t, source: s, mix: m, factor: 1,
		arrivals: newArrivals(t.Arrivals, t.Rate, t.Trace, seed),
		rng:      rand.New(rand.NewPCG(seed, 0xd2a3)),
		changed:  make(chan struct{}, 1),
	}
}

func (l *lane) currentFactor() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.factor
}

func (l *lane) setFactor(f float64) {
	l.mu.Lock()
	l.factor = f
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default: // a change is already waiting; the dispatcher reads the newest factor
	}
}

func (l *lane) currentMix() Mix {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mix
}

func (l *lane) setMix(change Mix) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mix.over(change)
	if err := m.validate("plan "+l.traffic.Name, len(l.traffic.Targets)); err != nil {
		return err
	}
	l.mix = m
	return nil
}

func (l *lane) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight >= l.traffic.MaxInFlight {
		return false
	}
	l.inFlight++
	return true
}

func (l *lane) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
}

// dropped counts a drop; say is true when it is time to log the n drops since
// the last time.
func (l *lane) dropped(now time.Time) (n uint64, say bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drops++
	l.unsaid++
	if !l.said.IsZero() && now.Sub(l.said) < dropNotice {
		return 0, false
	}
	n, l.unsaid, l.said = l.unsaid, 0, now
	return n, true
}

func (l *lane) state() (factor float64, inFlight int, drops uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.factor, l.inFlight, l.drops
}
