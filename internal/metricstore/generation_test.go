package metricstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/health"
	"sightline/internal/model"
)

// TestReadersAndWritersSurviveReopening: whoever is inside finishes, whoever
// comes meanwhile is told to come again, and nothing acknowledged is lost.
func TestReadersAndWritersSurviveReopening(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	start := time.Now().UnixMilli()
	var (
		owned        sync.WaitGroup
		stop         atomic.Bool
		acknowledged [4]atomic.Int64
		answers      atomic.Int64
	)
	for w := range acknowledged {
		owned.Go(func() {
			for i := int64(0); !stop.Load(); i++ {
				err := appendOne(s, start+i, float64(i), "__name__", "busy", "w", fmt.Sprint(w))
				if err == nil {
					acknowledged[w].Add(1)
				} else if model.CodeOf(err) != "storage_reopening" {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	for range 2 {
		owned.Go(func() {
			for !stop.Load() {
				_, err := s.QueryInstant(context.Background(), "count(busy)", time.UnixMilli(start))
				if err == nil {
					answers.Add(1)
				} else if model.CodeOf(err) != "storage_reopening" {
					t.Errorf("query: %v", err)
					return
				}
			}
		})
	}
	for range 5 {
		before := acknowledged[0].Load() + answers.Load()
		if err := s.reopen(); err != nil {
			t.Error(err)
		}
		for acknowledged[0].Load()+answers.Load() < before+20 && !t.Failed() {
			runtime.Gosched() // let them work between two openings
		}
	}
	stop.Store(true)
	owned.Wait()
	got, err := s.QueryInstant(t.Context(), "count_over_time(busy[1h])", time.UnixMilli(start).Add(30*time.Minute))
	if err != nil || len(got) != len(acknowledged) {
		t.Fatalf("%v %v", got, err)
	}
	for _, g := range got {
		var w int
		if _, err := fmt.Sscan(g.Labels["w"], &w); err != nil {
			t.Fatal(err)
		}
		if int64(g.Points[0].V) != acknowledged[w].Load() {
			t.Errorf("writer %d: %g stored, %d acknowledged", w, g.Points[0].V, acknowledged[w].Load())
		}
	}
}

// TestCloseDoesNotPullFilesFromUnderAQuery: reading unmapped memory would end
// the process.
func TestCloseDoesNotPullFilesFromUnderAQuery(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir, func(s *Store) { s.patience = 50 * time.Millisecond })
	if err := appendOne(s, time.Now().UnixMilli(), 1, "__name__", "x"); err != nil {
		t.Fatal(err)
	}
	q, err := s.Queryable().Querier(0, time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); model.CodeOf(err) != "storage_busy" {
		t.Fatalf("closed under a query: %v", err)
	}
	if got := readAll(t, q, "x", "none"); len(got) != 1 {
		t.Errorf("the query reads %v", got)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	_ = q.Close() // a second time is an error of the caller, but leaves only once
	if n := s.gen.users.Load(); n != 0 {
		t.Errorf("%d users are left", n)
	}
	if _, err := os.Stat(filepath.Join(dir, uncleanMarker)); err != nil {
		t.Error("a store that was not closed whole passes for closed")
	}
	// What Close would have done, so that the test leaves nothing behind.
	if err := errors.Join(s.gen.db.Close(), s.engine.Close(), s.locker.Release()); err != nil {
		t.Error(err)
	}
}

func TestAppendersEndOnce(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	app := s.Appendable().AppenderV2(t.Context())
	if _, err := app.Append(0, labels.FromStrings("__name__", "x"), 0, time.Now().UnixMilli(), 1, nil, nil, storage.AOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := app.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := app.Rollback(); err != nil {
		t.Error(err)
	}
	if err := app.Commit(); err == nil {
		t.Error("a rolled-back append commits")
	}
	if n := s.gen.users.Load(); n != 0 {
		t.Errorf("%d users are left", n)
	}
	if n := s.Stats().SamplesTotal; n != 0 {
		t.Errorf("%d samples count as acknowledged", n)
	}
}

func TestExemplarsChunksAndSearch(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	now := time.Now().UnixMilli()
	ls := labels.FromStrings("__name__", "x_total", "model", "resnet")
	app := s.Appendable().AppenderV2(t.Context())
	ref, err := app.Append(0, ls, 0, now, 1, nil, nil, storage.AOptions{Exemplars: []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "a"), Value: 1, Ts: now, HasTs: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := app.(storage.GetRef).GetRef(ls, ls.Hash()); got != ref {
		t.Errorf("reference %d, looked up %d", ref, got)
	}
	if _, err := app.(storage.ExemplarAppenderV2).AppendExemplars(ref, ls, []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "b"), Value: 2, Ts: now + 1, HasTs: true}}); err != nil {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	eq, err := s.Exemplars().ExemplarQuerier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := labels.MustNewMatcher(labels.MatchEqual, "__name__", "x_total")
	res, err := eq.Select(0, now+10, []*labels.Matcher{all})
	if err != nil || len(res) != 1 || len(res[0].Exemplars) != 2 {
		t.Errorf("exemplars %v %v", res, err)
	}
	cq, err := s.Queryable().ChunkQuerier(0, now)
	if err != nil {
		t.Fatal(err)
	}
	if set := cq.Select(t.Context(), false, nil, all); !set.Next() {
		t.Errorf("no chunks: %v", set.Err())
	}
	if err := cq.Close(); err != nil {
		t.Fatal(err)
	}
	q, err := s.Queryable().Querier(0, now)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	names, _, err := q.LabelValues(t.Context(), "model", nil)
	if err != nil || len(names) != 1 || names[0] != "resnet" {
		t.Errorf("values %v %v", names, err)
	}
}

func TestAdminActsOnTheOpenStore(t *testing.T) {
	s, _ := opened(t, t.TempDir(), nil)
	now := time.Now().UnixMilli()
	for _, name := range []string{"keep", "drop"} {
		if err := appendOne(s, now, 1, "__name__", name); err != nil {
			t.Fatal(err)
		}
	}
	a := s.Admin()
	if err := a.Delete(t.Context(), 0, now, labels.MustNewMatcher(labels.MatchEqual, "__name__", "drop")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.QueryInstant(t.Context(), `count({__name__=~"keep|drop"})`, time.UnixMilli(now)); err != nil || got[0].Points[0].V != 1 {
		t.Errorf("after Delete %v %v", got, err)
	}
	if err := a.CleanTombstones(); err != nil {
		t.Error(err)
	}
	st, err := a.Stats("__name__", 10)
	if err != nil || st.NumSeries != 2 {
		t.Errorf("stats %+v %v", st, err)
	}
	if ms, err := a.BlockMetas(); err != nil || len(ms) != 0 {
		t.Errorf("blocks %v %v", ms, err)
	}
	if r, err := a.WALReplayStatus(); err != nil || r.Current != r.Max {
		t.Errorf("replay %d of %d: %v", r.Current, r.Max, err)
	}
	copyDir := t.TempDir()
	if err := a.Snapshot(copyDir, true); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), DefaultConfig(copyDir), nil, prometheus.NewRegistry(), health.New(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := c.QueryInstant(t.Context(), "keep", time.UnixMilli(now)); err != nil || len(got) != 1 {
		t.Errorf("the snapshot answers %v %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.BlockMetas(); model.CodeOf(err) != "storage_closed" {
		t.Errorf("closed: %v", err)
	}
}
