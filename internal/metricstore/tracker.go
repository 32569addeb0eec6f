package metricstore

import (
	"context"
	"sync"

	"github.com/prometheus/prometheus/promql"
)

// tracker bounds the number of running queries and keeps the file of running
// ones, by which a query that killed the process is named at the next start.
// The file is mapped into memory; a query that begins after it was unmapped
// would end the process, so the tracker refuses it.
type tracker struct {
	slots chan struct{}

	mu     sync.RWMutex
	closed bool
	file   *promql.ActiveQueryTracker
}

func newTracker(file *promql.ActiveQueryTracker) *tracker {
	return &tracker{file: file, slots: make(chan struct{}, file.GetMaxConcurrent())}
}

// GetMaxConcurrent implements promql.QueryTracker.
func (t *tracker) GetMaxConcurrent() int { return cap(t.slots) }

// Insert implements promql.QueryTracker; it waits for a free slot.
func (t *tracker) Insert(ctx context.Context, query string) (int, error) {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		<-t.slots
		return 0, errClosed
	}
	// As many entries as slots: this never waits.
	i, err := t.file.Insert(context.WithoutCancel(ctx), query)
	if err != nil {
		<-t.slots
	}
	return i, err
}

// Delete implements promql.QueryTracker.
func (t *tracker) Delete(i int) {
	t.mu.RLock()
	if !t.closed {
		t.file.Delete(i)
	}
	t.mu.RUnlock()
	<-t.slots
}

// Close implements promql.QueryTracker.
func (t *tracker) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.file.Close()
}
