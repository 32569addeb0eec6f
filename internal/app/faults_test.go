package app

import (
	"os"
	"strings"
	"testing"

	"sightline/internal/model"
)

func TestFaultsAreKnownByNameAndDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/demo.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if !strings.Contains(string(doc), "| `"+f.name+"` | "+f.what+" |") {
			t.Errorf("docs/demo.md does not say what %s does", f.name)
		}
		if err := (&DemoSettings{Fault: f.name}).validate(); err != nil {
			t.Error(err)
		}
	}
	if err := (&DemoSettings{}).validate(); err != nil {
		t.Error("no fault is no error:", err)
	}
	if model.CodeOf((&DemoSettings{Fault: "lightning"}).validate()) != "fault_unknown" {
		t.Error("an unknown fault passes")
	}
}
