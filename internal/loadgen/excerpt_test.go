package loadgen

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"sightline/internal/model"
)

func TestExcerptIsWhatItsReadmeSays(t *testing.T) {
	rows, err := Excerpt()
	if err != nil {
		t.Fatal(err)
	}
	in, out := 0, 0
	for _, r := range rows {
		in, out = in+r.ContextTokens, out+r.GeneratedTokens
	}
	n := float64(len(rows))
	rate := (n - 1) / rows[len(rows)-1].Offset.Seconds()
	if len(rows) != 2000 || math.Abs(rate-4.82) > .005 || math.Round(float64(in)/n) != 1113 || math.Round(float64(out)/n) != 267 {
		t.Errorf("%d rows, %.3f/s, means %.1f and %.1f", len(rows), rate, float64(in)/n, float64(out)/n)
	}
	if len(excerptCSV) > 60<<10 {
		t.Errorf("the excerpt has %d bytes", len(excerptCSV))
	}
	readme, err := os.ReadFile("excerpt/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, must := range []string{"CC BY 4.0", "creativecommons.org/licenses/by/4.0", "Azure/AzurePublicDataset", "Changes made", "Microsoft"} {
		if !bytes.Contains(readme, []byte(must)) {
			t.Errorf("the attribution lacks %q", must)
		}
	}
}

func TestParseTraceNamesTheLine(t *testing.T) {
	h := excerptHeader + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 0"}, {"header", "a,b\n", "line 1"}, {"columns", h + "0,1,1\n1,2\n", "line 3"},
		{"number", h + "0,1,1\n1,x,2\n", "line 3"}, {"negative", h + "0,1,1\n1,-4,2\n", "line 3"}, {"back", h + "0,1,1\n5,1,1\n4,1,1\n", "line 4"},
		{"start", h + "3,1,1\n", "line 2"}, {"one row", h + "0,1,1\n", "line 2"}, {"no time", h + "0,1,1\n0,1,1\n", "line 3"},
		{"long line", h + strings.Repeat("9", 5000) + "\n", "line 2"},
	} {
		_, err := ParseTrace(strings.NewReader(c.text))
		if model.CodeOf(err) != "trace_invalid" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add(excerptHeader + "\n0,1,1\n10,2,3\n")
	f.Add(excerptHeader + "\r\n0,1,1\r\n\r\n10,2,3")
	f.Add(excerptHeader + "\n0,1,1\n9999999999999999999,2,3\n")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, s string) {
		rows, err := ParseTrace(strings.NewReader(s))
		if err != nil {
			if model.CodeOf(err) != "trace_invalid" {
				t.Errorf("code of %v", err)
			}
			return
		}
		a := newArrivals(ArrivalTrace, 1, rows, 1)
		last := a.pull().Offset
		for range min(2*len(rows), 1000) {
			next := a.pull().Offset
			if next < last {
				t.Fatalf("%v after %v", next, last)
			}
			last = next
		}
	})
}
