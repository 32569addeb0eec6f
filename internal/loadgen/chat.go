package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"sightline/internal/model"
)

// ChatPlan sends conversations to an OpenAI-compatible server. Prompt and
// output lengths follow the trace row of each arrival, scaled down and capped.
type ChatPlan struct {
	Traffic
	// PromptScale and OutputScale multiply the trace's token counts.
	PromptScale, OutputScale float64
	// MaxPromptTokens and MaxOutputTokens cap them after scaling.
	MaxPromptTokens, MaxOutputTokens int
	// CharsPerToken converts prompt tokens into characters of text.
	CharsPerToken float64
	// SystemPrompts is how many different system prompts conversations share,
	// SystemTokens their length. The first is the most used, the n-th 1/n as
	// often: what a prefix cache meets.
	SystemPrompts, SystemTokens int
	// PlainShare of the requests do not stream; AbandonShare of the streams
	// are left by the client before half of the output arrived.
	PlainShare, AbandonShare float64
	// Timing asks the engine for its own phases of each request by the body
	// field timing.
	Timing bool
}

func (p ChatPlan) withDefaults() ChatPlan {
	p.Traffic = p.Traffic.withDefaults("chat", DefaultChatRate)
	for _, f := range []struct {
		v *float64
		d float64
	}{{&p.PromptScale, 1. / 8}, {&p.OutputScale, 1. / 3}, {&p.CharsPerToken, 5}} {
		if *f.v == 0 {
			*f.v = f.d
		}
	}
	for _, f := range []struct {
		v *int
		d int
	}{{&p.MaxPromptTokens, 384}, {&p.MaxOutputTokens, 256}, {&p.SystemPrompts, 4}, {&p.SystemTokens, 48}} {
		if *f.v == 0 {
			*f.v = f.d
		}
	}
	return p
}

func (p ChatPlan) validate() error {
	if err := p.Traffic.validate(); err != nil {
		return err
	}
	where := fmt.Sprintf("plan %q", p.Name)
	if p.MaxPromptTokens < 1 || p.MaxOutputTokens < 1 || p.MaxPromptTokens > 1_000_000 || p.MaxOutputTokens > 1_000_000 {
		return configProblem(fmt.Sprintf("%s caps tokens at %d and %d", where, p.MaxPromptTokens, p.MaxOutputTokens), "give 1 to 1000000")
	}
	if !(p.CharsPerToken > 0 && p.CharsPerToken <= 100) {
		return configProblem(fmt.Sprintf("%s has %v characters a token", where, p.CharsPerToken), "give a number above 0 and up to 100")
	}
	if p.SystemPrompts < 0 || p.SystemPrompts > 1000 || p.SystemTokens < 1 || p.SystemTokens > 100_000 {
		return configProblem(fmt.Sprintf("%s has %d system prompts of %d tokens", where, p.SystemPrompts, p.SystemTokens), "give up to 1000 of up to 100000 tokens")
	}
	return p.mix().validate(where, len(p.Targets))
}

func (p ChatPlan) mix() Mix {
	return Mix{Targets: p.targetWeights(), PromptScale: share(p.PromptScale), OutputScale: share(p.OutputScale), PlainShare: share(p.PlainShare), AbandonShare: share(p.AbandonShare)}
}

// chat draws and sends the requests of a ChatPlan.
type chat struct {
	plan   ChatPlan
	client *http.Client
	book   *promptBook
	zipf   []float64
	turns  turns
}

func newChat(p ChatPlan, t http.RoundTripper, seed uint64) *chat {
	c := &chat{plan: p, client: newClient(t)}
	c.book = newPromptBook(seed, 64<<10, p.SystemPrompts, int(float64(p.SystemTokens)*p.CharsPerToken))
	for i := range p.SystemPrompts {
		c.zipf = append(c.zipf, 1/float64(i+1))
	}
	return c
}

type chatCall struct {
	*chat
	target    Target
	system    int // -1 for none
	at, chars int
	maxTokens int
	stream    bool
	abandonAt int // content chunks after which the client leaves; 0 stays
}

func (c *chat) draw(rng *rand.Rand, a Arrival, m Mix) call {
	k := chatCall{chat: c, target: c.plan.Targets[c.turns.next(m.Targets)], system: -1}
	if len(c.zipf) > 0 {
		k.system = pick(rng, c.zipf)
	}
	prompt := scaled(a.ContextTokens, *m.PromptScale, c.plan.MaxPromptTokens)
	k.chars = max(int(math.Round(float64(prompt)*c.plan.CharsPerToken)), 1)
	k.maxTokens = scaled(a.GeneratedTokens, *m.OutputScale, c.plan.MaxOutputTokens)
	k.at = rng.IntN(len(c.book.text))
	k.stream = !chance(rng, m.PlainShare)
	left := 1 + rng.IntN(max(k.maxTokens/2, 1))
	if chance(rng, m.AbandonShare) && k.stream {
		k.abandonAt = left
	}
	return k
}

// scaled multiplies a token count and keeps it between 1 and most.
func scaled(tokens int, factor float64, most int) int {
	return min(max(int(math.Round(float64(tokens)*factor)), 1), most)
}

type chatBody struct {
	Model         string         `json:"model"`
	Messages      []chatMessage  `json:"messages"`
	MaxTokens     int            `json:"max_tokens"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
	Timing        bool           `json:"timing,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatAnswer is what the generator reads of a completion or a chunk. Errors
// come nested at OpenAI and newer vLLM, flat at older servers.
type chatAnswer struct {
	Object  string `json:"object"`
	Choices []struct {
		Delta   chatDelta `json:"delta"`
		Message chatDelta `json:"message"`
		Finish  string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt  int `json:"prompt_tokens"`
		Output  int `json:"completion_tokens"`
		Details *struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error   json.RawMessage            `json:"error"`
	Message string                     `json:"message"`
	Timing  map[string]json.RawMessage `json:"timing"`
	Timings map[string]json.RawMessage `json:"timings"`
}

type chatDelta struct {
	Content   string            `json:"content"`
	Reasoning string            `json:"reasoning_content"`
	Tools     []json.RawMessage `json:"tool_calls"`
}

func (d chatDelta) empty() bool { return d.Content == "" && d.Reasoning == "" && len(d.Tools) == 0 }

// failed reports whether the answer is an error object.
func (a *chatAnswer) failed() bool {
	return a.Object == "error" || (len(a.Error) > 0 && string(a.Error) != "null")
}

// take moves usage, finish reason and timings into r.
func (a *chatAnswer) take(r *Record) {
	for _, c := range a.Choices {
		if c.Finish != "" {
			r.Finish = c.Finish
		}
	}
	if a.Usage != nil {
		r.Tokens = &Usage{Prompt: a.Usage.Prompt, Output: a.Usage.Output}
		if a.Usage.Details != nil {
			r.Tokens.Cached = a.Usage.Details.Cached
		}
	}
	readTimings(a.Timing, r)
	readTimings(a.Timings, r)
}

func (k chatCall) do(ctx context.Context, r *Record) {
	r.Instance, r.Stream = k.target.Instance, k.stream
	req, err := k.request(ctx)
	if err != nil {
		fail(ctx, r, err)
		return
	}
	r.BytesOut = req.ContentLength
	var seen moments
	r.Sent = time.Now()
	res, err := k.client.Do(req.WithContext(seen.watch(ctx)))
	seen.fill(r)
	if err != nil {
		fail(ctx, r, err)
		return
	}
	defer res.Body.Close()
	r.Status = res.StatusCode
	if res.StatusCode != http.StatusOK {
		refuse(r, res)
		return
	}
	count := &countingReader{r: res.Body}
	if k.stream {
		readStream(ctx, count, k.abandonAt, r)
	} else {
		readPlain(ctx, count, r)
	}
	r.BytesIn = count.n
}

func (k chatCall) request(ctx context.Context) (*http.Request, error) {
	b := chatBody{Model: k.plan.Model, MaxTokens: k.maxTokens, Stream: k.stream, Timing: k.plan.Timing}
	if k.stream {
		b.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if k.system >= 0 {
		b.Messages = append(b.Messages, chatMessage{"system", k.book.systems[k.system]})
	}
	b.Messages = append(b.Messages, chatMessage{"user", k.book.slice(k.at, k.chars)})
	body, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.target.URL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

func readPlain(ctx context.Context, body io.Reader, r *Record) {
	b, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		fail(ctx, r, err)
		return
	}
	r.Done = time.Now()
	var a chatAnswer
	if err := json.Unmarshal(b, &a); err != nil {
		r.Error, r.Message = model.ErrorInternal, shorten(fmt.Sprintf("chat answer: %v", err), 200)
		return
	}
	if a.failed() {
		r.Error, r.Message = Classify(r.Status, string(b), true), shorten(string(b), 200)
		return
	}
	a.take(r)
}

// readStream follows a stream to [DONE]. An error object inside a stream is an
// error although the status was 200, and so is an end without finish reason.
// abandonAt above 0 makes the client leave after so many chunks with content.
func readStream(ctx context.Context, body io.Reader, abandonAt int, r *Record) {
	events := newEventReader(body)
	var last time.Time
	chunks := 0
	for {
		data, err := events.next()
		now := time.Now()
		if errors.Is(err, io.EOF) {
			r.Done = now
			if r.Error == "" && r.Finish == "" {
				r.Error, r.Message = model.ErrorInternal, "the stream ended before it was finished"
			}
			return
		}
		if err != nil {
			fail(ctx, r, err)
			return
		}
		if string(data) == "[DONE]" {
			// The end of the body follows at once; reading it keeps the connection.
			_, _ = io.Copy(io.Discard, io.LimitReader(events.r, 4<<10))
			r.Done = now
			return
		}
		var a chatAnswer
		if err := json.Unmarshal(data, &a); err != nil {
			r.Done, r.Error, r.Message = now, model.ErrorInternal, shorten(fmt.Sprintf("chat chunk: %v", err), 200)
			return
		}
		if a.failed() {
			r.Error, r.Message = Classify(r.Status, string(data), true), shorten(string(data), 200)
			continue
		}
		a.take(r)
		if len(a.Choices) == 0 || a.Choices[0].Delta.empty() {
			continue
		}
		if chunks++; chunks == 1 {
			r.FirstToken = now
		} else {
			r.TokenGaps = append(r.TokenGaps, now.Sub(last))
		}
		last = now
		if chunks == abandonAt {
			r.Done, r.Error, r.Abandoned = now, model.ErrorCancelled, true
			return
		}
	}
}
