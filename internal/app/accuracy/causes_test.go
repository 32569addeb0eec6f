package accuracy

import (
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
}

// Queue and compute are measured apart: what adds waiting must move the one and
// leave the other alone, and what adds work the reverse. Batches of one keep the
// work of a request the same at any load.
func TestAccuracyOfQueueAndComputeApart(t *testing.T) {
	const window = 10 * second
	d := start(t, options{
		window: window,
		models: []vision.ModelConfig{{
			Name: imageModel, Seed: 7, MaxBatchSize: 1,
			Versions: []vision.VersionConfig{{Version: "1", Width: 1.6}, {Version: "2", Width: 2}},
		}},
		vision: loadgen.VisionPlan{
			Traffic:  loadgen.Traffic{Rate: 32, Arrivals: loadgen.ArrivalPoisson},
			Versions: []loadgen.Choice[string]{{Value: "1", Weight: 1}},
		},
	})
	of := labels{"service": "vision", "model": imageModel}
	measure := func(change loadgen.Mix, rate float64) phase {
		if err := d.load.SetMix("vision", change); err != nil {
			t.Fatal(err)
		}
		if err := d.load.SetRate("vision", rate); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, time.Now().Add(window+1500*time.Millisecond))
		at := time.Now()
		get := func(name string) float64 { return d.canonical("model:"+name+":mean", at, of) }
		logged := d.log(model.TimeRange{Start: at.Add(-window), End: at}, ofPlan("vision"))
		crowd, _ := d.allowance(logged)
		return phase{
			logged: logged, crowd: crowd,
			queue: get("queue_latency_seconds"), input: get("compute_input_seconds"), compute: get("compute_latency_seconds"), output: get("compute_output_seconds"),
		}
	}
	two := measure(loadgen.Mix{}, 1)
	one := measure(loadgen.Mix{Targets: []float64{1, 0}}, 1)
	// A sixth of the load leaves the instances nearly free of queues.
	fast := measure(loadgen.Mix{Targets: []float64{1, 1}}, .16)
	slow := measure(loadgen.Mix{Versions: []loadgen.Choice[string]{{Value: "2", Weight: 1}}}, .16)

	for _, p := range []struct {
		name string
		phase
	}{{"two instances", two}, {"one instance", one}, {"version 1", fast}, {"version 2", slow}} {
		t.Logf("%-13s queue %6.2f ms, compute %6.2f ms by the canonical series; queue %6.2f ms, compute %6.2f ms, %d requests, %d errors by the log", p.name, 1e3*p.queue, 1e3*p.compute,
			1e3*p.logged.Phases["queue"].Mean, 1e3*p.logged.Phases["compute_infer"].Mean, p.logged.Requests, p.logged.Errors)
		if p.logged.Errors > 0 || p.logged.Dropped > 0 {
			t.Errorf("%s: %d errors, %d dropped", p.name, p.logged.Errors, p.logged.Dropped)
		}
	}
	r := &report{t: t}
	for name, p := range map[string]phase{"two instances": two, "one instance": one, "version 1": fast, "version 2": slow} {
		sum := p.queue + p.input + p.compute + p.output + p.logged.Phases["receive"].Mean
		r.within(name+": queue + input + compute + output + receive = end to end", sum, p.logged.Latency.Mean, .02, max(p.crowd, 3e-4))
	}
	same := .1
	if two.crowd > 0 || one.crowd > 0 {
		same = .25 // two instances at once get less of crowded cores than one
	}
	r.between("half the instances: queue grows", one.queue/two.queue, 1.5, 100)
	r.within("half the instances: compute stays", one.compute, two.compute, same, 0)
	r.within("half the instances: input stays", one.input, two.input, .1, 1e-3)
	r.within("half the instances: output stays", one.output, two.output, .1, 1e-3)
	// Version 2 has a quarter more channels: (2/1.6)² times the work in the
	// convolutions that dominate.
	r.between("slower version: compute grows", slow.compute/fast.compute, 1.2, 2.2)
	r.within("slower version: queue stays", slow.queue, fast.queue, .1, .001)
	r.within("slower version: input stays", slow.input, fast.input, .1, 1e-3)
	r.within("slower version: output stays", slow.output, fast.output, .1, 1e-3)
	r.done()
}
