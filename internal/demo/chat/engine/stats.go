package engine

import "time"

// Load is the state of the queues at one moment.
type Load struct {
	Running, Waiting int
	CacheUsed        float64 // live blocks of the usable ones, 0..1
}

// Step is what one engine step did.
type Step struct {
	// PromptTokens counts whole prompts, at the step that gave the first token;
	// Computed and Cached are its two parts.
	PromptTokens, Computed, Cached int
	OutputTokens                   int
	Queries, Hits                  int // prefix cache, in tokens; resumed sequences do not count
	Preempted                      int
	FirstToken                     []time.Duration // since arrival
	BetweenTokens                  []time.Duration
}

// Finished is the life of a sequence as vLLM's metrics cut it: queued until it
// was scheduled for the first time, prefill until the first token, decode until
// the last. A phase that was never entered is absent.
type Finished struct {
	Reason        Reason
	E2E           time.Duration
	Queue         time.Duration
	Scheduled     bool
	Prefill       time.Duration
	FirstToken    bool
	Decode        time.Duration
	Inference     time.Duration
	PromptTokens  int
	CachedTokens  int
	OutputTokens  int
	MaxTokens     int
	TimePerOutput time.Duration // mean after the first token; 0 for one token
}

// finish ends s and tells everybody. now is the time of the last token, or of
// the event that ended s.
func (e *Engine) finish(s *sequence, r Result, text string, now time.Time) {
	if s.at == inQueue {
		s.timing.Queue += now.Sub(s.since)
	}
	s.at = ended
	e.pool.Release(s.blocks)
	s.blocks = nil
	r.Tokens, r.Cached, r.Timing = s.output(), s.cached, s.timing

	f := Finished{
		Reason: r.Reason, E2E: now.Sub(s.req.Arrival), PromptTokens: len(s.req.Prompt), CachedTokens: s.cached,
		OutputTokens: s.output(), MaxTokens: s.req.MaxTokens,
	}
	f.Queue = now.Sub(s.queued)
	if f.Scheduled = !s.scheduled.IsZero(); f.Scheduled {
		f.Queue = s.scheduled.Sub(s.queued)
		f.Prefill, f.Inference = now.Sub(s.scheduled), now.Sub(s.scheduled)
	}
	if f.FirstToken = !s.first.IsZero(); f.FirstToken {
		f.Prefill, f.Inference, f.Decode = s.first.Sub(s.scheduled), s.last.Sub(s.scheduled), s.last.Sub(s.first)
		if n := s.output() - 1; n > 0 {
			f.TimePerOutput = f.Decode / time.Duration(n)
		}
	}
	e.obs.Finished(f)
	// The answer leaves last: who has it may look at the metrics at once.
	s.events <- Event{Text: text, Final: &r}
}

func (e *Engine) abort(s *sequence) {
	switch s.at {
	case inQueue:
		e.waiting = without(e.waiting, s)
	case inBatch:
		e.running = without(e.running, s)
	default:
		return // it ended before the message came
	}
	e.finish(s, Result{Reason: Abort, Err: ErrStopped}, s.text.rest(), time.Now())
}

// failAll ends everything that is under way.
func (e *Engine) failAll(err error) {
	reason := Error
	if err == ErrStopped {
		reason = Abort
	}
	all := append(e.running, e.waiting...)
	e.running, e.waiting = nil, nil
	for _, s := range all {
		e.finish(s, Result{Reason: reason, Err: err}, s.text.rest(), time.Now())
	}
}

func without(list []*sequence, s *sequence) []*sequence {
	out := make([]*sequence, 0, len(list))
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}
