package loadgen

import (
	"math"
	"sort"
	"time"

	"sightline/internal/model"
)

// Distribution describes values in the unit of their field. When N is 0 the
// other fields are NaN: nothing was measured.
type Distribution struct {
	N                            int
	Sum, Mean, Min, Max          float64
	P50, P90, P95, P99           float64 // nearest rank: values that occurred
	Interp50, Interp90, Interp95 float64 // linear between neighbours
	Interp99                     float64
	sorted                       []float64
}

// Describe sorts a copy of vs and computes its distribution.
func Describe(vs []float64) Distribution {
	s := append([]float64(nil), vs...)
	sort.Float64s(s)
	d := Distribution{N: len(s), sorted: s}
	nan := math.NaN()
	d.Mean, d.Min, d.Max = nan, nan, nan
	if d.N > 0 {
		for _, v := range s {
			d.Sum += v
		}
		d.Mean, d.Min, d.Max = d.Sum/float64(d.N), s[0], s[d.N-1]
	}
	d.P50, d.P90, d.P95, d.P99 = d.Rank(.5), d.Rank(.9), d.Rank(.95), d.Rank(.99)
	d.Interp50, d.Interp90, d.Interp95, d.Interp99 = d.Interpolated(.5), d.Interpolated(.9), d.Interpolated(.95), d.Interpolated(.99)
	return d
}

// Rank is the nearest-rank quantile: the smallest value that at least the
// share q of all values do not exceed.
func (d Distribution) Rank(q float64) float64 {
	if d.N == 0 {
		return math.NaN()
	}
	// q*N as a decimal would be exact; as a binary fraction it can land a hair
	// above a whole number and must not count up then.
	i := int(math.Ceil(q*float64(d.N) - 1e-9))
	return d.sorted[min(max(i, 1), d.N)-1]
}

// Interpolated is the quantile by linear interpolation between the order
// statistics at (N-1)q (Hyndman and Fan 1996, type 7).
func (d Distribution) Interpolated(q float64) float64 {
	if d.N == 0 {
		return math.NaN()
	}
	h := float64(d.N-1) * q
	lo := int(math.Floor(h))
	hi := min(lo+1, d.N-1)
	return d.sorted[lo] + (h-float64(lo))*(d.sorted[hi]-d.sorted[lo])
}

// Summary is a window of the log in numbers. Seconds unless said.
type Summary struct {
	// Window bounds the end of the requests counted: Start < Done <= End.
	Window model.TimeRange
	// Requests ended in the window, dropped ones not included; Rate is per second.
	Requests int
	Rate     float64
	Errors   int
	ByKind   map[model.ErrorKind]int
	// ErrorRatio is NaN without requests.
	ErrorRatio float64
	Dropped    int
	// Of successes: client times from sending, from the schedule, to the first
	// token; gaps between chunks; lag of the generator itself.
	Latency, FromSchedule, FirstToken, TokenGap, Lag Distribution
	// Phases are the engine's own timings of the same successes, by name.
	Phases map[string]Distribution
	// BatchSize is items per execution. Each of b items that ran together
	// stands for 1/b executions, so that every execution counts once.
	BatchSize float64
	// QueueShare is the sum of the phase queue over the sum of the latencies of
	// the successes that report it.
	QueueShare float64
	// Tokens by the servers' usage; rates per second. Known says how many
	// successes reported it.
	TokensIn, TokensOut, TokensCached, TokensKnown int
	TokensInRate, TokensOutRate                    float64
	BytesIn, BytesOut                              int64
}

// Select returns the records that keep wants.
func Select(rs []Record, keep func(*Record) bool) []Record {
	var out []Record
	for i := range rs {
		if keep(&rs[i]) {
			out = append(out, rs[i])
		}
	}
	return out
}

// Group splits records by a key, such as the version that answered.
func Group(rs []Record, key func(*Record) string) map[string][]Record {
	out := map[string][]Record{}
	for i := range rs {
		k := key(&rs[i])
		out[k] = append(out[k], rs[i])
	}
	return out
}

// ByModel groups by the model that was asked for.
func ByModel(r *Record) string { return r.Model }

// ByVersion groups by the version that answered, "" for none.
func ByVersion(r *Record) string { return r.Version }

// ByInstance groups by the target.
func ByInstance(r *Record) string { return r.Instance }

// ByPlan groups by the plan.
func ByPlan(r *Record) string { return r.Plan }

// Summarise computes the summary of the records that ended inside w, straight
// from the log.
func Summarise(rs []Record, w model.TimeRange) Summary {
	s := Summary{Window: w, ByKind: map[model.ErrorKind]int{}, Phases: map[string]Distribution{}}
	var latency, scheduled, first, gaps, lag []float64
	phases := map[string][]float64{}
	var items, executions, queue, queueOf float64
	for i := range rs {
		r := &rs[i]
		if !r.Done.After(w.Start) || r.Done.After(w.End) {
			continue
		}
		if r.Dropped {
			s.Dropped++
			continue
		}
		s.Requests++
		s.BytesIn += r.BytesIn
		s.BytesOut += r.BytesOut
		lag = append(lag, seconds(r.Sent.Sub(r.Scheduled)))
		if r.Tokens != nil {
			s.TokensKnown++
			s.TokensIn += r.Tokens.Prompt
			s.TokensOut += r.Tokens.Output
			if r.Tokens.Cached != nil {
				s.TokensCached += *r.Tokens.Cached
			}
		}
		if r.Error != "" {
			s.Errors++
			s.ByKind[r.Error]++
			continue
		}
		latency = append(latency, seconds(r.Latency()))
		scheduled = append(scheduled, seconds(r.FromSchedule()))
		if d, ok := r.FirstTokenLatency(); ok {
			first = append(first, seconds(d))
		}
		for _, g := range r.TokenGaps {
			gaps = append(gaps, seconds(g))
		}
		for name, v := range r.Timings {
			phases[name] = append(phases[name], v)
		}
		if q, ok := r.Timings["queue"]; ok {
			queue += q
			queueOf += seconds(r.Latency())
		}
		if r.BatchSize > 0 {
			n := float64(max(r.Items, 1))
			items += n
			executions += n / r.BatchSize
		}
	}
	s.Latency, s.FromSchedule, s.FirstToken = Describe(latency), Describe(scheduled), Describe(first)
	s.TokenGap, s.Lag = Describe(gaps), Describe(lag)
	for name, vs := range phases {
		s.Phases[name] = Describe(vs)
	}
	length := w.Duration().Seconds()
	s.Rate = float64(s.Requests) / length
	s.TokensInRate, s.TokensOutRate = float64(s.TokensIn)/length, float64(s.TokensOut)/length
	s.ErrorRatio = float64(s.Errors) / float64(s.Requests)
	s.BatchSize = items / executions
	s.QueueShare = queue / queueOf
	return s
}

func seconds(d time.Duration) float64 { return d.Seconds() }
