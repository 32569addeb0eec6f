package sightline

//go:generate go test -run TestErrorReferenceIsCurrent -update .

import (
	"flag"
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

var update = flag.Bool("update", false, "rewrite docs/errors.md")

// coded is one machine code with the words that go with it in the source.
type coded struct {
	code, text, hint string
	packages         map[string]bool
}

// words turns an expression into a template: what is computed becomes "…".
func words(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`).ReplaceAllString(s, "…")
		}
	case *ast.BinaryExpr:
		return words(e.X) + words(e.Y)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" && len(e.Args) > 0 {
			return words(e.Args[0])
		}
	case *ast.ParenExpr:
		return words(e.X)
	}
	return "…"
}

func literal(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil && codeShape.MatchString(s) {
			return s
		}
	}
	return ""
}

// codesInSource finds every machine code: fields, constants and variables whose
// name begins or ends with code, results named code, and first arguments of the
// small functions by which packages make their problems (code, text, hint).
func codesInSource(t *testing.T) map[string]*coded {
	t.Helper()
	found := map[string]*coded{}
	note := func(file string, code string, rest ...ast.Expr) {
		if code == "" {
			return
		}
		c := found[code]
		if c == nil {
			c = &coded{code: code, packages: map[string]bool{}}
			found[code] = c
		}
		c.packages[filepath.ToSlash(filepath.Dir(file))] = true
		for i, e := range rest {
			if e == nil {
				continue
			}
			w := strings.TrimSpace(words(e))
			if w == "…" {
				continue
			}
			if i == 0 && c.text == "" {
				c.text = w
			} else if i == 1 && c.hint == "" {
				c.hint = w
			}
		}
	}
	isCode := func(name string) bool {
		n := strings.ToLower(name)
		return strings.HasPrefix(n, "code") || strings.HasSuffix(n, "code")
	}
	makers := map[string]bool{"problem": true, "fail": true, "bad": true, "invalid": true, "refuse": true, "reject": true, "deny": true, "writeProblem": true, "badParameter": true}
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
			case *ast.CompositeLit:
				var code string
				var text, hint ast.Expr
				for _, el := range n.Elts {
					kv, ok := el.(*ast.KeyValueExpr)
					if !ok {
						continue
					}
					id, ok := kv.Key.(*ast.Ident)
					if !ok {
						continue
					}
					switch {
					case isCode(id.Name):
						code = literal(kv.Value)
					case id.Name == "Text":
						text = kv.Value
					case id.Name == "Hint":
						hint = kv.Value
					}
				}
				note(p, code, text, hint)
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.Ident:
					name = f.Name
				case *ast.SelectorExpr:
					name = f.Sel.Name
				}
				for i, a := range n.Args {
					if makers[name] && literal(a) != "" {
						var text, hint ast.Expr
						if i+1 < len(n.Args) {
							text = n.Args[i+1]
						}
						if i+2 < len(n.Args) {
							hint = n.Args[i+2]
						}
						note(p, literal(a), text, hint)
						break
					}
				}
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if isCode(id.Name) && i < len(n.Values) {
						note(p, literal(n.Values[i]))
					}
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if i >= len(n.Rhs) {
						continue
					}
					switch l := l.(type) {
					case *ast.Ident:
						if isCode(l.Name) {
							note(p, literal(n.Rhs[i]))
						}
					case *ast.SelectorExpr:
						if isCode(l.Sel.Name) {
							note(p, literal(n.Rhs[i]))
						}
					}
				}
			case *ast.FuncDecl:
				res := n.Type.Results
				if res == nil || len(res.List) == 0 || len(res.List[0].Names) == 0 || !isCode(res.List[0].Names[0].Name) || n.Body == nil {
					return true
				}
				ast.Inspect(n.Body, func(m ast.Node) bool {
					if r, ok := m.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
						var hint ast.Expr
						if len(r.Results) > 1 {
							hint = r.Results[1]
						}
						note(p, literal(r.Results[0]), nil, hint)
					}
					return true
				})
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

// TestErrorReferenceIsCurrent keeps docs/errors.md equal to the source.
func TestErrorReferenceIsCurrent(t *testing.T) {
	codes := codesInSource(t)
	if len(codes) < 60 {
		t.Fatalf("only %d codes found; the search is broken", len(codes))
	}
	names := make([]string, 0, len(codes))
	for c := range codes {
		names = append(names, c)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("# Error and condition codes\n\nGenerated from the source by `make generate`; do not edit. Every failure on the command line ends with its code in brackets;\nAPI answers carry it as `code`, targets and conditions show it on *Status*. `…` stands for the value in question.\n\n| code | says | do | from |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	for _, n := range names {
		c := codes[n]
		var from []string
		for p := range c.packages {
			from = append(from, "`"+p+"`")
		}
		sort.Strings(from)
		b.WriteString("| `" + n + "` | " + cell.Replace(c.text) + " | " + cell.Replace(c.hint) + " | " + strings.Join(from, ", ") + " |\n")
	}
	if *update {
		if err := os.WriteFile("docs/errors.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("docs/errors.md")
	if err != nil || string(have) != b.String() {
		t.Fatalf("docs/errors.md is not what the source says (%v); run make generate", err)
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
