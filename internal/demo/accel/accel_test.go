package accel

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tol {
		t.Errorf("%s is %g, want %g within %g", what, got, want, tol)
	}
}

// fake returns a card whose work and stretching are sleeps of the fake clock.
func fake(c Config) *Device {
	c.Stretch = time.Sleep
	return New(c)
}

func TestBusyIsTheShareOfTheLastInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(Config{})
		d.Start(t.Context())
		defer d.Close()
		time.Sleep(100 * time.Millisecond)
		d.Run(func() { time.Sleep(300 * time.Millisecond) })
		time.Sleep(650 * time.Millisecond) // t = 1.05 s
		near(t, "busy", d.Snapshot().Busy, 0.3, 1e-9)
		near(t, "SM active", d.Snapshot().Load.SM, 0.3*DefaultLoad.SM, 1e-9)
		near(t, "clock", d.Snapshot().ClockMHz, 1980, 1e-9)
		time.Sleep(time.Second)
		near(t, "busy when idle", d.Snapshot().Busy, 0, 0)
		near(t, "clock when idle", d.Snapshot().ClockMHz, 345, 0)
		if d.Snapshot().Reasons != ReasonIdle {
			t.Errorf("reasons %#x, want idle", d.Snapshot().Reasons)
		}
	})
}

func TestWorkThatSpansASampleIsSplitExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(Config{})
		d.Start(t.Context())
		defer d.Close()
		go func() {
			time.Sleep(800 * time.Millisecond)
			d.Run(func() { time.Sleep(700 * time.Millisecond) }) // 0.8 s .. 1.5 s
		}()
		time.Sleep(1001 * time.Millisecond)
		near(t, "busy of the first second", d.Snapshot().Busy, 0.2, 1e-9)
		time.Sleep(time.Second)
		near(t, "busy of the second second", d.Snapshot().Busy, 0.5, 1e-9)
	})
}

func TestOneStreamRunsOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			streams int
			want    time.Duration
			busy    float64
		}{{1, 800 * time.Millisecond, 0.8}, {2, 400 * time.Millisecond, 0.4}} {
			d := fake(Config{Streams: tc.streams})
			start := time.Now()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { d.Run(func() { time.Sleep(200 * time.Millisecond) }) })
			}
			wg.Wait()
			if got := time.Since(start); got != tc.want {
				t.Errorf("%d streams: four pieces of work took %v, want %v", tc.streams, got, tc.want)
			}
			time.Sleep(time.Second - tc.want)
			d.Sample()
			near(t, "busy", d.Snapshot().Busy, tc.busy, 1e-9)
		}
	})
}

func TestAcquireWaitsAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(Config{})
		s, err := d.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := d.TryAcquire(); ok {
			t.Error("two holders of one stream")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want deadline", err)
		}
		s.Release()
		if s, ok := d.TryAcquire(); !ok {
			t.Error("a released stream is not free")
		} else {
			s.Release()
		}
	})
}

// The expected numbers are computed here from the model's definition, not by it.
func TestPowerEnergyAndTemperature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(Config{PowerLimitWatts: 200, IdleWatts: 20})
		busy := 0.4 + 0.3*0.8 + 0.3*0.4 // intensity of the default load
		dynamic := 0.85*200 - 20
		wantPower := 20 + dynamic*busy
		d.Start(t.Context())
		defer d.Close()
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			d.Run(func() { time.Sleep(100 * time.Second) })
		}()
		time.Sleep(10*time.Second + time.Millisecond)
		s := d.Snapshot()
		near(t, "power", s.PowerWatts, wantPower, 1e-6)
		near(t, "energy", s.EnergyJoules, 10*wantPower, 1e-3)
		res := 38 / (0.85 * 200)
		start, steady := 30+res*20, 30+res*wantPower
		near(t, "temperature after 10 s", s.TemperatureCelsius, steady+(start-steady)*math.Exp(-10.0/15), 1e-6)
		<-stop
		time.Sleep(time.Millisecond)
		near(t, "temperature in the end", d.Snapshot().TemperatureCelsius, steady, 0.1)
	})
}

func TestPowerCapLowersClockAndSlowsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(Config{PowerLimitWatts: 200, IdleWatts: 20})
		if r := d.ClockRatio(); r != 1 {
			t.Fatalf("clock ratio %g without a cap", r)
		}
		d.SetPowerLimit(80)
		want := math.Pow((80-20)/((0.85*200-20)*(0.4+0.3*0.8+0.3*0.4)), 1/2.4)
		near(t, "clock ratio", d.ClockRatio(), want, 1e-9)
		start := time.Now()
		d.Run(func() { time.Sleep(100 * time.Millisecond) })
		near(t, "time of 100 ms of work", time.Since(start).Seconds(), 0.1/want, 1e-6)
		for time.Since(start) < time.Second {
			d.Run(func() { time.Sleep(10 * time.Millisecond) })
		}
		d.Sample()
		s := d.Snapshot()
		near(t, "power under the cap", s.PowerWatts, 80, 0.5)
		near(t, "clock under the cap", s.ClockMHz, 1980*want, 1)
		if s.Reasons != ReasonPowerCap || s.PowerViolation < 900*time.Millisecond || s.ThermalViolation != 0 {
			t.Errorf("reasons %#x, violations %v and %v", s.Reasons, s.PowerViolation, s.ThermalViolation)
		}
		d.SetPowerLimit(200)
		near(t, "clock ratio after the cap is lifted", d.ClockRatio(), 1, 0)
	})
}

func TestHotAirSlowsTheCardUntilItCools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(Config{})
		d.Start(t.Context())
		defer d.Close()
		work := func(sec int) {
			end := time.Now().Add(time.Duration(sec) * time.Second)
			for time.Now().Before(end) {
				d.Run(func() { time.Sleep(20 * time.Millisecond) })
			}
		}
		work(60)
		if s := d.Snapshot(); s.Reasons != 0 || s.TemperatureCelsius > 70 {
			t.Fatalf("healthy card: reasons %#x at %.1f °C", s.Reasons, s.TemperatureCelsius)
		}
		d.SetAmbient(65)
		work(1)
		if s := d.Snapshot(); s.Reasons != 0 {
			t.Errorf("no inertia: reasons %#x one second after the fan died", s.Reasons)
		}
		work(120)
		s := d.Snapshot()
		if s.Reasons&ReasonSWThermal == 0 || s.ClockMHz > 0.95*1980 || s.ThermalViolation < time.Second {
			t.Errorf("hot card: reasons %#x, clock %.0f, violation %v", s.Reasons, s.ClockMHz, s.ThermalViolation)
		}
		if s.TemperatureCelsius < 83 || s.TemperatureCelsius > 87 {
			t.Errorf("the driver holds %.1f °C, want between 83 and 87", s.TemperatureCelsius)
		}
		d.SetTemperature(95)
		near(t, "ratio in hardware slowdown", d.ClockRatio(), 1-0.08*12, 0.2)
		if d.ClockRatio() > 0.5 {
			t.Errorf("hardware slowdown leaves %.2f of the clock", d.ClockRatio())
		}
		work(1)
		if s := d.Snapshot(); s.Reasons&(ReasonHWThermal|ReasonHWSlowdown) != ReasonHWThermal|ReasonHWSlowdown {
			t.Errorf("reasons %#x at 95 °C", s.Reasons)
		}
		d.SetAmbient(30)
		work(120)
		if s := d.Snapshot(); s.Reasons != 0 || s.ClockMHz != 1980 {
			t.Errorf("cooled card: reasons %#x, clock %.0f", s.Reasons, s.ClockMHz)
		}
	})
}

func TestMemoryIsABudget(t *testing.T) {
	d := New(Config{Index: 3, MemoryBytes: 100 * MiB, ReservedBytes: 10 * MiB})
	free, err := d.Alloc(60 * MiB)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Alloc(31 * MiB)
	var oom *OutOfMemoryError
	if !errors.As(err, &oom) {
		t.Fatalf("error %v, want out of memory", err)
	}
	if want := "CUDA out of memory. Tried to allocate 31.00 MiB. GPU 3 has a total capacity of 100.00 MiB of which 30.00 MiB is free."; err.Error() != want {
		t.Errorf("text %q, want %q", err, want)
	}
	if s := d.Snapshot(); s.MemoryUsed != 60*MiB || s.MemoryTotal != 100*MiB {
		t.Errorf("used %d of %d", s.MemoryUsed, s.MemoryTotal)
	}
	free()
	free() // twice gives back once
	if _, used, _ := d.Memory(); used != 0 {
		t.Errorf("%d bytes used after release", used)
	}
	if _, err := d.Alloc(90 * MiB); err != nil {
		t.Errorf("the whole budget does not fit: %v", err)
	}
	if _, err := d.Alloc(-1); err == nil {
		t.Error("a negative allocation passes")
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{2 << 30: "2.00 GiB", 79 * MiB / 2: "39.50 MiB", 2048: "2.00 KiB", 7: "7 bytes"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestStretchSpendsRealTime(t *testing.T) {
	d := New(Config{})
	d.SetPowerLimit(d.cfg.IdleWatts) // lowest clock
	r := d.ClockRatio()
	if r != minRatio {
		t.Fatalf("ratio %g, want %g", r, minRatio)
	}
	start := time.Now()
	var f time.Duration
	d.Run(func() {
		s := time.Now()
		burner(time.Now)(2 * time.Millisecond)
		f = time.Since(s)
	})
	if got := time.Since(start); float64(got) < 0.99*float64(f)/r {
		t.Errorf("work of %v took %v at %.2f of the clock", f, got, r)
	}
}

func TestConcurrentUse(t *testing.T) {
	d := New(Config{Streams: 2})
	d.Start(t.Context())
	d.Start(t.Context())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if free, err := d.Alloc(1 << 20); err == nil {
					d.Run(func() { d.Transfer(10, int64(i)) })
					free()
				}
				d.Sample()
				Exposition(d)
			}
		})
	}
	wg.Wait()
	d.Close()
	d.Close()
	if _, used, _ := d.Memory(); used != 0 {
		t.Errorf("%d bytes leaked", used)
	}
}

func TestIdentityIsStableAndUnique(t *testing.T) {
	a, b, c := New(Config{Node: "n"}), New(Config{Node: "n"}), New(Config{Node: "n", Index: 1})
	if a.UUID() != b.UUID() || a.UUID() == c.UUID() || len(a.UUID()) != len("GPU-8f3a2c11-4b7e-9d05-6c1a-2e5f7b90a3d4") {
		t.Errorf("UUIDs %s, %s and %s", a.UUID(), b.UUID(), c.UUID())
	}
	if c.Node() != "n" || c.Index() != 1 {
		t.Errorf("node %q index %d", c.Node(), c.Index())
	}
	a.SetPowerLimit(99)
	if a.PowerLimit() != 99 || a.Snapshot().PowerLimitWatts != 99 {
		t.Error("a new power limit does not show at once")
	}
}

// Streams that together ask for more than the card has get the whole card,
// and what they leave behind is nothing.
func TestLoadsAddUpToTheWholeCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(Config{Streams: 3})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { d.RunLoad(Load{SM: 0.5, DRAM: 0.1}, func() { time.Sleep(time.Second) }) })
		}
		wg.Wait()
		d.Sample()
		s := d.Snapshot()
		near(t, "SM active", s.Load.SM, 1, 1e-9)
		near(t, "DRAM active", s.Load.DRAM, 0.3, 1e-9)
		near(t, "busy", s.Busy, 1, 1e-9)
		time.Sleep(time.Second)
		d.Sample()
		if s := d.Snapshot(); s.Load != (Load{}) || s.Busy != 0 {
			t.Errorf("an idle card shows %+v", s)
		}
	})
}

func TestWorkThatPanicsGivesTheStreamBack(t *testing.T) {
	d := New(Config{})
	func() {
		defer func() { _ = recover() }()
		d.Run(func() { panic("kernel fault") })
	}()
	if s, ok := d.TryAcquire(); !ok || d.work.active != 0 {
		t.Error("the stream of work that panicked is lost")
	} else {
		s.Release()
	}
}
