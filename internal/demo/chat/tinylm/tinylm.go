// Package tinylm is a small but complete decoder-only transformer in plain Go:
// RMSNorm, rotary positions, multi-head attention over a paged key/value cache
// and SwiGLU, in 32-bit floats. Its weights come from a seed, so what it says is
// babble; what it costs is real. Every row of a batch is computed with the same
// order of additions as if it were alone, so a result never depends on how a
// scheduler cut or mixed the work.
package tinylm

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sightline/internal/model"
)

// Config is the shape of a model.
type Config struct {
	Layers int // decoder blocks
	Width  int // size of the residual stream; a multiple of Heads and of 4
	Heads  int // attention heads; Width/Heads must be even for rotary positions
	Hidden int // inner size of the feed-forward part; a multiple of 4
	// MaxPositions bounds a sequence, prompt and output together, in tokens.
	MaxPositions int
	Seed         uint64 // the same seed gives the same weights on every machine
}

// DefaultConfig is the demo's model: 1.9 million weights that are multiplied for
// every token, about a millisecond on one ordinary core.
func DefaultConfig() Config {
	return Config{Layers: 4, Width: 192, Heads: 4, Hidden: 512, MaxPositions: 1024, Seed: 20}
}

// Validate names the first field that cannot work.
func (c Config) Validate() error {
	bad := func(field string, value int, want string) error {
		return &model.Problem{Code: "chat_model_shape", Text: fmt.Sprintf("model %s is %d", field, value), Hint: "set it to " + want}
	}
	switch {
	case c.Layers < 1:
		return bad("layers", c.Layers, "at least 1")
	case c.Heads < 1:
		return bad("heads", c.Heads, "at least 1")
	case c.Width < 4 || c.Width%c.Heads != 0 || c.Width%4 != 0 || c.Width/c.Heads%2 != 0:
		return bad("width", c.Width, "a multiple of 4 that gives every head an even share")
	case c.Hidden < 4 || c.Hidden%4 != 0:
		return bad("hidden", c.Hidden, "a multiple of 4")
	case c.MaxPositions < 2:
		return bad("max positions", c.MaxPositions, "at least 2")
	}
	return nil
}

type layer struct {
	attnNorm, ffnNorm []float32 // [Width]
	wq, wk, wv, wo    []float32 // [Width][Width], one row per output
	gate, up          []float32 // [Hidden][Width]
	down              []float32 // [Width][Hidden]
}

// Model holds the weights. It is read-only after New and may be shared.
type Model struct {
	cfg    Config
	embed  []float32 // [VocabSize][Width]
	layers []layer
	norm   []float32 // [Width]
	head   []float32 // [VocabSize][Width]
	// rope holds cosine and sine for each position and pair of channels:
	// [MaxPositions][Width/Heads/2][2].
	rope []float32
}

// New draws the weights from the seed: normal values scaled by the square root
// of the fan-in, so that activations keep their size from layer to layer.
func New(c Config) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0x7f4a7c15))
	draw := func(rows, cols int, gain float64) []float32 {
		w := make([]float32, rows*cols)
		s := gain / math.Sqrt(float64(cols))
		for i := range w {
			w[i] = float32(rng.NormFloat64() * s)
		}
		return w
	}
	ones := func() []float32 {
		w := make([]float32, c.Width)
		for i := range w {
			w[i] = 1
		}
		return w
	}
	m := &Model{cfg: c, embed: draw(VocabSize, c.Width, math.Sqrt(float64(c.Width))), norm: ones()}
	residual := 1 / math.Sqrt(2*float64(c.Layers)) // as GPT-2: the sum of all branches keeps unit size
	for range c.Layers {
		m.layers = append(m.layers, layer{
			attnNorm: ones(), ffnNorm: ones(),
			wq: draw(c.Width, c.Width, 1), wk: draw(c.Width, c.Width, 1), wv: draw(c.Width, c.Width, 1),
			wo:   draw(c.Width, c.Width, residual),
			gate: draw(c.Hidden, c.Width, 1), up: draw(c.Hidden, c.Width, 1),
			down: draw(c.Width, c.Hidden, residual),
		})
	}
	m.head = draw(VocabSize, c.Width, headGain)
	m.rope = rotations(c)
	return m, nil
}

// headGain is the spread of the logits: wide enough that text at temperature 1
// prefers some words, narrow enough that it does not loop.
const headGain = 1.6

// rotations tabulates rotary position embeddings (Su et al. 2021, base 10000).
func rotations(c Config) []float32 {
	half := c.Width / c.Heads / 2
	r := make([]float32, c.MaxPositions*half*2)
	for p := range c.MaxPositions {
		for i := range half {
			angle := float64(p) * math.Pow(10000, -float64(i)/float64(half))
			r[(p*half+i)*2] = float32(math.Cos(angle))
			r[(p*half+i)*2+1] = float32(math.Sin(angle))
		}
	}
	return r
}

// Config returns the shape the model was made with.
func (m *Model) Config() Config { return m.cfg }

// Weights is the number of parameters.
func (m *Model) Weights() int64 {
	c := m.cfg
	perLayer := int64(4*c.Width*c.Width + 3*c.Width*c.Hidden + 2*c.Width)
	return int64(c.Layers)*perLayer + int64(2*VocabSize*c.Width+c.Width)
}

// WeightBytes is the memory that the parameters take.
func (m *Model) WeightBytes() int64 { return 4 * m.Weights() }

// BlockBytes is the memory of one cache block of blockSize tokens: keys and
// values of every layer.
func (m *Model) BlockBytes(blockSize int) int64 {
	return int64(2*m.cfg.Layers*m.cfg.Width*blockSize) * 4
}
