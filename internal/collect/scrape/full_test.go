package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
)

// fullStore refuses everything, as a store on a full disk does.
type fullStore struct{}

var errFull = &model.Problem{Code: "disk_full", Text: "the file system is full", Hint: "free some space"}

func (fullStore) AppenderV2(context.Context) storage.AppenderV2 { return fullStore{} }
func (fullStore) Append(storage.SeriesRef, labels.Labels, int64, int64, float64, *histogram.Histogram, *histogram.FloatHistogram, storage.AOptions) (storage.SeriesRef, error) {
	return 0, errFull
}
func (fullStore) Commit() error   { return errFull }
func (fullStore) Rollback() error { return nil }

// lockedBuffer is a log that the loops write and the test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestAStoreThatRefusesIsToldApartFromATargetAndNotRepeatedInTheLog(t *testing.T) {
	s := serve(t, text("x 1\n"))
	var log lockedBuffer
	m, err := New(Config{Interval: 100 * time.Millisecond, Targets: []TargetConfig{{URL: s.URL}}}, fullStore{}, slog.New(slog.NewTextHandler(&log, nil)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	eventually(t, "the refusal", func() bool { ts := m.Targets(); return len(ts) == 1 && ts[0].Error != nil })
	if e := m.Targets()[0].Error; e.Code != "target_store_refused" || !strings.Contains(e.Text, errFull.Text) || e.Hint != errFull.Hint {
		t.Errorf("error %+v", e)
	}
	first := m.Targets()[0].LastScrape
	eventually(t, "more scrapes", func() bool { return m.Targets()[0].LastScrape.Sub(first) > 400*time.Millisecond })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), errFull.Text) {
		t.Errorf("every scrape repeats in the log what the store has said:\n%s", log.String())
	}
}

func TestClassifyNeverLeavesATargetWithoutACode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code string
	}{
		{fmt.Errorf("get: %w", context.DeadlineExceeded), "target_timeout"},
		{errors.New("server returned HTTP status 301 Moved Permanently"), "target_http_status"},
		{errors.New("body size limit exceeded"), "target_body_too_large"},
		{errors.New("dial tcp: lookup nobody: no such host"), "target_unreachable"},
		{errors.New("x509: certificate signed by unknown authority"), "target_tls"},
		{errors.New("unexpected data after # EOF"), "target_not_exposition"},
		{errors.New("data does not end with # EOF"), "target_truncated"},
		{errors.New(`invalid UTF-8 label value: "\xff"`), "target_not_exposition"},
		{errors.New("something nobody has seen"), "target_failed"},
		{&model.Problem{Code: "target_link_local", Text: "no"}, "target_link_local"},
	} {
		p := classify("http://h/metrics", c.err)
		if p.Code != c.code || !strings.Contains(p.Text, "http://h/metrics") {
			t.Errorf("%v: %+v, want %s", c.err, p, c.code)
		}
	}
}
