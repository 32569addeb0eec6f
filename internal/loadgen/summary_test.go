package loadgen

import (
	"math"
	"testing"
	"time"

	"sightline/internal/model"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestQuantilesAreExact(t *testing.T) {
	vs := make([]float64, 100)
	for i := range vs {
		vs[99-i] = float64(i + 1)
	}
	d := Describe(vs)
	if d.P50 != 50 || d.P90 != 90 || d.P95 != 95 || d.P99 != 99 || d.Min != 1 || d.Max != 100 || d.Mean != 50.5 {
		t.Errorf("nearest rank %+v", d)
	}
	if !near(d.Interp50, 50.5) || !near(d.Interp90, 90.1) || !near(d.Interp99, 99.01) {
		t.Errorf("interpolated %+v", d)
	}
	one := Describe([]float64{3})
	if one.P99 != 3 || one.Interp99 != 3 || one.Rank(0) != 3 || one.Rank(1) != 3 {
		t.Errorf("one value %+v", one)
	}
	none := Describe(nil)
	if none.N != 0 || !math.IsNaN(none.Mean) || !math.IsNaN(none.P99) || !math.IsNaN(none.Interp50) {
		t.Errorf("nothing must be NaN: %+v", none)
	}
}

func TestSummaryOfAWindow(t *testing.T) {
	t0 := time.Unix(1000, 0)
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
	cached := 4
	rs := []Record{
		{Done: at(-1), Sent: at(-2), Scheduled: at(-2)}, // before
		{Done: at(0), Sent: at(-2), Scheduled: at(-2)},  // on the open end
		{Model: "m", Version: "1", Scheduled: at(0), Sent: at(.5), Done: at(1), Items: 1, BatchSize: 2, Timings: map[string]float64{"queue": .25}},
		{Model: "m", Version: "2", Scheduled: at(1), Sent: at(1), Done: at(2.5), Items: 1, BatchSize: 2, Timings: map[string]float64{"queue": .25}},
		{Model: "m", Version: "2", Scheduled: at(1), Sent: at(1), Done: at(3), Items: 4, BatchSize: 4},
		{Model: "m", Scheduled: at(2), Sent: at(2), Done: at(3), Error: model.ErrorOOM, Status: 500, Timings: map[string]float64{"queue": 99}},
		{Model: "m", Scheduled: at(2), Done: at(2), Dropped: true},
		{Model: "c", Scheduled: at(2), Sent: at(2), FirstToken: at(3), Done: at(5), TokenGaps: []time.Duration{time.Second, time.Second}, Tokens: &Usage{10, 3, &cached}},
		{Done: at(10.5), Sent: at(9), Scheduled: at(9)}, // after
	}
	s := Summarise(rs, model.TimeRange{Start: t0, End: at(10)})
	if s.Requests != 5 || !near(s.Rate, .5) || s.Errors != 1 || !near(s.ErrorRatio, .2) || s.ByKind[model.ErrorOOM] != 1 || s.Dropped != 1 {
		t.Errorf("counts %+v", s)
	}
	if s.Latency.N != 4 || !near(s.Latency.Mean, (.5+1.5+2+3)/4) || !near(s.FromSchedule.Mean, (1+1.5+2+3)/4) || s.Lag.N != 5 || !near(s.Lag.Max, .5) {
		t.Errorf("latency %+v lag %+v", s.Latency, s.Lag)
	}
	// Two of one item in one execution, one of four items alone: 6 items, 2 executions.
	if !near(s.BatchSize, 3) {
		t.Errorf("batch size %v", s.BatchSize)
	}
	if !near(s.QueueShare, .5/2) || s.Phases["queue"].N != 2 {
		t.Errorf("queue share %v", s.QueueShare)
	}
	if s.FirstToken.N != 1 || s.FirstToken.Mean != 1 || s.TokenGap.N != 2 || s.TokensIn != 10 || s.TokensOut != 3 || s.TokensCached != 4 || !near(s.TokensOutRate, .3) {
		t.Errorf("tokens %+v", s)
	}
	if g := Group(Select(rs, func(r *Record) bool { return r.Model == "m" && r.OK() }), ByVersion); len(g["1"]) != 1 || len(g["2"]) != 2 {
		t.Errorf("groups %v", g)
	}
	empty := Summarise(nil, model.TimeRange{Start: t0, End: at(1)})
	if !math.IsNaN(empty.ErrorRatio) || !math.IsNaN(empty.BatchSize) || !math.IsNaN(empty.QueueShare) || empty.Rate != 0 {
		t.Errorf("an empty window has no ratio: %+v", empty)
	}
}
