package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md")

// reference renders docs/cli.md from the same structs that parse the flags.
func reference(t *testing.T) string {
	t.Helper()
	var c cli
	p, err := newParser(&c, &bytes.Buffer{}, &bytes.Buffer{}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Command line\n\nGenerated from the flags themselves by `make generate`; do not edit.\n")
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		if len(n.Children) == 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", n.FullPath(), n.Help)
			if len(n.Positional) > 0 || len(n.Flags) > 0 {
				b.WriteString("\n| flag | meaning |\n|---|---|\n")
			}
			for _, a := range n.Positional {
				fmt.Fprintf(&b, "| `%s` | %s |\n", a.Summary(), a.Help)
			}
			for _, f := range n.Flags {
				name := "--" + f.Name
				if !f.IsBool() {
					name += "=" + f.FormatPlaceHolder()
				}
				fmt.Fprintf(&b, "| `%s` | %s |\n", name, f.Help)
			}
		}
		for _, ch := range n.Children {
			walk(ch)
		}
	}
	walk(p.Model.Node)
	b.WriteString("\nExit status: 0 done, 1 failed, 2 used wrongly. Every failure prints one line with a code in brackets.\n")
	return b.String()
}

func TestReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	want := reference(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != want {
		t.Fatalf("docs/cli.md is not what the flags say (%v); run make generate", err)
	}
}

func TestUsageErrorsAreClear(t *testing.T) {
	for _, tc := range []struct {
		args []string
		exit int
		want string
	}{
		{nil, exitUsage, "expected one of"},
		{[]string{"upp"}, exitUsage, `did you mean "up"`},
		{[]string{"up", "--targe", "x"}, exitUsage, "--target"},
		{[]string{"up", "--target", "ftp://x", "--data", t.TempDir()}, exitFailed, "[target_invalid]"},
		{[]string{"up", "--listen", "0.0.0.0:0", "--data", t.TempDir()}, exitFailed, "[listen_open]"},
		{[]string{"demo", "--fault", "lightning"}, exitFailed, "[fault_unknown]"},
		{[]string{"check", "config", "/nowhere.yaml"}, exitFailed, "[config_missing]"},
	} {
		var out, errOut bytes.Buffer
		got := run(tc.args, &out, &errOut)
		if got != tc.exit || !strings.Contains(errOut.String(), tc.want) {
			t.Errorf("%v: exit %d, want %d with %q; said %q", tc.args, got, tc.exit, tc.want, errOut.String())
		}
	}
}

func TestVersionAndCheckConfig(t *testing.T) {
	var out, errOut bytes.Buffer
	if run([]string{"version"}, &out, &errOut) != 0 || !strings.HasPrefix(out.String(), "sightline ") {
		t.Errorf("version says %q %q", out.String(), errOut.String())
	}
	p := filepath.Join(t.TempDir(), "sightline.yaml")
	if err := os.WriteFile(p, []byte("scrape:\n  intervall: 5s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	errOut.Reset()
	if run([]string{"check", "config", p}, &out, &errOut) != exitFailed || !strings.Contains(errOut.String(), `:2: unknown key "scrape.intervall"; did you mean "scrape.interval"? [config_unknown_key]`) {
		t.Errorf("said %q", errOut.String())
	}
}
