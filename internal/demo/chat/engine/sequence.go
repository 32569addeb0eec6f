package engine

import (
	"time"

	"sightline/internal/demo/chat/kvcache"
	"sightline/internal/demo/chat/tinylm"
)

// Request is one sequence to continue.
type Request struct {
	Prompt    []int32
	MaxTokens int // output tokens at most, at least 1
	MinTokens int // output tokens before the answer may end by itself
	IgnoreEOS bool
	Stop      []string // the answer ends before any of these texts
	Sampling  tinylm.Sampling
	Arrival   time.Time // when the server began to read the request
}

// Reason is why a sequence ended.
type Reason string

// The reasons, spelled as vLLM's finished_reason.
const (
	Stop       Reason = "stop"
	Length     Reason = "length"
	Abort      Reason = "abort"
	Error      Reason = "error"
	Repetition Reason = "repetition" // known to the metric; this engine has no repetition check
)

// Event is a piece of an answer: one token, or the end.
type Event struct {
	Text string // may be empty while a stop text could be under way
	// Final is set on the last event, which carries no token of its own unless
	// Text or Final.Tokens says so.
	Final *Result
}

// Result is how a sequence ended.
type Result struct {
	Reason   Reason
	StopText string // the stop text that ended it
	Err      error  // for Error and Abort
	Tokens   int    // output tokens, the end token included
	Cached   int    // prompt tokens found in the prefix cache
	Timing   Timing
}

// Timing is the engine's stop-watch of one sequence. It sums what the sequence
// really spent where, step by step, and shares no arithmetic with the metrics.
type Timing struct {
	Queue       time.Duration // in the waiting queue, after preemptions too
	Prefill     time.Duration // in steps that computed its prompt
	Decode      time.Duration // in steps that computed one further token
	Stalled     time.Duration // running, but not part of the step
	Steps       int
	BatchSum    int // sequences in those steps, itself included
	Preemptions int
}

type place int

const (
	inQueue place = iota
	inBatch
	ended
)

type sequence struct {
	req      Request
	tokens   []int32 // prompt, then output
	computed int     // leading tokens whose keys and values are in blocks
	blocks   []int32
	hashes   []kvcache.Hash // of the full blocks of tokens, as far as asked for
	hashed   int            // blocks registered with the pool
	sampler  *tinylm.Sampler
	logits   []float32
	text     holdback
	events   chan Event
	at       place

	queued, scheduled, first, last time.Time
	cached                         int
	looked                         bool // prefix look-up counted

	since  time.Time // start of the interval that timing adds next
	timing Timing
}

func newSequence(r Request, now time.Time) *sequence {
	return &sequence{
		req: r, tokens: append([]int32(nil), r.Prompt...), queued: now, since: now,
		sampler: tinylm.NewSampler(r.Sampling), logits: make([]float32, tinylm.VocabSize),
		text: newHoldback(r.Stop), events: make(chan Event, r.MaxTokens+1),
	}
}

// output is the number of generated tokens.
func (s *sequence) output() int { return len(s.tokens) - len(s.req.Prompt) }

// chain gives the hashes of the first n full blocks.
func (s *sequence) chain(n, size int) []kvcache.Hash {
	for i := len(s.hashes); i < n; i++ {
		var parent kvcache.Hash
		if i > 0 {
			parent = s.hashes[i-1]
		}
		s.hashes = append(s.hashes, kvcache.Chain(parent, s.tokens[i*size:(i+1)*size]))
	}
	return s.hashes[:n]
}
