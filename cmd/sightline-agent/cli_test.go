package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:generate go test -run TestReferenceIsCurrent -update

var update = flag.Bool("update", false, "rewrite docs/cli-agent.md")

// TestReferenceIsCurrent keeps docs/cli-agent.md equal to the flags.
func TestReferenceIsCurrent(t *testing.T) {
	var c cli
	p, err := newParser(&c, &bytes.Buffer{}, &bytes.Buffer{}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Command line of the agent\n\nGenerated from the flags themselves by `make generate`; do not edit.\n\n## sightline-agent\n\n" + p.Model.Help + "\n\n| flag | meaning |\n|---|---|\n")
	for _, f := range p.Model.Flags {
		name := "--" + f.Name
		if !f.IsBool() {
			name += "=" + f.FormatPlaceHolder()
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, f.Help)
	}
	path := filepath.Join("..", "..", "docs", "cli-agent.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != b.String() {
		t.Fatalf("docs/cli-agent.md is not what the flags say (%v); run make generate", err)
	}
}
