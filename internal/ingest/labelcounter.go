package ingest

import (
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/prometheus/model/labels"
)

// registers is the size of a distinct counter. 256 give a standard error of
// 1.04/√256 = 6.5 %, enough to tell a label with thousands of values from one
// with ten.
const registers = 256

// distinct estimates how many different values it saw, after Flajolet, Fusy,
// Gandouet and Meunier, "HyperLogLog" (2007), with linear counting for small
// numbers.
type distinct struct{ max [registers]uint8 }

func (d *distinct) add(hash uint64) {
	i := hash % registers
	rank := uint8(bits.LeadingZeros64(hash|registers-1) + 1)
	if rank > d.max[i] {
		d.max[i] = rank
	}
}

func (d *distinct) estimate() int {
	sum, zeros := 0.0, 0
	for _, r := range d.max {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			zeros++
		}
	}
	const alpha = 0.7213 / (1 + 1.079/registers)
	e := alpha * registers * registers / sum
	if e <= 2.5*registers && zeros > 0 {
		e = registers * math.Log(registers/float64(zeros))
	}
	return int(math.Round(e))
}

// maxLabelNames bounds the labels that are told apart per source; label names
// come from senders too.
const maxLabelNames = 128

// labelCounter counts, over the current and the last window, the values that
// new series brought for each label name. Series that are known do not pass
// here, so it sees growth and not size, and costs nothing when there is none.
type labelCounter struct {
	mu            sync.Mutex
	rotated       time.Time
	now, before   map[string]*distinct
	refused, past distinct
	anyRefused    bool
	pastRefused   bool
}

// observe takes one new series with the hash of its labels.
func (c *labelCounter) observe(ls labels.Labels, hash uint64, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if refused {
		c.refused.add(hash)
		c.anyRefused = true
	}
	if c.now == nil {
		c.now = map[string]*distinct{}
	}
	ls.Range(func(l labels.Label) {
		d := c.now[l.Name]
		if d == nil {
			if len(c.now) >= maxLabelNames {
				return
			}
			d = &distinct{}
			c.now[l.Name] = d
		}
		d.add(xxhash.Sum64String(l.Value))
	})
}

// rotate begins a new window when the current one is older than width.
func (c *labelCounter) rotate(now time.Time, width time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.rotated) < width {
		return
	}
	c.before, c.now = c.now, nil
	c.past, c.refused = c.refused, distinct{}
	c.pastRefused, c.anyRefused = c.anyRefused, false
	c.rotated = now
}

// worst names the label with the most new values and how many series were
// refused.
func (c *labelCounter) worst() (refused int, label string, values int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.anyRefused {
		refused = max(1, c.refused.estimate())
	}
	if c.pastRefused {
		refused = max(refused, c.past.estimate(), 1)
	}
	if refused == 0 {
		return 0, "", 0
	}
	for _, window := range []map[string]*distinct{c.now, c.before} {
		for name, d := range window {
			if n := d.estimate(); n > values || n == values && name < label {
				label, values = name, n
			}
		}
	}
	return refused, label, values
}
