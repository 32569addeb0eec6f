package vllmstats

import (
	"bufio"
	"bytes"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"sightline/internal/demo/chat/engine"
)

// absent are the families of the real server that this engine has no use for,
// each with the reason.
var absent = map[string]string{
	"vllm:corrupted_requests_total":                      "only with the NaN check on",
	"vllm:external_prefix_cache_queries_total":           "no KV connector",
	"vllm:external_prefix_cache_hits_total":              "no KV connector",
	"vllm:mm_cache_queries_total":                        "no multimodal input",
	"vllm:mm_cache_hits_total":                           "no multimodal input",
	"vllm:kv_block_lifetime_seconds":                     "only with KV residency sampling on",
	"vllm:kv_block_idle_before_evict_seconds":            "only with KV residency sampling on",
	"vllm:kv_block_reuse_gap_seconds":                    "only with KV residency sampling on",
	"vllm:lora_requests_info":                            "no adapters",
	"vllm:spec_decode_num_drafts_total":                  "no speculative decoding",
	"vllm:spec_decode_num_draft_tokens_total":            "no speculative decoding",
	"vllm:spec_decode_num_accepted_tokens_total":         "no speculative decoding",
	"vllm:spec_decode_num_accepted_tokens_per_pos_total": "no speculative decoding",
	"python_info": "no Python",
}

type family struct {
	kind   string
	series map[string]bool // name and labels without values of model_name and the like
}

var free = regexp.MustCompile(`(model_name|num_gpu_blocks|gpu_memory_utilization)="[^"]*"`)

// parse reads types and series; the second engine of the fixture is skipped.
func parse(t *testing.T, text []byte) map[string]*family {
	t.Helper()
	out := map[string]*family{}
	var now *family
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		line := sc.Text()
		if f := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			now = &family{kind: f[3], series: map[string]bool{}}
			out[f[2]] = now
		} else if !strings.HasPrefix(line, "#") && !strings.Contains(line, `engine="1"`) {
			now.series[free.ReplaceAllString(line[:strings.LastIndex(line, " ")], "$1")] = true
		}
	}
	return out
}

func fixture(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../testdata/vllm-0.32.0.prom")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// filled has one HTTP series of each kind that the fixture shows; the rest is
// born at the start.
func filled(t *testing.T) *Metrics {
	m := New(Config{Model: "tiny-chat", BlockSize: 16, Blocks: 256, PrefixCaching: true})
	m.HTTP("/v1/chat/completions", "POST", 200, time.Second)
	m.HTTP("/v1/chat/completions", "POST", 404, time.Millisecond)
	m.HTTP("none", "GET", 404, time.Millisecond)
	return m
}

func text(t *testing.T, m *Metrics) []byte {
	t.Helper()
	b, err := m.Exposition()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFamiliesAreTheRealServers(t *testing.T) {
	want, got := parse(t, fixture(t)), parse(t, text(t, filled(t)))
	for name, w := range want {
		g := got[name]
		if _, ok := absent[name]; ok {
			if g != nil {
				t.Errorf("%s is there although it is listed as absent", name)
			}
			continue
		}
		if g == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		if g.kind != w.kind {
			t.Errorf("%s is a %s, want a %s", name, g.kind, w.kind)
		}
		for s := range w.series {
			if !g.series[s] {
				t.Errorf("series %s is missing", s)
			}
		}
		for s := range g.series {
			// The fixture has no durations of unknown paths; ours has.
			if !w.series[s] && !strings.Contains(s, `handler="none"`) {
				t.Errorf("series %s is not the real server's", s)
			}
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s is not the real server's", name)
		}
	}
}

// lint runs promtool and returns its remarks on the families that ours has.
func lint(t *testing.T, promtool string, text []byte, keep map[string]*family) []string {
	t.Helper()
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if name := strings.Fields(l + " -")[0]; keep[name] != nil {
			lines = append(lines, l)
		}
	}
	sort.Strings(lines)
	return lines
}

func TestLintsAreTheRealServers(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; install the prometheus package to compare lints")
	}
	ours := text(t, filled(t))
	keep := parse(t, ours)
	got, want := lint(t, promtool, ours, keep), lint(t, promtool, fixture(t), keep)
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) == 0 {
		t.Errorf("lints\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func has(t *testing.T, text []byte, lines ...string) {
	t.Helper()
	all := "\n" + string(text)
	for _, l := range lines {
		if !strings.Contains(all, "\n"+l+"\n") {
			t.Errorf("missing: %s", l)
		}
	}
}

const id = `engine="0",model_name="tiny-chat"`

func TestEverythingIsBornAtZero(t *testing.T) {
	b := text(t, New(Config{Model: "tiny-chat", BlockSize: 16, Blocks: 256, MemoryShare: .9}))
	for _, r := range []string{"stop", "length", "abort", "error", "repetition"} {
		has(t, b, `vllm:request_success_total{engine="0",finished_reason="`+r+`",model_name="tiny-chat"} 0.0`)
	}
	has(t, b,
		`vllm:admission_rejections_total{model_name="tiny-chat",reason="max_num_queued_reqs"} 0.0`,
		`vllm:num_preemptions_total{`+id+`} 0.0`,
		`vllm:e2e_request_latency_seconds_bucket{engine="0",le="0.3",model_name="tiny-chat"} 0.0`,
		`vllm:engine_sleep_state{`+id+`,sleep_state="awake"} 1.0`,
		`vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="False",engine="0",gpu_memory_utilization="0.9",num_cpu_blocks="None",num_gpu_blocks="256"} 1.0`)
}

func TestHandCounts(t *testing.T) {
	m := New(Config{Model: "tiny-chat", BlockSize: 16, Blocks: 256, PrefixCaching: true})
	m.Load(engine.Load{Running: 2, Waiting: 3, CacheUsed: .25})
	m.Step(engine.Step{Queries: 40, Hits: 16}) // a chunk without an answer is no iteration
	m.Step(engine.Step{PromptTokens: 40, Computed: 24, Cached: 16, OutputTokens: 3, Preempted: 2,
		FirstToken: []time.Duration{50 * time.Millisecond}, BetweenTokens: []time.Duration{5 * time.Millisecond, 20 * time.Millisecond}})
	m.Finished(engine.Finished{Reason: engine.Length, E2E: 2 * time.Second, Queue: time.Second, Scheduled: true, FirstToken: true,
		Prefill: 400 * time.Millisecond, Decode: 600 * time.Millisecond, Inference: time.Second, PromptTokens: 40, CachedTokens: 16,
		OutputTokens: 13, MaxTokens: 13, TimePerOutput: 50 * time.Millisecond})
	m.Finished(engine.Finished{Reason: engine.Abort, E2E: time.Second, Queue: time.Second, PromptTokens: 7, MaxTokens: 100})
	m.Request(2, 13)
	m.Reject(RejectedRequests)
	b := text(t, m)
	has(t, b,
		`vllm:num_requests_running{`+id+`} 2.0`, `vllm:num_requests_waiting{`+id+`} 3.0`,
		`vllm:num_requests_waiting_by_reason{`+id+`,reason="capacity"} 3.0`, `vllm:num_requests_waiting_by_reason{`+id+`,reason="deferred"} 0.0`,
		`vllm:kv_cache_usage_perc{`+id+`} 0.25`,
		`vllm:prefix_cache_queries_total{`+id+`} 40.0`, `vllm:prefix_cache_hits_total{`+id+`} 16.0`,
		`vllm:prompt_tokens_total{`+id+`} 40.0`, `vllm:prompt_tokens_cached_total{`+id+`} 16.0`,
		`vllm:prompt_tokens_by_source_total{`+id+`,source="local_compute"} 24.0`,
		`vllm:prompt_tokens_by_source_total{`+id+`,source="local_cache_hit"} 16.0`,
		`vllm:generation_tokens_total{`+id+`} 3.0`, `vllm:num_preemptions_total{`+id+`} 2.0`,
		`vllm:iteration_tokens_total_count{`+id+`} 1.0`, `vllm:iteration_tokens_total_sum{`+id+`} 43.0`,
		`vllm:time_to_first_token_seconds_bucket{engine="0",le="0.04",model_name="tiny-chat"} 0.0`,
		`vllm:time_to_first_token_seconds_bucket{engine="0",le="0.06",model_name="tiny-chat"} 1.0`,
		`vllm:inter_token_latency_seconds_count{`+id+`} 2.0`, `vllm:inter_token_latency_seconds_sum{`+id+`} 0.025`,
		`vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny-chat"} 1.0`,
		`vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny-chat"} 1.0`,
		`vllm:e2e_request_latency_seconds_count{`+id+`} 2.0`, `vllm:e2e_request_latency_seconds_sum{`+id+`} 3.0`,
		`vllm:request_queue_time_seconds_count{`+id+`} 2.0`,
		`vllm:request_prefill_time_seconds_count{`+id+`} 1.0`, `vllm:request_decode_time_seconds_sum{`+id+`} 0.6`,
		`vllm:request_inference_time_seconds_sum{`+id+`} 1.0`,
		`vllm:request_prefill_kv_computed_tokens_sum{`+id+`} 24.0`,
		`vllm:request_time_per_output_token_seconds_sum{`+id+`} 0.05`,
		`vllm:request_prompt_tokens_sum{`+id+`} 47.0`, `vllm:request_generation_tokens_sum{`+id+`} 13.0`,
		`vllm:request_params_max_tokens_sum{`+id+`} 113.0`, `vllm:request_params_n_sum{`+id+`} 2.0`,
		`vllm:request_max_num_generation_tokens_sum{`+id+`} 13.0`,
		`vllm:admission_rejections_total{model_name="tiny-chat",reason="max_num_queued_reqs"} 1.0`)
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 1: "1.0", .934: "0.934", 100000: "100000.0", 22110400: "2.21104e+07", 1e-6: "1e-06", math.Inf(1): "+Inf", math.Inf(-1): "-Inf"} {
		if got := number(v); got != want {
			t.Errorf("%g is written %s, want %s", v, got, want)
		}
	}
	if number(math.NaN()) != "NaN" {
		t.Error("NaN")
	}
}

func TestServe(t *testing.T) {
	w := httptest.NewRecorder()
	New(Config{Model: `a"b`}).ServeHTTP(w, nil)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("%d %s", w.Code, w.Header())
	}
	has(t, w.Body.Bytes(), `vllm:num_requests_running{engine="0",model_name="a\"b"} 0.0`)
}
