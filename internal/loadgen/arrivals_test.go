package loadgen

import (
	"math"
	"testing"
	"time"
)

func TestArrivalsHaveTheWantedMean(t *testing.T) {
	rows, err := Excerpt()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Process{ArrivalTrace, ArrivalPoisson, ArrivalConstant} {
		for _, rate := range []float64{.5, 8, 500} {
			a := newArrivals(p, rate, rows, 3)
			n := 3 * len(rows) // whole loops
			var last Arrival
			for range n {
				next := a.pull()
				if next.Offset < last.Offset {
					t.Fatalf("%s goes back in time: %v after %v", p, next.Offset, last.Offset)
				}
				if next.ContextTokens == 0 || next.GeneratedTokens == 0 {
					t.Fatalf("%s gives no token counts", p)
				}
				last = next
			}
			got := float64(n) / last.Offset.Seconds()
			tolerance := .01
			if p == ArrivalPoisson {
				tolerance = 4 / math.Sqrt(float64(n)) // four standard errors
			}
			if math.Abs(got/rate-1) > tolerance {
				t.Errorf("%s at %v/s gives %v/s", p, rate, got)
			}
		}
	}
}

func TestSameSeedSameArrivals(t *testing.T) {
	rows, _ := Excerpt()
	for _, p := range []Process{ArrivalTrace, ArrivalPoisson} {
		a, b, c := newArrivals(p, 5, rows, 11), newArrivals(p, 5, rows, 11), newArrivals(p, 5, rows, 12)
		differs := false
		for range 3000 {
			x, y, z := a.pull(), b.pull(), c.pull()
			if x != y {
				t.Fatalf("%s: seed 11 gives %v and %v", p, x, y)
			}
			differs = differs || x != z
		}
		if !differs {
			t.Errorf("%s: seeds 11 and 12 give the same", p)
		}
	}
}

func TestSeedZeroStartsAtTheFirstRow(t *testing.T) {
	rows, _ := Excerpt()
	a := newArrivals(ArrivalTrace, 4.82, rows, 0)
	for i := range 5 {
		if got := a.pull(); got.ContextTokens != rows[i].ContextTokens {
			t.Fatalf("row %d is %v", i, got)
		}
	}
}

func TestPacerChangesSpeedWithoutMovingThePast(t *testing.T) {
	t0 := time.Unix(0, 0)
	p := pacer{factor: 1, anchor: t0}
	if at, _ := p.due(10 * time.Second); !at.Equal(t0.Add(10 * time.Second)) {
		t.Fatal(at)
	}
	p.setFactor(t0.Add(4*time.Second), 2, 10*time.Second)
	if at, _ := p.due(10 * time.Second); !at.Equal(t0.Add(7 * time.Second)) {
		t.Errorf("doubled at 4 s, 10 s are due at %v", at)
	}
	p.setFactor(t0.Add(5*time.Second), 0, 10*time.Second)
	if _, ok := p.due(10 * time.Second); ok {
		t.Error("a paused pacer has something due")
	}
	p.setFactor(t0.Add(60*time.Second), 1, 10*time.Second)
	if at, _ := p.due(10 * time.Second); !at.Equal(t0.Add(64 * time.Second)) {
		t.Errorf("after the pause 10 s are due at %v", at)
	}
	p.setFactor(t0.Add(90*time.Second), 5, 10*time.Second) // 10 s is overdue
	if at, _ := p.due(10 * time.Second); at.After(t0.Add(90 * time.Second)) {
		t.Errorf("an overdue request moved to %v", at)
	}
}
