package metricstore

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
	"sightline/internal/model"
)

func conditionOf(h *health.Registry, code string) *health.Condition {
	for _, c := range h.Conditions() {
		if c.Code == code {
			return &c
		}
	}
	return nil
}

// fill leaves free bytes on the file system of dir, in a file that is returned.
func fill(t *testing.T, dir string, free uint64) string {
	t.Helper()
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		now, _, err := statfs(dir)
		if err != nil {
			t.Fatal(err)
		}
		if now <= free {
			return ballast
		}
		if _, err := f.Write(block); err != nil {
			return ballast // full to the last byte
		}
	}
}

// TestWritesStopBeforeTheDiskIsFullAndResume: the reserve closes the gate, so
// that the TSDB never meets a full disk; queries go on.
func TestWritesStopBeforeTheDiskIsFullAndResume(t *testing.T) {
	dir := tmpfs(t, "size=16m")
	s, h := opened(t, dir, func(s *Store) { s.interval = time.Hour })
	now := time.Now().UnixMilli()
	if err := appendOne(s, now, 1, "__name__", "x"); err != nil {
		t.Fatal(err)
	}
	ballast := fill(t, dir, 300<<10)
	s.watchDiskOnce()
	if err := appendOne(s, now+1000, 2, "__name__", "x"); model.CodeOf(err) != "disk_full" {
		t.Fatalf("append on a full disk: %v", err)
	}
	if c := conditionOf(h, "disk_full"); c == nil || c.Subject != dir || c.Severity != health.Error || c.Hint == "" {
		t.Errorf("condition %+v", c)
	}
	if st := s.Stats(); !st.ReadOnly {
		t.Error("the store does not say that it refuses writes")
	}
	if ready, waiting := h.Ready(); !ready {
		t.Errorf("a full disk stops everything: %v", waiting)
	}
	if got, err := s.QueryInstant(t.Context(), "x", time.UnixMilli(now)); err != nil || len(got) != 1 || got[0].Points[0].V != 1 {
		t.Errorf("query on a full disk: %v %v", got, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.watchDiskOnce()
	if conditionOf(h, "disk_full") != nil {
		t.Error("the condition stays although space is back")
	}
	if err := appendOne(s, now+2000, 3, "__name__", "x"); err != nil {
		t.Errorf("append after space is back: %v", err)
	}
}

// A batch must span several pages of the log, 32 KiB each, and not compress: then
// the failing write leaves a record without its end.
const tornSeries = 10_000

func tornValue(batch, n int) float64 {
	return math.Sqrt(float64(batch*tornSeries + n + 2))
}

// TestATornLogIsRepairedWhenSpaceReturns fills the disk behind the gate's back,
// tears the log in the middle of a record, and wants every acknowledged sample
// back, both after the store opened itself again and after a restart.
func TestATornLogIsRepairedWhenSpaceReturns(t *testing.T) {
	dir := tmpfs(t, "size=64m")
	c := DefaultConfig(dir)
	c.DiskReserve = 0
	h := health.New(nil, nil)
	s, err := open(context.Background(), c, nil, nil, h, func(s *Store) { s.interval = time.Hour })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	now := time.Now().Add(-time.Hour).UnixMilli()
	acknowledged := map[string]float64{}
	batch := func(i int) error {
		app := s.Appendable().AppenderV2(context.Background())
		for n := range tornSeries {
			ls := labels.FromStrings("__name__", "y", "n", fmt.Sprintf("%d-%x", n, uint64(n+1)*0x9e3779b97f4a7c15))
			if _, err := app.Append(0, ls, 0, now+int64(i)*1000, tornValue(i, n), nil, nil, storage.AOptions{}); err != nil {
				_ = app.Rollback()
				return err
			}
		}
		if err := app.Commit(); err != nil {
			return err
		}
		for n := range tornSeries {
			acknowledged[fmt.Sprintf("%d-%x@%d", n, uint64(n+1)*0x9e3779b97f4a7c15, now+int64(i)*1000)] = tornValue(i, n)
		}
		return nil
	}
	for i := range 5 {
		if err := batch(i); err != nil {
			t.Fatal(err)
		}
	}
	ballast := fill(t, dir, 100<<10)
	var failed error
	i := 5
	for ; i < 100 && failed == nil; i++ {
		failed = batch(i)
	}
	if model.CodeOf(failed) != "disk_full" {
		t.Fatalf("after %d batches: %v", i, failed)
	}
	if err := batch(i + 1); model.CodeOf(err) != "disk_full" {
		t.Errorf("a write after the torn one: %v", err)
	}
	s.watchDiskOnce() // the disk is still full
	if conditionOf(h, "disk_full") == nil {
		t.Error("no condition")
	}
	check := func(when string, s *Store) {
		t.Helper()
		q, err := s.Queryable().Querier(0, now+10_000_000)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		stored := readAll(t, q, "y", "n")
		for k, v := range acknowledged {
			if got, ok := stored[k]; !ok || got != v {
				t.Fatalf("%s: acknowledged sample %s is %g, %v (%d of %d stored)", when, k, got, ok, len(stored), len(acknowledged))
			}
		}
	}
	check("while full", s)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.watchDiskOnce()
	if c := conditionOf(h, "disk_full"); c != nil {
		t.Fatalf("space is back, yet %+v", c)
	}
	check("opened again", s)
	if err := batch(i + 2); err != nil {
		t.Fatalf("append after space is back: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := opened(t, dir, nil)
	check("after a restart", again)
	t.Logf("%d samples acknowledged around a torn log", len(acknowledged))
}

func TestOpeningOnAFullDisk(t *testing.T) {
	dir := tmpfs(t, "size=1m")
	fill(t, dir, 0)
	wantProblem(t, dir, "disk_full", "free some space")
}

// TestAReferenceFromBeforeAReopenNamesNoOtherSeries: the TSDB may give an old
// number to another series when it opens again.
func TestAReferenceFromBeforeAReopenNamesNoOtherSeries(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	now := time.Now().UnixMilli()
	app := s.Appendable().AppenderV2(t.Context())
	ref, err := app.Append(0, labels.FromStrings("__name__", "first"), 0, now, 1, nil, nil, storage.AOptions{})
	if err != nil || ref == 0 {
		t.Fatal(ref, err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := s.reopen(); err != nil {
		t.Fatal(err)
	}
	app = s.Appendable().AppenderV2(t.Context())
	other, err := app.Append(ref, labels.FromStrings("__name__", "second"), 0, now+1000, 2, nil, nil, storage.AOptions{})
	if err != nil || other == ref {
		t.Fatalf("ref %d → %d, %v", ref, other, err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]float64{"first": 1, "second": 2} {
		got, err := s.QueryInstant(t.Context(), expr, time.UnixMilli(now+1000))
		if err != nil || len(got) != 1 || got[0].Points[0].V != want {
			t.Errorf("%s: %v %v", expr, got, err)
		}
	}
	if n := s.Stats().Series; n != 2 {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(fmt.Sprint(s.gen.number), "2") {
		t.Errorf("generation %d", s.gen.number)
	}
}
