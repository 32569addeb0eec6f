package vision

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sightline/internal/demo/accel"
)

// rig is a batcher with instances whose work is a sleep of the fake clock.
type rig struct {
	t      *testing.T
	b      *batcher
	dev    *accel.Device
	work   time.Duration
	start  time.Time
	mu     sync.Mutex
	sizes  []int           // items of the executed batches
	at     []time.Duration // when they were handed over, since start
	ages   []time.Duration // formation times
	drops  map[string]int
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newRig(t *testing.T, p policy, instances, streams int, work time.Duration) *rig {
	r := &rig{t: t, work: work, start: time.Now(), drops: map[string]int{}, dev: accel.New(accel.Config{Streams: streams, Stretch: time.Sleep})}
	r.b = newBatcher(p, func(j *job, f *failure) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.drops[f.reason]++
		j.done <- outcome{err: f}
	}, func(_ int, age time.Duration) { r.ages = append(r.ages, age) })
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.wg.Go(func() { r.b.run(ctx) })
	for range instances {
		r.wg.Go(func() {
			for {
				batch, s, err := r.b.take(ctx, r.dev.Acquire)
				if err != nil {
					return
				}
				items := 0
				for _, j := range batch {
					items += j.items
				}
				r.mu.Lock()
				r.sizes, r.at = append(r.sizes, items), append(r.at, time.Since(r.start))
				r.mu.Unlock()
				s.Run(accel.DefaultLoad, func() { time.Sleep(r.work) })
				for _, j := range batch {
					j.done <- outcome{batch: items, phases: phases{queue: j.queued}}
				}
				s.Release()
			}
		})
	}
	return r
}

func (r *rig) close() { r.cancel(); r.wg.Wait() }

func (r *rig) send(items, side int) *job {
	j := &job{items: items, h: side, w: side, done: make(chan outcome, 1), start: time.Now()}
	if f := r.b.enqueue(j); f != nil {
		j.done <- outcome{err: f}
	}
	return j
}

func (r *rig) expect(what string, sizes []int, at []time.Duration) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sizes) != len(sizes) {
		r.t.Fatalf("%s: batches of %v at %v, want %v at %v", what, r.sizes, r.at, sizes, at)
	}
	for i := range sizes {
		if r.sizes[i] != sizes[i] || r.at[i] != at[i] {
			r.t.Errorf("%s: batch %d has %d items at %v, want %d at %v", what, i, r.sizes[i], r.at[i], sizes[i], at[i])
		}
	}
}

const ms = time.Millisecond

func TestBatchingFollowsTriton(t *testing.T) {
	type request struct {
		at          time.Duration
		items, side int
	}
	one := func(at time.Duration) request { return request{at, 1, 64} }
	for _, tc := range []struct {
		name   string
		p      policy
		reqs   []request
		sizes  []int
		handed []time.Duration
	}{
		{"a lone request waits for the window", policy{maxBatch: 8, window: 5 * ms},
			[]request{one(0)}, []int{1}, []time.Duration{5 * ms}},
		{"no window: a lone request goes at once", policy{maxBatch: 8},
			[]request{one(0)}, []int{1}, []time.Duration{0}},
		{"the window counts from the oldest request", policy{maxBatch: 8, window: 5 * ms},
			[]request{one(0), one(4 * ms), one(6 * ms)}, []int{2, 1}, []time.Duration{5 * ms, 100*ms + 5*ms}},
		{"a full batch goes at once", policy{maxBatch: 3, window: 50 * ms},
			[]request{one(0), one(1 * ms), one(2 * ms)}, []int{3}, []time.Duration{2 * ms}},
		{"a preferred size goes at once", policy{maxBatch: 8, preferred: []int{2, 4}, window: 50 * ms},
			[]request{one(0), one(1 * ms)}, []int{2}, []time.Duration{1 * ms}},
		{"the largest preferred size that is there is taken", policy{maxBatch: 8, preferred: []int{2, 4}, window: 500 * ms},
			[]request{one(0), one(0), one(1 * ms), one(1 * ms), one(1 * ms), one(1 * ms), one(1 * ms)}, []int{2, 4, 1}, []time.Duration{0, 100 * ms, 501 * ms}},
		{"after the window everything that fits goes", policy{maxBatch: 8, preferred: []int{4}, window: 5 * ms},
			[]request{one(0), one(1 * ms), one(2 * ms)}, []int{3}, []time.Duration{5 * ms}},
		{"items count, not requests", policy{maxBatch: 8, window: 50 * ms},
			[]request{{0, 5, 64}, {1 * ms, 5, 64}}, []int{5, 5}, []time.Duration{1 * ms, 101 * ms}},
		{"another shape ends the batch", policy{maxBatch: 8, window: 50 * ms},
			[]request{one(0), {1 * ms, 1, 128}}, []int{1, 1}, []time.Duration{1 * ms, 101 * ms}},
		{"no batching: each request alone", policy{},
			[]request{one(0), one(0)}, []int{1, 1}, []time.Duration{0, 100 * ms}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tc.p, 1, 1, 100*ms)
				defer r.close()
				var jobs []*job
				for i := 0; i < len(tc.reqs); {
					at := tc.reqs[i].at
					time.Sleep(at - time.Since(r.start))
					for ; i < len(tc.reqs) && tc.reqs[i].at == at; i++ {
						jobs = append(jobs, r.send(tc.reqs[i].items, tc.reqs[i].side))
					}
					synctest.Wait()
				}
				for _, j := range jobs {
					if o := <-j.done; o.err != nil {
						t.Error(o.err)
					}
				}
				r.expect(tc.name, tc.sizes, tc.handed)
			})
		})
	}
}

func TestFormationTimeIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, policy{maxBatch: 2, window: 7 * ms}, 1, 1, 20*ms)
		defer r.close()
		a := r.send(1, 64)
		time.Sleep(10 * ms) // handed over at 7 ms, runs until 27 ms
		b := r.send(1, 64)
		time.Sleep(3 * ms)
		c := r.send(1, 64) // full at 13 ms, but the instance is busy until 27 ms
		for _, w := range []struct {
			j    *job
			want time.Duration
		}{{a, 7 * ms}, {b, 17 * ms}, {c, 14 * ms}} {
			if o := <-w.j.done; o.phases.queue != w.want {
				t.Errorf("queue time %v, want %v", o.phases.queue, w.want)
			}
		}
		if len(r.ages) != 2 || r.ages[0] != 7*ms || r.ages[1] != 17*ms {
			t.Errorf("formation times %v, want 7 ms and 17 ms", r.ages)
		}
	})
}

func TestQueueLimitTimeoutAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, policy{maxBatch: 1, maxQueue: 2, timeout: 30 * ms, allowOverride: true}, 1, 1, 100*ms)
		defer r.close()
		run := r.send(1, 64)
		synctest.Wait() // executing
		waits := r.send(1, 64)
		long := &job{items: 1, h: 64, w: 64, timeout: 200 * ms, done: make(chan outcome, 1)}
		if f := r.b.enqueue(long); f != nil {
			t.Fatal(f)
		}
		full := r.send(1, 64)
		if o := <-full.done; o.err == nil || o.err.text != "[request id: <id_unknown>] Exceeds maximum queue size" || o.err.httpStatus() != 503 || o.err.reason != "" {
			t.Errorf("full queue: %+v", o.err)
		}
		o := <-waits.done
		if got := time.Since(r.start); got != 30*ms {
			t.Errorf("the timeout came after %v, want 30 ms", got)
		}
		if o.err == nil || o.err.text != "Request timeout expired" || o.err.reason != reasonRejected || o.err.httpStatus() != 503 {
			t.Errorf("timeout: %+v", o.err)
		}
		gone := r.send(1, 64)
		if !r.b.cancel(gone) {
			t.Error("a queued request could not be cancelled")
		}
		if o := <-gone.done; o.err == nil || o.err.reason != reasonCanceled {
			t.Errorf("cancelled: %+v", o.err)
		}
		if r.b.cancel(run) {
			t.Error("a request that executes was cancelled")
		}
		if o := <-run.done; o.err != nil {
			t.Error(o.err)
		}
		if o := <-long.done; o.err != nil || o.phases.queue != 100*ms {
			t.Errorf("the request with the longer timeout: %+v", o)
		}
		if r.b.pending() != 0 {
			t.Errorf("%d requests pending", r.b.pending())
		}
	})
}

func TestCloseDrainsWithoutWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, policy{maxBatch: 8, window: time.Hour}, 1, 1, 10*ms)
		defer r.close()
		a, b := r.send(1, 64), r.send(1, 64)
		synctest.Wait()
		<-r.b.close()
		r.expect("closing", []int{2}, []time.Duration{0})
		if (<-a.done).err != nil || (<-b.done).err != nil {
			t.Error("a drained request failed")
		}
		if o := <-r.send(1, 64).done; o.err == nil || o.err.httpStatus() != 503 {
			t.Errorf("a closed batcher accepts: %+v", o.err)
		}
	})
}

func TestWindowChangesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, policy{maxBatch: 8, window: time.Hour}, 1, 1, 10*ms)
		defer r.close()
		j := r.send(1, 64)
		time.Sleep(5 * ms)
		r.b.setWindow(8 * ms)
		<-j.done
		r.expect("new window", []int{1}, []time.Duration{8 * ms})
	})
}

func TestTwoInstancesNeedTwoStreams(t *testing.T) {
	for _, tc := range []struct {
		streams int
		second  time.Duration
	}{{1, 10 * ms}, {2, 0}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, policy{maxBatch: 1}, 2, tc.streams, 10*ms)
			defer r.close()
			a, b := r.send(1, 64), r.send(1, 64)
			<-a.done
			<-b.done
			r.expect("two instances", []int{1, 1}, []time.Duration{0, tc.second})
		})
	}
}

// Nothing is lost and nothing is answered twice, whatever happens at once.
func TestBatcherUnderConcurrentUse(t *testing.T) {
	r := newRig(t, policy{maxBatch: 8, preferred: []int{4}, window: ms / 2, maxQueue: 50, timeout: 5 * ms}, 3, 2, 0)
	r.b.formed = func(int, time.Duration) {}
	var answers, cancelled atomic.Int64
	var wg sync.WaitGroup
	const clients, each = 16, 100
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 1))
			for range each {
				j := r.send(1+rng.IntN(3), 64*(1+rng.IntN(2)))
				if rng.IntN(4) == 0 && r.b.cancel(j) {
					cancelled.Add(1)
				}
				<-j.done
				answers.Add(1)
				select {
				case <-j.done:
					t.Error("a request was answered twice")
				default:
				}
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			r.b.setWindow(time.Duration(rand.IntN(1000)) * time.Microsecond)
			r.b.pending()
		}
	})
	wg.Wait()
	r.close()
	if answers.Load() != clients*each || r.b.pending() != 0 {
		t.Errorf("%d answers to %d requests, %d pending", answers.Load(), clients*each, r.b.pending())
	}
	if int64(r.drops[reasonCanceled]) != cancelled.Load() {
		t.Errorf("%d cancellations counted, %d happened", r.drops[reasonCanceled], cancelled.Load())
	}
}
