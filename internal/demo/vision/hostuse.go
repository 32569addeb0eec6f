package vision

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"
)

// hostReading is the use of the whole host: busy from 0 to 1, memory in bytes.
type hostReading struct{ busy, total, used float64 }

// hostUse reads /proc as Triton does; busy is the mean between two readings
// that are at least interval apart. On systems without /proc there is nothing.
type hostUse struct {
	procDir  string
	interval time.Duration
	now      func() time.Time

	mu          sync.Mutex
	at          time.Time
	idle, ticks float64
	busy        float64
}

func newHostUse() *hostUse {
	h := &hostUse{procDir: "/proc", interval: time.Second, now: time.Now}
	h.read() // the first interval begins now
	return h
}

// read reports false when the system does not tell.
func (h *hostUse) read() (hostReading, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mem, err := os.ReadFile(h.procDir + "/meminfo")
	if err != nil {
		return hostReading{}, false
	}
	total, available := meminfo(mem, "MemTotal:"), meminfo(mem, "MemAvailable:")
	if total == 0 {
		return hostReading{}, false
	}
	if now := h.now(); h.at.IsZero() || now.Sub(h.at) >= h.interval {
		stat, err := os.ReadFile(h.procDir + "/stat")
		if err != nil {
			return hostReading{}, false
		}
		idle, ticks := cpuTicks(stat)
		if d := ticks - h.ticks; !h.at.IsZero() && d > 0 {
			h.busy = min(1, max(0, 1-(idle-h.idle)/d))
		}
		h.at, h.idle, h.ticks = now, idle, ticks
	}
	return hostReading{busy: h.busy, total: total, used: total - available}, true
}

// meminfo gives a value of /proc/meminfo in bytes, 0 when it is not there.
func meminfo(text []byte, key string) float64 {
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) >= 2 && string(f[0]) == key {
			kb, err := strconv.ParseFloat(string(f[1]), 64)
			if err != nil {
				return 0
			}
			return kb * 1024
		}
	}
	return 0
}

// cpuTicks sums the first line of /proc/stat; idle includes waiting for disks.
// Guest time (fields 9 and 10) is already part of user time.
func cpuTicks(text []byte) (idle, total float64) {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	for i, f := range bytes.Fields(line) {
		v, err := strconv.ParseFloat(string(f), 64)
		if err != nil || i > 8 {
			continue // the name of the line
		}
		total += v
		if i == 4 || i == 5 {
			idle += v
		}
	}
	return idle, total
}
