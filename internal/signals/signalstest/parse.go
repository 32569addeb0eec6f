package signalstest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// Command is one line of a script. Verb is step, window, clear, load, or what
// is expected: expect (a value), absent, dialect, lost, info.
type Command struct {
	Line      int
	Verb      string
	Time      time.Duration
	File      string
	Name      string
	Labels    map[string]string
	By        []string
	Grow      float64
	Value     float64
	Tolerance float64
	Code      string
}

var promql = parser.NewParser(parser.Options{})

// Parse reads a script.
func Parse(script string) ([]Command, error) {
	var out []Command
	for i, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		c, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
		c.Line = i + 1
		out = append(out, c)
	}
	return out, nil
}

func parseLine(line string) (c Command, err error) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch c.Verb = verb; verb {
	case "clear":
		if rest != "" {
			return c, fmt.Errorf("clear takes nothing")
		}
		return c, nil
	case "step", "window":
		c.Time, err = time.ParseDuration(rest)
		if err == nil && c.Time <= 0 {
			err = fmt.Errorf("duration must be positive")
		}
		return c, err
	case "load":
		return parseLoad(rest)
	case "expect":
		return parseExpect(rest)
	}
	return c, fmt.Errorf("unknown command %q; want step, window, load, clear or expect", verb)
}

func parseLoad(rest string) (c Command, err error) {
	c.Verb, c.Grow = "load", 1
	head, tail, ok := strings.Cut(rest, " labels ")
	if !ok {
		return c, fmt.Errorf("load needs labels {…}")
	}
	f := strings.Fields(head)
	if len(f) != 3 || f[1] != "at" {
		return c, fmt.Errorf("want load FILE at TIME labels {…}")
	}
	c.File = f[0]
	if c.Time, err = time.ParseDuration(f[2]); err != nil {
		return c, err
	}
	sel, grow, ok := strings.Cut(tail, " grow ")
	if ok {
		if c.Grow, err = number(grow); err != nil {
			return c, err
		}
	}
	_, c.Labels, err = series("x" + strings.TrimSpace(sel))
	return c, err
}

func parseExpect(rest string) (c Command, err error) {
	kind, tail, _ := strings.Cut(rest, " ")
	tail = strings.TrimSpace(tail)
	switch kind {
	case "absent":
		c.Verb = "absent"
		sel, code := lastWord(tail)
		c.Code = code
		if code == "" || sel == "" {
			return c, fmt.Errorf("want expect absent NAME CODE")
		}
		c.Name, c.Labels, err = series(sel)
		return c, err
	case "dialect":
		c.Verb = "dialect"
		name, says, ok := strings.Cut(tail, " ")
		if !ok {
			return c, fmt.Errorf(`want expect dialect NAME "VERSIONS"`)
		}
		c.Name = name
		c.Code, err = strconv.Unquote(strings.TrimSpace(says))
		return c, err
	case "lost":
		c.Verb = "lost"
		was, is, ok := strings.Cut(tail, " -> ")
		if !ok {
			return c, fmt.Errorf("want expect lost OLD -> NEW")
		}
		c.Name, c.Code = was, is
		return c, nil
	case "info":
		c.Verb, c.Value = "info", 1
		if sel, v := lastWord(tail); sel != "" && strings.HasSuffix(sel, "}") {
			if c.Value, err = number(v); err != nil {
				return c, err
			}
			tail = sel
		}
		c.Name, c.Labels, err = series(tail)
		return c, err
	}
	c.Verb = "expect"
	tol := ""
	if head, t, ok := strings.Cut(rest, "±"); ok {
		rest, tol = strings.TrimSpace(head), strings.TrimSpace(t)
	}
	sel, v := lastWord(rest)
	if sel == "" {
		return c, fmt.Errorf("want expect NAME{LABELS} VALUE")
	}
	if sel, by, ok := strings.Cut(sel, " by "); ok {
		c.By = strings.Split(strings.TrimSpace(by), ",")
		c.Name, c.Labels, err = series(strings.TrimSpace(sel))
	} else {
		c.Name, c.Labels, err = series(sel)
	}
	if err != nil {
		return c, err
	}
	if c.Value, err = number(v); err != nil {
		return c, err
	}
	switch {
	case tol == "":
		c.Tolerance = 1e-9 * math.Max(1, math.Abs(c.Value))
	case strings.HasSuffix(tol, "%"):
		if c.Tolerance, err = number(strings.TrimSuffix(tol, "%")); err != nil {
			return c, err
		}
		c.Tolerance *= math.Abs(c.Value) / 100
	default:
		c.Tolerance, err = number(tol)
	}
	if err == nil && c.Tolerance < 0 {
		err = fmt.Errorf("tolerance %q is negative", tol)
	}
	return c, err
}

// series reads NAME{a="b"}.
func series(s string) (string, map[string]string, error) {
	ls, err := promql.ParseMetric(s)
	if err != nil {
		return "", nil, err
	}
	m := ls.Map()
	name := m["__name__"]
	if name == "" {
		return "", nil, fmt.Errorf("%q names no series", s)
	}
	delete(m, "__name__")
	return name, m, nil
}

// number refuses NaN: it would meet no expectation and explain none.
func number(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err == nil && math.IsNaN(f) {
		err = fmt.Errorf("NaN is no expectation")
	}
	return f, err
}

func lastWord(s string) (before, word string) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return "", s
	}
	return strings.TrimSpace(s[:i]), s[i+1:]
}
