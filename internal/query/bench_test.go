package query_test

import (
	"fmt"
	"sort"
	"testing"
	"time"

	"sightline/internal/query"
	"sightline/internal/signals"
)

// fleet records an hour of 200 models, each with an instance and a card.
func (f *fixture) fleet(rows int) (end time.Time) {
	end = t0.Add(time.Hour)
	for d := time.Duration(0); d <= time.Hour; d += 5 * time.Second {
		at := t0.Add(d)
		f.add(at, 1, signals.DialectEvaluated, "dialect", "triton")
		f.add(at, 1, signals.DialectEvaluated, "dialect", "dcgm")
		for i := range rows {
			m := []string{"namespace", "prod", "service", fmt.Sprintf("s%d", i%10), "model", fmt.Sprintf("m%d", i)}
			inst, gpu := fmt.Sprintf("prod/i-%d", i), fmt.Sprintf("GPU-%d", i)
			in := append(append([]string{}, m...), "version", "1", "instance", inst, "pod", inst[5:], "node", fmt.Sprintf("n%d", i/8))
			f.add(at, float64(i), "model:requests:rate", m...)
			f.add(at, 1, signals.InstanceDialect, append(in, "dialect", "triton")...)
			if d < time.Hour-time.Minute {
				continue
			}
			for _, n := range []string{"model:errors:ratio", "model:request_latency_seconds:mean", "model:queue_latency_seconds:mean", "model:waiting:last"} {
				f.add(at, 0.01, n, m...)
				f.add(at, 1, signals.SignalSource, append(append([]string{}, m...), "signal", n, "source", "server")...)
			}
			card := []string{"node", fmt.Sprintf("n%d", i/8), "gpu", gpu, "gpu_index", fmt.Sprint(i % 8), "gpu_model", "X"}
			f.add(at, 0.5, "gpu:busy:ratio", card...)
			f.add(at, 1e9, "gpu:memory_used_bytes:last", card...)
			f.add(at, 4e9, "gpu:memory_total_bytes:last", card...)
			f.add(at, 1, signals.GPUInfo, card...)
			f.add(at, 1, signals.InstanceGPU, append(card, "namespace", "prod", "service", fmt.Sprintf("s%d", i%10), "instance", inst, "pod", inst[5:], "via", "pod")...)
			// Native series for which reasons are looked up.
			f.add(at, float64(i), "nv_inference_request_success", in...)
		}
		f.commit()
	}
	return end
}

// BenchmarkNow answers 200 rows over an hour; the budget is 100 ms at p95.
func BenchmarkNow(b *testing.B) {
	f := setup(b, "triton", "dcgm")
	end := f.fleet(200)
	var took []time.Duration
	b.ResetTimer()
	for b.Loop() {
		start := time.Now()
		ans, err := f.q.Now(b.Context(), query.NowRequest{At: end})
		took = append(took, time.Since(start))
		if err != nil || len(ans.Rows) != 200 || ans.Rows[0].GPUBusy.Value == nil || len(ans.Warnings) > 0 {
			b.Fatalf("%d rows, %v, %v", len(ans.Rows), ans.Warnings, err)
		}
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}
