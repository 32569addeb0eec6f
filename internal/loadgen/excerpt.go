package loadgen

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"sightline/internal/model"
)

// excerptCSV is 2,000 consecutive requests of the Azure LLM inference trace
// 2023 (CC BY 4.0); excerpt/README.md has the attribution and what was changed.
//
//go:embed excerpt/azure_llm_2023_conv.csv
var excerptCSV []byte

// excerptHeader is the first line of an excerpt.
const excerptHeader = "offset_ms,context_tokens,generated_tokens"

// Bounds of what ParseTrace accepts: a trace is held in memory.
const (
	maxTraceRows  = 200_000
	maxTraceToken = 10_000_000
	maxTraceDays  = 366
)

// Arrival is one row of an arrival trace.
type Arrival struct {
	// Offset is the time since the first row.
	Offset time.Duration
	// ContextTokens and GeneratedTokens are what the request read and wrote
	// where the trace was taken, before any scaling.
	ContextTokens, GeneratedTokens int
}

// Excerpt returns the embedded arrival trace.
func Excerpt() ([]Arrival, error) { return ParseTrace(bytes.NewReader(excerptCSV)) }

// ParseTrace reads an arrival trace in the excerpt's form: the header line
// offset_ms,context_tokens,generated_tokens, then one row for each request in
// time order starting at 0. Errors have the code trace_invalid and name the line.
func ParseTrace(r io.Reader) ([]Arrival, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4096), 4096)
	var rows []Arrival
	n := 0
	for sc.Scan() {
		n++
		text := strings.TrimSuffix(sc.Text(), "\r")
		if n == 1 {
			if text != excerptHeader {
				return nil, traceProblem(n, "starts with "+strconv.Quote(shorten(text, 60)), nil)
			}
			continue
		}
		if text == "" {
			continue
		}
		a, err := parseArrival(text)
		if err != nil {
			return nil, traceProblem(n, "cannot be read", err)
		}
		if len(rows) == 0 && a.Offset != 0 {
			return nil, traceProblem(n, fmt.Sprintf("starts at %v, not at 0", a.Offset), nil)
		}
		if len(rows) > 0 && a.Offset < rows[len(rows)-1].Offset {
			return nil, traceProblem(n, fmt.Sprintf("goes back in time from %v to %v", rows[len(rows)-1].Offset, a.Offset), nil)
		}
		if len(rows) == maxTraceRows {
			return nil, traceProblem(n, fmt.Sprintf("is beyond the %d rows that are held in memory", maxTraceRows), nil)
		}
		rows = append(rows, a)
	}
	if err := sc.Err(); err != nil {
		return nil, traceProblem(n+1, "cannot be read", err)
	}
	if len(rows) < 2 || rows[len(rows)-1].Offset <= 0 {
		return nil, traceProblem(n, "ends a trace without two rows at different times", nil)
	}
	return rows, nil
}

func parseArrival(text string) (Arrival, error) {
	f := strings.Split(text, ",")
	if len(f) != 3 {
		return Arrival{}, fmt.Errorf("%d columns, want 3", len(f))
	}
	ms, err := parseBounded(f[0], maxTraceDays*24*3600*1000)
	if err != nil {
		return Arrival{}, err
	}
	in, err := parseBounded(f[1], maxTraceToken)
	if err != nil {
		return Arrival{}, err
	}
	out, err := parseBounded(f[2], maxTraceToken)
	if err != nil {
		return Arrival{}, err
	}
	return Arrival{Offset: time.Duration(ms) * time.Millisecond, ContextTokens: int(in), GeneratedTokens: int(out)}, nil
}

func parseBounded(s string, most int64) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", shorten(s, 40))
	}
	if v < 0 || v > most {
		return 0, fmt.Errorf("%d is outside 0 to %d", v, most)
	}
	return v, nil
}

func traceProblem(line int, what string, err error) error {
	return &model.Problem{
		Code: "trace_invalid",
		Text: fmt.Sprintf("arrival trace line %d %s", line, what),
		Hint: "give lines of " + excerptHeader + " in time order",
		Err:  err,
	}
}

// shorten cuts s to at most n bytes at a character boundary.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
