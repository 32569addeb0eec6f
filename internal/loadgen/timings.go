package loadgen

import (
	"encoding/json"
	"strings"
	"time"
)

// timingUnits are the endings that say the unit of a timing, in seconds.
var timingUnits = []struct {
	suffix string
	unit   float64
}{
	{"_ns", 1e-9}, {"_us", 1e-6}, {"_ms", 1e-3}, {"_seconds", 1}, {"_s", 1},
}

// readTimings takes what an engine says about one request from the parameters
// or the timing object of its answer: names that end in a unit are phases,
// names that end in _unix_ns are moments, batch_size is the number of items
// that ran together. Everything else is left alone.
func readTimings(obj map[string]json.RawMessage, r *Record) {
	for name, raw := range obj {
		if name == "batch_size" {
			if v, ok := number(raw); ok && v > 0 {
				r.BatchSize = v
			}
			continue
		}
		if base, ok := strings.CutSuffix(name, "_unix_ns"); ok {
			if ns, err := json.Number(strings.Trim(string(raw), `"`)).Int64(); err == nil && ns > 0 {
				if r.Marks == nil {
					r.Marks = map[string]time.Time{}
				}
				r.Marks[base] = time.Unix(0, ns)
			}
			continue
		}
		for _, u := range timingUnits {
			base, ok := strings.CutSuffix(name, u.suffix)
			if !ok || base == "" {
				continue
			}
			if v, ok := number(raw); ok && v >= 0 {
				if r.Timings == nil {
					r.Timings = map[string]float64{}
				}
				r.Timings[base] = v * u.unit
			}
			break
		}
	}
}

func number(raw json.RawMessage) (float64, bool) {
	var v float64
	if len(raw) == 0 || raw[0] == 'n' || json.Unmarshal(raw, &v) != nil {
		return 0, false
	}
	return v, true
}
