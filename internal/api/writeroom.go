package api

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"sightline/internal/model"
)

// room bounds the bytes of writes that are worked on at once. Unpacked into
// series, a body takes up to fifteen times its size; without a bound a handful
// of the largest at once filled the memory of the machine.
type room struct {
	sem   *semaphore.Weighted
	bytes int64
	wait  time.Duration
}

// newRoom has place for one body of the largest size, or many of the usual.
func newRoom(bytes int64, wait time.Duration) *room {
	return &room{sem: semaphore.NewWeighted(bytes), bytes: bytes, wait: wait}
}

// enter waits for n bytes of room. ok is false when there was none in time.
func (m *room) enter(ctx context.Context, n int64) (leave func(), ok bool) {
	n = min(max(n, 1), m.bytes)
	if m.sem.TryAcquire(n) {
		return func() { m.sem.Release(n) }, true
	}
	ctx, cancel := context.WithTimeout(ctx, m.wait)
	defer cancel()
	if err := m.sem.Acquire(ctx, n); err != nil {
		return nil, false
	}
	return func() { m.sem.Release(n) }, true
}

// refuse tells a sender to keep its samples and come back.
func (m *room) refuse(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	writeProblem(w, r, http.StatusServiceUnavailable, "unavailable", &model.Problem{
		Code: "too_many_writes", Text: "as many bytes are being written already as fit", Hint: "send it again shortly, in smaller batches",
	})
}
