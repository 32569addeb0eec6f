package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestConditionKeepsSinceAndClears(t *testing.T) {
	now := time.Unix(100, 0)
	r := New(nil, func() time.Time { return now })
	r.Set(Condition{Code: "disk_full", Severity: Error, Subject: "/data", Text: "no space"})
	now = time.Unix(200, 0)
	r.Set(Condition{Code: "disk_full", Severity: Error, Subject: "/data", Text: "still no space"})
	r.Set(Condition{Code: "slow", Severity: Warning, Subject: "x"})
	cs := r.Conditions()
	if len(cs) != 2 || cs[0].Code != "disk_full" || cs[0].Since.Unix() != 100 || cs[0].Updated.Unix() != 200 || cs[0].Text != "still no space" {
		t.Fatalf("conditions %+v", cs)
	}
	r.Clear("disk_full", "/data")
	r.Clear("disk_full", "/data")
	if cs := r.Conditions(); len(cs) != 1 || cs[0].Code != "slow" {
		t.Fatalf("after clear %+v", cs)
	}
}

func TestRegistryIsBounded(t *testing.T) {
	r := New(nil, nil)
	for i := range maxConditions + 5 {
		r.Set(Condition{Code: "c", Severity: Info, Subject: fmt.Sprint(i)})
	}
	if n := len(r.Conditions()); n != maxConditions {
		t.Fatalf("%d conditions kept", n)
	}
	want := "# HELP sightline_conditions_dropped_total Conditions that were not kept because too many were set.\n# TYPE sightline_conditions_dropped_total counter\nsightline_conditions_dropped_total 5\n"
	if err := testutil.CollectAndCompare(r, strings.NewReader(want), "sightline_conditions_dropped_total"); err != nil {
		t.Error(err)
	}
}

func TestReadiness(t *testing.T) {
	r := New(nil, nil)
	r.SetPart("storage", Starting, "replaying the log, 40 %")
	if ok, w := r.Ready(); ok || len(w) != 1 || w[0].Name != "storage" {
		t.Fatal("a starting part counts as ready")
	}
	r.SetPart("storage", Degraded, "read only")
	if ok, _ := r.Ready(); !ok {
		t.Fatal("a degraded part must still serve")
	}
}
