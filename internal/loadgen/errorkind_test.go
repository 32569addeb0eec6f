package loadgen

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sightline/internal/model"
)

// The fixtures hold one error body per line as the servers send them.
func TestClassifyKnowsTheServersBodies(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) != 4 {
		t.Fatalf("fixtures %v %v", files, err)
	}
	n := 0
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sc := bufio.NewScanner(f)
		for line := 1; sc.Scan(); line++ {
			var c struct {
				Protocol, Body string
				Status         int
				Kind           model.ErrorKind
			}
			if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			if c.Protocol == "grpc" {
				continue // the generator speaks HTTP only
			}
			n++
			if got := Classify(c.Status, c.Body, c.Protocol == "sse"); got != c.Kind {
				t.Errorf("%s:%d: %d %s is %q, want %q", name, line, c.Status, c.Body, got, c.Kind)
			}
		}
	}
	if n < 35 {
		t.Errorf("only %d lines were checked", n)
	}
}

func TestClassifyByStatusAlone(t *testing.T) {
	for status, want := range map[int]model.ErrorKind{
		200: "", 204: "", 302: model.ErrorInternal, 400: model.ErrorInvalidInput, 404: model.ErrorModelNotFound, 408: model.ErrorTimeout, 413: model.ErrorInvalidInput, 422: model.ErrorInvalidInput,
		429: model.ErrorOverloaded, 499: model.ErrorCancelled, 500: model.ErrorInternal, 501: model.ErrorInvalidInput, 503: model.ErrorUnavailable, 504: model.ErrorTimeout, 507: model.ErrorOOM, 529: model.ErrorOverloaded,
	} {
		if got := Classify(status, "", false); got != want {
			t.Errorf("%d is %q, want %q", status, got, want)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(503, "Request timeout expired")
	f.Fuzz(func(t *testing.T, status int, body string) {
		k := Classify(status, body, true)
		if !k.Known() {
			t.Errorf("%q is outside the list", k)
		}
	})
}
