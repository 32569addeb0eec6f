package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"sightline/internal/demo/chat/engine"
	"sightline/internal/demo/chat/tinylm"
)

// body is the part of OpenAI's and vLLM's request that the server reads. Other
// fields are ignored, as vLLM does.
type body struct {
	Model               *string         `json:"model"`
	Messages            *[]message      `json:"messages"`
	Prompt              json.RawMessage `json:"prompt"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           *int            `json:"min_tokens"`
	N                   *int            `json:"n"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	TopK                *int            `json:"top_k"`
	Seed                *int64          `json:"seed"`
	Stop                json.RawMessage `json:"stop"`
	IgnoreEOS           *bool           `json:"ignore_eos"`
	Stream              *bool           `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	// Timing is ours: the last chunk, or the response, tells where time went.
	Timing *bool `json:"timing"`

	// Read only to refuse them.
	Logprobs         json.RawMessage `json:"logprobs"`
	PromptLogprobs   *int            `json:"prompt_logprobs"`
	Tools            []any           `json:"tools"`
	ToolChoice       any             `json:"tool_choice"`
	ResponseFormat   *typed          `json:"response_format"`
	Echo             *bool           `json:"echo"`
	Suffix           *string         `json:"suffix"`
	LogitBias        map[string]any  `json:"logit_bias"`
	PresencePenalty  *float64        `json:"presence_penalty"`
	FrequencyPenalty *float64        `json:"frequency_penalty"`
}

type streamOptions struct {
	IncludeUsage         *bool `json:"include_usage"`
	ContinuousUsageStats *bool `json:"continuous_usage_stats"`
}

type typed struct {
	Type string `json:"type"`
}

type message struct {
	Role    *string         `json:"role"`
	Content json.RawMessage `json:"content"`
}

// call is a request that passed every check.
type call struct {
	chat                       bool
	model                      string
	prompts                    [][]int32
	n                          int
	base                       engine.Request // without prompt and seed
	seed                       uint64
	stream                     bool
	usage, continuous, timings bool
	arrival                    time.Time
}

// sequences gives the engine's requests: n for each prompt, in order of index.
func (c *call) sequences() []engine.Request {
	var out []engine.Request
	for _, p := range c.prompts {
		for range c.n {
			r := c.base
			r.Prompt = p
			r.Sampling.Seed = c.seed + uint64(len(out))
			out = append(out, r)
		}
	}
	return out
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func value[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// decode reads a JSON object into v, with errors in the validator's words.
func decode(r io.Reader, v any) *failure {
	raw, err := io.ReadAll(r)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return status(http.StatusRequestEntityTooLarge)
	}
	if err != nil {
		return badRequest("", "There was an error reading the body: %v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	err = dec.Decode(v)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = fmt.Errorf("Extra data")
		}
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		want := map[reflect.Kind][2]string{
			reflect.Int: {"int_type", "integer"}, reflect.Int64: {"int_type", "integer"}, reflect.Float64: {"float_type", "number"},
			reflect.Bool: {"bool_type", "boolean"}, reflect.String: {"string_type", "string"}, reflect.Slice: {"list_type", "list"},
			reflect.Struct: {"model_attributes_type", "dictionary or object to extract fields from"}, reflect.Map: {"dict_type", "dictionary"},
		}[kind.Type.Kind()]
		var loc []string
		if kind.Field != "" {
			loc = strings.Split(kind.Field, ".")
		}
		return invalidBody(want[0], loc, "Input should be a valid "+want[1], ", 'input': "+pythonText("<"+kind.Value+">", 40))
	case errors.As(err, &syntax):
		return invalidBody("json_invalid", []string{strconv.FormatInt(syntax.Offset, 10)}, "JSON decode error", ", 'input': {}, 'ctx': {'error': "+pythonText(syntax.Error(), 200)+"}")
	default:
		return invalidBody("json_invalid", []string{strconv.Itoa(len(raw))}, "JSON decode error", ", 'input': {}, 'ctx': {'error': "+pythonText(err.Error(), 200)+"}")
	}
}

// missing says that a required field is not there.
func missing(b *body, field string) *failure {
	input := map[string]any{}
	if b.Model != nil {
		input["model"] = *b.Model
	}
	return invalidBody("missing", []string{field}, "Field required", ", 'input': "+pythonText(input, 300))
}

// read turns a request body into a call. Order of checks as in vLLM: shape,
// model, prompt, length, values.
func (s *Server) read(r io.Reader, chat bool, arrival time.Time) (*call, *failure) {
	var b body
	if f := decode(r, &b); f != nil {
		return nil, f
	}
	switch {
	case chat && b.Messages == nil:
		return nil, missing(&b, "messages")
	case !chat && isNull(b.Prompt):
		return nil, missing(&b, "prompt")
	case b.StreamOptions != nil && !value(b.Stream, false):
		return nil, invalidBody("value_error", nil, "Value error, Stream options can only be defined when `stream=True`.", "")
	}
	if name := value(b.Model, ""); name != "" && name != s.cfg.Model {
		return nil, modelNotFound(name)
	}
	if f := refused(&b, chat); f != nil {
		return nil, f
	}
	c := &call{chat: chat, model: s.cfg.Model, arrival: arrival, stream: value(b.Stream, false), timings: value(b.Timing, false)}
	if o := b.StreamOptions; o != nil {
		c.usage, c.continuous = value(o.IncludeUsage, false), value(o.ContinuousUsageStats, false)
	}
	var f *failure
	if chat {
		var m []tinylm.Message
		if m, f = conversation(*b.Messages); f == nil {
			c.prompts = [][]int32{tinylm.EncodeChat(m)}
		}
	} else {
		c.prompts, f = prompts(b.Prompt)
	}
	if f == nil {
		f = s.limits(&b, c)
	}
	if f == nil {
		f = sampling(&b, c)
	}
	if f != nil {
		return nil, f
	}
	c.base.Arrival = arrival
	c.base.Sampling.EOSRate = s.cfg.EOSRate
	return c, nil
}

// refused names the first thing that a request asks for and nobody here can do.
func refused(b *body, chat bool) *failure {
	not := func(param string) *failure { return badRequest(param, "%s is not supported by this server.", param) }
	logprobs := !isNull(b.Logprobs) && string(b.Logprobs) != "false"
	switch {
	case logprobs:
		return not("logprobs")
	case b.PromptLogprobs != nil:
		return not("prompt_logprobs")
	case chat && len(b.Tools) > 0 && b.ToolChoice != "none":
		return badRequest("tool_choice", `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`)
	case b.ResponseFormat != nil && b.ResponseFormat.Type != "text":
		return not("response_format")
	case !chat && value(b.Echo, false):
		return not("echo")
	case !chat && value(b.Suffix, "") != "":
		return badRequest("suffix", "suffix is not currently supported")
	case len(b.LogitBias) > 0:
		return not("logit_bias")
	case value(b.PresencePenalty, 0) != 0:
		return not("presence_penalty")
	case value(b.FrequencyPenalty, 0) != 0:
		return not("frequency_penalty")
	}
	return nil
}

// conversation reads messages whose content is a text or a list of text parts.
func conversation(in []message) ([]tinylm.Message, *failure) {
	if len(in) == 0 {
		return nil, badRequest("messages", "messages must contain at least one message.")
	}
	var out []tinylm.Message
	for i, m := range in {
		if m.Role == nil {
			return nil, invalidBody("missing", []string{"messages", strconv.Itoa(i), "role"}, "Field required", "")
		}
		text := ""
		if !isNull(m.Content) && json.Unmarshal(m.Content, &text) != nil {
			var parts []struct{ Type, Text string }
			if err := json.Unmarshal(m.Content, &parts); err != nil {
				return nil, invalidBody("string_type", []string{"messages", strconv.Itoa(i), "content"}, "Input should be a valid string", "")
			}
			for _, p := range parts {
				if p.Type != "text" {
					return nil, badRequest("messages", "tiny-chat is not a multimodal model: content part of type %q in message %d.", p.Type, i)
				}
				text += p.Text
			}
		}
		out = append(out, tinylm.Message{Role: *m.Role, Content: text})
	}
	return out, nil
}

// prompts reads a text, a list of texts, tokens or a list of lists of tokens.
func prompts(raw json.RawMessage) ([][]int32, *failure) {
	var text string
	var texts []string
	var tokens []int32
	var lists [][]int32
	switch {
	case json.Unmarshal(raw, &text) == nil:
		lists = [][]int32{tinylm.Encode(text)}
	case json.Unmarshal(raw, &texts) == nil:
		for _, t := range texts {
			lists = append(lists, tinylm.Encode(t))
		}
	case json.Unmarshal(raw, &tokens) == nil:
		lists = [][]int32{tokens}
	case json.Unmarshal(raw, &lists) == nil:
	default:
		return nil, invalidBody("string_type", []string{"prompt"}, "Input should be a valid string", "")
	}
	if len(lists) == 0 {
		return nil, badRequest("prompt", "Either prompt or prompt_embeds must be provided and non-empty.")
	}
	for _, l := range lists {
		if len(l) == 0 {
			return nil, badRequest("prompt", "The decoder prompt cannot be empty")
		}
		for _, t := range l {
			if t < 0 || t >= tinylm.VocabSize {
				return nil, badRequest("prompt", "Token id %d is out of vocabulary", t)
			}
		}
	}
	return lists, nil
}

// limits checks lengths against the context and fills MaxTokens.
func (s *Server) limits(b *body, c *call) *failure {
	name, asked := "max_tokens", b.MaxTokens
	if c.chat && b.MaxCompletionTokens != nil {
		name, asked = "max_completion_tokens", b.MaxCompletionTokens
	}
	longest := 0
	for _, p := range c.prompts {
		longest = max(longest, len(p))
	}
	room := s.cfg.MaxModelLen - longest
	out := room
	switch {
	case asked != nil:
		out = *asked
	case !c.chat:
		out = 16 // the completions API's default
	}
	if asked != nil && out < 1 {
		return badRequest(name, "%s must be at least 1, got %d.", name, out)
	}
	if room < 1 || out > room {
		out = max(out, 1)
		return badRequest("input_tokens", "This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt contains at least %d input tokens, for a total of at least %d tokens.",
			s.cfg.MaxModelLen, out, longest, longest+out)
	}
	c.base.MaxTokens = out
	return nil
}

// float prints a number as Python does.
func float(v float64) string {
	t := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(t, ".e") {
		t += ".0"
	}
	return t
}

// sampling checks and fills the rest of the parameters.
func sampling(b *body, c *call) *failure {
	t, p, k := value(b.Temperature, 1), value(b.TopP, 1), value(b.TopK, 0)
	c.n = value(b.N, 1)
	c.base.MinTokens = value(b.MinTokens, 0)
	c.base.IgnoreEOS = value(b.IgnoreEOS, false)
	switch {
	case c.n < 1:
		return badRequest("n", "n must be at least 1, got %d.", c.n)
	case c.n > maxChoices || c.n*len(c.prompts) > maxChoices:
		return badRequest("n", "n times the number of prompts must be at most %d on this server, got %d.", maxChoices, c.n*len(c.prompts))
	case t < 0:
		return badRequest("temperature", "temperature must be non-negative, got %s.", float(t))
	case p <= 0 || p > 1:
		return badRequest("top_p", "top_p must be in (0, 1], got %s.", float(p))
	case k < -1:
		return badRequest("top_k", "top_k must be 0 (disable), or at least 1, got %d.", k)
	case c.base.MinTokens < 0:
		return badRequest("min_tokens", "min_tokens must be greater than or equal to 0, got %d.", c.base.MinTokens)
	case c.base.MinTokens > c.base.MaxTokens:
		return badRequest("min_tokens", "min_tokens must be less than or equal to max_tokens=%d, got %d.", c.base.MaxTokens, c.base.MinTokens)
	case t < 1e-5 && c.n > 1:
		return badRequest("n", "n must be 1 when using greedy sampling, got %d.", c.n)
	}
	if !isNull(b.Stop) {
		var one string
		if json.Unmarshal(b.Stop, &one) == nil {
			c.base.Stop = []string{one}
		} else if err := json.Unmarshal(b.Stop, &c.base.Stop); err != nil {
			return invalidBody("list_type", []string{"stop"}, "Input should be a valid list", "")
		}
		for _, s := range c.base.Stop {
			if s == "" {
				return badRequest("stop", "stop cannot contain an empty string.")
			}
		}
	}
	c.seed = rand.Uint64()
	if b.Seed != nil {
		c.seed = uint64(*b.Seed)
	}
	c.base.Sampling = tinylm.Sampling{Temperature: t, TopP: p, TopK: k}
	return nil
}
