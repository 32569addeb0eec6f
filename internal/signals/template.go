package signals

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// joined begins the scratch labels; they never leave an expression.
const joined = "sightline_joined_"

// expand fills a template for a set of canonical labels and moves the native
// labels of the result to their canonical names. Series that differ in native
// labels only, as those of two exporters that see one card, become one by the
// aggregation merge.
func (d *Dialect) expand(tmpl string, by []string, match, merge string, o Options) string {
	by = dedupe(append(slices.Clone(by), "simulated"))
	var native []string
	for _, l := range by {
		native = append(native, d.native(l)...)
	}
	w := o.window()
	expr := fill(tmpl, map[string]string{
		"$by":      strings.Join(dedupe(native), ", "),
		"$match":   match,
		"$window":  promDuration(w),
		"$seconds": fmt.Sprint(w.Seconds()),
	})
	return d.rename(expr, by, merge)
}

var placeholder = regexp.MustCompile(`\$(by|match|window|seconds)\b`)

// fill replaces placeholders; an empty matcher leaves no comma behind, because
// PromQL knows {a="b",} but not {,}.
func fill(tmpl string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(tmpl, func(k string) string { return values[k] })
}

// native lists the native labels that make up a canonical one.
func (d *Dialect) native(label string) []string {
	for _, r := range d.labels {
		if r.To == label {
			return r.From
		}
	}
	return []string{label}
}

// rename wraps expr so that its native labels get canonical names. Rules apply
// in the order of the dialect: dcgm first reads gpu as the index and then
// overwrites it with the UUID. Until the last step every series keeps what it
// differs by, because label_replace fails as a whole when two series meet.
func (d *Dialect) rename(expr string, by []string, merge string) string {
	var drop []string
	for _, r := range d.labels {
		if !slices.Contains(by, r.To) || len(r.From) == 1 && r.From[0] == r.To {
			continue
		}
		if len(r.From) == 1 {
			expr = fmt.Sprintf(`label_replace(%s, %q, "$1", %q, "(.*)")`, expr, r.To, r.From[0])
		} else {
			quoted := make([]string, len(r.From))
			for i, f := range r.From {
				quoted[i] = fmt.Sprintf("%q", f)
			}
			scratch := joined + r.To
			expr = fmt.Sprintf(`label_replace(label_join(%s, %q, "\x1f", %s), %q, "$1", %q, "\x1f*([^\x1f]*).*")`, expr, scratch, strings.Join(quoted, ", "), r.To, scratch)
			drop = append(drop, scratch)
		}
		drop = append(drop, r.From...)
	}
	drop = slices.DeleteFunc(dedupe(drop), func(l string) bool { return slices.Contains(by, l) })
	if len(drop) == 0 {
		return expr
	}
	return fmt.Sprintf("%s without (%s) (%s)", merge, strings.Join(drop, ", "), expr)
}

// matchers turns canonical label values into native matchers. A label that
// several native ones can fill is left to the caller, who filters the result.
func (d *Dialect) matchers(match map[string]string) string {
	var parts []string
	for _, l := range sortedKeys(match) {
		if n := d.native(l); len(n) == 1 {
			parts = append(parts, fmt.Sprintf("%s=%q", n[0], match[l]))
		}
	}
	return strings.Join(parts, ",")
}

func dedupe(in []string) []string {
	var out []string
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
