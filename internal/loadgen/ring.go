package loadgen

import "sync"

// ring keeps the newest records in memory.
type ring struct {
	mu      sync.Mutex
	buf     []Record
	size    int
	next    int
	written uint64
}

func newRing(size int) *ring { return &ring{size: size} }

func (r *ring) add(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written++
	if len(r.buf) < r.size {
		r.buf = append(r.buf, rec)
		return
	}
	r.buf[r.next] = rec
	r.next = (r.next + 1) % r.size
}

// snapshot copies the records, oldest first, and counts those overwritten.
func (r *ring) snapshot() ([]Record, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Record, 0, len(r.buf))
	out = append(out, r.buf[r.next:]...)
	out = append(out, r.buf[:r.next]...)
	return out, r.written - uint64(len(r.buf))
}

func (r *ring) overwritten() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written - uint64(len(r.buf))
}
