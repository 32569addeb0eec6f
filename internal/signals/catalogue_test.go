package signals

import (
	"strings"
	"testing"
)

const tiny = `
groups:
  - name: requests
    levels: [model]
    absent: {code: none, text: none, remedy: none}
    signals:
      - {name: requests, operations: [rate], unit: per second, meaning: Requests.}
      - {name: errors, operations: [ratio], unit: ratio, meaning: Errors.}
`

const tinyDialect = `
name: x
title: X
recognise: [x_total]
covers: [requests]
presence: group by ($by) (x_total{$match})
signals:
  - {signal: "requests:rate", method: counter, needs: [x_total], expr: "sum by ($by) (rate(x_total{$match}[$window]))"}
absent:
  - {signals: ["errors:ratio"], code: c, text: t, remedy: r}
`

func TestParseRefusesWhatIsNotWhole(t *testing.T) {
	if _, err := parse([]byte(tiny), []byte(tinyDialect)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ catalogue, dialect, want string }{
		"unknown key in catalogue":  {tiny + "colour: red\n", tinyDialect, "colour"},
		"unknown key in dialect":    {tiny, tinyDialect + "colour: red\n", "colour"},
		"unknown operation":         {strings.Replace(tiny, "[rate]", "[speed]", 1), tinyDialect, "speed"},
		"unknown level":             {strings.Replace(tiny, "[model]", "[rack]", 1), tinyDialect, "rack"},
		"no unit":                   {strings.Replace(tiny, "unit: ratio, ", "", 1), tinyDialect, "unit"},
		"signal neither nor absent": {tiny, strings.Split(tinyDialect, "absent:")[0], "neither given nor absent"},
		"both given and absent":     {tiny, strings.Replace(tinyDialect, `["errors:ratio"]`, `["errors:ratio", "requests:rate"]`, 1), "both given and absent"},
		"unknown signal":            {tiny, strings.Replace(tinyDialect, `"errors:ratio"`, `"errors:ratio", "mistakes"`, 1), "mistakes"},
		"bad PromQL":                {tiny, strings.Replace(tinyDialect, "rate(x_total", "rate((x_total", 1), "requests:rate"},
		"filter forgotten":          {tiny, strings.Replace(tinyDialect, "rate(x_total{$match}", "rate(x_total", 1), "lacks $match"},
		"unknown source":            {tiny, strings.Replace(tinyDialect, "title: X", "title: X\nsource: oracle", 1), "oracle"},
		"unknown method":            {tiny, strings.Replace(tinyDialect, "method: counter", "method: guess", 1), "guess"},
		"two documents":             {tiny, tinyDialect + "---\n{}\n", "document"},
		"births without selector":   {tiny, strings.Replace(tinyDialect, "rate(x_total{$match}[$window])", "births(x_total)", 1), "births"},
	} {
		_, err := parse([]byte(c.catalogue), []byte(c.dialect))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplaceNameRespectsWords(t *testing.T) {
	if got := replaceName("sightline_gpu unless sightline_gpu_pod + sightline_gpu", "sightline_gpu", "x"); got != "(x) unless sightline_gpu_pod + (x)" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(tiny, tinyDialect)
	f.Add("groups: [", "name: {")
	f.Fuzz(func(t *testing.T, catalogue, dialect string) {
		c, err := parse([]byte(catalogue), []byte(dialect))
		if err == nil {
			c.Rules(nil, Options{})
		}
	})
}
