package query

import (
	"testing"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

func TestPlacePutsPointsOnTheGrid(t *testing.T) {
	start := time.Unix(1000, 0)
	r := model.TimeRange{Start: start, End: start.Add(40 * time.Second)}
	nan := 0.0
	nan /= nan
	got := place([]model.Point{{T: 1000_000, V: 1}, {T: 1020_000, V: nan}, {T: 1030_000, V: 4}, {T: 990_000, V: 9}, {T: 1090_000, V: 9}}, r, 10*time.Second)
	if len(got) != 5 || got[0] == nil || *got[0] != 1 || got[1] != nil || got[2] != nil || got[3] == nil || *got[3] != 4 || got[4] != nil {
		t.Errorf("%v", got)
	}
}

func TestHoleSpansWhatIsMissing(t *testing.T) {
	for _, x := range []struct {
		alive  []bool
		lo, hi int
	}{
		{nil, 0, 3},
		{[]bool{true, true, true, true}, 4, -1},
		{[]bool{false, true, true, true}, 0, 0},
		{[]bool{true, false, true, false}, 1, 3},
	} {
		if lo, hi := hole(x.alive, 4); lo != x.lo || hi != x.hi {
			t.Errorf("%v: %d %d, want %d %d", x.alive, lo, hi, x.lo, x.hi)
		}
	}
}

func TestMergeKeepsWhatIsThere(t *testing.T) {
	start := time.Unix(1000, 0)
	req := lineRequest{r: model.TimeRange{Start: start, End: start.Add(10 * time.Second)}, step: 5 * time.Second}
	acc := map[string]*Line{}
	s := func(v float64, at ...int64) model.Series {
		x := model.Series{Labels: map[string]string{"__name__": "x", "a": "b"}}
		for _, t := range at {
			x.Points = append(x.Points, model.Point{T: t * 1000, V: v})
		}
		return x
	}
	merge(acc, []model.Series{s(1, 1000)}, req, nil)
	merge(acc, []model.Series{s(2, 1000, 1005, 1010)}, req, func(i int) bool { return i < 2 })
	lines := sorted(acc)
	if len(lines) != 1 {
		t.Fatalf("%v", lines)
	}
	if v := lines[0].Values; *v[0] != 1 || *v[1] != 2 || v[2] != nil {
		t.Errorf("%v %v %v", *v[0], *v[1], v[2])
	}
	req.keep = func(map[string]string) bool { return false }
	if merge(acc, []model.Series{s(3, 1010)}, req, nil); acc["a\x00b"].Values[2] != nil {
		t.Error("a series that is not wanted got in")
	}
}

func TestFilterSplitsByLevel(t *testing.T) {
	f := Filter{Service: "s", Model: "m", Version: "1", GPU: "G"}
	in, beyond := f.labels(model.LevelModel)
	if len(in) != 2 || in["model"] != "m" || len(beyond) != 2 || beyond["version"] != "1" || beyond["gpu"] != "G" {
		t.Errorf("%v %v", in, beyond)
	}
	if m := matchers(map[string]string{"b": `x"y`, "a": "1"}); m != `a="1",b="x\"y"` {
		t.Error(m)
	}
	if n := named([]string{"model:a:rate", "gpu.b"}, `c="d"`); n != `{__name__=~"model:a:rate|gpu\\.b",c="d"}` {
		t.Error(n)
	}
}

func TestIdsBecomeUnique(t *testing.T) {
	rows := []NowRow{{ID: "s/m", Namespace: "a"}, {ID: "s/m", Namespace: "b"}, {ID: "s/n"}}
	unique(rows)
	if rows[0].ID == rows[1].ID || rows[2].ID != "s/n" {
		t.Errorf("%+v", rows)
	}
}

func TestSubstituteIsTheMeanOfTheSame(t *testing.T) {
	cat, err := signals.Load()
	if err != nil {
		t.Fatal(err)
	}
	q := New(nil, cat, Options{})
	for full, want := range map[string]string{
		"model:request_latency_seconds:p99": "model:request_latency_seconds:mean",
		"instance:input_tokens:p50":         "instance:input_tokens:mean",
		"model:requests:rate":               "",
		"nonsense":                          "",
	} {
		if got := q.substituteFor(full); got != want {
			t.Errorf("%s: %q, want %q", full, got, want)
		}
	}
	if o := q.origin("gpu:busy:ratio", []string{"triton", "dcgm"}); o.Source != model.SourceDCGM {
		t.Errorf("the card's own exporter comes first: %+v", o)
	}
	if len(q.active()) != 3 {
		t.Errorf("without a list all dialects count: %v", q.active())
	}
}

func TestGridIsRoundedAndBounded(t *testing.T) {
	cat, err := signals.Load()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(100_003, 0)
	q := New(nil, cat, Options{Now: func() time.Time { return now }})
	r, step, err := q.gridOf(SeriesRequest{Signals: []string{"model:requests:rate"}})
	// The last hour in 300 steps of 12 s, rounded up to the rules' 5 s: 15 s.
	if err != nil || step != 15*time.Second || r.End.Unix() != 99_990 || r.Duration() != time.Hour {
		t.Errorf("%v %s %v", r, step, err)
	}
	if _, step, _ = q.gridOf(SeriesRequest{Signals: []string{"x"}, Step: 7 * time.Second}); step != 10*time.Second {
		t.Errorf("step %s", step)
	}
	if _, step, _ = q.gridOf(SeriesRequest{Signals: []string{"x"}, From: now, To: now}); step != 5*time.Second {
		t.Errorf("step of a moment %s", step)
	}
}

// A card that a server named by its UUID first is one line once its exporter
// names it in full; reasons stay apart.
func TestMergeKnowsCardsByUUID(t *testing.T) {
	start := time.Unix(1000, 0)
	req := lineRequest{full: "gpu:clock_limited:ratio", r: model.TimeRange{Start: start, End: start.Add(5 * time.Second)}, step: 5 * time.Second}
	acc := map[string]*Line{}
	merge(acc, []model.Series{
		{Labels: map[string]string{"gpu": "G", "reason": "power"}, Points: []model.Point{{T: 1000_000, V: 1}}},
		{Labels: map[string]string{"gpu": "G", "gpu_index": "0", "node": "n", "reason": "power"}, Points: []model.Point{{T: 1005_000, V: 2}}},
		{Labels: map[string]string{"gpu": "G", "gpu_index": "0", "node": "n", "reason": "thermal"}, Points: []model.Point{{T: 1005_000, V: 3}}},
	}, req, nil)
	lines := sorted(acc)
	if len(lines) != 2 {
		t.Fatalf("%v", lines)
	}
	if l := lines[0]; l.Labels["node"] != "n" || l.Labels["gpu_index"] != "0" || *l.Values[0] != 1 || *l.Values[1] != 2 {
		t.Errorf("%v", l)
	}
}
