// Package vllmstats is the chat engine's /metrics: names, types, labels and
// buckets of a vLLM 0.32 class server, for what this engine really does.
// Speculative decoding, adapters, multimodal and connector metrics are absent
// because the engine has none of these.
package vllmstats

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sightline/internal/demo/chat/engine"
)

// Config is what the metrics say about the engine's configuration.
type Config struct {
	Model         string // model_name
	BlockSize     int
	Blocks        int
	PrefixCaching bool
	// MemoryShare is the part of the device that the engine may fill, 0..1;
	// 0 when blocks were given as a number.
	MemoryShare float64
}

// Metrics holds all series of one engine. It implements engine.Observer.
type Metrics struct {
	reg *prometheus.Registry

	running, waiting, capacity, cache prometheus.Gauge

	queries, hits, preemptions          prometheus.Counter
	promptTokens, promptCached, outputs prometheus.Counter
	computedSource, hitSource           prometheus.Counter
	finished                            map[engine.Reason]prometheus.Counter
	rejected                            *prometheus.CounterVec

	promptLen, outputLen, stepTokens, maxOutput, paramN, paramMax, computed prometheus.Observer
	ttft, itl, tpot, e2e, queue, inference, prefill, decode                 prometheus.Observer

	httpRequests *prometheus.CounterVec
	httpSeconds  *prometheus.HistogramVec
	httpHighRes  prometheus.Histogram
}

// Reasons of vllm:admission_rejections_total.
const (
	RejectedRequests = "max_num_queued_reqs"
	RejectedTokens   = "max_num_queued_tokens"
)

// New creates every series at zero, as the engine's own do at start.
func New(c Config) *Metrics {
	m := &Metrics{reg: prometheus.NewRegistry(), finished: map[engine.Reason]prometheus.Counter{}}
	own := prometheus.Labels{"engine": "0", "model_name": c.Model}
	with := func(extra ...string) prometheus.Labels {
		l := prometheus.Labels{}
		for k, v := range own {
			l[k] = v
		}
		for i := 0; i < len(extra); i += 2 {
			l[extra[i]] = extra[i+1]
		}
		return l
	}
	gauge := func(name, help string, extra ...string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: with(extra...)})
		m.reg.MustRegister(g)
		return g
	}
	counter := func(name, help string, extra ...string) prometheus.Counter {
		g := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: with(extra...)})
		m.reg.MustRegister(g)
		return g
	}
	histogram := func(name, help string, buckets []float64) prometheus.Observer {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: own, Buckets: buckets})
		m.reg.MustRegister(h)
		return h
	}

	m.running = gauge("vllm:num_requests_running", "Number of requests in model execution batches.")
	m.waiting = gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.")
	const byReason = "Number of requests waiting to be processed, by reason."
	m.capacity = gauge("vllm:num_requests_waiting_by_reason", byReason, "reason", "capacity")
	gauge("vllm:num_requests_waiting_by_reason", byReason, "reason", "deferred") // nothing here is ever deferred
	const sleep = "Engine sleep state; awake = 0 means that the engine sleeps."
	gauge("vllm:engine_sleep_state", sleep, "sleep_state", "awake").Set(1)
	gauge("vllm:engine_sleep_state", sleep, "sleep_state", "weights_offloaded")
	gauge("vllm:engine_sleep_state", sleep, "sleep_state", "discard_all")
	m.cache = gauge("vllm:kv_cache_usage_perc", "KV cache usage, 1 means 100 percent.")

	m.queries = counter("vllm:prefix_cache_queries_total", "Prefix cache queries, in queried tokens.")
	m.hits = counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in cached tokens.")
	m.preemptions = counter("vllm:num_preemptions_total", "Preemptions by the engine.")
	m.promptTokens = counter("vllm:prompt_tokens_total", "Prefill tokens processed.")
	m.promptCached = counter("vllm:prompt_tokens_cached_total", "Prompt tokens found in a cache, local and external.")
	m.outputs = counter("vllm:generation_tokens_total", "Generation tokens processed.")
	const bySource = "Prompt tokens by source."
	m.computedSource = counter("vllm:prompt_tokens_by_source_total", bySource, "source", "local_compute")
	m.hitSource = counter("vllm:prompt_tokens_by_source_total", bySource, "source", "local_cache_hit")
	counter("vllm:prompt_tokens_by_source_total", bySource, "source", "external_kv_transfer") // there is no connector
	for _, r := range []engine.Reason{engine.Stop, engine.Length, engine.Abort, engine.Error, engine.Repetition} {
		m.finished[r] = counter("vllm:request_success_total", "Finished requests by reason.", "finished_reason", string(r))
	}
	m.rejected = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm:admission_rejections_total", Help: "Requests turned away at admission.",
		ConstLabels: prometheus.Labels{"model_name": c.Model},
	}, []string{"reason"})
	m.rejected.WithLabelValues(RejectedRequests)
	m.rejected.WithLabelValues(RejectedTokens)
	m.reg.MustRegister(m.rejected)

	m.promptLen = histogram("vllm:request_prompt_tokens", "Prefill tokens of a request.", countBuckets)
	m.outputLen = histogram("vllm:request_generation_tokens", "Generation tokens of a request.", countBuckets)
	m.stepTokens = histogram("vllm:iteration_tokens_total", "Tokens per engine step.", stepBuckets)
	m.maxOutput = histogram("vllm:request_max_num_generation_tokens", "Largest number of generated tokens in a request.", countBuckets)
	m.paramN = histogram("vllm:request_params_n", "The n request parameter.", nBuckets)
	m.paramMax = histogram("vllm:request_params_max_tokens", "The max_tokens request parameter.", countBuckets)
	m.computed = histogram("vllm:request_prefill_kv_computed_tokens", "New KV tokens computed during prefill, cached tokens excluded.", countBuckets)
	m.ttft = histogram("vllm:time_to_first_token_seconds", "Time to first token in seconds.", ttftBuckets)
	m.itl = histogram("vllm:inter_token_latency_seconds", "Inter-token latency in seconds.", tokenBuckets)
	m.tpot = histogram("vllm:request_time_per_output_token_seconds", "Mean time per output token of a request in seconds.", tokenBuckets)
	m.e2e = histogram("vllm:e2e_request_latency_seconds", "End to end request latency in seconds.", requestBuckets)
	m.queue = histogram("vllm:request_queue_time_seconds", "Time in the WAITING phase in seconds.", requestBuckets)
	m.inference = histogram("vllm:request_inference_time_seconds", "Time in the RUNNING phase in seconds.", requestBuckets)
	m.prefill = histogram("vllm:request_prefill_time_seconds", "Time in the PREFILL phase in seconds.", requestBuckets)
	m.decode = histogram("vllm:request_decode_time_seconds", "Time in the DECODE phase in seconds.", requestBuckets)

	share := "None"
	if c.MemoryShare > 0 {
		share = strconv.FormatFloat(c.MemoryShare, 'g', -1, 64)
	}
	cached := "False"
	if c.PrefixCaching {
		cached = "True"
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "vllm:cache_config_info", Help: "Cache configuration.",
		ConstLabels: prometheus.Labels{
			"engine": "0", "block_size": strconv.Itoa(c.BlockSize), "num_gpu_blocks": strconv.Itoa(c.Blocks), "num_cpu_blocks": "None",
			"cache_dtype": "auto", "enable_prefix_caching": cached, "gpu_memory_utilization": share,
		},
	})
	info.Set(1)
	m.reg.MustRegister(info)

	m.httpRequests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "http_requests_total", Help: "HTTP requests by handler, method and status class."}, []string{"handler", "method", "status"})
	m.httpSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "http_request_duration_seconds", Help: "HTTP latency in seconds, few buckets.", Buckets: []float64{.1, .5, 1}}, []string{"handler", "method"})
	m.httpHighRes = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "http_request_duration_highr_seconds", Help: "HTTP latency in seconds, many buckets, no labels.", Buckets: httpBuckets})
	m.reg.MustRegister(m.httpRequests, m.httpSeconds, m.httpHighRes,
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Load implements engine.Observer.
func (m *Metrics) Load(l engine.Load) {
	m.running.Set(float64(l.Running))
	m.waiting.Set(float64(l.Waiting))
	m.capacity.Set(float64(l.Waiting))
	m.cache.Set(l.CacheUsed)
}

// Step implements engine.Observer. As in vLLM a step counts in
// iteration_tokens_total when it gave tokens, and a prompt counts whole in the
// step that gave its first token.
func (m *Metrics) Step(s engine.Step) {
	m.queries.Add(float64(s.Queries))
	m.hits.Add(float64(s.Hits))
	m.preemptions.Add(float64(s.Preempted))
	m.promptTokens.Add(float64(s.PromptTokens))
	m.promptCached.Add(float64(s.Cached))
	m.computedSource.Add(float64(s.Computed))
	m.hitSource.Add(float64(s.Cached))
	m.outputs.Add(float64(s.OutputTokens))
	if s.OutputTokens > 0 {
		m.stepTokens.Observe(float64(s.PromptTokens + s.OutputTokens))
	}
	for _, d := range s.FirstToken {
		m.ttft.Observe(d.Seconds())
	}
	for _, d := range s.BetweenTokens {
		m.itl.Observe(d.Seconds())
	}
}

// Finished implements engine.Observer. Phases that a request never entered are
// not observed.
func (m *Metrics) Finished(f engine.Finished) {
	m.finished[f.Reason].Inc()
	m.e2e.Observe(f.E2E.Seconds())
	m.queue.Observe(f.Queue.Seconds())
	if f.Scheduled {
		m.prefill.Observe(f.Prefill.Seconds())
		m.inference.Observe(f.Inference.Seconds())
		m.computed.Observe(float64(f.PromptTokens - f.CachedTokens))
	}
	if f.FirstToken {
		m.decode.Observe(f.Decode.Seconds())
		m.tpot.Observe(f.TimePerOutput.Seconds())
	}
	m.promptLen.Observe(float64(f.PromptTokens))
	m.outputLen.Observe(float64(f.OutputTokens))
	m.paramMax.Observe(float64(f.MaxTokens))
}

// Request records a finished client request of n sequences, the longest of
// which has longest output tokens.
func (m *Metrics) Request(n, longest int) {
	m.paramN.Observe(float64(n))
	m.maxOutput.Observe(float64(longest))
}

// Reject records a request refused at admission.
func (m *Metrics) Reject(reason string) { m.rejected.WithLabelValues(reason).Inc() }

// HTTP records a request at the HTTP edge. handler is the route, "none" when
// there is none.
func (m *Metrics) HTTP(handler, method string, status int, d time.Duration) {
	m.httpRequests.WithLabelValues(handler, method, fmt.Sprintf("%dxx", status/100)).Inc()
	m.httpSeconds.WithLabelValues(handler, method).Observe(d.Seconds())
	m.httpHighRes.Observe(d.Seconds())
}

// ServeHTTP writes the exposition in the classic text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := m.Exposition()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(body)
}
