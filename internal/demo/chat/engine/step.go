package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"sightline/internal/demo/chat/tinylm"
)

// iterate is one turn of the loop: choose, compute, hand out.
func (e *Engine) iterate() {
	start := time.Now()
	e.step = Step{}
	parts := e.schedule(start)
	if len(parts) == 0 {
		// Everything was preempted or failed; the next turn starts from the queue.
		e.obs.Step(e.step)
		return
	}
	if err := e.compute(parts); err != nil {
		e.dead = err
		e.obs.Step(e.step)
		e.failAll(err)
		return
	}
	now := time.Now()
	e.account(parts, now)
	for _, p := range parts {
		e.advance(p, now)
	}
	e.obs.Step(e.step)
}

// compute runs the model on the accelerator and turns a panic into ErrDead.
func (e *Engine) compute(parts []part) (err error) {
	spans := make([]tinylm.Span, len(parts))
	for i, p := range parts {
		s := p.s
		spans[i] = tinylm.Span{Tokens: s.tokens[s.computed : s.computed+p.n], Start: s.computed, Blocks: s.blocks}
		if s.computed+p.n == len(s.tokens) {
			spans[i].Logits = s.logits
		}
	}
	e.accel.Run(func() {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%w: %v\n%s", ErrDead, r, debug.Stack())
			}
		}()
		e.model.Forward(spans)
	})
	return err
}

// account books the step on the stop-watches of all running sequences.
func (e *Engine) account(parts []part, now time.Time) {
	took := map[*sequence]bool{}
	for _, p := range parts {
		s := p.s
		took[s] = true
		d := now.Sub(s.since)
		if s.computed < len(s.req.Prompt) || p.n > 1 {
			s.timing.Prefill += d
		} else {
			s.timing.Decode += d
		}
		s.since = now
		s.timing.Steps++
		s.timing.BatchSum += len(parts)
	}
	for _, s := range e.running {
		if !took[s] {
			s.timing.Stalled += now.Sub(s.since)
			s.since = now
		}
	}
}

// advance takes the result of a step for one sequence: blocks that became full
// join the prefix cache, and a sequence computed to its end gets a token.
func (e *Engine) advance(p part, now time.Time) {
	s := p.s
	s.computed += p.n
	if e.cfg.PrefixCaching {
		full := s.computed / e.cfg.BlockSize
		for hs := s.chain(full, e.cfg.BlockSize); s.hashed < full; s.hashed++ {
			e.pool.Cache(s.blocks[s.hashed], hs[s.hashed])
		}
	}
	if s.computed < len(s.tokens) {
		return
	}
	token := s.sampler.Next(s.logits, !s.req.IgnoreEOS && s.output() >= s.req.MinTokens)
	s.tokens = append(s.tokens, token)
	e.step.OutputTokens++
	if s.first.IsZero() {
		s.first = now
		e.step.FirstToken = append(e.step.FirstToken, now.Sub(s.req.Arrival))
		e.step.PromptTokens += len(s.req.Prompt)
		e.step.Cached += s.cached
		e.step.Computed += len(s.req.Prompt) - s.cached
	} else {
		e.step.BetweenTokens = append(e.step.BetweenTokens, now.Sub(s.last))
	}
	s.last = now

	var r Result
	send, stop := "", ""
	if token == tinylm.EOS {
		r.Reason = Stop
	} else {
		send, stop = s.text.add(tinylm.Piece(token), s.output() >= s.req.MinTokens)
	}
	switch {
	case r.Reason != "":
	case stop != "":
		r.Reason, r.StopText = Stop, stop
	case s.output() >= s.req.MaxTokens || len(s.tokens) >= e.cfg.MaxModelLen:
		r.Reason = Length
	default:
		s.events <- Event{Text: send}
		return
	}
	if stop == "" {
		send += s.text.rest()
	}
	e.running = without(e.running, s)
	e.finish(s, r, send, now)
}
