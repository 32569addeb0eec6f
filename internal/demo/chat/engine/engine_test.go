package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sightline/internal/demo/chat/tinylm"
)

const ms = time.Millisecond

func TestOneRequestOnTheClock(t *testing.T) {
	run(t, cfg(), func(b *bench) {
		r := req(10, 1, 3)
		r.Arrival = time.Now().Add(-5 * ms) // reading and tokenising
		text, res := b.read(b.submit(r)[0])
		if res.Reason != Length || res.Tokens != 3 || text == "" {
			t.Errorf("%+v, text %q", res, text)
		}
		synctest.Wait()
		f := b.obs.finished[0]
		if f.E2E != 35*ms || f.Queue != 0 || f.Prefill != 10*ms || f.Decode != 20*ms || f.Inference != 30*ms || f.TimePerOutput != 10*ms {
			t.Errorf("phases: %+v", f)
		}
		if tm := res.Timing; tm.Queue != 0 || tm.Prefill != 10*ms || tm.Decode != 20*ms || tm.Steps != 3 || tm.BatchSum != 3 {
			t.Errorf("timing: %+v", tm)
		}
		if len(b.obs.steps) != 3 || b.obs.steps[0].FirstToken[0] != 15*ms || b.obs.steps[2].BetweenTokens[0] != 10*ms {
			t.Errorf("steps: %+v", b.obs.steps)
		}
		if b.accel.runs != 3 {
			t.Errorf("%d steps on the accelerator, want 3", b.accel.runs)
		}
	})
}

func TestLongPromptIsCutAndNeighboursGoOn(t *testing.T) {
	c := cfg()
	c.MaxStepTokens = 8
	run(t, c, func(b *bench) {
		a := b.submit(req(4, 1, 20))[0]
		<-a.Events // a decodes
		z := b.submit(req(30, 2, 1))[0]
		_, res := b.read(z)
		// 7 tokens a step next to a's one: 7 7 7 7 2.
		if res.Timing.Prefill != 50*ms {
			t.Errorf("30 tokens took %v in steps of 7", res.Timing.Prefill)
		}
		_, ra := b.read(a)
		if ra.Timing.Decode != 190*ms || ra.Timing.Stalled != 0 {
			t.Errorf("the neighbour's decode: %+v", ra.Timing)
		}
		if got := b.m.steps[2]; len(got) != 2 || got[0] != 1 || got[1] != 7 {
			t.Errorf("third step computes %v, want 1 and 7", got)
		}
		if n := b.obs.sum(func(s Step) int { return s.PromptTokens }); n != 34 {
			t.Errorf("%d prompt tokens counted, want 34", n)
		}
	})
}

func TestQueueTimeIsTheOthersTime(t *testing.T) {
	c := cfg()
	c.MaxSeqs = 1
	run(t, c, func(b *bench) {
		s := b.submit(req(4, 1, 5), req(4, 2, 2))
		_, r0 := b.read(s[0])
		_, r1 := b.read(s[1])
		if r0.Timing.Queue != 0 || r1.Timing.Queue != 50*ms || r1.Timing.Prefill != 10*ms || r1.Timing.Decode != 10*ms {
			t.Errorf("first %+v, second %+v", r0.Timing, r1.Timing)
		}
		synctest.Wait()
		if f := b.obs.finished[1]; f.Queue != 50*ms || f.E2E != 70*ms {
			t.Errorf("metrics say %+v", f)
		}
		if b.obs.peak.Waiting != 1 || b.obs.peak.Running != 1 {
			t.Errorf("peak load %+v", b.obs.peak)
		}
		// With room for both the queue vanishes and nothing else moves.
		if err := b.e.SetMaxSeqs(b.ctx, 2); err != nil {
			t.Fatal(err)
		}
		s = b.submit(req(4, 3, 5), req(4, 4, 2))
		_, r0 = b.read(s[0])
		_, r1 = b.read(s[1])
		if r1.Timing.Queue != 0 || r1.Timing.Decode != 10*ms || r1.Timing.BatchSum != 4 || r0.Timing.Decode != 40*ms {
			t.Errorf("first %+v, second %+v", r0.Timing, r1.Timing)
		}
	})
}

func TestPrefixCacheCountsTokens(t *testing.T) {
	run(t, cfg(), func(b *bench) {
		b.read(b.submit(req(10, 1, 1))[0])
		_, res := b.read(b.submit(req(10, 1, 1))[0])
		if res.Cached != 8 {
			t.Errorf("%d of 10 tokens were cached, want two blocks of 4", res.Cached)
		}
		// A prompt of full blocks only still computes its last block.
		b.read(b.submit(req(8, 5, 1))[0])
		_, res = b.read(b.submit(req(8, 5, 1))[0])
		if res.Cached != 4 {
			t.Errorf("%d of 8 tokens were cached, want 4", res.Cached)
		}
		synctest.Wait()
		q, h := b.obs.sum(func(s Step) int { return s.Queries }), b.obs.sum(func(s Step) int { return s.Hits })
		pc, cc := b.obs.sum(func(s Step) int { return s.Cached }), b.obs.sum(func(s Step) int { return s.Computed })
		if q != 36 || h != 12 || pc != 12 || cc != 24 {
			t.Errorf("queries %d hits %d cached %d computed %d, want 36 12 12 24", q, h, pc, cc)
		}
	})
	c := cfg()
	c.PrefixCaching = false
	run(t, c, func(b *bench) {
		b.read(b.submit(req(10, 1, 1))[0])
		_, res := b.read(b.submit(req(10, 1, 1))[0])
		synctest.Wait()
		if res.Cached != 0 || b.obs.sum(func(s Step) int { return s.Queries }) != 0 {
			t.Error("the prefix cache works although it is off")
		}
	})
}

func TestPreemptionTakesTheYoungestAndLosesNothing(t *testing.T) {
	alone := map[int32]string{}
	for seed := range int32(3) {
		run(t, cfg(), func(b *bench) {
			alone[seed], _ = b.read(b.submit(req(8, seed, 24))[0])
		})
	}
	c := cfg()
	c.MaxModelLen, c.Blocks = 32, 16 // three times 8 blocks do not fit 16
	run(t, c, func(b *bench) {
		var ss []*Stream
		for seed := range int32(3) {
			ss = append(ss, b.submit(req(8, seed, 24))[0])
		}
		var rs []Result
		for seed, s := range ss {
			text, r := b.read(s)
			if text != alone[int32(seed)] {
				t.Errorf("sequence %d says\n%q, alone it said\n%q", seed, text, alone[int32(seed)])
			}
			rs = append(rs, r)
		}
		if rs[0].Timing.Preemptions != 0 || rs[2].Timing.Preemptions == 0 {
			t.Errorf("preemptions %d %d %d: the youngest must yield", rs[0].Timing.Preemptions, rs[1].Timing.Preemptions, rs[2].Timing.Preemptions)
		}
		n := 0
		for _, r := range rs {
			n += r.Timing.Preemptions
		}
		synctest.Wait()
		if got := b.obs.sum(func(s Step) int { return s.Preempted }); got != n {
			t.Errorf("observer heard of %d preemptions, sequences of %d", got, n)
		}
		if q := b.obs.sum(func(s Step) int { return s.Queries }); q != 24 {
			t.Errorf("%d cache queries, want 24: resumed sequences do not count", q)
		}
		if b.obs.peak.CacheUsed != 1 {
			t.Errorf("cache use peaked at %g, want 1", b.obs.peak.CacheUsed)
		}
		tm := rs[2].Timing
		if tm.Queue == 0 || tm.Queue+tm.Prefill+tm.Decode+tm.Stalled != b.obs.finished[2].E2E {
			t.Errorf("%+v does not add up to %v", tm, b.obs.finished[2].E2E)
		}
	})
}

func TestFewerBlocksAtRunTime(t *testing.T) {
	run(t, cfg(), func(b *bench) {
		s := b.submit(req(8, 1, 40), req(8, 2, 40))
		<-s[0].Events
		if err := b.e.SetBlocks(b.ctx, 13); err != nil { // one sequence fits, two do not
			t.Fatal(err)
		}
		_, r0 := b.read(s[0])
		_, r1 := b.read(s[1])
		if r0.Reason != Length || r1.Reason != Length || r1.Timing.Preemptions == 0 {
			t.Errorf("%+v\n%+v", r0, r1)
		}
		// Too small for any: an error, not a loop.
		z := b.submit(req(8, 3, 40))[0]
		<-z.Events
		if err := b.e.SetBlocks(b.ctx, 4); err != nil {
			t.Fatal(err)
		}
		_, rz := b.read(z)
		if rz.Reason != Error || !errors.Is(rz.Err, ErrCacheTooSmall) {
			t.Errorf("%+v", rz)
		}
		_, ry := b.read(b.submit(req(20, 4, 4))[0])
		if ry.Reason != Error || !strings.Contains(ry.Err.Error(), "needs 5 blocks of 4 tokens, 4 are usable") {
			t.Errorf("%+v", ry)
		}
		if err := b.e.SetBlocks(b.ctx, 64); err != nil {
			t.Fatal(err)
		}
		if _, r := b.read(b.submit(req(20, 4, 4))[0]); r.Reason != Length {
			t.Errorf("after recovery: %+v", r)
		}
	})
}

func TestAdmission(t *testing.T) {
	c := cfg()
	c.MaxSeqs, c.MaxQueued, c.MaxQueuedTokens = 1, 2, 20
	run(t, c, func(b *bench) {
		first := b.submit(req(4, 1, 8))[0]
		<-first.Events // it runs; the queue is empty
		b.submit(req(4, 2, 1))
		if _, err := b.e.Submit(b.ctx, req(4, 3, 1), req(4, 4, 1)); !errors.Is(err, ErrQueueFull) {
			t.Errorf("two more than fit: %v", err)
		}
		if _, err := b.e.Submit(b.ctx, req(17, 3, 1)); !errors.Is(err, ErrQueuedTokens) {
			t.Errorf("21 waiting tokens: %v", err)
		}
		last := b.submit(req(4, 5, 1))[0]
		if _, r := b.read(last); r.Reason != Length {
			t.Errorf("%+v", r)
		}
	})
	run(t, cfg(), func(b *bench) {
		for _, r := range []Request{req(0, 1, 1), req(4, 1, 0), req(100, 1, 29)} {
			if _, err := b.e.Submit(b.ctx, r); err == nil || !strings.Contains(err.Error(), "at most 128 together") {
				t.Errorf("%d prompt and %d output tokens: %v", len(r.Prompt), r.MaxTokens, err)
			}
		}
	})
}

func TestAbortInQueueAndInBatch(t *testing.T) {
	c := cfg()
	c.MaxSeqs = 1
	run(t, c, func(b *bench) {
		s := b.submit(req(4, 1, 50), req(4, 2, 5))
		<-s[0].Events
		s[1].Abort()
		s[0].Abort()
		s[0].Abort() // again: nothing happens
		_, r0 := b.read(s[0])
		_, r1 := b.read(s[1])
		synctest.Wait()
		if r0.Reason != Abort || r1.Reason != Abort || r1.Tokens != 0 || len(b.obs.finished) != 2 {
			t.Errorf("%+v\n%+v\n%d finished", r0, r1, len(b.obs.finished))
		}
		f := b.obs.finished[0] // the queued one ended first
		if f.Scheduled || f.FirstToken || f.Queue == 0 || f.E2E != f.Queue {
			t.Errorf("queued and aborted: %+v", f)
		}
		if f = b.obs.finished[1]; !f.Scheduled || !f.FirstToken || f.Prefill != 10*ms {
			t.Errorf("running and aborted: %+v", f)
		}
	})
}

func TestDeadEngine(t *testing.T) {
	run(t, cfg(), func(b *bench) {
		b.m.panics = 2
		s := b.submit(req(4, 1, 9), req(4, 2, 9))
		for _, x := range s {
			if _, r := b.read(x); r.Reason != Error || !errors.Is(r.Err, ErrDead) || r.Tokens != 1 {
				t.Errorf("%+v", r)
			}
		}
		if _, err := b.e.Submit(b.ctx, req(4, 1, 1)); !errors.Is(err, ErrDead) {
			t.Errorf("a dead engine takes requests: %v", err)
		}
		if err := b.e.Alive(b.ctx); !errors.Is(err, ErrDead) || !strings.Contains(err.Error(), "injected") {
			t.Errorf("alive: %v", err)
		}
	})
}

func TestStopEndsEverything(t *testing.T) {
	run(t, cfg(), func(b *bench) {
		if err := b.e.Alive(b.ctx); err != nil {
			t.Error(err)
		}
		s := b.submit(req(4, 1, 90))[0]
		<-s.Events
		b.stop()
		if _, r := b.read(s); r.Reason != Abort || !errors.Is(r.Err, ErrStopped) {
			t.Errorf("%+v", r)
		}
		s.Abort()
		if _, err := b.e.Submit(b.ctx, req(4, 1, 1)); !errors.Is(err, ErrStopped) {
			t.Errorf("a stopped engine takes requests: %v", err)
		}
		if err := b.e.SetBlocks(b.ctx, 3); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	})
}

func TestEndTokenAndItsExceptions(t *testing.T) {
	run(t, cfg(), func(b *bench) {
		r := req(4, 1, 9)
		r.Sampling = tinylm.Sampling{Temperature: 1, TopP: 1, EOSRate: 1}
		if text, res := b.read(b.submit(r)[0]); res.Reason != Stop || res.Tokens != 1 || text != "" {
			t.Errorf("%+v %q", res, text)
		}
		r.MinTokens = 4
		if _, res := b.read(b.submit(r)[0]); res.Reason != Stop || res.Tokens != 5 {
			t.Errorf("min_tokens 4: %+v", res)
		}
		r.IgnoreEOS = true
		if _, res := b.read(b.submit(r)[0]); res.Reason != Length || res.Tokens != 9 {
			t.Errorf("ignore_eos: %+v", res)
		}
	})
}

func TestStopTexts(t *testing.T) {
	whole := ""
	run(t, cfg(), func(b *bench) { whole, _ = b.read(b.submit(req(4, 1, 12))[0]) })
	words := strings.Fields(whole)
	run(t, cfg(), func(b *bench) {
		r := req(4, 1, 12)
		r.Stop = []string{"nowhere to be found", words[3] + " " + words[4]}
		text, res := b.read(b.submit(r)[0])
		want := whole[:strings.Index(whole, r.Stop[1])]
		if res.Reason != Stop || res.StopText != r.Stop[1] || text != want {
			t.Errorf("%+v\n%q, want\n%q", res, text, want)
		}
		r.Stop = []string{"never said"}
		if text, res = b.read(b.submit(r)[0]); text != whole || res.Reason != Length {
			t.Errorf("an unmatched stop changed the text: %q", text)
		}
	})
}

func TestHoldback(t *testing.T) {
	h := newHoldback([]string{"END", "D!"})
	out := ""
	for _, p := range []string{"a", "E", "N", "x", "EN", "D!"} {
		send, stop := h.add(p, true)
		out += send
		if strings.Contains(out, "EN") && stop == "" && !strings.Contains(out, "ENx") {
			t.Errorf("sent %q with a stop under way", out)
		}
		if p == "D!" && stop != "END" {
			t.Errorf("stopped at %q, want the earliest", stop)
		}
	}
	if out != "aENx" || h.rest() != "" {
		t.Errorf("sent %q", out)
	}
	h = newHoldback([]string{"END"})
	if send, stop := h.add("END", false); send != "END" || stop != "" {
		t.Error("a stop text counts before it is armed")
	}
	if send, _ := h.add("xEN", true); send+h.rest() != "xEN" {
		t.Error("text was lost")
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	for want, f := range map[string]func(*Config){
		"cache blocks is 0":       func(c *Config) { c.Blocks = 0 },
		"sequences per step is 0": func(c *Config) { c.MaxSeqs = 0 },
		"needs 32 cache blocks":   func(c *Config) { c.Blocks = 31 },
		"queued requests is -1":   func(c *Config) { c.MaxQueued = -1 },
	} {
		c := cfg()
		f(&c)
		if _, err := New(c, nil, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestSubmitHonoursItsContext(t *testing.T) {
	e, err := New(cfg(), nil, nil, &tape{}) // nobody runs it
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Submit(ctx, req(4, 1, 1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
