// Package sightline holds the house rules as tests: who may import whom, one
// comment for each package, no file too long to read.
package sightline

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// rank orders the packages: a package imports only packages of a lower rank.
// Sub-folders have the rank of their top folder and may import each other
// downwards into the tree (collect/scrape from collect) but not sideways
// unless allowed below.
var rank = map[string]int{
	"model": 0, "health": 0,
	"signals": 1, "metricstore": 1, "eventstore": 1, "metastore": 1, "protocol": 1,
	"sketch": 1, "bundle": 1, "spool": 1, "verdict": 1,
	"query": 2, "ingest": 2, "collect": 2, "loadgen": 2, "demo": 2, "fleetsim": 2,
	"topology": 3, "ruler": 3,
	"detect": 4, "alert": 4, "quality": 4, "capacity": 4,
	"diagnose": 5,
	"incident": 6,
	"api":      7,
	"app":      8,
	"cmd":      9,
}

// only names packages of other people and who of us may import them.
var only = []struct {
	prefix  string
	exact   bool
	allowed []string
	why     string
}{
	{"github.com/prometheus/prometheus/tsdb", false, []string{"metricstore", "ruler"}, "the TSDB stays behind metricstore"},
	{"github.com/prometheus/prometheus/promql", true, []string{"metricstore", "ruler"}, "the PromQL engine stays behind metricstore"},
	{"github.com/prometheus/prometheus/rules", false, []string{"ruler"}, "live evaluation is the ruler's"},
	{"github.com/prometheus/prometheus/web", false, []string{"api"}, "the HTTP API package is wrapped once"},
	{"github.com/prometheus/prometheus/scrape", false, []string{"collect"}, "scraping belongs to the agent's side"},
	{"github.com/prometheus/prometheus/discovery", false, []string{"collect"}, "discovery belongs to the agent's side"},
	{"github.com/prometheus/prometheus/storage/remote", false, []string{"spool", "ingest"}, "the remote write codec has two homes"},
}

// notInAgent lists what sightline-agent must not reach, directly or not.
var notInAgent = []string{
	"github.com/prometheus/prometheus/tsdb",
	"github.com/prometheus/prometheus/promql",
	"github.com/prometheus/prometheus/rules",
	"github.com/VictoriaMetrics/VictoriaLogs/lib/logstorage",
	"modernc.org/sqlite",
	"sightline/web",
}

type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Dir,GoFiles,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ps []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

// home gives the top folder that decides the rank: "collect" for
// sightline/internal/collect/scrape, "cmd" for sightline/cmd/sightline.
func home(importPath string) string {
	p := strings.TrimPrefix(importPath, "sightline/")
	if strings.HasPrefix(p, "cmd/") {
		return "cmd"
	}
	if p == "web" || p == "sightline" || !strings.HasPrefix(p, "internal/") {
		return ""
	}
	return strings.Split(strings.TrimPrefix(p, "internal/"), "/")[0]
}

func TestArrowsPointDown(t *testing.T) {
	for _, p := range list(t, "./internal/...", "./cmd/...") {
		h := home(p.ImportPath)
		r, known := rank[h]
		if !known {
			t.Errorf("%s: folder %q has no rank; give it one in DESIGN and here", p.ImportPath, h)
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "sightline/internal/") {
				hi := home(imp)
				if hi == h {
					continue // inside one house; the compiler forbids circles
				}
				if rank[hi] >= r {
					t.Errorf("%s (rank %d) imports %s (rank %d); import only from a lower rank", p.ImportPath, r, imp, rank[hi])
				}
			}
			if imp == "sightline/web" && h != "app" {
				t.Errorf("%s imports the console; only app may", p.ImportPath)
			}
			if h == "model" && strings.Contains(strings.Split(imp, "/")[0], ".") {
				t.Errorf("model imports %s; it may use the standard library only", imp)
			}
			for _, o := range only {
				match := imp == o.prefix || (!o.exact && strings.HasPrefix(imp, o.prefix+"/"))
				if !match {
					continue
				}
				ok := false
				for _, a := range o.allowed {
					ok = ok || a == h
				}
				if !ok {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, o.why)
				}
			}
		}
		if h != "app" && h != "cmd" {
			for _, imp := range p.Imports {
				if imp == "flag" || imp == "github.com/alecthomas/kong" {
					t.Errorf("%s imports %s; only app and cmd read flags", p.ImportPath, imp)
				}
			}
		}
	}
}

func TestAgentStaysSmall(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/sightline-agent")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, bad := range notInAgent {
			// promql/parser is allowed: it is the language without the engine.
			if dep == bad || (strings.HasPrefix(dep, bad+"/") && !strings.HasPrefix(dep, "github.com/prometheus/prometheus/promql/parser") && !strings.HasPrefix(dep, "github.com/prometheus/prometheus/tsdb/")) {
				t.Errorf("sightline-agent reaches %s", dep)
			}
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	for _, p := range list(t, "./...") {
		if len(p.GoFiles) == 0 {
			continue
		}
		n := 0
		for _, f := range p.GoFiles {
			src, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if src.Doc != nil && strings.TrimSpace(src.Doc.Text()) != "" && !strings.HasSuffix(f, ".pb.go") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s has %d package comments, want one, in the file named like the package", p.ImportPath, n)
		}
	}
}

var generated = regexp.MustCompile(`\.pb\.go$|_generated\.|/gen/|\.gen\.`)

// forbiddenNames are folders and files that say nothing about what is inside.
var forbiddenNames = regexp.MustCompile(`(^|/)(util|utils|common|helpers?|base|misc|v2)(/|\.(go|ts|tsx)$)`)

func TestFilesAreShortAndNamedForWhatTheyHold(t *testing.T) {
	var code, tests int
	var lines []int
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == "node_modules" || n == "dist" || n == ".git" || n == "bin" || n == "data" {
				return filepath.SkipDir
			}
			return nil
		}
		ext := path.Ext(p)
		if ext != ".go" && ext != ".ts" && ext != ".tsx" {
			return nil
		}
		slash := filepath.ToSlash(p)
		if forbiddenNames.MatchString(slash) {
			t.Errorf("%s: name the thing it holds", p)
		}
		if generated.MatchString(slash) {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		n := strings.Count(string(b), "\n")
		if n > 800 {
			t.Errorf("%s has %d lines; split it at 800 by noun", p, n)
		}
		if ext == ".go" {
			if strings.HasSuffix(p, "_test.go") {
				tests += n
			} else {
				code += n
				lines = append(lines, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Ints(lines)
	t.Logf("go: %d lines of code, %d of tests (%.2f), median file %d, 95th percentile %d", code, tests, float64(tests)/float64(code), lines[len(lines)/2], lines[len(lines)*95/100])
	if p95 := lines[len(lines)*95/100]; p95 > 500 {
		t.Errorf("95th percentile of file length is %d lines, want at most 500", p95)
	}
}
