package signals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sightline/internal/model"
)

// trust ranks sources, the most trusted first; -1 means unknown. What sees the
// request beats what the server says of itself; a driver beats the server that
// reads it (DESIGN.md "Sources").
func trust(s model.Source) int {
	return slices.Index([]model.Source{model.SourceProxy, model.SourceEBPF, model.SourceNVML, model.SourceDCGM, model.SourceServer}, s)
}

// Rule is one recording rule.
type Rule struct {
	Record string
	Expr   string
	Labels map[string]string
}

// RuleGroup is a run of rules that are evaluated in order at one timestamp, so
// that a canonical series sees the candidates of its own moment.
type RuleGroup struct {
	Name  string
	Rules []Rule
}

// candidate is what one source says of a signal: the expressions of all its
// dialects, the preferred first.
type candidate struct {
	source model.Source
	expr   string
}

// candidates compiles a signal at a level for the given dialects, by trust.
func (c *Catalogue) candidates(s *Signal, l model.Level, dialects []*Dialect, by []string, match map[string]string, o Options) []candidate {
	labels := slices.Concat(identity[l], by)
	bySource := map[model.Source][]string{}
	for _, d := range dialects {
		t := d.terms[s]
		if t == nil {
			continue
		}
		bySource[d.Source] = append(bySource[d.Source], d.expand(t.tmpl, labels, d.matchers(match), t.merge, o))
	}
	var out []candidate
	for src, exprs := range bySource {
		expr := exprs[0]
		for _, e := range exprs[1:] {
			expr = fmt.Sprintf("(%s) or on (%s) (%s)", expr, strings.Join(slices.Concat(entity(l), by), ", "), e)
		}
		out = append(out, candidate{src, expr})
	}
	slices.SortFunc(out, func(a, b candidate) int { return trust(a.source) - trust(b.source) })
	return out
}

// selection picks one source per entity. read gives the value of a source's
// candidate and count how many samples it had within the hysteresis. A more
// trusted source takes over once it has been about as steady as the others, and
// is left at once when it stops. The choice depends on stored samples only, so
// every evaluator makes the same one.
func selection(cs []candidate, on string, read, count func(candidate) string) string {
	best := read(cs[len(cs)-1])
	lower := count(cs[len(cs)-1])
	for i := len(cs) - 2; i >= 0; i-- {
		v, n := read(cs[i]), count(cs[i])
		best = fmt.Sprintf("((%[1]s) and on (%[2]s) (max by (%[2]s) (%[3]s) >= %[4]s * max by (%[2]s) (%[5]s))) or on (%[2]s) ((%[1]s) unless on (%[2]s) (%[6]s)) or on (%[2]s) (%[6]s)",
			v, on, n, steady, lower, best)
		lower = fmt.Sprintf("%s or on (%s) %s", n, on, lower)
	}
	return best
}

// cardIdentity picks one identity for each card that an exporter sees; "" when
// no dialect is one of cards.
func (c *Catalogue) cardIdentity(ds []*Dialect, o Options) string {
	var cards []string
	for _, d := range ds {
		if d.Level() == model.LevelGPU {
			cards = append(cards, d.expand(d.presence, identity[model.LevelGPU], "", "max", o))
		}
	}
	if len(cards) == 0 {
		return ""
	}
	return fmt.Sprintf("topk by (gpu) (1, (%s))", strings.Join(cards, ") or ("))
}

// identified gives the series of cards the identity that known has for them:
// what the exporter of a card knows replaces what a server that only names the
// UUID knows, so that a change of source is no new series. Cards that no
// exporter sees stay as they are.
func identified(expr, known string) string {
	about := strings.Join(slices.DeleteFunc(slices.Clone(identity[model.LevelGPU]), func(n string) bool { return n == "gpu" }), ", ")
	return fmt.Sprintf("max without (%[1]s) (%[2]s) * on (gpu) group_left (%[1]s) %[3]s or on (gpu) (%[2]s)", about, expr, known)
}

// recordedCandidate is the name under which candidates of a signal are stored.
func recordedCandidate(s *Signal, l model.Level) string {
	return "candidate:" + string(l) + ":" + s.Name + ":" + s.Operation
}

// Rules compiles the live rules for the named dialects: for every signal they
// give, one candidate for each source, then the canonical series, then which
// source was chosen; before them the relations. Unknown names are ignored.
func (c *Catalogue) Rules(dialects []string, o Options) []RuleGroup {
	ds := c.pick(dialects)
	if len(ds) == 0 {
		return nil
	}
	out := []RuleGroup{{Name: "relations", Rules: c.relationRules(ds, o)}}
	for _, g := range c.groups {
		rg := RuleGroup{Name: g.Name}
		for _, s := range c.signals {
			if s.Group != g.Name {
				continue
			}
			for _, l := range s.Levels {
				rg.Rules = append(rg.Rules, c.signalRules(s, l, ds, o)...)
			}
		}
		// The identities belong to the group that reads them, so that both are
		// of one moment.
		if known := c.cardIdentity(ds, o); len(rg.Rules) > 0 && slices.Contains(g.Levels, model.LevelGPU) && known != "" {
			rg.Rules = slices.Insert(rg.Rules, 0, Rule{Record: GPUIdentity, Expr: known})
		}
		if len(rg.Rules) > 0 {
			out = append(out, rg)
		}
	}
	return out
}

func (c *Catalogue) signalRules(s *Signal, l model.Level, ds []*Dialect, o Options) []Rule {
	cs := c.candidates(s, l, ds, nil, nil, o)
	if len(cs) == 0 {
		return nil
	}
	var rules []Rule
	name := recordedCandidate(s, l)
	for _, x := range cs {
		rules = append(rules, Rule{Record: name, Expr: x.expr, Labels: map[string]string{model.LabelSource: string(x.source)}})
	}
	read := func(x candidate) string { return fmt.Sprintf("%s{source=%q}", name, x.source) }
	count := func(x candidate) string {
		return fmt.Sprintf("count_over_time(%s[%s])", read(x), promDuration(Hysteresis))
	}
	chosen := selection(cs, strings.Join(entity(l), ", "), read, count)
	if l == model.LevelGPU && c.cardIdentity(ds, o) != "" {
		chosen = identified(chosen, GPUIdentity)
	}
	return append(rules,
		Rule{Record: s.At(l), Expr: fmt.Sprintf("max without (source) (%s)", chosen)},
		Rule{
			Record: SignalSource,
			Expr:   fmt.Sprintf("group by (%s, source) (%s)", strings.Join(identity[l], ", "), chosen),
			Labels: map[string]string{"signal": s.At(l)},
		})
}

// canonical compiles the canonical series of a signal into one expression over
// native series alone, for stores in which no rules ran.
func (c *Catalogue) canonical(s *Signal, l model.Level, ds []*Dialect, by []string, match map[string]string, o Options) string {
	cs := c.candidates(s, l, ds, by, match, o)
	if len(cs) == 0 {
		return ""
	}
	read := func(x candidate) string { return x.expr }
	count := func(x candidate) string {
		return fmt.Sprintf("count_over_time((%s)[%s:%s])", x.expr, promDuration(Hysteresis), promDuration(o.interval()))
	}
	chosen := selection(cs, strings.Join(slices.Concat(entity(l), by), ", "), read, count)
	// A request for some dialects names cards as all of them do.
	if known := c.cardIdentity(c.dialects, o); l == model.LevelGPU && known != "" {
		chosen = identified(chosen, known)
	}
	return chosen
}

// pick finds dialects by name in order of preference; nil names mean all.
func (c *Catalogue) pick(names []string) []*Dialect {
	if names == nil {
		return c.dialects
	}
	var out []*Dialect
	for _, d := range c.dialects {
		if slices.Contains(names, d.Name) {
			out = append(out, d)
		}
	}
	return out
}

// WindowOf is the window over which rates are taken under o.
func WindowOf(o Options) time.Duration { return o.window() }
