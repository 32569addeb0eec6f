package accuracy

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"
)

var nan = math.NaN()

// smaller is the smaller of two numbers, NaN counting as none.
func smaller(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

// report compares pairs of numbers and keeps all of them, so that one run
// tells every deviation and not the first one only.
type report struct {
	t     *testing.T
	lines []string
	bad   int
}

// within checks |got - want| <= max(rel*|want|, abs). A missing number, NaN, is
// never within anything.
func (r *report) within(what string, got, want, rel, abs float64) bool {
	r.t.Helper()
	allowed := math.Max(rel*math.Abs(want), abs)
	off := math.Abs(got - want)
	return r.line(what, off <= allowed, fmt.Sprintf("%12.6g %12.6g %9s  allowed %.3g (%.3g %% or %.3g)", got, want, percent(got, want), allowed, 100*rel, abs))
}

// between checks lo <= got <= hi, where a quantile may lie anywhere in the
// bucket or between the order statistics that its method can tell apart.
func (r *report) between(what string, got, lo, hi float64) bool {
	r.t.Helper()
	return r.line(what, got >= lo && got <= hi, fmt.Sprintf("%12.6g in [%.6g, %.6g]", got, lo, hi))
}

func (r *report) line(what string, ok bool, text string) bool {
	r.t.Helper()
	mark := "ok  "
	if !ok {
		mark = "FAIL"
		r.bad++
	}
	r.lines = append(r.lines, fmt.Sprintf("%s %-58s %s", mark, what, text))
	return ok
}

// done prints the table and fails the test if a line failed.
func (r *report) done() {
	r.t.Helper()
	r.t.Logf("canonical value against the load generator's log\n     %-58s %12s %12s %9s\n%s", "value", "canonical", "log", "off by", strings.Join(r.lines, "\n"))
	if r.bad > 0 {
		r.t.Errorf("%d of %d values are outside their tolerance", r.bad, len(r.lines))
	}
}

func percent(got, want float64) string {
	if want == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.2f %%", 100*(got/want-1))
}

// bucket gives the bounds of the histogram bucket that v falls into: what a
// quantile computed from buckets can know of v at best.
func bucket(bounds []float64, v float64) (lo, hi float64) {
	i := sort.SearchFloat64s(bounds, v)
	hi = math.Inf(1)
	if i < len(bounds) {
		hi = bounds[i]
	}
	if i > 0 {
		lo = bounds[i-1]
	}
	return lo, hi
}

func TestReportFails(t *testing.T) {
	r := &report{t: t}
	for _, c := range []struct {
		ok, want bool
	}{
		{r.within("a", 1.029, 1, .03, 0), true}, {r.within("b", 1.04, 1, .03, 0), false}, {r.within("c", 2, 1, .03, 1), true},
		{r.within("missing", math.NaN(), 1, 9, 9), false}, {r.within("missing", 1, math.NaN(), 9, 9), false},
		{r.between("d", 1, 1, 2), true}, {r.between("e", 2.1, 1, 2), false}, {r.between("f", math.NaN(), 0, 9), false},
	} {
		if c.ok != c.want {
			t.Errorf("checks disagree: %s", strings.Join(r.lines, "\n"))
		}
	}
	if r.bad != 5 {
		t.Errorf("%d failures counted", r.bad)
	}
	for _, c := range [][3]float64{{.5, 0, 1}, {1, 0, 1}, {1.5, 1, 2}, {9, 2, math.Inf(1)}} {
		if lo, hi := bucket([]float64{1, 2}, c[0]); lo != c[1] || hi != c[2] {
			t.Errorf("%v falls into [%v, %v]", c[0], lo, hi)
		}
	}
}
