package sightline

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

var codeShape = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)+$`)

// codesInSource finds every machine code: string constants given to a field or
// constant whose name begins or ends with code, and first arguments of
// functions whose name ends in Problem or Error.
func codesInSource(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	note := func(e ast.Expr, file string) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && codeShape.MatchString(s) {
				found[s] = file
			}
		}
	}
	isCode := func(name string) bool {
		n := strings.ToLower(name)
		return strings.HasPrefix(n, "code") || strings.HasSuffix(n, "code")
	}
	err := filepath.WalkDir("internal", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") || strings.HasSuffix(p, ".pb.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok && isCode(id.Name) {
					note(n.Value, p)
				}
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if isCode(id.Name) && i < len(n.Values) {
						note(n.Values[i], p)
					}
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if id, ok := l.(*ast.Ident); ok && isCode(id.Name) && i < len(n.Rhs) {
						note(n.Rhs[i], p)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryCodeIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := codesInSource(t)
	if len(codes) < 20 {
		t.Fatalf("only %d codes found; the search is broken", len(codes))
	}
	var missing []string
	for c, file := range codes {
		if !strings.Contains(string(doc), "`"+c+"`") {
			missing = append(missing, c+" ("+file+")")
		}
	}
	sort.Strings(missing)
	if len(missing) > 0 {
		t.Errorf("docs/errors.md says nothing about:\n%s", strings.Join(missing, "\n"))
	}
}

// TestDocsCiteWhatExists: a page that names a file, a package or a make target
// of this repository names one that is there.
func TestDocsCiteWhatExists(t *testing.T) {
	mk, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := filepath.Glob("docs/*.md")
	adrs, _ := filepath.Glob("docs/adr/*.md")
	pages = append(append(pages, adrs...), "README.md")
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	path := regexp.MustCompile("`((?:internal|cmd|web|bench|scripts|docs|testdata)/[A-Za-z0-9_./-]+)`")
	target := regexp.MustCompile("`make ([a-z0-9-]+)")
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
		for _, m := range path.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s cites %s, which is not there", page, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(string(b), -1) {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(mk) {
				t.Errorf("%s names make %s, which the Makefile lacks", page, m[1])
			}
		}
	}
}
