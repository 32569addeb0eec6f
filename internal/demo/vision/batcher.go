package vision

import (
	"context"
	"sync"
	"time"

	"sightline/internal/demo/accel"
)

// policy is how a batcher forms batches, in Triton's terms.
type policy struct {
	maxBatch      int           // items
	preferred     []int         // sizes that are sent at once
	window        time.Duration // max_queue_delay: how long the oldest request waits for company
	maxQueue      int           // requests, 0: no limit
	timeout       time.Duration // of a request in the queue, 0: none
	allowOverride bool          // a request may ask for a shorter or longer timeout
}

// maxPreferred is the size beyond which waiting makes no sense.
func (p policy) maxPreferred() int {
	most := 0
	for _, s := range p.preferred {
		most = max(most, s)
	}
	if most == 0 {
		return p.maxBatch
	}
	return most
}

func (p policy) prefers(size int) bool {
	for _, s := range p.preferred {
		if s == size {
			return true
		}
	}
	return len(p.preferred) == 0 && size == p.maxBatch
}

// job is one request on its way through a batcher.
type job struct {
	id      string
	items   int           // images
	h, w    int           // only requests of one shape share a batch
	input   payload       // pixels
	timeout time.Duration // asked for by the request, 0: the policy's
	start   time.Time     // the request reached the model
	done    chan outcome  // receives exactly once, never blocks

	enqueued time.Time
	deadline time.Time     // zero: none
	queued   time.Duration // measured at the hand-over
}

// outcome is what becomes of a job.
type outcome struct {
	err    *failure
	logits []float32 // items × classes
	probs  []float32
	phases phases
	batch  int // items of the whole batch
	inst   int
}

// batcher queues requests and hands batches to instances. The instances call
// take; no goroutine of its own forms batches, one ends requests whose time in
// the queue is over (run).
type batcher struct {
	now     func() time.Time
	dropped func(*job, *failure)               // a request left the queue without execution
	formed  func(items int, age time.Duration) // a batch was handed over, age of its oldest request

	mu      sync.Mutex
	pol     policy
	queue   []*job
	closed  bool          // nothing more is accepted, the rest goes without window
	wake    chan struct{} // to the instance that forms: look again
	expire  chan struct{} // to run: look again
	drained chan struct{} // closed when closed and empty
	forming chan struct{} // one token: one instance forms at a time
}

func newBatcher(p policy, dropped func(*job, *failure), formed func(int, time.Duration)) *batcher {
	return &batcher{now: time.Now, pol: p, dropped: dropped, formed: formed,
		wake: make(chan struct{}, 1), expire: make(chan struct{}, 1), drained: make(chan struct{}), forming: make(chan struct{}, 1)}
}

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// enqueue adds j or says why not. A full queue is not a failure of the model:
// Triton refuses it before its statistics begin.
func (b *batcher) enqueue(j *job) *failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return unavailable("Server is stopping, scheduler for model has stopped accepting new inference requests")
	}
	if b.pol.maxQueue > 0 && len(b.queue) >= b.pol.maxQueue {
		return unavailable(requestID(j.id) + "Exceeds maximum queue size")
	}
	j.enqueued = b.now()
	timeout := b.pol.timeout
	if b.pol.allowOverride && j.timeout > 0 {
		timeout = j.timeout
	}
	if timeout > 0 {
		j.deadline = j.enqueued.Add(timeout)
	}
	b.queue = append(b.queue, j)
	poke(b.wake)
	if !j.deadline.IsZero() {
		poke(b.expire)
	}
	return nil
}

// cancel takes j out of the queue and reports whether it was still there.
func (b *batcher) cancel(j *job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, q := range b.queue {
		if q == j {
			b.queue = append(b.queue[:i:i], b.queue[i+1:]...)
			b.dropped(j, &failure{code: 1, text: "request was cancelled by the client", reason: reasonCanceled})
			b.afterLeaveLocked()
			return true
		}
	}
	return false
}

// pending is the number of requests in the queue.
func (b *batcher) pending() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

func (b *batcher) policy() policy {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pol
}

func (b *batcher) setWindow(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pol.window = d
	poke(b.wake)
}

// expireLocked ends requests whose deadline has passed and returns the next
// deadline, zero when there is none.
func (b *batcher) expireLocked(now time.Time) (next time.Time) {
	kept := b.queue[:0]
	for _, j := range b.queue {
		if !j.deadline.IsZero() && !now.Before(j.deadline) {
			b.dropped(j, &failure{code: 14, text: "Request timeout expired", reason: reasonRejected})
			continue
		}
		if !j.deadline.IsZero() && (next.IsZero() || j.deadline.Before(next)) {
			next = j.deadline
		}
		kept = append(kept, j)
	}
	clear(b.queue[len(kept):])
	b.queue = kept
	b.afterLeaveLocked()
	return next
}

func (b *batcher) afterLeaveLocked() {
	if b.closed && len(b.queue) == 0 {
		select {
		case <-b.drained:
		default:
			close(b.drained)
		}
	}
}

// planLocked decides as Triton's dynamic batcher does: n requests from the head
// go now, or n is 0 and the answer may change after wait (0: only when the queue
// changes). A preferred size goes at once; else the batch goes when it cannot
// grow (full, or the next request has another shape), or when its oldest request
// has waited for the window.
func (b *batcher) planLocked(now time.Time) (n int, wait time.Duration) {
	if len(b.queue) == 0 {
		return 0, 0
	}
	head := b.queue[0]
	if b.pol.maxBatch <= 0 { // no batching: every request alone
		return 1, 0
	}
	size, best, cannotGrow := 0, 0, false
	for i, j := range b.queue {
		if i > 0 {
			if size+j.items > b.pol.maxPreferred() && best == 0 {
				best = i
			}
			if size+j.items > b.pol.maxBatch || j.h != head.h || j.w != head.w {
				cannotGrow = true
				break
			}
		}
		size += j.items
		n = i + 1
		if b.pol.prefers(size) {
			best = n
		}
	}
	age := now.Sub(head.enqueued)
	waited := b.pol.window <= 0 || age >= b.pol.window || b.closed
	switch {
	case best != 0 && (b.pol.window <= 0 || !waited):
		return best, 0
	case waited, cannotGrow, size >= b.pol.maxPreferred():
		return n, 0
	}
	return 0, b.pol.window - age
}

// take waits until a batch is due, then for a stream of the device, and hands
// the batch over: while it waits for the device the batch may still grow, and
// the wait is queue time, not compute time.
func (b *batcher) take(ctx context.Context, acquire func(context.Context) (*accel.Stream, error)) ([]*job, *accel.Stream, error) {
	select {
	case b.forming <- struct{}{}:
		defer func() { <-b.forming }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	for {
		b.mu.Lock()
		now := b.now()
		b.expireLocked(now)
		n, wait := b.planLocked(now)
		b.mu.Unlock()
		if n > 0 {
			s, err := acquire(ctx)
			if err != nil {
				return nil, nil, err
			}
			if batch := b.cut(); len(batch) > 0 {
				return batch, s, nil
			}
			s.Release()
			continue
		}
		if err := b.sleep(ctx, wait); err != nil {
			return nil, nil, err
		}
	}
}

// sleep waits for a change of the queue, at most for wait when that is not 0.
func (b *batcher) sleep(ctx context.Context, wait time.Duration) error {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-b.wake:
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// cut takes the batch that is due from the queue and stamps the hand-over.
func (b *batcher) cut() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.expireLocked(now)
	n, _ := b.planLocked(now)
	if n == 0 {
		return nil
	}
	batch := append([]*job(nil), b.queue[:n]...)
	rest := copy(b.queue, b.queue[n:])
	clear(b.queue[rest:])
	b.queue = b.queue[:rest]
	items := 0
	for _, j := range batch {
		j.queued = now.Sub(j.enqueued)
		items += j.items
	}
	b.formed(items, now.Sub(batch[0].enqueued))
	b.afterLeaveLocked()
	poke(b.wake) // the rest may be due for the next instance
	return batch
}

// run ends requests at their deadline until ctx ends.
func (b *batcher) run(ctx context.Context) {
	for {
		b.mu.Lock()
		next := b.expireLocked(b.now())
		b.mu.Unlock()
		var due <-chan time.Time
		var t *time.Timer
		if !next.IsZero() {
			t = time.NewTimer(next.Sub(b.now()))
			due = t.C
		}
		select {
		case <-due:
		case <-b.expire:
		case <-ctx.Done():
		}
		if t != nil {
			t.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// close stops accepting; what is queued is still executed, without window.
// The returned channel is closed when the queue is empty.
func (b *batcher) close() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.afterLeaveLocked()
	poke(b.wake)
	return b.drained
}

// abandon ends every request in the queue; used when draining took too long.
func (b *batcher) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.queue {
		b.dropped(j, &failure{code: 14, text: "Server is stopping, scheduler for model has stopped accepting new inference requests", reason: reasonOther})
	}
	b.queue = nil
	b.afterLeaveLocked()
}

// requestID is the prefix that Triton's core puts before its messages.
func requestID(id string) string {
	if id == "" {
		id = "<id_unknown>"
	}
	return "[request id: " + id + "] "
}
