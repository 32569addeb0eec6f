package vision

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"sightline/internal/demo/accel"
)

const fixture = "testdata/triton-26.06.prom"

// page is the exposition of an engine after one request of two images to
// version 1 and one that failed in the backend, in fake time.
func page(t *testing.T) []byte {
	var text []byte
	synctest.Test(t, func(t *testing.T) {
		r := fakeRepo(t, fakeModel(), accel.Config{UUID: "GPU-2f1c3a58-7d7e-4d0b-9c7b-0c6a2d9b1e01", MemoryBytes: 256 * accel.MiB})
		defer r.stopAll()
		if _, f := r.infer(t.Context(), "m", "1", image(1, 2, 8)); f != nil {
			t.Fatal(f)
		}
		if _, f := r.infer(t.Context(), "m", "1", image(1, 2, 1024)); f == nil {
			t.Fatal("a batch that does not fit passes")
		}
		time.Sleep(3 * time.Second)
		text = metricsPage(r, newHostUse(), Config{SummaryLatencies: true, HistogramLatencies: true})
	})
	return text
}

func TestExpositionIsTritons(t *testing.T) {
	text := string(page(t))
	const gpu = `gpu_uuid="GPU-2f1c3a58-7d7e-4d0b-9c7b-0c6a2d9b1e01",`
	for _, want := range []string{
		"nv_inference_request_success{" + gpu + "model=\"m\",version=\"1\"} 1\nnv_inference_request_success{model=\"m\",version=\"1\"} 0\n",
		"nv_inference_request_failure{" + gpu + "model=\"m\",reason=\"BACKEND\",version=\"1\"} 1\nnv_inference_request_failure{" + gpu + "model=\"m\",reason=\"CANCELED\",version=\"1\"} 0\n",
		"nv_inference_request_failure{model=\"m\",reason=\"REJECTED\",version=\"1\"} 0\n",
		"nv_inference_count{" + gpu + "model=\"m\",version=\"1\"} 2\n",
		"nv_inference_exec_count{" + gpu + "model=\"m\",version=\"1\"} 1\n",
		"nv_inference_request_duration_us{" + gpu + "model=\"m\",version=\"1\"} 23000\n",
		"nv_inference_queue_duration_us{" + gpu + "model=\"m\",version=\"1\"} 5000\n",
		"nv_inference_compute_infer_duration_us{" + gpu + "model=\"m\",version=\"1\"} 18000\n",
		"nv_inference_pending_request_count{model=\"m\",version=\"1\"} 0\nnv_inference_pending_request_count{" + gpu + "model=\"m\",version=\"1\"} 0\n",
		"nv_model_load_duration_secs{model=\"m\",version=\"1\"} 1\nnv_model_load_duration_secs{" + gpu + "model=\"m\",version=\"1\"} 0\n",
		"nv_gpu_memory_total_bytes{" + gpu + "simulated=\"true\"} 268435456\n",
		"nv_inference_first_response_histogram_ms_count{model=\"m\",version=\"1\"} 1\nnv_inference_first_response_histogram_ms_sum{model=\"m\",version=\"1\"} 23\nnv_inference_first_response_histogram_ms_bucket{model=\"m\",version=\"1\",le=\"100\"} 1\n",
		"nv_inference_first_response_histogram_ms_count{" + gpu + "model=\"m\",version=\"1\"} 0\n",
		"nv_inference_request_summary_us{" + gpu + "model=\"m\",version=\"1\",quantile=\"0.999\"} 23000\n",
		"nv_inference_request_summary_us{model=\"m\",version=\"1\",quantile=\"0.5\"} Nan\n",
		"sightline_batcher_formation_seconds_sum{model=\"m\",version=\"1\"} 0.01\n",
		"sightline_batcher_window_seconds{model=\"m\",version=\"1\"} 0.005\n",
		"sightline_batcher_batch_limit{model=\"m\",version=\"1\"} 4\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the exposition lacks\n%s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// shape reduces an exposition to families, types and label names.
func shape(t *testing.T, text []byte) map[string]string {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	fams, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, f := range fams {
		sets := map[string]bool{}
		for _, m := range f.Metric {
			var ls []string
			for _, l := range m.Label {
				if l.GetName() != "simulated" {
					ls = append(ls, l.GetName())
				}
			}
			sets[strings.Join(ls, ",")] = true
		}
		out[name] = fmt.Sprint(f.GetType(), " ", len(sets), sets)
	}
	return out
}

func TestFamiliesAndLabelsMatchTheFixture(t *testing.T) {
	b, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	real, ours := shape(t, b), shape(t, page(t))
	for name, want := range real {
		if strings.HasPrefix(name, "nv_cache_") {
			continue // this engine has no response cache, and a real one without it prints none
		}
		if ours[name] != want {
			t.Errorf("%s is %q, the real one %q", name, ours[name], want)
		}
	}
	for name := range ours {
		if _, known := real[name]; !known && !strings.HasPrefix(name, "sightline_batcher_") {
			t.Errorf("%s is no metric of the real server", name)
		}
	}
}

func TestFamiliesComeInTheOrderOfTheFixture(t *testing.T) {
	order := func(text []byte) (out []string) {
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (nv_\S+)`).FindAllSubmatch(text, -1) {
			if !strings.HasPrefix(string(m[1]), "nv_cache_") {
				out = append(out, string(m[1]))
			}
		}
		return out
	}
	b, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order(page(t)), "\n"), strings.Join(order(b), "\n"); got != want {
		t.Errorf("order\n%s\nwant\n%s", got, want)
	}
}

func TestLatencyFamiliesAreOptIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRepo(t, fakeModel(), accel.Config{})
		defer r.stopAll()
		if text := metricsPage(r, newHostUse(), Config{}); bytes.Contains(text, []byte("summary")) || bytes.Contains(text, []byte("first_response")) {
			t.Error("summaries or histograms without being asked for")
		}
	})
}

// lints gives promtool's remarks, one a line.
func lints(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("promtool is not installed (%v); install Debian's package prometheus", err)
	}
	cmd := exec.Command(tool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		t.Fatalf("promtool: %v: %s", err, out)
	}
	set := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		set[strings.TrimSpace(line)] = true
	}
	return set
}

func TestLintsAreTheFixtures(t *testing.T) {
	b, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	real, ours := lints(t, b), lints(t, page(t))
	for l := range real {
		if !ours[l] && !strings.HasPrefix(l, "nv_cache_") {
			t.Errorf("missing lint: %s", l)
		}
	}
	for l := range ours {
		if !real[l] {
			t.Errorf("lint of our own: %s", l)
		}
	}
}

func TestSummaryWindowSlides(t *testing.T) {
	s := &slidingSummary{}
	now := time.Unix(0, 0)
	for i := range 100 {
		s.observe(now.Add(time.Duration(i)*time.Second), float64(i))
	}
	at := now.Add(99 * time.Second) // values 40 … 99 are in the last minute
	if q := s.quantiles(at); q[0] != 69 || q[3] != 99 || s.count != 100 || s.sum != 4950 {
		t.Errorf("quantiles %v, count %d, sum %g", q, s.count, s.sum)
	}
	for range summaryMost + 10 {
		s.observe(at, 1)
	}
	if len(s.vals) != summaryMost {
		t.Errorf("%d values kept, bound is %d", len(s.vals), summaryMost)
	}
}

func TestHostUseReadsProc(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clock := time.Unix(0, 0)
	h := &hostUse{procDir: dir, interval: time.Second, now: func() time.Time { return clock }}
	if _, ok := h.read(); ok {
		t.Error("a system without /proc gives numbers")
	}
	write("meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n")
	write("stat", "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1\n")
	h.read()
	write("stat", "cpu  150 0 50 825 75 0 0 0 0 0\n")
	clock = clock.Add(2 * time.Second)
	u, ok := h.read()
	if !ok || u.busy != 0.5 || u.total != 1000*1024 || u.used != 600*1024 {
		t.Errorf("%+v %v, want half busy and 600 KiB used", u, ok)
	}
}
