// Package engine turns a language model into a server of many requests at once:
// continuous batching with chunked prefill over a paged cache, prefix reuse,
// preemption by recomputation and admission limits, after the design of vLLM's
// scheduler. One goroutine owns all state; everyone else sends it messages.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sightline/internal/demo/chat/kvcache"
	"sightline/internal/demo/chat/tinylm"
	"sightline/internal/model"
)

// Model computes spans of tokens; a panic in it ends the engine, not the process.
type Model interface {
	Forward(spans []tinylm.Span)
}

// Accelerator runs the work of a step and accounts for it; it returns after.
type Accelerator interface {
	Run(work func())
}

// Observer hears what happened, on the engine's goroutine. It must not block.
type Observer interface {
	Load(Load)
	Step(Step)
	Finished(Finished)
}

// Config is the engine's size and policy.
type Config struct {
	Blocks        int // cache blocks, at least 1
	BlockSize     int // tokens in a block
	MaxSeqs       int // sequences computed in one step
	MaxStepTokens int // tokens computed in one step; longer prompts are cut
	MaxModelLen   int // tokens of prompt and output together
	PrefixCaching bool
	// MaxQueued and MaxQueuedTokens refuse new requests while so many requests
	// or prompt tokens wait; 0 means no limit.
	MaxQueued       int
	MaxQueuedTokens int
}

// Validate names the first field that cannot work.
func (c Config) Validate() error {
	for _, f := range []struct {
		name string
		v, n int
	}{
		{"cache blocks", c.Blocks, 1}, {"block size", c.BlockSize, 1}, {"sequences per step", c.MaxSeqs, 1},
		{"tokens per step", c.MaxStepTokens, 1}, {"context length", c.MaxModelLen, 2},
		{"queued requests", c.MaxQueued, 0}, {"queued tokens", c.MaxQueuedTokens, 0},
	} {
		if f.v < f.n {
			return &model.Problem{Code: "chat_engine_config", Text: fmt.Sprintf("chat engine %s is %d", f.name, f.v), Hint: fmt.Sprintf("set it to %d or more", f.n)}
		}
	}
	if need := blocksFor(c.MaxModelLen, c.BlockSize); need > c.Blocks {
		return &model.Problem{
			Code: "chat_cache_too_small",
			Text: fmt.Sprintf("a request of %d tokens needs %d cache blocks, the engine has %d", c.MaxModelLen, need, c.Blocks),
			Hint: "give it more blocks or a shorter context length",
		}
	}
	return nil
}

func blocksFor(tokens, size int) int { return (tokens + size - 1) / size }

// Errors of Submit and of a Result.
var (
	// ErrQueueFull and ErrQueuedTokens refuse a request at admission.
	ErrQueueFull    = errors.New("the waiting queue is full")
	ErrQueuedTokens = errors.New("too many prompt tokens are waiting")
	// ErrDead is what every request gets after the model panicked.
	ErrDead = errors.New("the engine is dead")
	// ErrStopped is what unfinished requests get when the engine stops.
	ErrStopped = errors.New("the engine has stopped")
	// ErrCacheTooSmall ends a request that does not fit the usable cache even alone.
	ErrCacheTooSmall = errors.New("the request does not fit the cache")
)

// Engine is the scheduler and its state.
type Engine struct {
	cfg   Config
	model Model
	accel Accelerator
	obs   Observer

	inbox chan func()
	done  chan struct{} // closed when Run returns

	// Owned by Run's goroutine from here on.
	pool             *kvcache.Pool
	waiting, running []*sequence
	maxSeqs          int
	dead             error
	step             Step
}

// New prepares an engine; nothing happens before Run.
func New(c Config, m Model, a Accelerator, o Observer) (*Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Engine{
		cfg: c, model: m, accel: a, obs: o, maxSeqs: c.MaxSeqs,
		inbox: make(chan func()), done: make(chan struct{}), pool: kvcache.New(c.Blocks),
	}, nil
}

// Run serves until ctx ends; what is unfinished then gets ErrStopped. It is
// called once.
func (e *Engine) Run(ctx context.Context) {
	defer close(e.done)
	defer func() {
		e.failAll(ErrStopped)
		e.load()
	}()
	for {
		if !e.drain(ctx) {
			return
		}
		for len(e.running)+len(e.waiting) == 0 || e.dead != nil {
			e.load()
			select {
			case <-ctx.Done():
				return
			case f := <-e.inbox:
				f()
			}
		}
		e.iterate()
		e.load()
	}
}

// drain handles every message that is there without waiting for more; false
// when the engine must stop.
func (e *Engine) drain(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case f := <-e.inbox:
			f()
		default:
			return true
		}
	}
}

// tell has f run on the engine's goroutine; it does not wait for it.
func (e *Engine) tell(ctx context.Context, f func()) error {
	select {
	case e.inbox <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.done:
		return ErrStopped
	}
}

// ask has f run on the engine's goroutine and waits until it did.
func (e *Engine) ask(ctx context.Context, f func()) error {
	ok := make(chan struct{})
	if err := e.tell(ctx, func() { f(); close(ok) }); err != nil {
		return err
	}
	select {
	case <-ok:
		return nil
	case <-e.done:
		return ErrStopped
	}
}

// Stream is the engine's end of one request. Events is never full: it has room
// for every token that the request may ask for. The last event has Final set.
type Stream struct {
	Events <-chan Event
	e      *Engine
	s      *sequence
}

// Abort ends the request if it still runs; its memory is free after the step
// in progress.
func (s *Stream) Abort() {
	_ = s.e.tell(context.Background(), func() { s.e.abort(s.s) })
}

// Submit admits requests together, all or none. It returns when the engine took
// or refused them, at most one step later. The time in queue starts now.
func (e *Engine) Submit(ctx context.Context, reqs ...Request) ([]*Stream, error) {
	for _, r := range reqs {
		if len(r.Prompt) == 0 || r.MaxTokens < 1 || len(r.Prompt)+r.MaxTokens > e.cfg.MaxModelLen {
			return nil, &model.Problem{
				Code: "chat_request_size",
				Text: fmt.Sprintf("request of %d prompt and %d output tokens", len(r.Prompt), r.MaxTokens),
				Hint: fmt.Sprintf("ask for at least one of each and at most %d together", e.cfg.MaxModelLen),
			}
		}
	}
	now := time.Now()
	streams := make([]*Stream, len(reqs))
	seqs := make([]*sequence, len(reqs))
	for i, r := range reqs {
		seqs[i] = newSequence(r, now)
		streams[i] = &Stream{Events: seqs[i].events, e: e, s: seqs[i]}
	}
	var refused error
	err := e.ask(ctx, func() {
		if refused = e.admit(seqs); refused == nil {
			e.waiting = append(e.waiting, seqs...)
		}
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return streams, nil
}

func (e *Engine) admit(seqs []*sequence) error {
	if e.dead != nil {
		return e.dead
	}
	if e.cfg.MaxQueued > 0 && len(e.waiting)+len(seqs) > e.cfg.MaxQueued {
		return ErrQueueFull
	}
	if e.cfg.MaxQueuedTokens > 0 {
		n := 0
		for _, s := range append(append([]*sequence{}, e.waiting...), seqs...) {
			n += len(s.tokens)
		}
		if n > e.cfg.MaxQueuedTokens {
			return ErrQueuedTokens
		}
	}
	return nil
}

// SetBlocks makes n cache blocks usable, between 1 and the configured number.
// Sequences that no longer fit are preempted, the youngest first.
func (e *Engine) SetBlocks(ctx context.Context, n int) error {
	return e.ask(ctx, func() { e.pool.Limit(n) })
}

// SetMaxSeqs changes how many sequences are computed together; those running
// beyond it finish.
func (e *Engine) SetMaxSeqs(ctx context.Context, n int) error {
	return e.ask(ctx, func() { e.maxSeqs = max(1, n) })
}

// Alive reports nil, or why the engine serves nothing any more.
func (e *Engine) Alive(ctx context.Context) error {
	var dead error
	if err := e.ask(ctx, func() { dead = e.dead }); err != nil {
		return err
	}
	return dead
}

func (e *Engine) load() {
	use := min(1, float64(e.pool.Live())/float64(e.pool.Usable()))
	e.obs.Load(Load{Running: len(e.running), Waiting: len(e.waiting), CacheUsed: use})
}
