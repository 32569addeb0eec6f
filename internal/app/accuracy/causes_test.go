package accuracy

import (
	"strings"
	"testing"
	"time"

	"sightline/internal/demo/vision"
	"sightline/internal/loadgen"
	"sightline/internal/model"
)

// phase is one stretch of the run, by the canonical series and by the log.
type phase struct {
	queue, input, compute, output float64 // seconds, canonical
	logged                        loadgen.Summary
	crowd                         float64 // seconds, see allowance
	version                       string
}

// tries is how often the whole is measured on a crowded machine before it counts
// as failed; a quiet machine gets one try.
const tries = 3

// Queue and compute are measured apart: what adds waiting must move the one and
// leave the other alone, and what adds work the reverse. Batches of one keep the
// work of a request the same at any load, and several views an image make it
// long beside the half millisecond that a woken thread may be late.
func TestAccuracyOfQueueAndComputeApart(t *testing.T) {
	const window = 12 * second
	d := start(t, options{
		window: window,
		models: []vision.ModelConfig{{
			Name: imageModel, Seed: 7, MaxBatchSize: 1,
			Versions: []vision.VersionConfig{{Version: "1", Width: 1.6, Cost: 3}, {Version: "2", Width: 1.6, Cost: 6}},
		}},
		vision: loadgen.VisionPlan{
			Traffic:  loadgen.Traffic{Rate: 9, Arrivals: loadgen.ArrivalPoisson},
			Versions: []loadgen.Choice[string]{{Value: "1", Weight: 1}},
		},
	})
	for try := 1; ; try++ {
		r, quiet := d.apart(window)
		if r.bad == 0 || quiet || try == tries {
			r.done()
			return
		}
		t.Logf("try %d on a crowded machine had %d values outside their tolerance:\n%s", try, r.bad, strings.Join(r.lines, "\n"))
	}
}

// apart measures two instances, one instance and both versions side by side, and
// says whether the machine was quiet throughout.
func (d *demo) apart(window time.Duration) (r *report, quiet bool) {
	t := d.t
	t.Helper()
	measure := func(change loadgen.Mix, rate float64, version string) phase {
		if change.Targets != nil || change.Versions != nil {
			if err := d.load.SetMix("vision", change); err != nil {
				t.Fatal(err)
			}
			if err := d.load.SetRate("vision", rate); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, time.Now().Add(window+2500*time.Millisecond))
		}
		return d.phase(time.Now(), window, version)
	}
	first := []loadgen.Choice[string]{{Value: "1", Weight: 1}}
	two := measure(loadgen.Mix{Targets: []float64{1, 1}, Versions: first}, 1, "1")
	one := measure(loadgen.Mix{Targets: []float64{1, 0}, Versions: first}, 1, "1")
	// A third of the load leaves the instances nearly free of queues. Both versions
	// run in one window, so that whatever else the machine does meets them alike.
	fast := measure(loadgen.Mix{Targets: []float64{1, 1}, Versions: []loadgen.Choice[string]{{Value: "1", Weight: 1}, {Value: "2", Weight: 1}}}, .33, "1")
	slow := measure(loadgen.Mix{}, 0, "2")

	r = &report{t: t}
	quiet = true
	for _, p := range []struct {
		name string
		phase
	}{{"two instances", two}, {"one instance", one}, {"version 1", fast}, {"version 2", slow}} {
		t.Logf("%-13s queue %6.2f ms, compute %6.2f ms by the canonical series; queue %6.2f ms, compute %6.2f ms, %d requests, %d errors by the log", p.name, 1e3*p.queue, 1e3*p.compute,
			1e3*p.logged.Phases["queue"].Mean, 1e3*p.logged.Phases["compute_infer"].Mean, p.logged.Requests, p.logged.Errors)
		if p.logged.Errors > 0 || p.logged.Dropped > 0 {
			t.Errorf("%s: %d errors, %d dropped", p.name, p.logged.Errors, p.logged.Dropped)
		}
		quiet = quiet && p.crowd == 0
		// By the answers: the very same requests on both sides, so nothing but the
		// way between the two clocks may be left.
		told, ends := d.told(p.phase)
		r.within(p.name+": the answers' phases + transfers = end to end", told, ends, .02, max(p.crowd, 3e-4))
		// By the canonical series: their window ends at scrapes, which lie up to one
		// interval before the moment of the question, so the log is read over every
		// window that they may mean.
		lo, hi := d.span(p.phase)
		rest := p.logged.Phases["receive"].Mean + d.way(p.logged.Window)
		r.between(p.name+": queue + input + compute + output + transfers = end to end", p.queue+p.input+p.compute+p.output+rest, lo-max(.02*lo, p.crowd), hi+max(.02*hi, p.crowd))
	}
	same := .1
	if !quiet {
		same = .25 // two instances at once get less of crowded cores than one
	}
	r.between("half the instances: queue grows", one.queue/two.queue, 1.5, 1000)
	r.within("half the instances: compute stays", one.compute, two.compute, same, 0)
	r.within("half the instances: input stays", one.input, two.input, .1, 1e-3)
	r.within("half the instances: output stays", one.output, two.output, .1, 1e-3)
	// Version 2 looks at each image six times instead of three.
	r.between("slower version: compute grows", slow.compute/fast.compute, 1.5, 2.6)
	r.within("slower version: input stays", slow.input, fast.input, .1, 1e-3)
	r.within("slower version: output stays", slow.output, fast.output, .1, 1e-3)
	// Whoever meets a busy instance waits for it, whichever version it asked for.
	r.within("slower version: queue stays", slow.queue, fast.queue, .1, .4*slow.compute)
	return r, quiet
}

// told is the mean of what the engine said of each request of the phase, the
// transfers included, and the mean of the client's end-to-end time of the same
// requests, in seconds.
func (d *demo) told(p phase) (told, ends float64) {
	d.t.Helper()
	sum := p.logged.Phases["receive"].Mean + d.way(p.logged.Window)
	for _, name := range []string{"queue", "compute_input", "compute_infer", "compute_output"} {
		sum += p.logged.Phases[name].Mean
	}
	return sum, p.logged.Latency.Mean
}

// span is the smallest and largest mean end-to-end time over the windows whose
// ends lie up to two scrapes before those asked for.
func (d *demo) span(p phase) (lo, hi float64) {
	d.t.Helper()
	lo, hi = p.logged.Latency.Mean, p.logged.Latency.Mean
	w := p.logged.Window
	for _, from := range []time.Duration{0, second, 2 * second} {
		for _, to := range []time.Duration{0, second, 2 * second} {
			m := d.log(model.TimeRange{Start: w.Start.Add(-from), End: w.End.Add(-to)}, func(r *loadgen.Record) bool { return ofPlan("vision")(r) && r.Version == p.version }).Latency.Mean
			lo, hi = min(lo, m), max(hi, m)
		}
	}
	return lo, hi
}

// phase reads one version's canonical values and log over the window before at.
func (d *demo) phase(at time.Time, window time.Duration, version string) phase {
	d.t.Helper()
	of := labels{"service": "vision", "model": imageModel, "version": version}
	get := func(name string) float64 { return d.canonical("model:"+name+":mean", at, of, "version") }
	logged := d.log(model.TimeRange{Start: at.Add(-window), End: at}, func(r *loadgen.Record) bool { return ofPlan("vision")(r) && r.Version == version })
	crowd, _ := d.allowance(logged)
	return phase{
		logged: logged, crowd: crowd, version: version,
		queue: get("queue_latency_seconds"), input: get("compute_input_seconds"), compute: get("compute_latency_seconds"), output: get("compute_output_seconds"),
	}
}
