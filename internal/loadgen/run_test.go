package loadgen

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

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
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	for { // until enough has happened, however slow this machine is
		rs, _ := g.Records()
		by := Group(rs, ByPlan)
		if (len(by["vision"]) >= 150 && len(by["chat"]) >= 5) || ctx.Err() != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	rs, _ := g.Records()
	by := Group(rs, ByPlan)
	s := Summarise(by["vision"], model.TimeRange{Start: start, End: time.Now()})
	if s.Requests < 150 || s.Errors != 0 {
		t.Errorf("vision: %d requests, %v", s.Requests, s.ByKind)
	}
	if n := len(Group(by["vision"], ByInstance)); n != 2 {
		t.Errorf("%d instances", n)
	}
	chats := by["chat"]
	sort.Slice(chats, func(i, j int) bool { return chats[i].ID < chats[j].ID })
	for i := 1; i < len(chats); i++ {
		if gap := chats[i].Scheduled.Sub(chats[i-1].Scheduled); gap != 100*time.Millisecond {
			t.Errorf("chat at 10/s: request %d was due %v after the one before", i, gap)
		}
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
