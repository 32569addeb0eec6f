package accel

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func demoCard(c Config) Config {
	c.Node, c.Namespace, c.Pod, c.Container = "demo-node-1", "demo", "vision-0", "vision"
	return c
}

func series(t *testing.T, text []byte, name string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+"{") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func value(t *testing.T, text []byte, name string) string {
	t.Helper()
	s := series(t, text, name)
	if len(s) != 1 {
		t.Fatalf("%d series of %s, want one", len(s), name)
	}
	return s[0][strings.LastIndexByte(s[0], ' ')+1:]
}

func TestLabelsAndFormatsAreTheExporters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(demoCard(Config{UUID: "GPU-8f3a2c11-4b7e-9d05-6c1a-2e5f7b90a3d4", ModelName: "A \"card\"", MemoryBytes: 1000 * MiB, ReservedBytes: 50 * MiB}))
		if _, err := d.Alloc(200 * MiB); err != nil {
			t.Fatal(err)
		}
		d.Transfer(5000, 300)
		d.Run(func() { time.Sleep(250 * time.Millisecond) })
		time.Sleep(750 * time.Millisecond)
		d.Sample()
		text := Exposition(d)
		want := `DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-8f3a2c11-4b7e-9d05-6c1a-2e5f7b90a3d4",pci_bus_id="00000000:18:00.0",device="nvidia0",modelName="A \"card\"",Hostname="demo-node-1",DCGM_FI_DRIVER_VERSION="580.95.05",container="vision",namespace="demo",pod="vision-0",simulated="true"} 1980`
		if got := series(t, text, "DCGM_FI_DEV_SM_CLOCK"); len(got) != 1 || got[0] != want {
			t.Errorf("series\n%s\nwant\n%s", got, want)
		}
		for name, want := range map[string]string{
			"DCGM_FI_DEV_GPU_UTIL": "25", "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "0.250000", "DCGM_FI_PROF_SM_ACTIVE": "0.200000",
			"DCGM_FI_DEV_FB_USED": "200", "DCGM_FI_DEV_FB_FREE": "750", "DCGM_FI_DEV_FB_RESERVED": "50", "DCGM_FI_DEV_FB_TOTAL": "1000",
			"DCGM_FI_PROF_PCIE_RX_BYTES": "5000", "DCGM_FI_PROF_PCIE_TX_BYTES": "300", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": "150.000000",
			"DCGM_FI_DEV_XID_ERRORS": "0", "DCGM_EXP_XID_ERRORS_COUNT": "0",
		} {
			if got := value(t, text, name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	})
}

func TestFaultCountersShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(demoCard(Config{}))
		d.RaiseXID(79)
		d.RaiseXID(48)
		d.RaiseXID(48)
		d.AddECC(7, 2)
		d.AddRemappedRows(3, 1)
		d.SetRowRemap(true, true)
		d.AddPCIeReplays(5)
		text := Exposition(d)
		for name, want := range map[string]string{
			"DCGM_FI_DEV_XID_ERRORS": "48", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": "7", "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": "2",
			"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": "3", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": "1",
			"DCGM_FI_DEV_ROW_REMAP_PENDING": "1", "DCGM_FI_DEV_ROW_REMAP_FAILURE": "1", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": "5",
		} {
			if got := value(t, text, name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if s := series(t, text, "DCGM_EXP_XID_ERRORS_COUNT"); len(s) != 2 || !strings.Contains(s[0], `xid="48"`) || !strings.HasSuffix(s[0], " 2") {
			t.Errorf("XID counts %q", s)
		}
		time.Sleep(6 * time.Minute)
		text = Exposition(d)
		if s := series(t, text, "DCGM_EXP_XID_ERRORS_COUNT"); len(s) != 1 || strings.Contains(s[0], "xid=") {
			t.Errorf("XIDs out of the window are still counted: %q", s)
		}
		if value(t, text, "DCGM_FI_DEV_XID_ERRORS") != "48" {
			t.Error("the last XID was cleared")
		}
	})
}

func TestClockEventsAreCountedInTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake(demoCard(Config{}))
		d.Start(t.Context())
		defer d.Close()
		time.Sleep(4*time.Second + time.Millisecond)
		s := series(t, Exposition(d), "DCGM_EXP_CLOCK_EVENTS_COUNT")
		if len(s) != 1 || !strings.Contains(s[0], `clock_event="gpu_idle",window_size_in_ms="300000"`) || !strings.HasSuffix(s[0], " 4") {
			t.Errorf("clock events %q", s)
		}
	})
}

func TestCardWithoutOwnerHasNoPodLabels(t *testing.T) {
	if text := Exposition(New(Config{Node: "n"})); bytes.Contains(text, []byte("pod=")) || bytes.Contains(text, []byte("namespace=")) {
		t.Error("a card without owner names a pod")
	}
}

// Every family, its type and its help are those of the fixtures.
func TestFamiliesMatchTheRealExporter(t *testing.T) {
	real := map[string]string{}
	typeLine := regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	var defaults []string
	for i, f := range []string{"testdata/dcgm-exporter-k8s.prom", "testdata/dcgm-exporter-extended.prom"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typeLine.FindAllStringSubmatch(string(b), -1) {
			real[m[1]] = m[2]
			if i == 0 {
				defaults = append(defaults, m[1])
			}
		}
	}
	d := New(demoCard(Config{}))
	d.RaiseXID(31)
	var ours []string
	for _, m := range typeLine.FindAllStringSubmatch(string(Exposition(d)), -1) {
		ours = append(ours, m[1])
		if real[m[1]] != m[2] {
			t.Errorf("%s is a %s, the exporter's is %q", m[1], m[2], real[m[1]])
		}
	}
	if got, want := strings.Join(ours[:len(defaults)], "\n"), strings.Join(defaults, "\n"); got != want {
		t.Errorf("default counters\n%s\nwant\n%s", got, want)
	}
}

func TestEverySeriesIsMarkedAndParses(t *testing.T) {
	a, b := New(demoCard(Config{})), New(Config{Node: "demo-node-1", Index: 1})
	rec := httptest.NewRecorder()
	Handler(a, b).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	text, _ := io.ReadAll(rec.Body)
	p := expfmt.NewTextParser(model.UTF8Validation)
	fams, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(fams) < 40 {
		t.Errorf("%d families, want at least 40", len(fams))
	}
	for name, f := range fams {
		if len(f.Metric) != 2 {
			t.Errorf("%s has %d series, want one for each card", name, len(f.Metric))
		}
		for _, m := range f.Metric {
			marked := false
			for _, l := range m.Label {
				marked = marked || l.GetName() == "simulated" && l.GetValue() == "true"
			}
			if !marked {
				t.Errorf("%s has a series without the mark", name)
			}
		}
	}
}

// The engines give the lints of the real exporter and no others.
func TestLintsAreTheRealExporters(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("promtool is not installed (%v); install Debian's package prometheus", err)
	}
	lint := func(text []byte) map[string]bool {
		cmd := exec.Command(tool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(text)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 1 {
			t.Fatalf("promtool: %v: %s", err, out)
		}
		set := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			set[strings.TrimSpace(line)] = true
		}
		return set
	}
	real := map[string]bool{}
	for _, f := range []string{"testdata/dcgm-exporter-k8s.prom", "testdata/dcgm-exporter-extended.prom"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for l := range lint(b) {
			real[l] = true
		}
	}
	d := New(demoCard(Config{}))
	d.RaiseXID(31)
	ours := lint(Exposition(d))
	if len(ours) == 0 {
		t.Error("promtool gave no lint at all; the real exporter's names have some")
	}
	for l := range ours {
		if !real[l] {
			t.Errorf("lint that the real exporter does not give: %s", l)
		}
	}
	text := Exposition(d)
	for l := range real { // and the other way round, for families that we print
		if name, _, ok := strings.Cut(l, " "); ok && bytes.Contains(text, []byte("# TYPE "+name+" ")) && !ours[l] {
			t.Errorf("lint of the real exporter that is missing: %s", l)
		}
	}
}
