package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sightline/internal/demo/chat/tinylm"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// clockwork is a model whose step takes fixed fake time and whose next token
// depends on the sequence alone. It checks what it is given.
type clockwork struct {
	t      *testing.T
	base   time.Duration // per step
	each   time.Duration // per token
	block  int
	steps  [][]int // tokens per span, per step
	panics int     // step that panics, counted from 1
	maxTok int
}

func (c *clockwork) Forward(spans []tinylm.Span) {
	d := c.base
	var sizes []int
	owner := map[int32]int{}
	total := 0
	for i, s := range spans {
		d += c.each * time.Duration(len(s.Tokens))
		sizes = append(sizes, len(s.Tokens))
		total += len(s.Tokens)
		if len(s.Tokens) == 0 || len(s.Blocks)*c.block < s.Start+len(s.Tokens) {
			c.t.Errorf("span %d of %d tokens from %d has %d blocks", i, len(s.Tokens), s.Start, len(s.Blocks))
		}
		// A block that is written in this step has one owner.
		for p := s.Start / c.block; p*c.block < s.Start+len(s.Tokens); p++ {
			if o, ok := owner[s.Blocks[p]]; ok {
				c.t.Errorf("spans %d and %d write block %d", o, i, s.Blocks[p])
			}
			owner[s.Blocks[p]] = i
		}
		if s.Logits != nil {
			for k := range s.Logits {
				s.Logits[k] = 0
			}
			s.Logits[300+(int(s.Tokens[len(s.Tokens)-1])*7+s.Start+len(s.Tokens))%100] = 1
		}
	}
	if total > c.maxTok {
		c.t.Errorf("a step of %d tokens, the limit is %d", total, c.maxTok)
	}
	c.steps = append(c.steps, sizes)
	if len(c.steps) == c.panics {
		panic("injected")
	}
	time.Sleep(d)
}

type direct struct{ runs int }

func (d *direct) Run(f func()) { d.runs++; f() }

// tape records what an observer hears.
type tape struct {
	mu       sync.Mutex
	load     Load
	peak     Load
	steps    []Step
	finished []Finished
}

func (p *tape) Load(l Load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load = l
	p.peak.Running, p.peak.Waiting = max(p.peak.Running, l.Running), max(p.peak.Waiting, l.Waiting)
	p.peak.CacheUsed = max(p.peak.CacheUsed, l.CacheUsed)
}
func (p *tape) Step(s Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, s)
}
func (p *tape) Finished(f Finished) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = append(p.finished, f)
}
func (p *tape) sum(f func(Step) int) int {
	n := 0
	for _, s := range p.steps {
		n += f(s)
	}
	return n
}

func cfg() Config {
	return Config{Blocks: 64, BlockSize: 4, MaxSeqs: 8, MaxStepTokens: 32, MaxModelLen: 128, PrefixCaching: true}
}

type bench struct {
	*testing.T
	e     *Engine
	m     *clockwork
	accel *direct
	obs   *tape
	ctx   context.Context
	stop  context.CancelFunc
}

// run gives f an engine on a fake clock and stops it afterwards. Every block
// must be free again at the end.
func run(t *testing.T, c Config, f func(b *bench)) {
	t.Helper()
	runWith(t, c, nil, f)
}

func runWith(t *testing.T, c Config, m Model, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, accel: &direct{}, obs: &tape{}, ctx: t.Context()}
		b.m = &clockwork{t: t, base: 10 * time.Millisecond, block: c.BlockSize, maxTok: c.MaxStepTokens}
		if m == nil {
			m = b.m
		}
		var err error
		if b.e, err = New(c, m, b.accel, b.obs); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b.stop = cancel
		go b.e.Run(ctx)
		f(b)
		cancel()
		<-b.e.done
		if b.e.pool.Live() != 0 || b.obs.load.Running+b.obs.load.Waiting != 0 {
			t.Errorf("after the end %d blocks are live, load is %+v", b.e.pool.Live(), b.obs.load)
		}
	})
}

func req(n int, seed int32, maxTokens int) Request {
	r := Request{MaxTokens: maxTokens, Arrival: time.Now(), Sampling: tinylm.Sampling{TopP: 1}}
	for i := range n {
		r.Prompt = append(r.Prompt, 20+(seed*31+int32(i)*int32(i))%200)
	}
	return r
}

func (b *bench) submit(reqs ...Request) []*Stream {
	b.Helper()
	s, err := b.e.Submit(b.ctx, reqs...)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// read collects an answer and waits until the engine rests.
func (b *bench) read(s *Stream) (string, Result) {
	text := ""
	for ev := range s.Events {
		text += ev.Text
		if ev.Final != nil {
			synctest.Wait() // the observer has heard of it
			return text, *ev.Final
		}
	}
	b.Fatal("the stream closed without an end")
	return "", Result{}
}
