package chat

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sightline/internal/model"
)

func codeOf(err error) string { return model.CodeOf(err) }

// golden compares with a file; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	got = regexp.MustCompile(`"created":\d+`).ReplaceAllString(got, `"created":1`)
	path := "testdata/" + file
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
	}
}

func TestGoldenAnswers(t *testing.T) {
	r := start(t, smallConfig())
	for file, x := range map[string][2]string{
		"chat_stream.golden":     {chatPath, `{"model":"tiny-chat","messages":[{"role":"user","content":"tell me about the sea"}],"max_completion_tokens":3,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`},
		"chat_continuous.golden": {chatPath, `{"messages":[{"role":"user","content":"hi"}],"max_tokens":2,"temperature":0,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`},
		"chat_whole.golden":      {chatPath, `{"messages":[{"role":"system","content":"be short"},{"role":"user","content":[{"type":"text","text":"hello"}]}],"max_tokens":3,"temperature":0}`},
		"text_stream.golden":     {textPath, `{"prompt":" the old world","max_tokens":2,"temperature":0,"stream":true}`},
		"text_whole.golden":      {textPath, `{"prompt":[" the"," of"],"max_tokens":2,"temperature":0,"stop":["zz",".."]}`},
	} {
		resp, text := r.do("POST", x[0], x[1], "X-Request-Id", "golden")
		ct := resp.Header.Get("Content-Type")
		if stream := strings.Contains(file, "stream") || strings.Contains(file, "continuous"); resp.StatusCode != 200 || stream != strings.HasPrefix(ct, "text/event-stream") {
			t.Errorf("%s: %d %s", file, resp.StatusCode, ct)
		}
		golden(t, file, text)
	}
}

func TestStreamAndWholeSayTheSame(t *testing.T) {
	r := start(t, smallConfig())
	req := `{"messages":[{"role":"user","content":"what is new"}],"max_tokens":40,"temperature":0.9,"top_p":0.95,"top_k":50,"seed":11,"n":3%s}`
	_, whole := r.ask(chatPath, strings.ReplaceAll(req, "%s", ""))
	resp, text := r.do("POST", chatPath, strings.ReplaceAll(req, "%s", `,"stream":true,"stream_options":{"include_usage":true}`))
	lines := sse(t, strings.NewReader(text))
	if resp.StatusCode != 200 || lines[len(lines)-1] != "[DONE]" {
		t.Fatalf("%d, last line %s", resp.StatusCode, lines[len(lines)-1])
	}
	texts, reasons := make([]string, 3), make([]string, 3)
	var last envelope
	for i, l := range lines[:len(lines)-1] {
		var e envelope
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatal(err)
		}
		if final := i == len(lines)-2; (len(e.Choices) == 0) != final || (e.Usage != nil) != final {
			t.Errorf("chunk %d of %d: %s", i, len(lines), l)
		}
		last = e
		for _, c := range e.Choices {
			texts[c.Index] += *c.Delta.Content
			if c.FinishReason != nil {
				reasons[c.Index] = *c.FinishReason
			}
		}
	}
	if len(whole.Choices) != 3 {
		t.Fatalf("%d choices", len(whole.Choices))
	}
	distinct := map[string]bool{}
	for i, c := range whole.Choices {
		distinct[c.Message.Content] = true
		if c.Index != i || c.Message.Content != texts[i] || *c.FinishReason != reasons[i] {
			t.Errorf("choice %d: whole %q %s, streamed %q %s", i, c.Message.Content, *c.FinishReason, texts[i], reasons[i])
		}
	}
	if len(distinct) != 3 {
		t.Errorf("three seeds gave %d texts", len(distinct))
	}
	a, b := whole.Usage, last.Usage
	if a.PromptTokens != b.PromptTokens || a.CompletionTokens != b.CompletionTokens || a.TotalTokens != a.PromptTokens+a.CompletionTokens || b.Details.CachedTokens < a.Details.CachedTokens {
		t.Errorf("usage %+v, streamed %+v", a, b)
	}
}

func TestParametersReachTheEngine(t *testing.T) {
	c := smallConfig()
	c.EOSRate = .2
	r := start(t, c)
	_, e := r.ask(textPath, `{"prompt":" the","max_tokens":100,"seed":1}`)
	if n := e.Usage.CompletionTokens; *e.Choices[0].FinishReason != "stop" || n >= 100 {
		t.Errorf("%s after %d tokens", *e.Choices[0].FinishReason, n)
	}
	_, e = r.ask(textPath, `{"prompt":" the","max_tokens":100,"seed":1,"min_tokens":80}`)
	if n := e.Usage.CompletionTokens; n <= 80 {
		t.Errorf("min_tokens 80 ended after %d", n)
	}
	_, e = r.ask(textPath, `{"prompt":" the","max_tokens":100,"seed":1,"ignore_eos":true}`)
	if n := e.Usage.CompletionTokens; n != 100 || *e.Choices[0].FinishReason != "length" {
		t.Errorf("ignore_eos ended after %d", n)
	}
	whole := *e.Choices[0].Text
	words := strings.Fields(whole)
	stop := words[2] + " " + words[3]
	_, e = r.ask(textPath, `{"prompt":" the","max_tokens":100,"seed":1,"ignore_eos":true,"stop":"`+stop+`"}`)
	if got := *e.Choices[0].Text; got != whole[:strings.Index(whole, stop)] || *e.Choices[0].StopReason != stop {
		t.Errorf("stop %q gave %q", stop, got)
	}
	_, e = r.ask(textPath, `{"prompt":[278,325]}`)
	if e.Usage.PromptTokens != 2 || e.Usage.CompletionTokens > 16 {
		t.Errorf("token prompt with default length: %+v", e.Usage)
	}
	_, e = r.ask(textPath, `{"prompt":[[278],[325]],"max_tokens":1}`)
	if e.Usage.PromptTokens != 2 || len(e.Choices) != 2 {
		t.Errorf("two token prompts: %+v", e.Usage)
	}
	_, e = r.ask(chatPath, `{"messages":[{"role":"user","content":" the"}],"seed":3}`)
	if e.Usage.CompletionTokens < 1 || e.Usage.CompletionTokens > 252 {
		t.Errorf("a chat without a limit: %+v", e.Usage)
	}
}

func TestTimingAddsUpToWhatTheClientSees(t *testing.T) {
	r := start(t, smallConfig())
	begin := time.Now()
	_, e := r.ask(chatPath, `{"messages":[{"role":"user","content":"`+strings.Repeat(" the old mountain", 20)+`"}],"max_tokens":60,"ignore_eos":true,"timing":true}`)
	seen := time.Since(begin).Seconds() * 1000
	tm := e.Timing
	if tm == nil {
		t.Fatal("no timing")
	}
	sum := tm.QueueMS + tm.PrefillMS + tm.DecodeMS + tm.StalledMS
	if tm.Steps != 61 && tm.Steps != 62 || tm.BatchMean != 1 || tm.TTFTMS <= 0 || tm.TTFTMS >= tm.E2EMS || tm.E2EMS > seen {
		t.Errorf("%+v, client saw %.2f ms", tm, seen)
	}
	if math.Abs(sum-tm.E2EMS) > .02*tm.E2EMS+20 { // 20 ms for a busy machine
		t.Errorf("phases add up to %.2f ms, end to end took %.2f", sum, tm.E2EMS)
	}
	// The metrics, measured apart, agree.
	if m := 1000 * r.metric(`vllm:e2e_request_latency_seconds_sum{engine="0",model_name="tiny-chat"}`); math.Abs(m-tm.E2EMS) > 20 {
		t.Errorf("metrics say %.2f ms, the log %.2f", m, tm.E2EMS)
	}
	_, text := r.do("POST", textPath, `{"prompt":" the","max_tokens":2,"stream":true,"timing":true}`)
	lines := sse(t, strings.NewReader(text))
	if !strings.Contains(lines[len(lines)-2], `"timing":{"queue_ms":`) || !strings.Contains(lines[len(lines)-2], `"choices":[]`) {
		t.Errorf("no timing in %s", lines[len(lines)-2])
	}
	_, text = r.do("POST", textPath, `{"prompt":" the","max_tokens":2}`)
	if strings.Contains(text, "timing") {
		t.Error("timing without being asked for")
	}
}

func TestMetricsAgainstHandCounts(t *testing.T) {
	r := start(t, smallConfig())
	const id = `{engine="0",model_name="tiny-chat"}`
	prompt := strings.Repeat(" the", 40)
	r.ask(textPath, `{"prompt":"`+prompt+`","max_tokens":5,"ignore_eos":true}`)
	r.ask(textPath, `{"prompt":"`+prompt+`","max_tokens":7,"ignore_eos":true}`)      // 32 tokens cached
	r.ask(textPath, `{"prompt":" of","max_tokens":3,"n":2,"ignore_eos":true}`)       // two sequences
	r.do("POST", textPath, `{"prompt":" of","model":"foo"}`)                         // 404
	r.do("POST", textPath, `{"prompt":" of","max_tokens":1000}`)                     // 400
	r.do("GET", textPath, "")                                                        // 405
	r.do("GET", "/nowhere", "")                                                      // 404 without a route
	r.do("POST", chatPath, `{"messages":[{"role":"user","content":" of"}],"n":"x"}`) // 400
	wanted := map[string]float64{
		`vllm:prompt_tokens_total` + id:        82,
		`vllm:prompt_tokens_cached_total` + id: 32,
		`vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny-chat",source="local_compute"}`: 50,
		`vllm:generation_tokens_total` + id:                                                      18,
		`vllm:prefix_cache_queries_total` + id:                                                   82,
		`vllm:prefix_cache_hits_total` + id:                                                      32,
		`vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny-chat"}`: 4,
		`vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny-chat"}`:   0,
		`vllm:time_to_first_token_seconds_count` + id:                                            4,
		`vllm:inter_token_latency_seconds_count` + id:                                            14,
		`vllm:e2e_request_latency_seconds_count` + id:                                            4,
		`vllm:request_queue_time_seconds_count` + id:                                             4,
		`vllm:request_prompt_tokens_sum` + id:                                                    82,
		`vllm:request_generation_tokens_sum` + id:                                                18,
		`vllm:request_prefill_kv_computed_tokens_sum` + id:                                       50,
		`vllm:request_params_n_sum` + id:                                                         4,
		`vllm:request_params_n_count` + id:                                                       3,
		`vllm:request_max_num_generation_tokens_sum` + id:                                        15,
		`vllm:request_params_max_tokens_sum` + id:                                                18,
		`vllm:iteration_tokens_total_sum` + id:                                                   100,
		`vllm:num_requests_running` + id:                                                         0,
		`vllm:kv_cache_usage_perc` + id:                                                          0,
		`http_requests_total{handler="/v1/completions",method="POST",status="2xx"}`:              3,
		`http_requests_total{handler="/v1/completions",method="POST",status="4xx"}`:              2,
		`http_requests_total{handler="/v1/completions",method="GET",status="4xx"}`:               1,
		`http_requests_total{handler="/v1/chat/completions",method="POST",status="4xx"}`:         1,
		`http_requests_total{handler="none",method="GET",status="4xx"}`:                          1,
		`http_request_duration_highr_seconds_count`:                                              8,
	}
	// A step and a request are counted when they are over, which a client that
	// has its answer may be a moment ahead of.
	settled := func() bool {
		for series, want := range wanted {
			if r.metric(series) != want {
				return false
			}
		}
		return true
	}
	for deadline := time.Now().Add(5 * time.Second); !settled() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	for series, want := range wanted {
		if got := r.metric(series); got != want {
			t.Errorf("%s is %g, want %g", series, got, want)
		}
	}
	// Two sequences of one request may share steps or not; steps are bounded.
	if n := r.metric(`vllm:iteration_tokens_total_count` + id); n < 5+7+3 || n > 5+7+6 {
		t.Errorf("%g steps gave 18 tokens", n)
	}
}

func TestCancelFreesEverything(t *testing.T) {
	c := smallConfig()
	dev := &card{free: 1 << 30, gate: make(chan struct{})}
	c.Accelerator = dev
	dev.feed(t) // 250 steps take more than a second
	r := start(t, c)
	const aborted = `vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny-chat"}`
	for i, stream := range []string{"true", "false"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			req, err := http.NewRequestWithContext(ctx, "POST", "http://"+r.HTTPAddr()+textPath,
				strings.NewReader(`{"prompt":" the","max_tokens":250,"ignore_eos":true,"temperature":0,"stream":`+stream+`}`))
			if err != nil {
				ended <- err
				return
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := r.client.Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			ended <- err
		}()
		until(t, "running", func() bool { return r.metric(`vllm:num_requests_running{engine="0",model_name="tiny-chat"}`) > 0 })
		cancel()
		if err := <-ended; err == nil {
			t.Error("the answer came to its end in spite of the cancel")
		}
		until(t, "abort", func() bool { return r.metric(aborted) == float64(i+1) })
		until(t, "an empty cache", func() bool { return r.metric(`vllm:kv_cache_usage_perc{engine="0",model_name="tiny-chat"}`) == 0 })
	}
	if n := r.metric(`vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny-chat"}`); n != 0 {
		t.Errorf("%g requests ended by length", n)
	}
}
