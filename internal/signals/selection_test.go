package signals

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
	"sightline/internal/metricstore"
	"sightline/internal/model"
)

// threeSources is a catalogue in which proxy, ebpf and server give one signal
// with an extra label, each from a gauge of its own.
func threeSources(t *testing.T) *Catalogue {
	t.Helper()
	catalogue := `
groups:
  - name: requests
    levels: [model]
    absent: {code: none, text: none, remedy: none}
    signals:
      - {name: errors, operations: [rate], unit: per second, meaning: Errors., labels: [kind]}
`
	var dialects [][]byte
	for _, src := range []string{"server", "proxy", "ebpf"} {
		dialects = append(dialects, fmt.Appendf(nil, `
name: d_%[1]s
title: D
source: %[1]s
recognise: [x_%[1]s]
covers: [requests]
presence: group by ($by) (x_%[1]s{$match})
signals:
  - {signal: "errors:rate", method: gauge, needs: [x_%[1]s], expr: "sum by ($by, kind) (last_over_time(x_%[1]s{$match}[9s]))"}
`, src))
	}
	c, err := parse([]byte(catalogue), dialects...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSelectionFollowsTrustAndSteadiness(t *testing.T) {
	c := threeSources(t)
	s, err := metricstore.Open(context.Background(), metricstore.DefaultConfig(t.TempDir()), nil, prometheus.NewRegistry(), health.New(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t0 := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	app := s.Appendable().AppenderV2(t.Context())
	put := func(src, mdl, kind string, v float64, from, to time.Duration) {
		for d := from; d <= to; d += 10 * time.Second {
			if _, err := app.Append(0, labels.FromStrings("__name__", "x_"+src, "service", "s", "model", mdl, "kind", kind), 0, t0.Add(d).UnixMilli(), v, nil, nil, storage.AOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	const m = time.Minute
	// Model a: the server always; eBPF from minute 10 to 30; the proxy from
	// minute 20 to 25 with other kinds.
	put("server", "a", "internal", 1, 0, 40*m)
	put("ebpf", "a", "internal", 2, 10*m, 30*m)
	put("proxy", "a", "timeout", 3, 20*m, 26*m)
	put("proxy", "a", "oom", 4, 20*m, 26*m)
	// Model b: the proxy alone, from the first moment.
	put("proxy", "b", "timeout", 5, 0, 40*m)
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) string {
		t.Helper()
		w := model.TimeRange{Start: t0.Add(d), End: t0.Add(d)}
		got, err := c.Range(t.Context(), s, RangeRequest{Signal: "model:errors:rate", Time: w, Step: time.Second, Options: Options{Interval: 10 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for _, x := range got {
			if x.Labels["source"] != "" {
				t.Errorf("a canonical series carries its source: %v", x.Labels)
			}
			values[x.Labels["model"]+" "+x.Labels["kind"]] = fmt.Sprint(x.Points[0].V)
		}
		var out []string
		for _, k := range sortedKeys(values) {
			out = append(out, k+" "+values[k])
		}
		return strings.Join(out, ", ")
	}
	const b = ", b timeout 5"
	for _, x := range []struct {
		d    time.Duration
		want string
		why  string
	}{
		{9 * m, "a internal 1" + b, "the server alone"},
		{12 * m, "a internal 1" + b, "eBPF came two minutes ago and is not trusted yet"},
		{16 * m, "a internal 2" + b, "eBPF was steady for five minutes"},
		{21 * m, "a internal 2" + b, "the proxy came a minute ago"},
		{26 * m, "a oom 4, a timeout 3" + b, "the proxy was steady; its kinds replace the others' whole"},
		{27 * m, "a internal 2" + b, "the proxy stopped: back at once"},
		{31 * m, "a internal 1" + b, "eBPF stopped: back at once"},
	} {
		if got := at(x.d); got != x.want {
			t.Errorf("at %s: %s; want %s: %s", x.d, got, x.want, x.why)
		}
	}
}

func TestTrustOrder(t *testing.T) {
	order := []model.Source{model.SourceProxy, model.SourceEBPF, model.SourceNVML, model.SourceDCGM, model.SourceServer}
	for i := 1; i < len(order); i++ {
		if trust(order[i-1]) >= trust(order[i]) {
			t.Errorf("%s is not trusted more than %s", order[i-1], order[i])
		}
	}
	if trust("oracle") != -1 {
		t.Error("an unknown source is trusted")
	}
}

func TestExpandMovesLabels(t *testing.T) {
	d := &Dialect{labels: []labelRule{
		{To: "node", From: []string{"node", "Hostname"}},
		{To: "gpu_index", From: []string{"gpu"}},
		{To: "gpu", From: []string{"UUID"}},
		{To: "model", From: []string{"model"}},
	}}
	got := d.expand("sum by ($by) (x{$match}[$window]) / $seconds", []string{"node", "gpu", "gpu_index"}, `a="b"`, "max", Options{Window: 90 * time.Second})
	for _, want := range []string{
		`sum by (node, Hostname, UUID, gpu, simulated) (x{a="b"}[90s]) / 90`,
		`"gpu_index", "$1", "gpu", "(.*)"`, `"gpu", "$1", "UUID", "(.*)"`, `label_join(`,
		`max without (sightline_joined_node, Hostname, UUID) (`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	// The index is read before the UUID takes its label.
	if strings.Index(got, `"gpu_index", "$1"`) > strings.Index(got, `"gpu", "$1", "UUID"`) {
		t.Errorf("order of the labels: %s", got)
	}
	if plain := d.expand("sum by ($by) (x{$match})", []string{"model"}, "", "max", Options{}); plain != "sum by (model, simulated) (x{})" {
		t.Errorf("a dialect with canonical labels is wrapped: %s", plain)
	}
	if w := d.expand("x[$window]", nil, "", "max", Options{Window: 1500 * time.Millisecond}); w != "x[1500ms]" {
		t.Error(w)
	}
}

func TestMatchersLeaveManifoldLabelsToTheCaller(t *testing.T) {
	d := &Dialect{labels: []labelRule{{To: "model", From: []string{"model_name", "model"}}, {To: "gpu", From: []string{"UUID"}}}}
	if got := d.matchers(map[string]string{"model": "m", "gpu": "G", "service": "s"}); got != `UUID="G",service="s"` {
		t.Error(got)
	}
}

func TestBirthsExpandOnceEach(t *testing.T) {
	got, err := expandBirths("sum by ($by) (births(a{$match})) + sum by ($by) (births(b{c=\"d\",$match}))")
	if err != nil || strings.Contains(got, "births") || strings.Count(got, "rate(a{") != 1 || strings.Count(got, "min_over_time(b{") != 1 {
		t.Errorf("%s %v", got, err)
	}
	if _, err := promql.ParseExpr(fill(got, map[string]string{"$by": "x", "$match": "", "$window": "60s", "$seconds": "60"})); err != nil {
		t.Error(err)
	}
}

func TestBecauseRanksReasons(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	yes := func(string) (bool, error) { return true, nil }
	no := func(string) (bool, error) { return false, nil }
	for _, x := range []struct {
		full     string
		dialects []string
		exists   func(string) (bool, error)
		want     string
	}{
		{"model:request_latency_seconds:p99", []string{"triton"}, no, "triton_no_summaries"},
		{"model:request_latency_seconds:p99", []string{"triton"}, yes, "no_data"},
		{"model:request_latency_seconds:p99", []string{"vllm"}, no, "metric_missing"},
		{"model:tokens_out:rate", []string{"triton"}, yes, "triton_no_tokens"},
		// One of two dialects could give it: that comes before what never can.
		{"model:tokens_out:rate", []string{"triton", "vllm"}, no, "metric_missing"},
		{"node:io_wait:ratio", nil, no, "no_host_collector"},
		{"model:network_seconds:p99", []string{}, no, "needs_both_ends"},
		{"gpu:busy:ratio", []string{"vllm"}, no, "no_gpu_exporter"},
	} {
		r, err := c.Because(x.full, x.dialects, x.exists)
		if err != nil || r.Code != x.want || r.Text == "" || r.Remedy == "" {
			t.Errorf("%s of %v: %+v %v, want %s", x.full, x.dialects, r, err, x.want)
		}
	}
	if _, err := c.Because("model:nothing:rate", nil, no); model.CodeOf(err) != "signal_unknown" {
		t.Errorf("unknown signal: %v", err)
	}
}
