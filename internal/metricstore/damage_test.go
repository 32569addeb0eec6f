package metricstore

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"sightline/internal/health"
)

// sample is one value for building blocks.
type sample struct {
	chunks.Sample // its other methods are not called for floats
	t             int64
	v             float64
}

func (s sample) T() int64                 { return s.t }
func (s sample) F() float64               { return s.v }
func (s sample) ST() int64                { return 0 }
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample      { return s }

// withBlocks makes a directory with two blocks of the metric "old", a day apart.
func withBlocks(t *testing.T) (dir string, blocks []string, times []time.Time) {
	t.Helper()
	dir = t.TempDir()
	for i := range 2 {
		start := time.Now().Add(-time.Duration(72-24*i) * time.Hour).Truncate(2 * time.Hour)
		var series []storage.Series
		for n := range 10 {
			var ss []chunks.Sample
			for k := range 100 {
				ss = append(ss, sample{t: start.Add(time.Duration(k) * time.Minute / 2).UnixMilli(), v: float64(n)})
			}
			series = append(series, storage.NewListSeries(labels.FromStrings("__name__", "old", "n", fmt.Sprint(n)), ss))
		}
		b, err := tsdb.CreateBlock(series, dir, 2*time.Hour.Milliseconds(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
		times = append(times, start.Add(10*time.Minute))
	}
	return dir, blocks, times
}

func overwrite(t *testing.T, file string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if at < 0 {
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		at += st.Size()
	}
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedBlockIsSetAsideAndTheRestIsServed(t *testing.T) {
	for _, c := range []struct {
		name    string
		unclean bool // only the full check sees it
		damage  func(t *testing.T, block string)
	}{
		{"meta.json is garbage", false, func(t *testing.T, b string) { overwrite(t, filepath.Join(b, "meta.json"), 0, []byte("garbage")) }},
		{"meta.json is missing", false, func(t *testing.T, b string) {
			if err := os.Remove(filepath.Join(b, "meta.json")); err != nil {
				t.Fatal(err)
			}
		}},
		{"index cut", false, func(t *testing.T, b string) {
			if err := os.Truncate(filepath.Join(b, "index"), 100); err != nil {
				t.Fatal(err)
			}
		}},
		{"index empty", false, func(t *testing.T, b string) {
			if err := os.Truncate(filepath.Join(b, "index"), 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"chunks missing", false, func(t *testing.T, b string) {
			if err := os.RemoveAll(filepath.Join(b, "chunks")); err != nil {
				t.Fatal(err)
			}
		}},
		{"chunk file missing", false, func(t *testing.T, b string) {
			if err := os.Remove(filepath.Join(b, "chunks", "000001")); err != nil {
				t.Fatal(err)
			}
		}},
		{"chunk magic", false, func(t *testing.T, b string) {
			overwrite(t, filepath.Join(b, "chunks", "000001"), 0, []byte{1, 2, 3, 4})
		}},
		{"a flipped byte in a chunk", true, func(t *testing.T, b string) {
			overwrite(t, filepath.Join(b, "chunks", "000001"), 40, []byte{0xff, 0xff, 0xff})
		}},
		{"a flipped byte in a series", true, func(t *testing.T, b string) {
			ix, err := os.ReadFile(filepath.Join(b, "index"))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, filepath.Join(b, "index"), int64(len(ix)/4), []byte{0xa5, 0x5a, 0xa5, 0x5a, 0xa5})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, blocks, times := withBlocks(t)
			c.damage(t, blocks[0])
			if c.unclean {
				if err := os.WriteFile(filepath.Join(dir, uncleanMarker), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, h := opened(t, dir, nil)
			id := filepath.Base(blocks[0])
			cond := conditionOf(h, "block_quarantined")
			if cond == nil || cond.Subject != id || cond.Severity != health.Error || cond.Hint == "" {
				t.Fatalf("condition %+v", cond)
			}
			q := s.Stats().Quarantined
			if len(q) != 1 || q[0].Block != id || q[0].Reason == "" || !strings.Contains(q[0].Path, quarantineDir) {
				t.Errorf("quarantined %+v", q)
			}
			if !strings.HasPrefix(c.name, "meta") && (q[0].MinTime.IsZero() || !strings.Contains(cond.Text, q[0].MinTime.UTC().Format("2006-01-02"))) {
				t.Errorf("the gap is not named: %+v", cond)
			}
			if _, err := os.Stat(filepath.Join(dir, quarantineDir, id)); err != nil {
				t.Error(err)
			}
			got, err := s.QueryInstant(t.Context(), "count(old)", times[1])
			if err != nil || len(got) != 1 || got[0].Points[0].V != 10 {
				t.Errorf("the whole block answers %v, %v", got, err)
			}
			if got, err := s.QueryInstant(t.Context(), "count(old)", times[0]); err != nil || len(got) != 0 {
				t.Errorf("the damaged block answers %v, %v", got, err)
			}
			if err := appendOne(s, time.Now().UnixMilli(), 1, "__name__", "new"); err != nil {
				t.Errorf("append: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			// The next start still lists it but finds nothing new.
			again, h := opened(t, dir, nil)
			if q := again.Stats().Quarantined; len(q) != 1 || q[0].Block != id || q[0].New || q[0].Reason == "" {
				t.Errorf("at the next start %+v", q)
			}
			if conditionOf(h, "block_quarantined") == nil {
				t.Error("the gap is silent after a restart")
			}
		})
	}
}

func TestWholeBlocksPassTheFullCheck(t *testing.T) {
	dir, _, times := withBlocks(t)
	if err := os.WriteFile(filepath.Join(dir, uncleanMarker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, h := opened(t, dir, nil)
	if cs := h.Conditions(); len(cs) != 0 {
		t.Errorf("conditions %+v", cs)
	}
	for _, at := range times {
		if got, err := s.QueryInstant(t.Context(), "count(old)", at); err != nil || len(got) != 1 || got[0].Points[0].V != 10 {
			t.Errorf("%v %v", got, err)
		}
	}
	if st := s.Stats(); st.Blocks != 2 || len(st.Quarantined) != 0 {
		t.Errorf("stats %+v", st)
	}
}

// lastSegment is the last segment of the log that holds something.
func lastSegment(t *testing.T, dir string) (name string, size int64) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(dir, "wal"))
	if err != nil {
		t.Fatal(err)
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Name() > files[j].Name() })
	for _, f := range files {
		st, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if st.Size() > 0 && st.Mode().IsRegular() {
			return filepath.Join(dir, "wal", f.Name()), st.Size()
		}
	}
	t.Fatal("the log is empty")
	return "", 0
}

func TestADamagedLastSegmentIsRepairedAndSaid(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir, nil)
	now := time.Now().UnixMilli()
	for i := range int64(3000) {
		if err := appendOne(s, now+i, float64(i), "__name__", "z"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	segment, size := lastSegment(t, dir)
	overwrite(t, segment, size/2, []byte("damage damage damage"))
	s, h := opened(t, dir, nil)
	c := conditionOf(h, "wal_repaired")
	if c == nil || !strings.HasSuffix(segment, c.Subject) || !strings.Contains(c.Text, "cut off") || c.Hint == "" {
		t.Fatalf("condition %+v for %s", c, segment)
	}
	var at, cut int64
	if _, err := fmt.Sscanf(c.Text, "log segment "+c.Subject+" is damaged before byte %d; the damaged record and all behind it, %d bytes", &at, &cut); err != nil || at <= size/2 || at > size || at+cut != size {
		t.Errorf("%q: at %d, cut %d of %d (%v)", c.Text, at, cut, size, err)
	}
	q, err := s.Queryable().Querier(0, now+10_000)
	if err != nil {
		t.Fatal(err)
	}
	stored := readAll(t, q, "z", "none")
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if len(stored) < 500 || len(stored) >= 3000 {
		t.Errorf("%d of 3000 samples before the damage are back", len(stored))
	}
	if err := appendOne(s, now+5000, 1, "__name__", "z"); err != nil {
		t.Errorf("append after the repair: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, h := opened(t, dir, nil); conditionOf(h, "wal_repaired") != nil {
		t.Error("a log that was repaired is repaired again")
	}
}
