package ingest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// shards spreads the series of a source over locks. Appenders of one remote
// writer run at once; 64 makes a wait unlikely.
const shards = 64

// source is the set of series that one sender keeps alive.
type source struct {
	name  string
	limit int64
	count atomic.Int64
	used  atomic.Int64 // unix seconds of the last admission or refusal

	limitHit, futureHit atomic.Int64 // unix seconds
	future, tooOld      atomic.Uint64

	shards [shards]shard
	labels labelCounter
}

// shard maps a series' hash to the second of its last sample. The 64-bit hash
// stands for the series: among a million series two share one with a chance of
// 3 in 100 million, and then they merely share a place.
type shard struct {
	mu   sync.Mutex
	last map[uint64]uint32
	_    [40]byte // keeps neighbours out of one cache line
}

func newSource(name string, limit int, now time.Time) *source {
	s := &source{name: name, limit: int64(limit)}
	s.used.Store(now.Unix())
	s.labels.rotated = now
	return s
}

// admit reports whether a sample of ls may pass and remembers that it came.
func (s *source) admit(ls labels.Labels, now uint32) bool {
	hash := ls.Hash()
	sh := &s.shards[hash%shards]
	sh.mu.Lock()
	if last, known := sh.last[hash]; known {
		if last != now {
			sh.last[hash] = now
		}
		sh.mu.Unlock()
		return true
	}
	// Reserve before looking, so that appenders in parallel cannot pass together.
	ok := s.count.Add(1) <= s.limit
	if ok {
		if sh.last == nil {
			sh.last = make(map[uint64]uint32)
		}
		sh.last[hash] = now
	} else {
		s.count.Add(-1)
	}
	sh.mu.Unlock()
	s.used.Store(int64(now))
	s.labels.observe(ls, hash, !ok)
	return ok
}

func (s *source) knows(ls labels.Labels) bool {
	hash := ls.Hash()
	sh := &s.shards[hash%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	_, known := sh.last[hash]
	return known
}

// expire frees the places of series without a sample since oldest.
func (s *source) expire(oldest uint32) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for hash, last := range sh.last {
			if last < oldest {
				delete(sh.last, hash)
				s.count.Add(-1)
			}
		}
		sh.mu.Unlock()
	}
}

func (s *source) status() SourceStatus {
	st := SourceStatus{Name: s.name, Series: int(s.count.Load()), Limit: int(s.limit), Future: s.future.Load(), TooOld: s.tooOld.Load()}
	st.Refused, st.Label, st.Values = s.labels.worst()
	if st.Refused == 0 {
		st.Label, st.Values = "", 0
	}
	return st
}
