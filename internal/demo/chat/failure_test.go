package chat

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"sightline/internal/demo/accel"
	"sightline/internal/demo/chat/engine"
	"sightline/internal/demo/chat/tinylm"
)

func TestEveryRefusalAsVLLMSaysIt(t *testing.T) {
	r := start(t, smallConfig())
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	bad := func(param, msg string) string {
		p := "null"
		if param != "" {
			p = `"` + param + `"`
		}
		m, err := json.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		return `{"error":{"message":` + string(m) + `,"type":"BadRequestError","param":` + p + `,"code":400}}`
	}
	shape := func(msg string) string {
		return strings.Replace(bad("", msg), "BadRequestError", "Bad Request", 1)
	}
	for _, x := range []struct {
		path, body string
		code       int
		want       string
	}{
		{chatPath, `{"model":"foo",` + hi + `}`, 404, `{"error":{"message":"The model ` + "`foo`" + ` does not exist.","type":"NotFoundError","param":"model","code":404}}`},
		{chatPath, `{"model":"m"}`, 400, shape("[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {'model': 'm'}}]")},
		{textPath, `{"model":"m"}`, 400, shape("[{'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required', 'input': {'model': 'm'}}]")},
		{textPath, `{"prompt":" the","max_tokens":256}`, 400, bad("input_tokens", "This model's maximum context length is 256 tokens. However, you requested 256 output tokens and your prompt contains at least 1 input tokens, for a total of at least 257 tokens.")},
		{textPath, `{"prompt":"` + strings.Repeat(" the", 256) + `"}`, 400, bad("input_tokens", "This model's maximum context length is 256 tokens. However, you requested 16 output tokens and your prompt contains at least 256 input tokens, for a total of at least 272 tokens.")},
		{chatPath, `{` + hi + `,"temperature":-1}`, 400, bad("temperature", "temperature must be non-negative, got -1.0.")},
		{chatPath, `{` + hi + `,"top_p":1.5}`, 400, bad("top_p", "top_p must be in (0, 1], got 1.5.")},
		{chatPath, `{` + hi + `,"top_k":-2}`, 400, bad("top_k", "top_k must be 0 (disable), or at least 1, got -2.")},
		{chatPath, `{` + hi + `,"n":0}`, 400, bad("n", "n must be at least 1, got 0.")},
		{chatPath, `{` + hi + `,"n":9}`, 400, bad("n", "n times the number of prompts must be at most 8 on this server, got 9.")},
		{chatPath, `{` + hi + `,"n":2,"temperature":0}`, 400, bad("n", "n must be 1 when using greedy sampling, got 2.")},
		{chatPath, `{` + hi + `,"max_tokens":0}`, 400, bad("max_tokens", "max_tokens must be at least 1, got 0.")},
		{chatPath, `{` + hi + `,"max_completion_tokens":-4}`, 400, bad("max_completion_tokens", "max_completion_tokens must be at least 1, got -4.")},
		{chatPath, `{` + hi + `,"max_tokens":5,"min_tokens":6}`, 400, bad("min_tokens", "min_tokens must be less than or equal to max_tokens=5, got 6.")},
		{chatPath, `{` + hi + `,"min_tokens":-1}`, 400, bad("min_tokens", "min_tokens must be greater than or equal to 0, got -1.")},
		{chatPath, `{` + hi + `,"stop":[""]}`, 400, bad("stop", "stop cannot contain an empty string.")},
		{chatPath, `{` + hi + `,"stop":7}`, 400, shape("[{'type': 'list_type', 'loc': ('body', 'stop'), 'msg': 'Input should be a valid list'}]")},
		{chatPath, `{` + hi + `,"logprobs":true}`, 400, bad("logprobs", "logprobs is not supported by this server.")},
		{textPath, `{"prompt":" the","logprobs":0}`, 400, bad("logprobs", "logprobs is not supported by this server.")},
		{textPath, `{"prompt":" the","echo":true}`, 400, bad("echo", "echo is not supported by this server.")},
		{textPath, `{"prompt":" the","suffix":"x"}`, 400, bad("suffix", "suffix is not currently supported")},
		{chatPath, `{` + hi + `,"presence_penalty":1}`, 400, bad("presence_penalty", "presence_penalty is not supported by this server.")},
		{chatPath, `{` + hi + `,"frequency_penalty":1}`, 400, bad("frequency_penalty", "frequency_penalty is not supported by this server.")},
		{chatPath, `{` + hi + `,"logit_bias":{"5":1}}`, 400, bad("logit_bias", "logit_bias is not supported by this server.")},
		{chatPath, `{` + hi + `,"prompt_logprobs":1}`, 400, bad("prompt_logprobs", "prompt_logprobs is not supported by this server.")},
		{chatPath, `{` + hi + `,"response_format":{"type":"json_object"}}`, 400, bad("response_format", "response_format is not supported by this server.")},
		{chatPath, `{` + hi + `,"tools":[{}]}`, 400, bad("tool_choice", `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`)},
		{chatPath, `{` + hi + `,"stream_options":{"include_usage":true}}`, 400, shape("[{'type': 'value_error', 'loc': ('body',), 'msg': 'Value error, Stream options can only be defined when `stream=True`.'}]")},
		{chatPath, `{"messages":[]}`, 400, bad("messages", "messages must contain at least one message.")},
		{chatPath, `{"messages":[{"content":"x"}]}`, 400, shape("[{'type': 'missing', 'loc': ('body', 'messages', 0, 'role'), 'msg': 'Field required'}]")},
		{chatPath, `{"messages":[{"role":"user","content":4}]}`, 400, shape("[{'type': 'string_type', 'loc': ('body', 'messages', 0, 'content'), 'msg': 'Input should be a valid string'}]")},
		{chatPath, `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, bad("messages", `tiny-chat is not a multimodal model: content part of type "image_url" in message 0.`)},
		{chatPath, `{` + hi + `,"max_tokens":"many"}`, 400, shape("[{'type': 'int_type', 'loc': ('body', 'max_tokens'), 'msg': 'Input should be a valid integer', 'input': '<string>'}]")},
		{chatPath, `{` + hi + `,"stream":1}`, 400, shape("[{'type': 'bool_type', 'loc': ('body', 'stream'), 'msg': 'Input should be a valid boolean', 'input': '<number>'}]")},
		{chatPath, `[]`, 400, shape("[{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid dictionary or object to extract fields from', 'input': '<array>'}]")},
		{chatPath, `{"messages": oops}`, 400, shape("[{'type': 'json_invalid', 'loc': ('body', 14), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': 'invalid character \\'o\\' looking for beginning of value'}}]")},
		{chatPath, `{} {}`, 400, shape("[{'type': 'json_invalid', 'loc': ('body', 5), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': 'Extra data'}}]")},
		{textPath, `{"prompt":[]}`, 400, bad("prompt", "Either prompt or prompt_embeds must be provided and non-empty.")},
		{textPath, `{"prompt":""}`, 400, bad("prompt", "The decoder prompt cannot be empty")},
		{textPath, `{"prompt":[99999]}`, 400, bad("prompt", "Token id 99999 is out of vocabulary")},
		{textPath, `{"prompt":{}}`, 400, shape("[{'type': 'string_type', 'loc': ('body', 'prompt'), 'msg': 'Input should be a valid string'}]")},
		{"/tokenize", `{"prompt":" the","model":"foo"}`, 404, `{"error":{"message":"The model ` + "`foo`" + ` does not exist.","type":"NotFoundError","param":"model","code":404}}`},
		{"/tokenize", `{}`, 400, shape("[{'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required', 'input': {}}]")},
		{"/nothing", `{}`, 404, `{"error":{"message":"Not Found","type":"Not Found","param":null,"code":404}}`},
		{"/v1/models", `{}`, 405, `{"error":{"message":"Method Not Allowed","type":"Method Not Allowed","param":null,"code":405}}`},
		{chatPath, `{"messages":"` + strings.Repeat("x", 1<<20) + `"}`, 413, `{"error":{"message":"Request Entity Too Large","type":"Request Entity Too Large","param":null,"code":413}}`},
	} {
		resp, text := r.do("POST", x.path, x.body)
		// The file is compared as a value: JSON escapes quotes in its own way.
		var got, want any
		if json.Unmarshal([]byte(text), &got) != nil || json.Unmarshal([]byte(x.want), &want) != nil || pythonText(got, 4000) != pythonText(want, 4000) ||
			resp.StatusCode != x.code || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %.120s:\n%d %s, want\n%d %s", x.path, x.body, resp.StatusCode, text, x.code, x.want)
		}
	}
	resp, text := r.do("POST", chatPath, `{}`, "Content-Type", "text/plain")
	if resp.StatusCode != 400 || !strings.Contains(text, "Unsupported Media Type: Only 'application/json' is allowed") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

func TestFullQueueIsRefused(t *testing.T) {
	c := smallConfig()
	dev := &card{free: 1 << 30, gate: make(chan struct{})}
	c.Accelerator, c.MaxNumSeqs, c.MaxNumQueuedReqs, c.MaxNumQueuedTokens = dev, 1, 2, 50
	dev.feed(t)
	r := start(t, c)
	body := func(prompt string) string {
		return `{"prompt":"` + prompt + `","max_tokens":200,"temperature":0,"stream":true}`
	}
	first := r.open(t.Context(), "POST", textPath, body(" the"))
	defer first.Body.Close()
	if _, err := first.Body.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		resp := r.open(t.Context(), "POST", textPath, body(" of"))
		defer resp.Body.Close()
	}
	resp, text := r.do("POST", textPath, body(" of"))
	if want := `{"error":{"message":"The engine is currently busy and cannot accept new requests. Please try again later or on a different instance.","type":"Service Unavailable","param":null,"code":503}}`; resp.StatusCode != 503 || text != want {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if n := r.metric(`vllm:admission_rejections_total{model_name="tiny-chat",reason="max_num_queued_reqs"}`); n != 1 {
		t.Errorf("%g rejections", n)
	}
	if n := r.metric(`vllm:num_requests_waiting{engine="0",model_name="tiny-chat"}`); n != 2 {
		t.Errorf("%g waiting", n)
	}
}

func TestTokenBacklogIsRefused(t *testing.T) {
	c := smallConfig()
	c.MaxNumQueuedTokens = 20
	r := start(t, c)
	resp, text := r.do("POST", textPath, `{"prompt":"`+strings.Repeat(" the", 21)+`"}`)
	if resp.StatusCode != 503 || !strings.Contains(text, "The engine has reached its prefill token backlog limit.") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if n := r.metric(`vllm:admission_rejections_total{model_name="tiny-chat",reason="max_num_queued_tokens"}`); n != 1 {
		t.Errorf("%g rejections", n)
	}
}

func TestExhaustedCacheFailsInsideTheStream(t *testing.T) {
	r := start(t, smallConfig())
	resp := r.open(t.Context(), "POST", textPath, `{"prompt":" the","max_tokens":250,"temperature":0,"stream":true}`)
	defer resp.Body.Close()
	if err := r.SetKVBlocks(1); err != nil {
		t.Fatal(err)
	}
	lines := sse(t, resp.Body)
	if n := len(lines); resp.StatusCode != 200 || lines[n-1] != "[DONE]" || !strings.HasPrefix(lines[n-2], `{"error":{"message":"the request does not fit the cache: it needs`) || !strings.HasSuffix(lines[n-2], `"type":"InternalServerError","param":null,"code":500}}`) {
		t.Errorf("%d, ends with %v", resp.StatusCode, lines[max(0, n-2):])
	}
	code, text := r.do("POST", textPath, `{"prompt":"`+strings.Repeat(" the", 20)+`","max_tokens":2}`)
	if code.StatusCode != 500 {
		t.Errorf("%d %s", code.StatusCode, text)
	}
	if n := r.metric(`vllm:request_success_total{engine="0",finished_reason="error",model_name="tiny-chat"}`); n != 2 {
		t.Errorf("%g errors counted", n)
	}
	if err := r.SetKVBlocks(64); err != nil {
		t.Fatal(err)
	}
	if err := r.SetMaxNumSeqs(2); err != nil {
		t.Fatal(err)
	}
	if code, _ := r.ask(textPath, `{"prompt":"`+strings.Repeat(" the", 20)+`","max_tokens":2}`); code != 200 {
		t.Errorf("after recovery: %d", code)
	}
}

type broken struct{}

func (broken) Forward([]tinylm.Span) { panic("injected") }

func TestDeadEngineSaysSo(t *testing.T) {
	s, err := New(smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	if s.engine, err = engine.New(engine.Config{Blocks: 64, BlockSize: 16, MaxSeqs: 4, MaxStepTokens: 8, MaxModelLen: 256}, broken{}, s.cfg.Accelerator, s.stats); err != nil {
		t.Fatal(err)
	}
	r := serve(t, s)
	if resp, _ := r.do("GET", "/health", ""); resp.StatusCode != 200 {
		t.Errorf("health is %d before the accident", resp.StatusCode)
	}
	const said = `{"error":{"message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}}`
	resp, text := r.do("POST", textPath, `{"prompt":" the","stream":true}`)
	if resp.StatusCode != 200 || text != "data: "+said+"\n\ndata: [DONE]\n\n" {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if resp, text = r.do("POST", textPath, `{"prompt":" the"}`); resp.StatusCode != 500 || text != said {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if resp, text = r.do("GET", "/health", ""); resp.StatusCode != http.StatusServiceUnavailable || text != "" {
		t.Errorf("health is %d %q", resp.StatusCode, text)
	}
}

// The engine and the accelerator model agree on busy time and memory.
func TestWorkShowsOnTheAccelerator(t *testing.T) {
	dev := accel.New(accel.Config{Node: "n", MemoryBytes: 64 << 20})
	c := smallConfig()
	c.Accelerator = dev
	r := start(t, c)
	taken := dev.Snapshot().MemoryUsed
	lm, err := tinylm.New(c.Shape)
	if err != nil {
		t.Fatal(err)
	}
	if want := lm.WeightBytes() + 64*lm.BlockBytes(16); taken != want {
		t.Errorf("%d bytes of the device are taken, weights and cache need %d", taken, want)
	}
	idle := dev.Snapshot()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dev.Start(ctx)
	defer dev.Close()
	busy := 0.
	until(t, "a busy device", func() bool {
		if code, _ := r.ask(textPath, `{"prompt":" the","max_tokens":200,"ignore_eos":true}`); code != 200 {
			t.Fatalf("%d on the accelerator model", code)
		}
		busy = dev.Snapshot().Busy
		return busy > .05
	})
	if s := dev.Snapshot(); s.EnergyJoules <= idle.EnergyJoules {
		t.Errorf("busy %.2f used no energy", busy)
	}
	r.stop()
	if s := dev.Snapshot(); s.MemoryUsed != 0 {
		t.Errorf("%d bytes are taken after the end", s.MemoryUsed)
	}
}

func FuzzRequest(f *testing.F) {
	s := &Server{cfg: smallConfig().withDefaults()}
	s.cfg.Shape.MaxPositions = 256
	for _, b := range []string{
		`{"messages":[{"role":"user","content":"hi"}],"n":2,"seed":1,"stop":["a"],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"prompt":[[1,2],[3]],"max_tokens":4}`, `{"prompt":"x","logit_bias":{}}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"t"}]}]}`,
		`{"a":{"b":[1,null,"\u0000"]}`, `{"temperature":1e999}`, `{"model":"\ud800"}`, `null`, ``,
	} {
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, raw string, chat bool) {
		c, fail := s.read(strings.NewReader(raw), chat, time.Time{})
		if (c == nil) == (fail == nil) {
			t.Fatalf("call %v, failure %v", c, fail)
		}
		if fail != nil {
			if fail.Code < 400 || fail.Message == "" || fail.Type == "" || !json.Valid(fail.body()) {
				t.Errorf("%+v", fail)
			}
			return
		}
		for _, q := range c.sequences() {
			if len(q.Prompt) < 1 || q.MaxTokens < 1 || len(q.Prompt)+q.MaxTokens > 256 || q.MinTokens > q.MaxTokens {
				t.Errorf("a request that the engine refuses: %+v", q)
			}
			for _, tok := range q.Prompt {
				if tok < 0 || tok >= tinylm.VocabSize {
					t.Errorf("token %d", tok)
				}
			}
		}
	})
}
