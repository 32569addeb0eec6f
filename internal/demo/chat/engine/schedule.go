package engine

import (
	"fmt"
	"time"
)

// part is a sequence's share of a step.
type part struct {
	s *sequence
	n int // tokens to compute, from s.computed on
}

// schedule chooses the tokens of the next step: running sequences first, in
// order of arrival, then waiting ones as long as tokens, sequences and blocks
// last. When a running sequence finds no block, the youngest gives up its own.
func (e *Engine) schedule(now time.Time) []part {
	var parts []part
	budget, preempted := e.cfg.MaxStepTokens, 0
	for e.pool.Debt() > 0 && len(e.running) > 0 {
		e.giveUp(now)
		preempted++
	}
	for i := 0; i < len(e.running) && budget > 0; i++ {
		s := e.running[i]
		n := min(len(s.tokens)-s.computed, budget)
		for !e.extend(s, n) {
			preempted++
			if e.giveUp(now) == s {
				break
			}
		}
		if s.at == inBatch {
			parts = append(parts, part{s, n})
			budget -= n
		}
	}
	if preempted > 0 {
		return parts
	}
	for len(e.waiting) > 0 && len(e.running) < e.maxSeqs && budget > 0 {
		s := e.waiting[0]
		if need := blocksFor(len(s.tokens), e.cfg.BlockSize); need > e.pool.Usable() {
			e.waiting = e.waiting[1:]
			e.tooSmall(s, need, now)
			continue
		}
		n, ok := e.start(s, budget)
		if !ok {
			break
		}
		e.waiting = e.waiting[1:]
		e.running = append(e.running, s)
		s.at = inBatch
		if s.scheduled.IsZero() {
			s.scheduled = now
		}
		s.timing.Queue += now.Sub(s.since)
		s.since = now
		parts = append(parts, part{s, n})
		budget -= n
	}
	return parts
}

// extend gives s the blocks for n more tokens.
func (e *Engine) extend(s *sequence, n int) bool {
	need := blocksFor(s.computed+n, e.cfg.BlockSize) - len(s.blocks)
	if need <= 0 {
		return true
	}
	fresh, ok := e.pool.Claim(nil, need)
	s.blocks = append(s.blocks, fresh...)
	return ok
}

// start looks s up in the prefix cache and gives it blocks for its first chunk.
// The last token is always computed: its logits are what the step is for.
func (e *Engine) start(s *sequence, budget int) (n int, ok bool) {
	size := e.cfg.BlockSize
	var found []int32
	if e.cfg.PrefixCaching {
		found = e.pool.Lookup(s.chain((len(s.tokens)-1)/size, size))
	}
	hit := len(found) * size
	n = min(len(s.tokens)-hit, budget)
	fresh, ok := e.pool.Claim(found, blocksFor(hit+n, size)-len(found))
	if !ok {
		return 0, false
	}
	s.blocks = append(append([]int32{}, found...), fresh...)
	s.computed, s.hashed = hit, len(found)
	if !s.looked {
		s.looked = true
		s.cached = hit
		if e.cfg.PrefixCaching {
			e.step.Queries += len(s.tokens)
			e.step.Hits += hit
		}
	}
	return n, true
}

// giveUp takes the youngest running sequence out of the batch: back to the head
// of the queue, to be computed again, or to its end when it was alone and could
// never fit. It returns the sequence.
func (e *Engine) giveUp(now time.Time) *sequence {
	s := e.running[len(e.running)-1]
	e.running = e.running[:len(e.running)-1]
	if need := blocksFor(s.computed+1, e.cfg.BlockSize); len(e.running) == 0 && need > e.pool.Usable() {
		e.tooSmall(s, need, now)
		return s
	}
	e.pool.Release(s.blocks)
	s.blocks, s.computed, s.hashed = nil, 0, 0
	s.at, s.since = inQueue, now
	s.timing.Preemptions++
	e.step.Preempted++
	e.waiting = append([]*sequence{s}, e.waiting...)
	return s
}

func (e *Engine) tooSmall(s *sequence, need int, now time.Time) {
	err := fmt.Errorf("%w: it needs %d blocks of %d tokens, %d are usable", ErrCacheTooSmall, need, e.cfg.BlockSize, e.pool.Usable())
	e.finish(s, Result{Reason: Error, Err: err}, s.text.rest(), now)
}
