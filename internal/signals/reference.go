package signals

import (
	"fmt"
	"strings"

	"sightline/internal/model"
)

//go:generate go run ./signalsdoc ../../docs/signals.md

// Reference writes the catalogue and the coverage of every dialect as Markdown,
// for docs/signals.md.
func (c *Catalogue) Reference() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("# Canonical signals")
	p("")
	p("This page is generated from the catalogue and the dialects in `internal/signals` by `go generate ./internal/signals`.")
	p("")
	p("Every number that Sightline shows, alerts on or reasons about is a canonical signal: a Prometheus series named")
	p("`level:signal_unit:operation`, whatever server or exporter it came from. A dialect maps native metrics onto signals by one")
	p("PromQL expression for each signal. Live rules record it; holes, splits and replays evaluate the same expression.")
	p("A signal that a server does not give is *absent with a reason*, never zero.")
	p("")
	p("Identity labels by level:")
	p("")
	p("| level | labels |")
	p("|---|---|")
	for _, g := range []model.Level{model.LevelService, model.LevelModel, model.LevelInstance, model.LevelGPU, model.LevelNode} {
		p("| %s | %s |", g, strings.Join(identity[g], ", "))
	}
	p("")
	p("Hardware that is a model and no device carries `simulated=\"true\"` on every series.")
	for _, g := range c.groups {
		p("")
		p("## %s", g.Title)
		p("")
		levels := make([]string, len(g.Levels))
		for i, l := range g.Levels {
			levels[i] = "`" + string(l) + "`"
		}
		p("Levels: %s. When nothing gives a signal: %s (`%s`); %s.", strings.Join(levels, ", "), g.Absent.Text, g.Absent.Code, g.Absent.Remedy)
		p("")
		head, line := "| signal | unit | meaning |", "|---|---|---|"
		for _, d := range c.dialects {
			head += " " + d.Name + " |"
			line += "---|"
		}
		p("%s", head)
		p("%s", line)
		for _, s := range c.signals {
			if s.Group != g.Name {
				continue
			}
			name := "`" + s.key() + "`"
			if len(s.Labels) > 0 {
				name = "`" + s.key() + "{" + strings.Join(s.Labels, ",") + "}`"
			}
			row := fmt.Sprintf("| %s | %s | %s |", name, s.Unit, s.Meaning)
			for _, d := range c.dialects {
				row += " " + d.coverage(s) + " |"
			}
			p("%s", row)
		}
	}
	p("")
	p("## Why a signal is absent")
	for _, d := range c.dialects {
		p("")
		p("### %s", d.Title)
		p("")
		p("Recognised by any of %s.", quoteAll(d.recognise))
		p("")
		p("| code | why | what would give it |")
		p("|---|---|---|")
		seen := map[string]bool{}
		row := func(r Reason) {
			if !seen[r.Code+r.Text+r.Remedy] {
				seen[r.Code+r.Text+r.Remedy] = true
				p("| `%s` | %s | %s |", r.Code, r.Text, r.Remedy)
			}
		}
		for _, s := range c.signals {
			if t := d.terms[s]; t != nil && t.missing != nil {
				row(*t.missing)
			}
			if r, ok := d.absent[s]; ok {
				row(r)
			}
		}
	}
	p("")
	p("## Info series")
	p("")
	p("| series | says |")
	p("|---|---|")
	for _, r := range [][2]string{
		{SignalSource, "which source a canonical series was taken from: `signal`, the entity's identity, `source`"},
		{InstanceDialect, "which dialect an instance speaks, for each model version on it"},
		{GPUInfo, "which cards exist: `gpu` (UUID), `gpu_index`, `gpu_model`, `node`"},
		{GPUPod, "to which pods a card is given"},
		{EngineGPU, "which cards an engine names itself"},
		{InstanceGPU, "which cards serve which instance, and `via` what that is known: `pod`, `gpu_uuid` or `lone_engine`"},
		{GPUOwnerCandidates, "how many engines may own a card that nothing names; above 1 nobody is guessed"},
		{DialectEvaluated, "at which moments the rules of a dialect ran"},
	} {
		p("| `%s` | %s |", r[0], r[1])
	}
	p("")
	p("Before a canonical series is chosen, each source's value is recorded as `candidate:level:signal:operation{source=\"…\"}`. Trust runs")
	p("proxy, ebpf, nvml, dcgm, server. A more trusted source takes over when it had at least %s of the other's samples within %s, and is left at once when it stops.", steady, "5 minutes")
	return b.String()
}

// coverage is one cell: how the dialect gives the signal, or why it does not.
func (d *Dialect) coverage(s *Signal) string {
	if t := d.terms[s]; t != nil {
		if t.worst {
			return t.method + ", worst instance"
		}
		return strings.ReplaceAll(t.method, "_", " ")
	}
	if r, ok := d.absent[s]; ok {
		return "`" + r.Code + "`"
	}
	return ""
}

func quoteAll(in []string) string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = "`" + s + "`"
	}
	return strings.Join(out, ", ")
}
