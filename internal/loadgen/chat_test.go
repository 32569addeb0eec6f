package loadgen

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sightline/internal/model"
)

func chatPlan(url string) ChatPlan {
	return ChatPlan{Traffic: Traffic{Model: "tiny-chat", Targets: []Target{{URL: url, Instance: "c"}}}, Timing: true}.withDefaults()
}

// chatServer answers with a fixed body, or streams events one by one.
func chatServer(t *testing.T, status int, parts ...string) (*httptest.Server, chan chatBody) {
	asked := make(chan chatBody, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b chatBody
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil || r.URL.Path != "/v1/chat/completions" {
			http.Error(w, "bad", 400)
			return
		}
		asked <- b
		w.WriteHeader(status)
		for _, p := range parts {
			if _, err := io.WriteString(w, p); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(s.Close)
	return s, asked
}

func chunk(content string) string {
	return fmt.Sprintf("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}],\"usage\":null}\n\n", content)
}

const (
	roleChunk   = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n"
	finishChunk = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
	usageChunk  = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,\"total_tokens\":15,\"prompt_tokens_details\":{\"cached_tokens\":8}},\"timing\":{\"queue_seconds\":0.25,\"prefill_ms\":5}}\n\n"
	done        = "data: [DONE]\n\n"
)

func drawChat(t *testing.T, p ChatPlan, a Arrival, m Mix) chatCall {
	return newChat(p, testTransport(t), 1).draw(rand.New(rand.NewPCG(2, 2)), a, m).(chatCall)
}

func TestChatStreams(t *testing.T) {
	s, asked := chatServer(t, 200, roleChunk, chunk("a"), ": keep-alive\n\n", chunk("b"), chunk("c"), finishChunk, usageChunk, done)
	p := chatPlan(s.URL)
	r := send(drawChat(t, p, Arrival{ContextTokens: 800, GeneratedTokens: 80}, p.mix()))
	if !r.OK() || !r.Stream || r.Finish != "length" || r.Tokens == nil || r.Tokens.Prompt != 12 || r.Tokens.Output != 3 || *r.Tokens.Cached != 8 {
		t.Fatalf("record %+v", r)
	}
	if r.FirstToken.Before(r.FirstByte) || len(r.TokenGaps) != 2 || !near(r.Timings["queue"], .25) || !near(r.Timings["prefill"], .005) || r.BytesIn == 0 {
		t.Errorf("record %+v", r)
	}
	b := <-asked
	if b.Model != "tiny-chat" || !b.Stream || !b.StreamOptions.IncludeUsage || !b.Timing || b.MaxTokens != 27 || len(b.Messages) != 2 || b.Messages[0].Role != "system" {
		t.Errorf("asked %+v", b)
	}
	if got := len(b.Messages[1].Content); got != 500 { // 800/8 tokens of 5 characters
		t.Errorf("prompt of %d characters", got)
	}
}

func TestChatPlain(t *testing.T) {
	s, asked := chatServer(t, 200, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`)
	p := chatPlan(s.URL)
	p.PlainShare = 1
	r := send(drawChat(t, p, Arrival{ContextTokens: 1, GeneratedTokens: 1}, p.mix()))
	if !r.OK() || r.Stream || r.Finish != "stop" || r.Tokens.Cached != nil || !r.FirstToken.IsZero() {
		t.Errorf("record %+v", r)
	}
	if b := <-asked; b.Stream || b.StreamOptions != nil {
		t.Errorf("asked %+v", b)
	}
}

func TestChatErrors(t *testing.T) {
	nested := `{"error":{"message":"The engine is currently busy and cannot accept new requests.","type":"Service Unavailable","param":null,"code":503}}`
	for _, c := range []struct {
		name   string
		status int
		parts  []string
		plain  float64
		want   model.ErrorKind
	}{
		{"refused", 503, []string{nested}, 0, model.ErrorOverloaded},
		{"too long", 400, []string{`{"object":"error","message":"This model's maximum context length is 10 tokens."}`}, 0, model.ErrorContextLength},
		{"inside a stream", 200, []string{chunk("a"), "data: {\"error\":{\"message\":\"EngineCore encountered an issue\",\"code\":500}}\n\n", done}, 0, model.ErrorInternal},
		{"flat inside a stream", 200, []string{"data: {\"object\":\"error\",\"message\":\"CUDA out of memory\"}\n\n", done}, 0, model.ErrorOOM},
		{"stream without end", 200, []string{chunk("a"), chunk("b")}, 0, model.ErrorInternal},
		{"no JSON in a stream", 200, []string{"data: <html>\n\n"}, 0, model.ErrorInternal},
		{"plain with error body", 200, []string{nested}, 1, model.ErrorOverloaded},
		{"plain no JSON", 200, []string{"<html>"}, 1, model.ErrorInternal},
	} {
		s, _ := chatServer(t, c.status, c.parts...)
		p := chatPlan(s.URL)
		p.PlainShare = c.plain
		r := send(drawChat(t, p, Arrival{ContextTokens: 10, GeneratedTokens: 10}, p.mix()))
		if r.Error != c.want || r.Status != c.status || r.Done.IsZero() || r.Message == "" {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestClientLeaves(t *testing.T) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for {
			if _, err := io.WriteString(w, chunk("x")); err != nil {
				break
			}
			_ = http.NewResponseController(w).Flush()
			if r.Context().Err() != nil {
				break
			}
		}
		close(gone)
	}))
	defer s.Close()
	p := chatPlan(s.URL)
	p.AbandonShare = 1
	c := drawChat(t, p, Arrival{ContextTokens: 10, GeneratedTokens: 200}, p.mix())
	if c.abandonAt < 1 || c.abandonAt > 33 { // half of 67 tokens
		t.Errorf("leaves after %d chunks", c.abandonAt)
	}
	r := send(c)
	if r.Error != model.ErrorCancelled || !r.Abandoned || len(r.TokenGaps) != c.abandonAt-1 {
		t.Errorf("record %+v", r)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the server never sees that the client left")
	}
}

func TestPromptsShareTheirHeads(t *testing.T) {
	p := chatPlan("http://x")
	c := newChat(p, testTransport(t), 1)
	rng := rand.New(rand.NewPCG(1, 1))
	heads, users := map[string]int{}, map[string]int{}
	for range 1000 {
		k := c.draw(rng, Arrival{ContextTokens: 400, GeneratedTokens: 10}, p.mix()).(chatCall)
		req, err := k.request(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var b chatBody
		if err := json.NewDecoder(req.Body).Decode(&b); err != nil {
			t.Fatal(err)
		}
		heads[b.Messages[0].Content]++
		users[b.Messages[1].Content]++
	}
	if len(heads) != 4 || len(users) < 900 {
		t.Errorf("%d heads, %d user prompts", len(heads), len(users))
	}
	most := 0
	for h, n := range heads {
		most = max(most, n)
		if len(h) != 48*5 {
			t.Errorf("system prompt of %d characters", len(h))
		}
	}
	if most < 400 || most > 560 { // 1/(1+1/2+1/3+1/4) = 48 %
		t.Errorf("the most used head has %d of 1000", most)
	}
}

func TestLengthsFollowTheTrace(t *testing.T) {
	p := chatPlan("http://x")
	short, long := drawChat(t, p, Arrival{ContextTokens: 160, GeneratedTokens: 16}, p.mix()), drawChat(t, p, Arrival{ContextTokens: 7930, GeneratedTokens: 1000}, p.mix())
	if short.chars != 100 || short.maxTokens != 5 || long.chars != 1920 || long.maxTokens != 256 {
		t.Errorf("short %d/%d, long %d/%d", short.chars, short.maxTokens, long.chars, long.maxTokens)
	}
	m := p.mix().over(Mix{PromptScale: share(.25)})
	if k := drawChat(t, p, Arrival{ContextTokens: 160}, m); k.chars != 200 {
		t.Errorf("twice the scale gives %d characters", k.chars)
	}
}

func FuzzReadStream(f *testing.F) {
	f.Add(roleChunk+chunk("a")+finishChunk+usageChunk+done, 0)
	f.Add(chunk("a")+chunk("b"), 1)
	f.Add("data: {\"choices\":[{}],\"error\":\"x\"}\n\n", 0)
	f.Fuzz(func(t *testing.T, s string, abandon int) {
		r := &Record{Status: 200, Sent: time.Now()}
		readStream(context.Background(), strings.NewReader(s), abandon, r)
		if r.Done.IsZero() || (r.Error != "" && !r.Error.Known()) {
			t.Errorf("record %+v", r)
		}
	})
}
