package signals_test

import (
	"os"
	"strings"
	"testing"
)

func TestReferenceIsCurrent(t *testing.T) {
	want := load(t).Reference()
	got, err := os.ReadFile("../../docs/signals.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/signals.md is not what the catalogue says; run go generate ./internal/signals")
	}
	for _, s := range []string{"`request_latency_seconds:p99`", "triton_no_summaries", "summary, worst instance", "sightline_instance_gpu"} {
		if !strings.Contains(want, s) {
			t.Errorf("the reference lacks %s", s)
		}
	}
}
