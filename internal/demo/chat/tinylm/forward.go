package tinylm

import (
	"fmt"
	"math"
)

// Span is a run of consecutive tokens of one sequence to compute in a step.
type Span struct {
	Tokens []int32
	Start  int // position of the first token in its sequence
	// Blocks is the sequence's block table: position p lives in slot
	// p mod block size of block Blocks[p / block size]. It covers at least
	// Start+len(Tokens) positions, and those before Start are filled.
	Blocks []int32
	// Logits receives VocabSize scores of the token after the last one; nil
	// when the caller has no use for them.
	Logits []float32
}

// Runner owns a paged cache and the scratch memory of a step. One goroutine uses
// it at a time.
type Runner struct {
	m         *Model
	blockSize int
	blocks    int
	keys      [][]float32 // per layer: [blocks*blockSize][Width]
	values    [][]float32

	x, n, q, k, v, a []float32 // [rows][Width]
	gate, up         []float32 // [rows][Hidden]
	scores           []float32 // [MaxPositions]
}

// NewRunner allocates the cache: blocks blocks of blockSize tokens.
func NewRunner(m *Model, blocks, blockSize int) *Runner {
	r := &Runner{m: m, blockSize: blockSize, blocks: blocks, scores: make([]float32, m.cfg.MaxPositions)}
	for range m.cfg.Layers {
		r.keys = append(r.keys, make([]float32, blocks*blockSize*m.cfg.Width))
		r.values = append(r.values, make([]float32, blocks*blockSize*m.cfg.Width))
	}
	return r
}

// grow makes room for rows rows of scratch.
func (r *Runner) grow(rows int) {
	w, h := r.m.cfg.Width, r.m.cfg.Hidden
	if len(r.x) >= rows*w {
		return
	}
	for _, b := range []*[]float32{&r.x, &r.n, &r.q, &r.k, &r.v, &r.a} {
		*b = make([]float32, rows*w)
	}
	r.gate, r.up = make([]float32, rows*h), make([]float32, rows*h)
}

// slot is where a position of a block table lives in the cache, in rows.
func (r *Runner) slot(blocks []int32, pos int) int {
	return int(blocks[pos/r.blockSize])*r.blockSize + pos%r.blockSize
}

// Forward computes all spans in one step: their keys and values go to the cache,
// their logits to Span.Logits. A span that does not fit its block table or the
// model's positions is a fault of the caller and panics.
func (r *Runner) Forward(spans []Span) {
	cfg := r.m.cfg
	w := cfg.Width
	rows := 0
	for i, s := range spans {
		end := s.Start + len(s.Tokens)
		if end > cfg.MaxPositions || end > len(s.Blocks)*r.blockSize {
			panic(fmt.Sprintf("tinylm: span %d ends at %d, beyond %d positions or %d blocks", i, end, cfg.MaxPositions, len(s.Blocks)))
		}
		rows += len(s.Tokens)
	}
	r.grow(rows)
	row := 0
	for _, s := range spans {
		for _, t := range s.Tokens {
			copy(r.x[row*w:(row+1)*w], r.m.embed[int(t)*w:(int(t)+1)*w])
			row++
		}
	}
	for l := range r.m.layers {
		r.attend(l, spans, rows)
		r.feed(&r.m.layers[l], rows)
	}
	row = 0
	for _, s := range spans {
		row += len(s.Tokens)
		if s.Logits == nil {
			continue
		}
		last := r.n[:w]
		rmsNorm(last, r.x[(row-1)*w:row*w], r.m.norm)
		matmul(s.Logits, last, r.m.head, 1, w, VocabSize, false)
	}
}

// attend adds the attention of layer l to the residual stream.
func (r *Runner) attend(l int, spans []Span, rows int) {
	cfg, ly := r.m.cfg, &r.m.layers[l]
	w := cfg.Width
	half := w / cfg.Heads / 2
	for t := range rows {
		rmsNorm(r.n[t*w:(t+1)*w], r.x[t*w:(t+1)*w], ly.attnNorm)
	}
	matmul(r.q, r.n, ly.wq, rows, w, w, false)
	matmul(r.k, r.n, ly.wk, rows, w, w, false)
	matmul(r.v, r.n, ly.wv, rows, w, w, false)
	keys, values := r.keys[l], r.values[l]
	row := 0
	for _, s := range spans {
		first := row
		for i := range s.Tokens {
			pos := s.Start + i
			rope := r.m.rope[pos*half*2 : (pos+1)*half*2]
			rotate(r.q[row*w:(row+1)*w], rope, cfg.Heads)
			rotate(r.k[row*w:(row+1)*w], rope, cfg.Heads)
			at := r.slot(s.Blocks, pos) * w
			copy(keys[at:at+w], r.k[row*w:(row+1)*w])
			copy(values[at:at+w], r.v[row*w:(row+1)*w])
			row++
		}
		for i := range s.Tokens {
			t := first + i
			r.attendRow(r.a[t*w:(t+1)*w], r.q[t*w:(t+1)*w], keys, values, s.Blocks, s.Start+i)
		}
	}
	matmul(r.x, r.a, ly.wo, rows, w, w, true)
}

// attendRow is softmax(q·K/√size)·V of one token over its own past.
func (r *Runner) attendRow(out, q, keys, values []float32, blocks []int32, pos int) {
	w := len(q)
	size := w / r.m.cfg.Heads
	scale := float32(1 / math.Sqrt(float64(size)))
	for i := range out {
		out[i] = 0
	}
	scores := r.scores[:pos+1]
	for h := range r.m.cfg.Heads {
		qh := q[h*size : (h+1)*size]
		peak := float32(math.Inf(-1))
		for p := range scores {
			at := r.slot(blocks, p)*w + h*size
			scores[p] = dot(qh, keys[at:at+size]) * scale
			peak = max(peak, scores[p])
		}
		var sum float32
		for p, s := range scores {
			scores[p] = float32(math.Exp(float64(s - peak)))
			sum += scores[p]
		}
		oh := out[h*size : (h+1)*size]
		for p, s := range scores {
			at := r.slot(blocks, p)*w + h*size
			weight := s / sum
			for i, v := range values[at : at+size] {
				oh[i] += weight * v
			}
		}
	}
}

// feed adds the SwiGLU feed-forward part (Shazeer 2020) to the residual stream.
func (r *Runner) feed(ly *layer, rows int) {
	w, h := r.m.cfg.Width, r.m.cfg.Hidden
	for t := range rows {
		rmsNorm(r.n[t*w:(t+1)*w], r.x[t*w:(t+1)*w], ly.ffnNorm)
	}
	matmul(r.gate, r.n, ly.gate, rows, w, h, false)
	matmul(r.up, r.n, ly.up, rows, w, h, false)
	for i := range rows * h {
		r.gate[i] = silu(r.gate[i]) * r.up[i]
	}
	matmul(r.x, r.gate, ly.down, rows, h, w, true)
}
