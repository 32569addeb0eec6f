package loadgen

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"sightline/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow is a source whose server takes a fixed time for every request.
type slow struct {
	takes time.Duration
	mu    sync.Mutex
	drawn []Arrival
}

func (s *slow) draw(_ *rand.Rand, a Arrival, _ Mix) call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = append(s.drawn, a)
	return slowCall{s.takes}
}

type slowCall struct{ takes time.Duration }

func (c slowCall) do(ctx context.Context, r *Record) {
	timer := time.NewTimer(c.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		fail(ctx, r, ctx.Err())
	}
}

func testTraffic(rate float64, process Process, inFlight int) Traffic {
	t := Traffic{Name: "p", Model: "m", Arrivals: process, Rate: rate, MaxInFlight: inFlight, Timeout: time.Minute, Targets: []Target{{URL: "http://x", Instance: "i", Weight: 1}}}
	t.Trace, _ = Excerpt()
	return t
}

func testGenerator(c Config, log *slog.Logger, t Traffic, s source) *Generator {
	g := newGenerator(c.withDefaults(), log)
	g.lanes = []*lane{newLane(t, Mix{Targets: []float64{1}}, s, c.Seed)}
	g.meters = newMeters(g.lanes)
	return g
}

// runFor runs g for d of the bubble's time and waits for its end.
func runFor(t *testing.T, g *Generator, d time.Duration, during func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	if during != nil {
		during()
	} else {
		time.Sleep(d)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRequestsLeaveOnTimeWhateverTheServerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGenerator(Config{}, nil, testTraffic(10, ArrivalConstant, 1000), &slow{takes: 7 * time.Second})
		start := time.Now()
		runFor(t, g, 10*time.Second+time.Millisecond, nil)
		rs, _ := g.Records()
		if len(rs) != 100 {
			t.Fatalf("%d requests in 10 s at 10/s", len(rs))
		}
		sort.Slice(rs, func(i, j int) bool { return rs[i].ID < rs[j].ID }) // those cut at the end finish together
		for i, r := range rs {
			want := start.Add(time.Duration(i+1) * 100 * time.Millisecond)
			if !r.Scheduled.Equal(want) || !r.Sent.Equal(want) {
				t.Fatalf("request %d was due %v and left %v, want %v", i, r.Scheduled.Sub(start), r.Sent.Sub(start), want.Sub(start))
			}
		}
		// The last ones are cut by the drain: 7 s of work, 5 s of grace.
		if s := Summarise(rs, model.TimeRange{Start: start, End: start.Add(time.Minute)}); s.ByKind[model.ErrorCancelled] != 20 && s.ByKind[model.ErrorCancelled] != 21 {
			t.Errorf("cancelled at the end: %v", s.ByKind)
		}
	})
}

func TestDropsBeyondTheBoundAreCountedLoggedAndRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		g := testGenerator(Config{}, slog.New(slog.NewTextHandler(&out, nil)), testTraffic(10, ArrivalConstant, 5), &slow{takes: time.Second})
		start := time.Now()
		runFor(t, g, 4*time.Second+time.Millisecond, nil)
		rs, _ := g.Records()
		s := Summarise(rs, model.TimeRange{Start: start, End: start.Add(time.Minute)})
		if s.Requests != 20 || s.Dropped != 20 {
			t.Fatalf("%d sent, %d dropped; want 20 and 20", s.Requests, s.Dropped)
		}
		want := "# HELP sightline_loadgen_dropped_total Requests that were due but never sent because too many were in flight, by plan.\n# TYPE sightline_loadgen_dropped_total counter\nsightline_loadgen_dropped_total{plan=\"p\"} 20\n"
		if err := testutil.CollectAndCompare(g, strings.NewReader(want), "sightline_loadgen_dropped_total"); err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), "requests dropped"); n != 1 {
			t.Errorf("drops were logged %d times in 4 s, want once in 10 s:\n%s", n, out.String())
		}
	})
}

func TestRateFactorChangesAtOnceAndZeroPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGenerator(Config{}, nil, testTraffic(10, ArrivalConstant, 1000), &slow{takes: time.Millisecond})
		start := time.Now()
		set := func(f float64) {
			if err := g.SetRate("p", f); err != nil {
				t.Error(err)
			}
		}
		runFor(t, g, 0, func() {
			time.Sleep(10*time.Second + time.Millisecond) // 100
			set(3)
			time.Sleep(10 * time.Second) // 300
			set(0)
			time.Sleep(10 * time.Second) // 0
			set(1)
			time.Sleep(10 * time.Second) // 100
		})
		rs, _ := g.Records()
		for i, want := range []float64{10, 30, 0, 10} {
			at := start.Add(time.Duration(i) * 10 * time.Second)
			s := Summarise(rs, model.TimeRange{Start: at.Add(2 * time.Millisecond), End: at.Add(10*time.Second + 2*time.Millisecond)})
			if math.Abs(s.Rate-want) > 0.11 {
				t.Errorf("phase %d: %v/s, want %v", i, s.Rate, want)
			}
		}
		if model.CodeOf(g.SetRate("nobody", 1)) != "loadgen_config" || model.CodeOf(g.SetRate("", -1)) != "loadgen_config" || model.CodeOf(g.SetRate("", math.NaN())) != "loadgen_config" {
			t.Error("an unknown plan or a bad factor passes")
		}
	})
}

func TestTraceKeepsItsBurstsAtAnyRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		g := testGenerator(Config{Seed: 7}, nil, testTraffic(20, ArrivalTrace, 100_000), s)
		runFor(t, g, 200*time.Second, nil) // two loops of 2,000 rows
		rs, _ := g.Records()
		if math.Abs(float64(len(rs))-4000) > 60 {
			t.Fatalf("%d requests in 200 s at 20/s", len(rs))
		}
		var gaps []float64
		for i := 1; i < len(rs); i++ {
			gaps = append(gaps, rs[i].Scheduled.Sub(rs[i-1].Scheduled).Seconds())
		}
		d, ss := Describe(gaps), 0.0
		for _, v := range gaps {
			ss += (v - d.Mean) * (v - d.Mean)
		}
		if cv := math.Sqrt(ss/float64(d.N)) / d.Mean; cv < 1.0 || cv > 1.1 {
			t.Errorf("coefficient of variation %.3f, the trace has 1.05", cv)
		}
	})
}

func TestGeneratorRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGenerator(Config{}, nil, testTraffic(1, ArrivalPoisson, 10), &slow{})
		runFor(t, g, 3*time.Second, nil)
		if model.CodeOf(g.Run(t.Context())) != "loadgen_running" {
			t.Error("a second Run passes")
		}
	})
}

func TestMixChangesAreChecked(t *testing.T) {
	g := testGenerator(Config{}, nil, testTraffic(1, ArrivalPoisson, 10), &slow{})
	if err := g.SetMix("p", Mix{Versions: []Choice[string]{{"2", 1}}}); err != nil {
		t.Error(err)
	}
	if err := g.SetOversizedShare("", .25); err != nil {
		t.Error(err)
	}
	if m := g.lanes[0].currentMix(); m.Versions[0].Value != "2" || *m.OversizedShare != .25 || len(m.Targets) != 1 {
		t.Errorf("mix %+v", m)
	}
	for _, bad := range []Mix{
		{Targets: []float64{1, 1}}, {Targets: []float64{0}}, {Targets: []float64{-1}}, {OversizedShare: share(1.5)}, {PlainShare: share(math.NaN())},
		{Sizes: []Choice[int]{{0, 1}}}, {Items: []Choice[int]{{1000, 1}}}, {PromptScale: share(0)},
	} {
		if model.CodeOf(g.SetMix("p", bad)) != "loadgen_config" {
			t.Errorf("mix %+v passes", bad)
		}
	}
	if m := g.lanes[0].currentMix(); *m.OversizedShare != .25 {
		t.Error("a refused change left something behind")
	}
}

func TestOwnMetricsAreLintClean(t *testing.T) {
	g := testGenerator(Config{}, nil, testTraffic(1, ArrivalPoisson, 10), &slow{})
	g.meters.requests.WithLabelValues("p", "oom").Inc()
	problems, err := testutil.CollectAndLint(g)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
