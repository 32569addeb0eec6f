package signals_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
	"sightline/internal/metricstore"
	"sightline/internal/signals"
	"sightline/internal/signals/signalstest"
)

// scratch is a real store in a folder of the test.
type scratch struct {
	*metricstore.Store
	app storage.AppenderV2
}

func (s *scratch) Append(l map[string]string, t int64, v float64) error {
	app := s.Appendable().AppenderV2(context.Background())
	if _, err := app.Append(0, labels.FromMap(l), 0, t, v, nil, nil, storage.AOptions{}); err != nil {
		return errors.Join(err, app.Rollback())
	}
	return app.Commit()
}

func open(t testing.TB) *scratch {
	t.Helper()
	s, err := metricstore.Open(context.Background(), metricstore.DefaultConfig(t.TempDir()), nil, prometheus.NewRegistry(), health.New(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &scratch{Store: s}
}

// parsePage reads the classic text format as a scrape does.
func parsePage(page []byte) ([]signalstest.Sample, error) {
	p := textparse.NewPromParser(page, labels.NewSymbolTable(), false)
	types := map[string]string{}
	var out []signalstest.Sample
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch e {
		case textparse.EntryType:
			n, typ := p.Type()
			types[string(n)] = string(typ)
		case textparse.EntrySeries:
			var ls labels.Labels
			p.Labels(&ls)
			_, _, v := p.Series()
			name := ls.Get("__name__")
			grows := types[name] == "counter"
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base, ok := strings.CutSuffix(name, suffix); ok && (types[base] == "histogram" || types[base] == "summary") {
					grows = true
				}
			}
			out = append(out, signalstest.Sample{Labels: ls.Map(), Value: v, Grows: grows})
		}
	}
}

func env(t *testing.T) signalstest.Env {
	return signalstest.Env{
		Open: func() (signalstest.Store, error) { return open(t), nil },
		Read: func(f string) ([]byte, error) {
			return os.ReadFile(filepath.Join("testdata", "pages", filepath.Base(f)))
		},
		Parse: parsePage,
	}
}

func load(t testing.TB) *signals.Catalogue {
	t.Helper()
	c, err := signals.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("scripts: %v %v", files, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range signalstest.Run(t.Context(), string(b), load(t), env(t)) {
				t.Error(err)
			}
		})
	}
}
