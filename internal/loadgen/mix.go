package loadgen

import (
	"fmt"
	"math/rand/v2"
)

// Mix is what a plan draws its requests from and what may change while it
// runs. In SetMix a nil field leaves that part as it is.
type Mix struct {
	// Targets are the weights of the plan's targets in their order.
	Targets []float64
	// Versions are the model versions to ask for; "" lets the server choose.
	Versions []Choice[string]
	// Sizes are edges of square images in pixels (vision).
	Sizes []Choice[int]
	// Items are batch dimensions of one request (vision).
	Items []Choice[int]
	// OversizedShare of the requests carry an input that is meant not to fit
	// (vision).
	OversizedShare *float64
	// ImpatientShare of the requests leave the server's queue early (vision).
	ImpatientShare *float64
	// PromptScale and OutputScale multiply the trace's token counts (chat).
	PromptScale, OutputScale *float64
	// PlainShare of the requests do not stream; AbandonShare of them are left
	// by the client before the end (chat).
	PlainShare, AbandonShare *float64
}

// over returns m with what change sets.
func (m Mix) over(change Mix) Mix {
	if change.Targets != nil {
		m.Targets = change.Targets
	}
	if change.Versions != nil {
		m.Versions = change.Versions
	}
	if change.Sizes != nil {
		m.Sizes = change.Sizes
	}
	if change.Items != nil {
		m.Items = change.Items
	}
	for _, f := range []struct{ to, from **float64 }{
		{&m.OversizedShare, &change.OversizedShare}, {&m.ImpatientShare, &change.ImpatientShare}, {&m.PromptScale, &change.PromptScale},
		{&m.OutputScale, &change.OutputScale}, {&m.PlainShare, &change.PlainShare}, {&m.AbandonShare, &change.AbandonShare},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
	return m
}

func (m Mix) validate(where string, targets int) error {
	if len(m.Targets) != targets {
		return configProblem(fmt.Sprintf("%s has %d target weights for %d targets", where, len(m.Targets), targets), "give one for each")
	}
	for _, w := range []struct {
		what string
		w    []float64
	}{{"target", m.Targets}, {"version", weightsOf(m.Versions)}, {"size", weightsOf(m.Sizes)}, {"items", weightsOf(m.Items)}} {
		if err := validateWeights(where+" "+w.what, w.w); err != nil {
			return err
		}
	}
	for _, s := range m.Sizes {
		if s.Value < 1 || s.Value > maxImageEdge {
			return configProblem(fmt.Sprintf("%s has image edge %d", where, s.Value), fmt.Sprintf("give 1 to %d pixels", maxImageEdge))
		}
	}
	for _, s := range m.Items {
		if s.Value < 1 || s.Value > maxItems {
			return configProblem(fmt.Sprintf("%s has %d items in a request", where, s.Value), fmt.Sprintf("give 1 to %d", maxItems))
		}
	}
	for _, s := range []struct {
		what string
		v    *float64
	}{{"oversized share", m.OversizedShare}, {"impatient share", m.ImpatientShare}, {"plain share", m.PlainShare}, {"abandon share", m.AbandonShare}} {
		if s.v != nil {
			if err := validateShare(where+" "+s.what, *s.v); err != nil {
				return err
			}
		}
	}
	for _, s := range []*float64{m.PromptScale, m.OutputScale} {
		if s != nil && !(*s > 0 && *s <= 100) {
			return configProblem(fmt.Sprintf("%s scales tokens by %v", where, *s), "give a factor above 0 and up to 100")
		}
	}
	return nil
}

// pick draws an index by weight.
func pick(rng *rand.Rand, weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	x := rng.Float64() * sum
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i
		if x < w {
			return i
		}
		x -= w
	}
	return last
}

// choose draws a value by weight, or otherwise when there are none.
func choose[T any](rng *rand.Rand, cs []Choice[T], otherwise T) T {
	if len(cs) == 0 {
		return otherwise
	}
	return cs[pick(rng, weightsOf(cs))].Value
}

// chance is true with probability *p, and never when p is nil. It always draws
// one number, so that changing one share leaves the other draws as they were.
func chance(rng *rand.Rand, p *float64) bool {
	x := rng.Float64()
	return p != nil && x < *p
}

// turns spreads requests over targets by smooth weighted round robin: equal
// weights take turns, others follow their ratio with the smallest runs. It is
// the algorithm of nginx's upstream module.
type turns struct{ current []float64 }

func (t *turns) next(weights []float64) int {
	if len(t.current) != len(weights) {
		t.current = make([]float64, len(weights))
	}
	best, sum := -1, 0.0
	for i, w := range weights {
		if w == 0 {
			t.current[i] = 0
			continue
		}
		t.current[i] += w
		sum += w
		if best < 0 || t.current[i] > t.current[best] {
			best = i
		}
	}
	t.current[best] -= sum
	return best
}

// share is a pointer to v, for the optional fields of Mix.
func share(v float64) *float64 { return &v }
