package vision

import (
	"math"
	"sort"
	"sync"
	"time"
)

// phases are the measured times of one request. Each has its own start and
// stop where it happens; none is computed from others.
type phases struct {
	request time.Duration // reached the model → final response
	queue   time.Duration // enqueued → handed to an instance
	input   time.Duration // gathering and transfer of the whole batch
	infer   time.Duration // execution of the whole batch
	output  time.Duration // results of the whole batch
}

// phaseNames are the parts of the metric names, in the order of phases.list.
var phaseNames = [5]string{"request", "queue", "compute_input", "compute_infer", "compute_output"}

func (p phases) list() [5]time.Duration {
	return [5]time.Duration{p.request, p.queue, p.input, p.infer, p.output}
}

// duration is a count and a sum, as the statistics extension reports them.
type duration struct {
	Count uint64 `json:"count"`
	NS    uint64 `json:"ns"`
}

func (d *duration) add(t time.Duration) { d.Count++; d.NS += uint64(max(0, t)) }

// batchStat is the compute time of the executions with one batch size.
type batchStat struct{ input, infer, output duration }

// stats are the counters of one loaded model version. They start at zero with
// each load.
type stats struct {
	now func() time.Time

	mu         sync.Mutex
	success    uint64
	failures   map[string]uint64 // by reason
	items      uint64
	executions uint64
	us         [5]uint64 // cumulated microseconds by phase
	summaries  [5]*slidingSummary
	firstMS    *histogram
	formation  *histogram
	last       time.Time
	phase      [5]duration
	fail       duration
	batches    map[int]*batchStat
}

// firstResponseBuckets are Triton's, in milliseconds.
var firstResponseBuckets = []float64{100, 500, 2000, 5000}

// formationBuckets go from 1-2-5 of 100 µs to 10 s, in seconds.
var formationBuckets = []float64{0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}

func newStats(now func() time.Time) *stats {
	s := &stats{now: now, failures: map[string]uint64{}, batches: map[int]*batchStat{},
		firstMS: newHistogram(firstResponseBuckets), formation: newHistogram(formationBuckets)}
	for i := range s.summaries {
		s.summaries[i] = &slidingSummary{}
	}
	return s
}

// executed counts one batch and the requests in it that succeeded.
func (s *stats) executed(items int, batch phases, done []phases) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.last = now
	s.executions++
	s.items += uint64(items)
	b := s.batches[items]
	if b == nil {
		b = &batchStat{}
		s.batches[items] = b
	}
	b.input.add(batch.input)
	b.infer.add(batch.infer)
	b.output.add(batch.output)
	for _, p := range done {
		s.success++
		for i, d := range p.list() {
			us := uint64(max(0, d) / time.Microsecond) // Triton drops the fraction of each request
			s.us[i] += us
			s.summaries[i].observe(now, float64(us))
			s.phase[i].add(d)
		}
		s.firstMS.observe(float64(p.request / time.Millisecond))
	}
}

// failed counts a request that the model did not answer.
func (s *stats) failed(reason string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[reason]++
	s.fail.add(took)
}

func (s *stats) batchFormed(_ int, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.formation.observe(age.Seconds())
}

// histogram has cumulative buckets when printed, single ones here.
type histogram struct {
	bounds []float64
	counts []uint64 // one more than bounds
	sum    float64
	count  uint64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
	h.count++
}

func (h *histogram) clone() *histogram {
	c := *h
	c.counts = append([]uint64(nil), h.counts...)
	return &c
}

// summaryAge is the window of Triton's summaries, summaryMost a bound on memory:
// beyond it the oldest values leave the window early.
const (
	summaryAge  = time.Minute
	summaryMost = 50000
)

// summaryQuantiles are Triton's defaults.
var summaryQuantiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999}

// slidingSummary gives exact quantiles of the last minute and the count and
// sum of all time.
type slidingSummary struct {
	at    []time.Time
	vals  []float64
	count uint64
	sum   float64
}

func (s *slidingSummary) observe(now time.Time, v float64) {
	s.forget(now)
	if len(s.vals) >= summaryMost {
		s.at, s.vals = s.at[1:], s.vals[1:]
	}
	s.at, s.vals = append(s.at, now), append(s.vals, v)
	s.count++
	s.sum += v
}

func (s *slidingSummary) forget(now time.Time) {
	oldest := now.Add(-summaryAge)
	n := sort.Search(len(s.at), func(i int) bool { return s.at[i].After(oldest) })
	s.at, s.vals = s.at[n:], s.vals[n:]
}

// quantiles returns the value of each of summaryQuantiles by nearest rank, NaN
// for an empty window.
func (s *slidingSummary) quantiles(now time.Time) []float64 {
	s.forget(now)
	sorted := append([]float64(nil), s.vals...)
	sort.Float64s(sorted)
	out := make([]float64, len(summaryQuantiles))
	for i, q := range summaryQuantiles {
		out[i] = math.NaN()
		if n := len(sorted); n > 0 {
			out[i] = sorted[max(0, int(math.Ceil(q*float64(n)))-1)]
		}
	}
	return out
}
