package signals

import (
	"fmt"
	"slices"
	"strings"

	"sightline/internal/model"
)

// Recognition is one dialect found in an exposition.
type Recognition struct {
	Dialect string
	Title   string
	// Matched are the metric names by which it was recognised.
	Matched []string
	// Versions says which versions the names point to, in words.
	Versions string
}

// Recognise finds the dialects that speak through a target's metric names. One
// target may speak several, as Triton with vLLM's backend does.
func (c *Catalogue) Recognise(metricNames []string) []Recognition {
	have := make(map[string]bool, len(metricNames))
	for _, n := range metricNames {
		have[n] = true
	}
	var out []Recognition
	for _, d := range c.dialects {
		r := Recognition{Dialect: d.Name, Title: d.Title}
		for _, n := range d.recognise {
			if have[n] {
				r.Matched = append(r.Matched, n)
			}
		}
		if len(r.Matched) == 0 {
			continue
		}
		for _, v := range d.versions {
			if !slices.ContainsFunc(v.Has, func(n string) bool { return !present(have, n) }) {
				r.Versions = v.Says
				break
			}
		}
		out = append(out, r)
	}
	return out
}

// present finds a family by its own name or by that of its parts, because a
// histogram has no series under its own name.
func present(have map[string]bool, family string) bool {
	return have[family] || have[family+"_count"] || have[family+"_bucket"]
}

// Lost is a native name that a target gave and gives no more although the
// dialect still is recognised, as after an upgrade.
type Lost struct {
	Dialect   string
	Name      string
	Successor string
	Since     string
	// Covered is true when the successor is there: the signal goes on.
	Covered bool
}

// Lost compares two expositions of one target and lists names that went while
// their dialect stayed.
func (c *Catalogue) Lost(before, after []string) []Lost {
	was, is := map[string]bool{}, map[string]bool{}
	for _, n := range before {
		was[n] = true
	}
	for _, n := range after {
		is[n] = true
	}
	var out []Lost
	for _, r := range c.Recognise(after) {
		d, _ := c.Dialect(r.Dialect)
		for _, x := range d.renames {
			if present(was, x.Old) && !present(is, x.Old) {
				out = append(out, Lost{d.Name, x.Old, x.New, x.Since, present(is, x.New)})
			}
		}
	}
	return out
}

// Origin is how a dialect gives a signal.
type Origin struct {
	Dialect string
	Source  model.Source
	// Method is histogram, summary, first_response_histogram, counter, gauge
	// or mean; "" when the dialect does not give the signal.
	Method string
	// WorstInstance is true when several instances show their worst.
	WorstInstance bool
	// Needs are the native metrics of which one must exist.
	Needs []string
	// Missing says why the signal is absent although the dialect can give it,
	// nil when it can only be for lack of traffic.
	Missing *Reason
	// Absent says why the dialect cannot give it, nil when it can.
	Absent *Reason
}

// Explain tells how each of the dialects gives the signal or why it does not,
// the most trusted source first.
// Dialects that do not answer for the signal's group are left out.
func (c *Catalogue) Explain(full string, dialects []string) ([]Origin, error) {
	s, l, err := c.Lookup(full)
	if err != nil {
		return nil, err
	}
	var out []Origin
	for _, d := range c.pick(dialects) {
		if t := d.terms[s]; t != nil {
			out = append(out, Origin{Dialect: d.Name, Source: d.Source, Method: t.method, WorstInstance: t.worst && l != model.LevelInstance && l != model.LevelGPU, Needs: slices.Clone(t.needs), Missing: t.missing})
		} else if r, ok := d.absent[s]; ok {
			out = append(out, Origin{Dialect: d.Name, Source: d.Source, Absent: &r})
		}
	}
	slices.SortStableFunc(out, func(a, b Origin) int { return trust(a.Source) - trust(b.Source) })
	return out, nil
}

// Exists compiles a query that gives one series for each entity for which a
// native metric of the signal exists, whatever its value; "" when none can.
func (c *Catalogue) Exists(full, dialect string) (string, error) {
	s, l, err := c.Lookup(full)
	if err != nil {
		return "", err
	}
	d, ok := c.Dialect(dialect)
	if !ok {
		return "", &model.Problem{Code: "dialect_unknown", Text: fmt.Sprintf("dialect %q is unknown", dialect), Hint: "see the list of dialects at /api/v1/sightline/signals"}
	}
	t := d.terms[s]
	if t == nil || len(t.needs) == 0 {
		return "", nil
	}
	tmpl := ""
	for i, n := range t.needs {
		if i > 0 {
			tmpl += " or "
		}
		if sel, ok := strings.CutSuffix(n, "}"); ok {
			tmpl += "group by ($by) (" + sel + ",$match})"
		} else {
			tmpl += "group by ($by) (" + n + "{$match})"
		}
	}
	return d.expand(tmpl, identity[l], "", "max", Options{}), nil
}

// Probe is a query that gives a result when any series in a store was written
// by a server that speaks the dialect; by splits it by labels.
func (d *Dialect) Probe(by ...string) string {
	names := make([]string, 0, 3*len(d.recognise))
	for _, n := range d.recognise {
		names = append(names, n, n+"_count", n+"_bucket")
	}
	return fmt.Sprintf("count by (%s) ({__name__=~%q})", strings.Join(by, ","), strings.Join(names, "|"))
}
