package tinylm

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
)

const testBlock = 4

func small(t testing.TB) *Model {
	t.Helper()
	m, err := New(Config{Layers: 2, Width: 32, Heads: 4, Hidden: 48, MaxPositions: 64, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// table gives a sequence its own shuffled blocks so that tests would notice a
// cache that assumes neighbours.
func table(seed uint64, blocks, need int) []int32 {
	p := rand.New(rand.NewPCG(seed, 1)).Perm(blocks)
	out := make([]int32, need)
	for i := range out {
		out[i] = int32(p[i])
	}
	return out
}

func prompt(seed uint64, n int) []int32 {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(VocabSize))
	}
	return out
}

func whole(m *Model, tokens []int32) []float32 {
	r := NewRunner(m, 16, testBlock)
	l := make([]float32, VocabSize)
	r.Forward([]Span{{Tokens: tokens, Blocks: table(3, 16, 16), Logits: l}})
	return l
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4) {
			t.Fatalf("%s: logit %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// reference computes the same network the textbook way, in 64-bit floats, with
// no cache, no blocks and no tiles.
func reference(m *Model, tokens []int32) []float64 {
	c := m.cfg
	mul := func(x []float64, w []float32, outs int) []float64 {
		y := make([]float64, outs)
		for j := range y {
			for i, v := range x {
				y[j] += v * float64(w[j*len(x)+i])
			}
		}
		return y
	}
	norm := func(x []float64) []float64 {
		var s float64
		for _, v := range x {
			s += v * v
		}
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = v / math.Sqrt(s/float64(len(x))+1e-5)
		}
		return y
	}
	size := c.Width / c.Heads
	turn := func(x []float64, pos int) {
		for h := range c.Heads {
			for i := range size / 2 {
				a := float64(pos) * math.Pow(10000, -2*float64(i)/float64(size))
				p, q := h*size+i, h*size+i+size/2
				x[p], x[q] = x[p]*math.Cos(a)-x[q]*math.Sin(a), x[p]*math.Sin(a)+x[q]*math.Cos(a)
			}
		}
	}
	xs := make([][]float64, len(tokens))
	for t, tok := range tokens {
		xs[t] = make([]float64, c.Width)
		for i := range xs[t] {
			xs[t][i] = float64(m.embed[int(tok)*c.Width+i])
		}
	}
	for _, ly := range m.layers {
		var q, k, v [][]float64
		for t, x := range xs {
			n := norm(x)
			q, k, v = append(q, mul(n, ly.wq, c.Width)), append(k, mul(n, ly.wk, c.Width)), append(v, mul(n, ly.wv, c.Width))
			turn(q[t], t)
			turn(k[t], t)
		}
		for t := range xs {
			att := make([]float64, c.Width)
			for h := range c.Heads {
				e := make([]float64, t+1)
				var sum float64
				for p := range e {
					var s float64
					for i := h * size; i < (h+1)*size; i++ {
						s += q[t][i] * k[p][i]
					}
					e[p] = math.Exp(s / math.Sqrt(float64(size)))
					sum += e[p]
				}
				for p := range e {
					for i := h * size; i < (h+1)*size; i++ {
						att[i] += e[p] / sum * v[p][i]
					}
				}
			}
			for i, o := range mul(att, ly.wo, c.Width) {
				xs[t][i] += o
			}
		}
		for t := range xs {
			n := norm(xs[t])
			g, u := mul(n, ly.gate, c.Hidden), mul(n, ly.up, c.Hidden)
			for i := range g {
				g[i] = g[i] / (1 + math.Exp(-g[i])) * u[i]
			}
			for i, o := range mul(g, ly.down, c.Width) {
				xs[t][i] += o
			}
		}
	}
	return mul(norm(xs[len(xs)-1]), m.head, VocabSize)
}

func TestForwardEqualsTextbook(t *testing.T) {
	m := small(t)
	tokens := prompt(1, 23)
	got, want := whole(m, tokens), reference(m, tokens)
	for i := range want {
		if math.Abs(float64(got[i])-want[i]) > 1e-4 {
			t.Fatalf("logit %d is %g, the textbook says %g", i, got[i], want[i])
		}
	}
}

func TestCachedDecodeEqualsFullRecompute(t *testing.T) {
	m := small(t)
	tokens := prompt(2, 30)
	r := NewRunner(m, 16, testBlock)
	tab := table(4, 16, 8)
	l := make([]float32, VocabSize)
	r.Forward([]Span{{Tokens: tokens[:10], Blocks: tab, Logits: l}})
	near(t, "prefill", l, whole(m, tokens[:10]))
	for n := 10; n < len(tokens); n++ {
		r.Forward([]Span{{Tokens: tokens[n : n+1], Start: n, Blocks: tab, Logits: l}})
		near(t, "decode", l, whole(m, tokens[:n+1]))
	}
}

func TestBatchedAndChunkedEqualSingle(t *testing.T) {
	m := small(t)
	r := NewRunner(m, 48, testBlock)
	a, b, c := prompt(5, 21), prompt(6, 33), prompt(7, 9)
	all := table(8, 48, 48)
	ta, tb, tc := all[:6], all[6:15], all[15:18]
	la, lb, lc := make([]float32, VocabSize), make([]float32, VocabSize), make([]float32, VocabSize)
	r.Forward([]Span{{Tokens: a[:7], Blocks: ta}, {Tokens: b[:1], Blocks: tb}})
	r.Forward([]Span{{Tokens: b[1:20], Start: 1, Blocks: tb}, {Tokens: c, Blocks: tc, Logits: lc}, {Tokens: a[7:20], Start: 7, Blocks: ta}})
	r.Forward([]Span{{Tokens: a[20:], Start: 20, Blocks: ta, Logits: la}, {Tokens: b[20:], Start: 20, Blocks: tb, Logits: lb}})
	for _, x := range []struct {
		name   string
		got    []float32
		tokens []int32
	}{{"a", la, a}, {"b", lb, b}, {"c", lc, c}} {
		want := whole(m, x.tokens)
		near(t, x.name, x.got, want)
		for i := range want {
			if x.got[i] != want[i] {
				t.Fatalf("%s: logit %d differs in the last bit; recomputed sequences may then choose other tokens", x.name, i)
			}
		}
	}
}

func TestSharedBlocksEqualOwnBlocks(t *testing.T) {
	m := small(t)
	r := NewRunner(m, 16, testBlock)
	head := prompt(9, 8) // two full blocks
	first := append(append([]int32{}, head...), prompt(10, 3)...)
	second := append(append([]int32{}, head...), prompt(11, 5)...)
	r.Forward([]Span{{Tokens: first, Blocks: []int32{5, 9, 2}}})
	l := make([]float32, VocabSize)
	r.Forward([]Span{{Tokens: second[8:], Start: 8, Blocks: []int32{5, 9, 3, 4}, Logits: l}})
	near(t, "second", l, whole(m, second))
}

func TestForwardRefusesSpansBeyondTheirBlocks(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a span longer than its block table was computed")
		}
	}()
	NewRunner(small(t), 4, testBlock).Forward([]Span{{Tokens: prompt(1, 9), Blocks: []int32{0, 1}}})
}

func TestSameSeedSameWeights(t *testing.T) {
	a, b := small(t), small(t)
	if a.head[5] != b.head[5] || a.layers[1].down[17] != b.layers[1].down[17] {
		t.Error("weights differ between two models of one seed")
	}
	c := a.cfg
	c.Seed++
	other, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if other.head[5] == a.head[5] {
		t.Error("another seed gives the same weights")
	}
	if a.WeightBytes() != 4*a.Weights() || a.BlockBytes(16) != 2*2*32*16*4 {
		t.Error("sizes are wrong")
	}
	var n int
	for _, ly := range a.layers {
		for _, w := range [][]float32{ly.attnNorm, ly.ffnNorm, ly.wq, ly.wk, ly.wv, ly.wo, ly.gate, ly.up, ly.down} {
			n += len(w)
		}
	}
	if n += len(a.embed) + len(a.norm) + len(a.head); int64(n) != a.Weights() {
		t.Errorf("%d weights exist, %d are reported", n, a.Weights())
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	good := Config{Layers: 1, Width: 8, Heads: 2, Hidden: 8, MaxPositions: 8}
	for name, f := range map[string]func(*Config){
		"layers":        func(c *Config) { c.Layers = 0 },
		"heads":         func(c *Config) { c.Heads = 0 },
		"width":         func(c *Config) { c.Width = 10 },
		"hidden":        func(c *Config) { c.Hidden = 7 },
		"max positions": func(c *Config) { c.MaxPositions = 1 },
	} {
		c := good
		f(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "model "+name+" is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVocabulary(t *testing.T) {
	if len(pieces) != int(VocabSize-firstPiece) || len(byPiece) != len(pieces) {
		t.Fatalf("%d pieces, %d distinct, want %d", len(pieces), len(byPiece), VocabSize-firstPiece)
	}
	for i := firstPiece; i < VocabSize; i++ {
		for _, r := range Piece(i) {
			if !unicode.IsPrint(r) && r != '\n' {
				t.Errorf("piece %d %q does not print", i, Piece(i))
			}
		}
	}
	for _, s := range []string{"", "the quick brown fox", "tell me about the mountain, please!", "größe 漢字 \x00\xff", strings.Repeat(" the", 9)} {
		if got := Decode(Encode(s)); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
	if n := len(Encode(" the time of the world")); n != 5 {
		t.Errorf("five words made %d tokens", n)
	}
	got := EncodeChat([]Message{{"system", " the"}, {"user", " world"}, {"tool", "!"}, {"assistant", ""}})
	want := []int32{roleSystem, byPiece[" the"], roleEnd, roleUser, byPiece[" world"], roleEnd, roleTool, byPiece["!"], roleEnd, roleAssistant, roleEnd, roleAssistant}
	if len(got) != len(want) {
		t.Fatalf("chat is %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("chat is %v, want %v", got, want)
		}
	}
	if Piece(EOS) != "" || Piece(-1) != "" || Piece(VocabSize) != "" {
		t.Error("control tokens have text")
	}
}

func TestSampler(t *testing.T) {
	logits := make([]float32, VocabSize)
	logits[300], logits[301], logits[302] = 9, 8.5, 8
	logits[EOS], logits[firstByte] = 50, 60 // never chosen by score
	if got := NewSampler(Sampling{Temperature: 0, TopP: 1}).Next(logits, true); got != 300 {
		t.Errorf("greedy chose %d", got)
	}
	draw := func(s Sampling) map[int32]int {
		n := map[int32]int{}
		sm := NewSampler(s)
		for range 4000 {
			n[sm.Next(logits, true)]++
		}
		return n
	}
	n := draw(Sampling{Temperature: 1, TopP: 1, TopK: 2, Seed: 1})
	ratio := float64(n[300]) / float64(n[301])
	if len(n) != 2 || math.Abs(ratio-math.Exp(.5)) > .2 {
		t.Errorf("top_k 2 chose %v, want only 300 and 301 in ratio %.2f", n, math.Exp(.5))
	}
	if n := draw(Sampling{Temperature: 1, TopP: .3, Seed: 2}); len(n) != 1 || n[300] != 4000 {
		t.Errorf("top_p .3 chose %v", n)
	}
	if n := draw(Sampling{Temperature: 1, TopP: 1, EOSRate: .25, Seed: 3}); n[EOS] < 900 || n[EOS] > 1100 {
		t.Errorf("the end came %d times of 4000 at rate .25", n[EOS])
	}
	a, b := draw(Sampling{Temperature: 2, TopP: 1, Seed: 4}), draw(Sampling{Temperature: 2, TopP: 1, Seed: 4})
	for k, v := range a {
		if b[k] != v {
			t.Fatalf("the same seed drew token %d %d and %d times", k, v, b[k])
		}
	}
	sm := NewSampler(Sampling{Temperature: 1, TopP: 1, EOSRate: 1, Seed: 5})
	if sm.Next(logits, false) == EOS || sm.Next(logits, true) != EOS {
		t.Error("the end ignores its permission")
	}
}

// The cost of a step is stated, not asserted: machines differ.
func TestStepCost(t *testing.T) {
	m, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := NewRunner(m, 64, 16)
	cost := func(spans []Span) time.Duration {
		r.Forward(spans)
		start := time.Now()
		r.Forward(spans)
		return time.Since(start)
	}
	var six []Span
	for i := range 6 {
		six = append(six, Span{Tokens: prompt(1, 1), Start: 100, Blocks: table(uint64(i), 64, 8), Logits: make([]float32, VocabSize)})
	}
	t.Logf("decode of six sequences at position 100: %v; prefill of 128 tokens: %v; weights %d", cost(six), cost([]Span{{Tokens: prompt(1, 128), Blocks: table(1, 64, 8)}}), m.Weights())
}

func BenchmarkDecodeSix(b *testing.B) {
	m, err := New(DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	r := NewRunner(m, 64, 16)
	var six []Span
	for i := range 6 {
		six = append(six, Span{Tokens: prompt(1, 1), Start: 100, Blocks: table(uint64(i), 64, 8), Logits: make([]float32, VocabSize)})
	}
	for b.Loop() {
		r.Forward(six)
	}
}

func FuzzEncodeRoundTrip(f *testing.F) {
	f.Add("the world's end\n")
	f.Add("\xf0\x9f\x98\x80 ing")
	f.Fuzz(func(t *testing.T, s string) {
		if Decode(Encode(s)) != s {
			t.Errorf("%q does not come back", s)
		}
	})
}
