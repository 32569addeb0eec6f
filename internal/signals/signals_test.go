package signals_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
	"sightline/internal/signals"
	"sightline/internal/signals/signalstest"
)

func TestCatalogueHoldsTheFixedCore(t *testing.T) {
	c := load(t)
	for _, name := range []string{
		"model:requests:rate", "service:errors:rate", "instance:errors:ratio", "model:request_latency_seconds:p99",
		"model:ttft_seconds:p90", "model:waiting:last", "model:batch_window_seconds:last", "model:tokens_cached:rate",
		"model:cache_hit:ratio", "model:model_ready:last", "model:class_share:ratio", "gpu:busy:ratio",
		"gpu:process_memory_bytes:last", "gpu:memory_used_bytes:last", "node:memory_used_bytes:last", "instance:oom_kills:rate",
	} {
		s, l, err := c.Lookup(name)
		if err != nil || s.At(l) != name {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
	if _, _, err := c.Lookup("model:request_rate:rate"); model.CodeOf(err) != "signal_unknown" || !strings.Contains(err.Error(), "request") {
		t.Errorf("unknown name: %v", err)
	}
	// 3 of requests, latency 8 x 5, load 4, batching 4, tokens 3, cache 2,
	// model 2, payload 6 x 3 + 4, gpu 18, host 10.
	if n := len(c.All()); n != 108 {
		t.Errorf("%d signals, want 108", n)
	}
}

// Every rule parses, writes a name of the catalogue, and each canonical series
// comes with its candidates and its source.
func TestRulesAreWholeAndOrdered(t *testing.T) {
	c := load(t)
	p := parser.NewParser(parser.Options{})
	seen := map[string]bool{}
	canonical, candidates, sources := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, g := range c.Rules([]string{"triton", "vllm", "dcgm"}, signals.Options{}) {
		for _, r := range g.Rules {
			if _, err := p.ParseExpr(r.Expr); err != nil {
				t.Fatalf("%s: %v", r.Record, err)
			}
			key := r.Record + fmt.Sprint(r.Labels)
			if seen[key] {
				t.Errorf("%s is recorded twice", key)
			}
			seen[key] = true
			switch name, isCandidate := strings.CutPrefix(r.Record, "candidate:"); {
			case isCandidate:
				candidates[name] = true
			case r.Record == signals.SignalSource:
				if !canonical[r.Labels["signal"]] {
					t.Errorf("the source of %s comes before the signal", r.Labels["signal"])
				}
				sources[r.Labels["signal"]] = true
			case strings.Contains(r.Record, ":"):
				if _, _, err := c.Lookup(r.Record); err != nil {
					t.Error(err)
				}
				if !candidates[r.Record] {
					t.Errorf("%s comes before its candidates", r.Record)
				}
				canonical[r.Record] = true
			}
		}
	}
	if len(canonical) < 150 || len(canonical) != len(candidates) || len(canonical) != len(sources) {
		t.Errorf("%d canonical, %d with candidates, %d with sources", len(canonical), len(candidates), len(sources))
	}
	if got := c.Rules(nil, signals.Options{}); got == nil {
		t.Error("nil must mean all dialects")
	}
	if got := c.Rules([]string{}, signals.Options{}); got != nil {
		t.Error("no dialect gives rules")
	}
}

// The same quantile comes from a native histogram as from classic buckets.
func TestNativeHistogramsGiveTheSameSignals(t *testing.T) {
	s := open(t)
	at := signalstest.Origin
	for i := range 13 {
		n := uint64(i * 10)
		// Exponential buckets with factor 2: all observations in (2, 4].
		h := &histogram.Histogram{Schema: 0, Count: n, Sum: 3 * float64(n), ZeroThreshold: 1e-128, PositiveSpans: []histogram.Span{{Offset: 2, Length: 1}}, PositiveBuckets: []int64{int64(n)}}
		app := s.Appendable().AppenderV2(t.Context())
		if _, err := app.Append(0, labels.FromStrings("__name__", "vllm:e2e_request_latency_seconds", "service", "chat", "model_name", "m"), 0, at.Add(time.Duration(i)*5*time.Second).UnixMilli(), 0, h, nil, storage.AOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	end := at.Add(time.Minute)
	value := func(name string) float64 {
		got, err := load(t).Range(t.Context(), s, signals.RangeRequest{Signal: name, Time: model.TimeRange{Start: end, End: end}, Step: time.Second})
		if err != nil || len(got) != 1 || got[0].Labels["model"] != "m" || got[0].Labels["model_name"] != "" {
			t.Fatalf("%s: %v %v", name, got, err)
		}
		return got[0].Points[0].V
	}
	if v := value("model:request_latency_seconds:mean"); v != 3 {
		t.Errorf("mean %v, want 3", v)
	}
	// Half of the bucket on an exponential scale: 2 * 2^0.5.
	if v := value("model:request_latency_seconds:p50"); v < 2.828 || v > 2.829 {
		t.Errorf("p50 %v, want 2.8284", v)
	}
}

func TestWindowIsAtLeastFourScrapes(t *testing.T) {
	if w := signals.WindowOf(signals.Options{}); w != time.Minute {
		t.Errorf("default window %s", w)
	}
	if w := signals.WindowOf(signals.Options{ScrapeInterval: 30 * time.Second}); w != 2*time.Minute {
		t.Errorf("window for 30 s scrapes %s", w)
	}
	e, err := load(t).Expr(signals.RangeRequest{Signal: "model:requests:rate", Dialects: []string{"triton"}, Options: signals.Options{ScrapeInterval: 30 * time.Second}})
	if err != nil || !strings.Contains(e, "[120s]") {
		t.Errorf("%s %v", e, err)
	}
}

func TestMatchIsAppliedOrRefused(t *testing.T) {
	c := load(t)
	e, err := c.Expr(signals.RangeRequest{Signal: "model:requests:rate", Dialects: []string{"triton"}, Match: map[string]string{"model": `a"b`, "service": "s"}})
	if err != nil || !strings.Contains(e, `{model="a\"b",service="s"}`) {
		t.Errorf("%s %v", e, err)
	}
	_, err = c.Expr(signals.RangeRequest{Signal: "gpu:busy:ratio", Match: map[string]string{"service": "s"}})
	if model.CodeOf(err) != "label_not_in_level" {
		t.Errorf("a filter that cannot hold passes: %v", err)
	}
}

func TestRecogniseNamesWhatItSaw(t *testing.T) {
	c := load(t)
	got := c.Recognise([]string{"go_goroutines", "nv_inference_request_success", "vllm:generation_tokens_total"})
	if len(got) != 1 || got[0].Dialect != "triton" || got[0].Title == "" || got[0].Matched[0] != "nv_inference_request_success" {
		t.Errorf("%+v", got)
	}
	if got := c.Recognise([]string{"nv_inference_request_success", "vllm:request_success_total"}); len(got) != 2 {
		t.Errorf("a target may speak two dialects: %+v", got)
	}
	if got := c.Recognise(nil); len(got) != 0 {
		t.Errorf("nothing is recognised in nothing: %+v", got)
	}
}
