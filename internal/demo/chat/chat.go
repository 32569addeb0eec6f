// Package chat is the demo's language-model server: an OpenAI-compatible HTTP
// API with vLLM's extensions, errors and metrics in front of a real scheduler
// and a real, if tiny, transformer. Work runs on an accelerator model that
// accounts for it; nothing waits in place of computing.
package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"sightline/internal/demo/chat/engine"
	"sightline/internal/demo/chat/tinylm"
	"sightline/internal/demo/chat/vllmstats"
	"sightline/internal/model"
)

// Accelerator is the card that the engine computes on: Run runs one step's work
// and returns after, Alloc takes memory until release is called.
type Accelerator interface {
	Run(work func())
	Alloc(bytes int64) (release func(), err error)
}

// Config is what a server is made of. Zero values mean the stated default.
type Config struct {
	Listen      string // address, default 127.0.0.1:0 (any free port)
	Model       string // served model name, default tiny-chat
	Accelerator Accelerator
	Shape       tinylm.Config // default tinylm.DefaultConfig

	BlockSize int // tokens in a cache block, default 16
	// KVBlocks is the number of cache blocks. When 0, the cache fills what
	// weights leave of MemoryShare (default 0.9) of MemoryBytes, the device's
	// memory; when that is 0 too, 256 blocks. The memory is really allocated.
	KVBlocks    int
	MemoryBytes int64
	MemoryShare float64

	MaxModelLen          int // tokens of prompt and output, default Shape.MaxPositions
	MaxNumSeqs           int // sequences in a step, default 16
	MaxNumBatchedTokens  int // tokens in a step, default 64
	MaxNumQueuedReqs     int // 0: no limit
	MaxNumQueuedTokens   int // 0: no limit
	DisablePrefixCaching bool

	EOSRate      float64       // chance that a sampled answer ends at a token, default 1/64
	MaxBodyBytes int64         // request body, default 1 MiB
	DrainTimeout time.Duration // time for requests in flight at the end, default 5 s
	Log          *slog.Logger  // default slog.Default
}

// maxChoices bounds n times the number of prompts of one request.
const maxChoices = 8

func (c Config) withDefaults() Config {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Model == "" {
		c.Model = "tiny-chat"
	}
	if c.Shape == (tinylm.Config{}) {
		c.Shape = tinylm.DefaultConfig()
	}
	set(&c.BlockSize, 16)
	set(&c.MaxModelLen, c.Shape.MaxPositions)
	set(&c.MaxNumSeqs, 16)
	set(&c.MaxNumBatchedTokens, 64)
	if c.MemoryShare == 0 {
		c.MemoryShare = .9
	}
	if c.EOSRate == 0 {
		c.EOSRate = 1. / 64
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = 1 << 20
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 5 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Server is one engine with its HTTP API.
type Server struct {
	cfg      Config
	started  time.Time
	blocks   int
	engine   *engine.Engine
	stats    *vllmstats.Metrics
	listener net.Listener
	http     *http.Server
	release  []func()
	inFlight atomic.Int64
}

// New draws the weights, takes the device's memory and opens the port, so that
// HTTPAddr is known; requests are served by Run. Errors carry the codes
// chat_no_accelerator, chat_model_shape, chat_engine_config,
// chat_cache_too_small, chat_out_of_memory, port_in_use and listen_failed.
func New(c Config) (_ *Server, err error) {
	c = c.withDefaults()
	if c.Accelerator == nil {
		return nil, &model.Problem{Code: "chat_no_accelerator", Text: "chat engine has no accelerator", Hint: "give it one"}
	}
	if c.MaxModelLen > c.Shape.MaxPositions {
		return nil, &model.Problem{
			Code: "chat_engine_config",
			Text: fmt.Sprintf("context length is %d, the model has %d positions", c.MaxModelLen, c.Shape.MaxPositions),
			Hint: "shorten the one or raise the other",
		}
	}
	lm, err := tinylm.New(c.Shape)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: c, started: time.Now()}
	defer func() {
		if err != nil {
			s.free()
		}
	}()
	share := 0.
	if c.KVBlocks == 0 {
		c.KVBlocks = 256
		if c.MemoryBytes > 0 {
			share = c.MemoryShare
			c.KVBlocks = int((int64(share*float64(c.MemoryBytes)) - lm.WeightBytes()) / lm.BlockBytes(c.BlockSize))
		}
	}
	s.blocks = c.KVBlocks
	ec := engine.Config{
		Blocks: c.KVBlocks, BlockSize: c.BlockSize, MaxSeqs: c.MaxNumSeqs, MaxStepTokens: c.MaxNumBatchedTokens,
		MaxModelLen: c.MaxModelLen, PrefixCaching: !c.DisablePrefixCaching,
		MaxQueued: c.MaxNumQueuedReqs, MaxQueuedTokens: c.MaxNumQueuedTokens,
	}
	if err := ec.Validate(); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		what  string
		bytes int64
	}{{"weights", lm.WeightBytes()}, {"key/value cache", int64(c.KVBlocks) * lm.BlockBytes(c.BlockSize)}} {
		release, err := c.Accelerator.Alloc(part.bytes)
		if err != nil {
			return nil, &model.Problem{
				Code: "chat_out_of_memory", Text: fmt.Sprintf("chat engine cannot place its %s of %d bytes", part.what, part.bytes),
				Hint: "give the device more memory or the engine fewer cache blocks", Err: err,
			}
		}
		s.release = append(s.release, release)
	}
	s.stats = vllmstats.New(vllmstats.Config{Model: c.Model, BlockSize: c.BlockSize, Blocks: c.KVBlocks, PrefixCaching: !c.DisablePrefixCaching, MemoryShare: share})
	if s.engine, err = engine.New(ec, tinylm.NewRunner(lm, c.KVBlocks, c.BlockSize), c.Accelerator, s.stats); err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", c.Listen); err != nil {
		p := &model.Problem{Code: "listen_failed", Text: fmt.Sprintf("chat engine cannot listen on %s", c.Listen), Hint: "choose another address", Err: err}
		if errors.Is(err, syscall.EADDRINUSE) {
			p.Code, p.Hint = "port_in_use", "choose another port or stop the program that has it"
		}
		return nil, p
	}
	s.http = &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) free() {
	for _, f := range s.release {
		f()
	}
	s.release = nil
}

// HTTPAddr is the host:port that the server listens on.
func (s *Server) HTTPAddr() string { return s.listener.Addr().String() }

// Run serves until ctx ends. New requests are then refused, those in flight get
// the drain timeout to finish, and the rest is told that the engine stopped. It
// returns nil after such an end and is called once.
func (s *Server) Run(ctx context.Context) error {
	defer s.free()
	// The engine outlives ctx: it finishes what is in flight.
	engineCtx, stopEngine := context.WithCancel(context.WithoutCancel(ctx))
	engineDone := make(chan struct{})
	go func() { defer close(engineDone); s.engine.Run(engineCtx) }()
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	s.cfg.Log.Info("chat engine serves", "addr", s.HTTPAddr(), "model", s.cfg.Model)

	var failed error
	select {
	case <-ctx.Done():
	case failed = <-served:
		served <- failed
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout)
	err := s.http.Shutdown(drain)
	cancel()
	stopEngine()
	<-engineDone
	if err != nil {
		// Whoever is left has been told by the engine; a second to say so.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		if err := s.http.Shutdown(last); err != nil {
			s.cfg.Log.Warn("chat engine closes connections that did not end", "error", err)
			_ = s.http.Close()
		}
		cancel()
	}
	<-served
	if failed != nil && !errors.Is(failed, http.ErrServerClosed) {
		return &model.Problem{Code: "listen_failed", Text: "chat engine stopped serving on " + s.HTTPAddr(), Hint: "restart it", Err: failed}
	}
	return nil
}

// SetKVBlocks makes n cache blocks usable, at least 1 and at most the configured
// number; live sequences that no longer fit are preempted. It injects
// exhaustion of the cache at run time.
func (s *Server) SetKVBlocks(n int) error { return s.engine.SetBlocks(context.Background(), n) }

// SetMaxNumSeqs changes how many sequences are computed together, at least 1.
func (s *Server) SetMaxNumSeqs(n int) error { return s.engine.SetMaxSeqs(context.Background(), n) }

// KVBlocks is the number of cache blocks that the server was started with.
func (s *Server) KVBlocks() int { return s.blocks }
