package loadgen

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"os"

	"sightline/internal/model"
)

// The whole generator over real sockets: two plans, a log on disk, a clean end.
func TestRunAgainstServers(t *testing.T) {
	a, b := newInferServer(t), newInferServer(t)
	c, _ := chatServer(t, 200, chunk("a"), finishChunk, usageChunk, done)
	cfg := DefaultConfig()
	cfg.LogPath = filepath.Join(t.TempDir(), "log.jsonl.gz")
	v := visionPlan(a.URL, b.URL)
	v.Rate, v.Arrivals = 200, ArrivalPoisson
	k := chatPlan(c.URL)
	k.Rate, k.Arrivals = 10, ArrivalConstant
	cfg.Vision, cfg.Chat = []VisionPlan{v}, []ChatPlan{k}
	g, err := New(cfg, testLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := g.Run(ctx); err != nil {
		t.Fatal(err)
	}
	rs, _ := g.Records()
	by := Group(rs, ByPlan)
	s := Summarise(by["vision"], model.TimeRange{Start: start, End: time.Now()})
	if s.Requests < 120 || s.Requests > 280 || s.Errors != 0 || s.Dropped != 0 {
		t.Errorf("vision: %d requests, %v, %d dropped", s.Requests, s.ByKind, s.Dropped)
	}
	if n := len(Group(by["vision"], ByInstance)); n != 2 {
		t.Errorf("%d instances", n)
	}
	if n := len(by["chat"]); n < 8 || n > 10 {
		t.Errorf("chat: %d requests in 1 s at 10/s", n)
	}
	f, err := os.Open(cfg.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	logged, err := ReadLog(f)
	if err != nil || len(logged) != len(rs) {
		t.Errorf("%d records on disk, %d in memory, %v", len(logged), len(rs), err)
	}
	// Keep-alive: far fewer connections than requests.
	if a.mu.Lock(); len(a.conns) > len(a.paths)/2 {
		t.Errorf("%d connections for %d requests", len(a.conns), len(a.paths))
	}
	a.mu.Unlock()
}
