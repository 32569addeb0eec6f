package tinylm

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Sampling says how the next token is chosen.
type Sampling struct {
	Temperature float64 // 0 takes the best token
	TopP        float64 // share of probability to choose from, 0 < TopP ≤ 1
	TopK        int     // number of tokens to choose from; 0 or less means all
	Seed        uint64
	// EOSRate is the probability with which a sampled answer ends at each
	// token. Random weights have no notion of an end, so it has a rate of its
	// own. The best token (temperature 0) is never the end.
	EOSRate float64
}

// Sampler draws the tokens of one sequence. The same seed and logits give the
// same tokens.
type Sampler struct {
	s     Sampling
	rng   *rand.Rand
	order []int32
	probs []float64
}

// NewSampler returns a sampler with its own random stream.
func NewSampler(s Sampling) *Sampler {
	return &Sampler{s: s, rng: rand.New(rand.NewPCG(s.Seed, 0x5bd1e995))}
}

// Next chooses a token from VocabSize logits. With allowEOS false the answer
// cannot end here.
func (s *Sampler) Next(logits []float32, allowEOS bool) int32 {
	if s.s.Temperature < 1e-5 {
		return greedy(logits)
	}
	if s.order == nil {
		s.order = make([]int32, VocabSize-firstPiece)
		s.probs = make([]float64, VocabSize)
	}
	peak := math.Inf(-1)
	for i := firstPiece; i < VocabSize; i++ {
		peak = math.Max(peak, float64(logits[i]))
	}
	var sum float64
	for i := firstPiece; i < VocabSize; i++ {
		p := math.Exp((float64(logits[i]) - peak) / s.s.Temperature)
		s.probs[i] = p
		sum += p
		s.order[i-firstPiece] = i
	}
	// The end is drawn first and apart from the words, so that top_p and
	// top_k narrow the words and leave the length of answers alone.
	if u := s.rng.Float64(); allowEOS && u < s.s.EOSRate {
		return EOS
	}
	cand := s.order
	if s.s.TopP < 1 || s.s.TopK > 0 {
		sort.Slice(cand, func(a, b int) bool {
			pa, pb := s.probs[cand[a]], s.probs[cand[b]]
			return pa > pb || pa == pb && cand[a] < cand[b]
		})
		if s.s.TopK > 0 && s.s.TopK < len(cand) {
			cand = cand[:s.s.TopK]
		}
		if s.s.TopP < 1 {
			var acc float64
			for i, t := range cand {
				if acc += s.probs[t]; acc >= s.s.TopP*sum {
					cand = cand[:i+1]
					break
				}
			}
		}
		sum = 0
		for _, t := range cand {
			sum += s.probs[t]
		}
	}
	u := s.rng.Float64() * sum
	for _, t := range cand {
		if u -= s.probs[t]; u < 0 {
			return t
		}
	}
	return cand[len(cand)-1]
}

// greedy is the best-scored piece; the first wins a tie.
func greedy(logits []float32) int32 {
	best := firstPiece
	for i := firstPiece; i < VocabSize; i++ {
		if logits[i] > logits[best] {
			best = i
		}
	}
	return best
}
