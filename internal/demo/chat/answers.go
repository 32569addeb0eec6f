package chat

import (
	"sightline/internal/demo/chat/engine"
)

// The field order of these types is vLLM's, which clients show.

type usage struct {
	PromptTokens     int           `json:"prompt_tokens"`
	TotalTokens      int           `json:"total_tokens"`
	CompletionTokens int           `json:"completion_tokens"`
	Details          *usageDetails `json:"prompt_tokens_details"`
}

type usageDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// timing is where the time of a request went, in milliseconds. Queue, prefill,
// decode and stalled come from the engine's own stop-watch of the choice that
// ended last; ttft and e2e are taken where the answer leaves, from the arrival
// of the request to the first and the last token.
type timing struct {
	QueueMS     float64 `json:"queue_ms"`
	PrefillMS   float64 `json:"prefill_ms"`
	DecodeMS    float64 `json:"decode_ms"`
	StalledMS   float64 `json:"stalled_ms"`
	TTFTMS      float64 `json:"ttft_ms"`
	E2EMS       float64 `json:"e2e_ms"`
	Steps       int     `json:"steps"`
	BatchMean   float64 `json:"batch_mean"` // sequences in those steps
	CachedToks  int     `json:"cached_tokens"`
	Preemptions int     `json:"preemptions"`
}

type reply struct {
	Role        string   `json:"role"`
	Content     string   `json:"content"`
	Refusal     *string  `json:"refusal"`
	Annotations *string  `json:"annotations"`
	Audio       *string  `json:"audio"`
	ToolCalls   []string `json:"tool_calls"`
}

type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

// choice serves all four shapes; the absent ones are left out.
type choice struct {
	Index        int     `json:"index"`
	Message      *reply  `json:"message,omitempty"`
	Delta        *delta  `json:"delta,omitempty"`
	Text         *string `json:"text,omitempty"`
	Logprobs     *string `json:"logprobs"`
	FinishReason *string `json:"finish_reason"`
	StopReason   *string `json:"stop_reason"`
}

type envelope struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"`
	Model             string   `json:"model"`
	Choices           []choice `json:"choices"`
	SystemFingerprint *string  `json:"system_fingerprint,omitempty"`
	Usage             *usage   `json:"usage,omitempty"`
	Timing            *timing  `json:"timing,omitempty"`
}

func (j *job) envelope(chunk bool, choices ...choice) *envelope {
	object := "text_completion"
	if j.chat {
		object = "chat.completion"
		if chunk {
			object = "chat.completion.chunk"
		}
	}
	if choices == nil {
		choices = []choice{}
	}
	return &envelope{ID: j.id, Object: object, Created: j.created, Model: j.model, Choices: choices}
}

func (j *job) usageNow() *usage {
	u := &usage{PromptTokens: j.prompt, CompletionTokens: j.tokens, TotalTokens: j.prompt + j.tokens, Details: &usageDetails{}}
	for i := 0; i < len(j.results); i += j.n { // once for each prompt
		if r := j.results[i]; r != nil {
			u.Details.CachedTokens += r.Cached
		}
	}
	return u
}

func (j *job) timingNow() *timing {
	if !j.timings || j.slowest == nil {
		return nil
	}
	t := j.slowest.Timing
	out := &timing{
		QueueMS: millis(t.Queue.Seconds()), PrefillMS: millis(t.Prefill.Seconds()), DecodeMS: millis(t.Decode.Seconds()), StalledMS: millis(t.Stalled.Seconds()),
		TTFTMS: millis(j.firstAt.Sub(j.arrival).Seconds()), E2EMS: millis(j.lastAt.Sub(j.arrival).Seconds()),
		Steps: t.Steps, CachedToks: j.slowest.Cached, Preemptions: t.Preemptions,
	}
	if t.Steps > 0 {
		out.BatchMean = float64(t.BatchSum) / float64(t.Steps)
	}
	return out
}

func millis(seconds float64) float64 { return seconds * 1000 }

// finish fills how a choice ended.
func (c *choice) finish(r *engine.Result) {
	if r == nil {
		return
	}
	reason := string(r.Reason)
	c.FinishReason = &reason
	if r.StopText != "" {
		c.StopReason = &r.StopText
	}
}

// response is the whole answer.
func (j *job) response() *envelope {
	var cs []choice
	for i, r := range j.results {
		c := choice{Index: i}
		if j.chat {
			c.Message = &reply{Role: "assistant", Content: j.texts[i], ToolCalls: []string{}}
		} else {
			c.Text = &j.texts[i]
		}
		c.finish(r)
		cs = append(cs, c)
	}
	e := j.envelope(false, cs...)
	e.Usage, e.Timing = j.usageNow(), j.timingNow()
	return e
}

// roleChunk opens a choice of a chat.
func (j *job) roleChunk(index int) *envelope {
	empty := ""
	e := j.envelope(true, choice{Index: index, Delta: &delta{Role: "assistant", Content: &empty}})
	if j.continuous {
		e.Usage = &usage{PromptTokens: j.prompt, TotalTokens: j.prompt}
	}
	return e
}

// chunk is one event of a choice.
func (j *job) chunk(ev event) *envelope {
	c := choice{Index: ev.index}
	if j.chat {
		c.Delta = &delta{Content: &ev.Text}
	} else {
		c.Text = &ev.Text
	}
	c.finish(ev.Final)
	e := j.envelope(true, c)
	if j.continuous {
		e.Usage = j.usageNow()
	}
	return e
}

// lastChunk has no choices; it carries the usage and, on request, the timing.
func (j *job) lastChunk() *envelope {
	e := j.envelope(true)
	e.Usage, e.Timing = j.usageNow(), j.timingNow()
	return e
}
