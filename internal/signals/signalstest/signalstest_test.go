package signalstest

import (
	"strings"
	"testing"
	"time"
)

func TestParseReadsEveryCommand(t *testing.T) {
	cmds, err := Parse(`
# words
step 10s
window 2m
load a.prom at 0s labels {service="x"}
load b.prom at 60s labels {service="x"} grow 1.5
expect model:requests:rate{service="x",model="y"} 2.0 ±1%
expect model:requests:rate{model="y"} by version,node 3 ±0.5
expect absent model:waiting:last{model="y"} some_code
expect dialect triton "24.11 or newer"
expect lost a:b -> a:c
expect info sightline_gpu{gpu="G"} 2
clear`)
	if err != nil {
		t.Fatal(err)
	}
	if len(cmds) != 11 {
		t.Fatalf("%d commands", len(cmds))
	}
	if c := cmds[3]; c.Verb != "load" || c.File != "b.prom" || c.Time != time.Minute || c.Grow != 1.5 || c.Labels["service"] != "x" || c.Line != 6 {
		t.Errorf("load %+v", c)
	}
	if c := cmds[4]; c.Verb != "expect" || c.Value != 2 || c.Tolerance != 0.02 || c.Labels["model"] != "y" {
		t.Errorf("expect %+v", c)
	}
	if c := cmds[5]; len(c.By) != 2 || c.By[1] != "node" || c.Tolerance != 0.5 {
		t.Errorf("by %+v", c)
	}
	if c := cmds[6]; c.Verb != "absent" || c.Code != "some_code" || c.Name != "model:waiting:last" {
		t.Errorf("absent %+v", c)
	}
	if c := cmds[9]; c.Verb != "info" || c.Value != 2 {
		t.Errorf("info %+v", c)
	}
}

func TestParseNamesTheLine(t *testing.T) {
	for _, bad := range []string{"lod x", "load a.prom at 0s", "load a at noon labels {}", "expect model:x", "expect a{ 1", "expect a NaN", "clear all", "step -1s", "expect absent x", "expect dialect triton"} {
		if _, err := Parse("clear\n" + bad); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("load a.prom at 0s labels {service=\"x\"}\nexpect a:b:c{d=\"e\"} 1 ±1%")
	f.Add("expect absent a{} b\nexpect lost a -> b\nexpect info x{} 1")
	f.Fuzz(func(t *testing.T, script string) {
		cmds, err := Parse(script)
		if err != nil {
			return
		}
		for _, c := range cmds {
			if c.Verb == "expect" && (c.Name == "" || c.Tolerance < 0) {
				t.Errorf("%q gives %+v", script, c)
			}
		}
	})
}
