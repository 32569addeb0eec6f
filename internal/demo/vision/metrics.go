package vision

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pinnedPool is the size of Triton's pool of pinned host memory.
const pinnedPool = 256 << 20

// versionReading is a copy of everything that the exposition shows of a version.
type versionReading struct {
	model, version string
	success, items uint64
	executions     uint64
	failures       map[string]uint64
	us             [5]uint64
	count          [5]uint64 // of the summaries
	sum            [5]float64
	quantiles      [5][]float64
	firstMS        *histogram
	formation      *histogram
	pending        int
	loadSecs       float64
	window         time.Duration
	limit          int
}

func (v *version) reading() versionReading {
	p := v.batcher.policy()
	r := versionReading{model: v.model.Name, version: v.name, pending: v.batcher.pending(),
		loadSecs: time.Duration(v.loadSecs.Load()).Seconds(), window: p.window, limit: p.maxBatch, failures: map[string]uint64{}}
	s := v.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	r.success, r.items, r.executions, r.us = s.success, s.items, s.executions, s.us
	for k, n := range s.failures {
		r.failures[k] = n
	}
	for i, sum := range s.summaries {
		r.count[i], r.sum[i], r.quantiles[i] = sum.count, sum.sum, sum.quantiles(s.now())
	}
	r.firstMS, r.formation = s.firstMS.clone(), s.formation.clone()
	return r
}

// exposition prints Triton's metrics: every GPU model has two series of each
// family, with gpu_uuid what happens on the card, without it what the scheduler
// sees; the other one stays at zero.
type exposition struct {
	b    bytes.Buffer
	uuid string
	rs   []versionReading
}

func (e *exposition) head(name, kind, help string) {
	if help != "" {
		fmt.Fprintf(&e.b, "# HELP %s %s\n", name, help)
	}
	fmt.Fprintf(&e.b, "# TYPE %s %s\n", name, kind)
}

// number prints as Triton's library does: shortest form, not a number as Nan.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "Nan"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labels prints a label set in Triton's order. gpu says which of the twins it
// is; reason may be empty.
func (e *exposition) labels(r versionReading, gpu bool, reason string) string {
	b := &strings.Builder{}
	if gpu {
		fmt.Fprintf(b, `gpu_uuid="%s",`, e.uuid)
	}
	fmt.Fprintf(b, `model="%s"`, escape.Replace(r.model))
	if reason != "" {
		fmt.Fprintf(b, `,reason="%s"`, reason)
	}
	fmt.Fprintf(b, `,version="%s"`, r.version)
	return b.String()
}

// twins prints a family with the value on one of the two series. onGPU says on
// which; that one comes first for counters, second for gauges, as Triton does.
func (e *exposition) twins(name, kind, help string, onGPU bool, value func(versionReading) float64) {
	e.head(name, kind, help)
	for _, r := range e.rs {
		fmt.Fprintf(&e.b, "%s{%s} %s\n", name, e.labels(r, onGPU, ""), number(value(r)))
		fmt.Fprintf(&e.b, "%s{%s} 0\n", name, e.labels(r, !onGPU, ""))
	}
}

func (e *exposition) plain(name, kind, help, labels string, v float64) {
	e.head(name, kind, help)
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(&e.b, "%s%s %s\n", name, labels, number(v))
}

func (e *exposition) failures() {
	const name = "nv_inference_request_failure"
	e.head(name, "counter", "Number of failed inference requests, all batch sizes")
	for _, r := range e.rs {
		for _, gpu := range []bool{true, false} {
			for _, reason := range reasons {
				n := uint64(0)
				if gpu == (reason == reasonBackend) {
					n = r.failures[reason]
				}
				fmt.Fprintf(&e.b, "%s{%s} %d\n", name, e.labels(r, gpu, reason), n)
			}
		}
	}
}

func (e *exposition) counters() {
	e.twins("nv_inference_request_success", "counter", "Number of successful inference requests, all batch sizes", true, func(r versionReading) float64 { return float64(r.success) })
	e.failures()
	e.twins("nv_inference_count", "counter", "Number of inferences performed, batch items counted one by one", true, func(r versionReading) float64 { return float64(r.items) })
	e.twins("nv_inference_exec_count", "counter", "Number of model executions performed, one for each batch", true, func(r versionReading) float64 { return float64(r.executions) })
	helps := [5]string{"Cumulative inference request duration in microseconds", "Cumulative inference queuing duration in microseconds",
		"Cumulative compute input duration in microseconds", "Cumulative compute inference duration in microseconds", "Cumulative inference compute output duration in microseconds"}
	for i, p := range phaseNames {
		e.twins("nv_inference_"+p+"_duration_us", "counter", helps[i], true, func(r versionReading) float64 { return float64(r.us[i]) })
	}
}

func (e *exposition) firstResponse() {
	const name = "nv_inference_first_response_histogram_ms"
	e.head(name, "histogram", "Duration from request to first response in milliseconds")
	for _, r := range e.rs {
		e.histogram(name, e.labels(r, false, ""), r.firstMS, true)
		e.histogram(name, e.labels(r, true, ""), newHistogram(firstResponseBuckets), true)
	}
}

// histogram prints one; Triton's library puts count and sum first.
func (e *exposition) histogram(name, labels string, h *histogram, countFirst bool) {
	ends := func() {
		fmt.Fprintf(&e.b, "%s_count{%s} %d\n%s_sum{%s} %s\n", name, labels, h.count, name, labels, number(h.sum))
	}
	if countFirst {
		ends()
	}
	cum := uint64(0)
	for i, n := range h.counts {
		cum += n
		le := "+Inf"
		if i < len(h.bounds) {
			le = number(h.bounds[i])
		}
		fmt.Fprintf(&e.b, "%s_bucket{%s,le=\"%s\"} %d\n", name, labels, le, cum)
	}
	if !countFirst {
		ends()
	}
}

func (e *exposition) summaries() {
	helps := [5]string{"Summary of inference request duration in microseconds", "Summary of inference queuing duration in microseconds",
		"Summary of inference compute input duration in microseconds", "Summary of inference compute infer duration in microseconds", "Summary of inference compute output duration in microseconds"}
	for i, p := range phaseNames {
		name := "nv_inference_" + p + "_summary_us"
		e.head(name, "summary", helps[i])
		for _, r := range e.rs {
			e.summary(name, e.labels(r, true, ""), r.count[i], r.sum[i], r.quantiles[i])
			e.summary(name, e.labels(r, false, ""), 0, 0, nil)
		}
	}
}

func (e *exposition) summary(name, labels string, count uint64, sum float64, qs []float64) {
	fmt.Fprintf(&e.b, "%s_count{%s} %d\n%s_sum{%s} %s\n", name, labels, count, name, labels, number(sum))
	for i, q := range summaryQuantiles {
		v := math.NaN()
		if qs != nil {
			v = qs[i]
		}
		fmt.Fprintf(&e.b, "%s{%s,quantile=\"%s\"} %s\n", name, labels, number(q), number(v))
	}
}

// batcher prints what real Triton does not export and this engine knows exactly.
func (e *exposition) batcher() {
	e.head("sightline_batcher_formation_seconds", "histogram", "Time from the first request of a batch entering the queue to the batch being handed to an instance.")
	for _, r := range e.rs {
		e.histogram("sightline_batcher_formation_seconds", e.labels(r, false, ""), r.formation, false)
	}
	e.head("sightline_batcher_window_seconds", "gauge", "Longest time that a batch waits for more requests, as configured.")
	for _, r := range e.rs {
		fmt.Fprintf(&e.b, "sightline_batcher_window_seconds{%s} %s\n", e.labels(r, false, ""), number(r.window.Seconds()))
	}
	e.head("sightline_batcher_batch_limit", "gauge", "Largest number of items in a batch, as configured.")
	for _, r := range e.rs {
		fmt.Fprintf(&e.b, "sightline_batcher_batch_limit{%s} %d\n", e.labels(r, false, ""), r.limit)
	}
}

// metricsPage prints everything.
func metricsPage(r *repository, host *hostUse, cfg Config) []byte {
	e := &exposition{uuid: escape.Replace(r.ctx.dev.UUID())}
	for _, v := range r.all() {
		e.rs = append(e.rs, v.reading())
	}
	card := r.ctx.dev.Snapshot()
	gpu := fmt.Sprintf(`gpu_uuid="%s",simulated="true"`, e.uuid)
	e.counters()
	e.plain("nv_energy_consumption", "counter", "GPU energy consumption in joules since the server started", gpu, card.EnergyJoules-r.ctx.energy)
	e.twins("nv_inference_pending_request_count", "gauge", "Instantaneous number of pending requests awaiting execution", false, func(r versionReading) float64 { return float64(r.pending) })
	e.twins("nv_model_load_duration_secs", "gauge", "Model load time in seconds", false, func(r versionReading) float64 { return r.loadSecs })
	e.plain("nv_pinned_memory_pool_total_bytes", "gauge", "Pinned memory pool total memory size, in bytes", "", pinnedPool)
	e.plain("nv_pinned_memory_pool_used_bytes", "gauge", "Pinned memory pool used memory size, in bytes", "", float64(min(pinnedPool, r.staging.Load())))
	// Without help text, as the real server prints them.
	e.plain("nv_gpu_utilization", "gauge", "", gpu, card.Busy)
	e.plain("nv_gpu_memory_total_bytes", "gauge", "", gpu, float64(card.MemoryTotal))
	e.plain("nv_gpu_memory_used_bytes", "gauge", "", gpu, float64(card.MemoryUsed))
	e.plain("nv_gpu_power_usage", "gauge", "", gpu, card.PowerWatts)
	e.plain("nv_gpu_power_limit", "gauge", "", gpu, card.PowerLimitWatts)
	if u, ok := host.read(); ok {
		e.plain("nv_cpu_utilization", "gauge", "CPU utilization rate [0.0 - 1.0]", "", u.busy)
		e.plain("nv_cpu_memory_total_bytes", "gauge", "CPU total memory (RAM), in bytes", "", u.total)
		e.plain("nv_cpu_memory_used_bytes", "gauge", "CPU used memory (RAM), in bytes", "", u.used)
	}
	if cfg.HistogramLatencies {
		e.firstResponse()
	}
	if cfg.SummaryLatencies {
		e.summaries()
	}
	e.batcher()
	return e.b.Bytes()
}

func metricsAPI(r *repository, host *hostUse, cfg Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(metricsPage(r, host, cfg)) // a scraper that hung up needs no answer
	})
	return mux
}
