package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sightline/internal/demo/chat/tinylm"
)

func tiny(t *testing.T) *tinylm.Model {
	t.Helper()
	m, err := tinylm.New(tinylm.Config{Layers: 2, Width: 32, Heads: 4, Hidden: 48, MaxPositions: 128, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// answers lets a real model answer the same requests under one configuration.
func answers(t *testing.T, c Config, m *tinylm.Model, temperature float64, together bool) (out []string, preempted int) {
	t.Helper()
	runWith(t, c, tinylm.NewRunner(m, c.Blocks, c.BlockSize), func(b *bench) {
		var reqs []Request
		shared := req(12, 99, 0).Prompt
		for i := range int32(5) {
			r := req(3+int(i)*5, i, 30)
			r.Prompt = append(append([]int32{}, shared...), r.Prompt...)
			r.Sampling = tinylm.Sampling{Temperature: temperature, TopP: .9, Seed: uint64(i)}
			reqs = append(reqs, r)
		}
		var ss []*Stream
		if together {
			ss = b.submit(reqs...)
		}
		for i, r := range reqs {
			if !together {
				ss = append(ss, b.submit(r)...)
			}
			text, res := b.read(ss[i])
			out = append(out, text)
			preempted += res.Timing.Preemptions
		}
	})
	return out, preempted
}

func TestAnswersDoNotDependOnScheduling(t *testing.T) {
	m := tiny(t)
	for _, temperature := range []float64{0, 1} {
		plain := cfg()
		plain.PrefixCaching = false
		want, _ := answers(t, plain, m, temperature, false)
		for name, f := range map[string]func(*Config){
			"batched":        func(*Config) {},
			"small chunks":   func(c *Config) { c.MaxStepTokens = 5 },
			"no cache":       func(c *Config) { c.PrefixCaching = false },
			"preempted":      func(c *Config) { c.Blocks, c.MaxModelLen = 20, 80 },
			"preempted, raw": func(c *Config) { c.Blocks, c.MaxModelLen, c.PrefixCaching = 20, 80, false },
		} {
			c := cfg()
			f(&c)
			got, n := answers(t, c, m, temperature, true)
			if c.Blocks == 20 && n == 0 {
				t.Errorf("%s: nothing was preempted, the test shows nothing", name)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s, temperature %g, request %d:\n%q, want\n%q", name, temperature, i, got[i], want[i])
				}
			}
		}
	}
}

func TestRandomTraffic(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			c := cfg()
			c.Blocks, c.MaxModelLen, c.MaxSeqs, c.MaxStepTokens = 12+r.IntN(30), 48, 1+r.IntN(6), 4+r.IntN(30)
			run(t, c, func(b *bench) {
				var ss []*Stream
				for i := range 60 {
					switch r.IntN(8) {
					case 0:
						if len(ss) > 0 {
							ss[r.IntN(len(ss))].Abort()
						}
					case 1:
						if err := b.e.SetBlocks(b.ctx, 12+r.IntN(c.Blocks-11)); err != nil {
							t.Fatal(err)
						}
					default:
						ss = append(ss, b.submit(req(1+r.IntN(20), int32(i%7), 1+r.IntN(20)))...)
					}
				}
				reasons := map[Reason]int{}
				for _, s := range ss {
					_, res := b.read(s)
					reasons[res.Reason]++
					if res.Reason == Error {
						t.Errorf("%v", res.Err)
					}
				}
				if len(b.obs.finished) != len(ss) {
					t.Errorf("%d requests, %d finished (%v)", len(ss), len(b.obs.finished), reasons)
				}
			})
		})
	}
}
