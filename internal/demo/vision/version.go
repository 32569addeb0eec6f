package vision

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"sightline/internal/demo/accel"
)

// classifier is the arithmetic of a version. The real one is *network; tests
// of scheduling put a clockwork in its place.
type classifier interface {
	infer(images []float32, batch, h, w int, cost float64) []float32
	weightBytes() int64
	activationBytes(batch, h, w int) int64
}

// version is one loaded version of a model.
type version struct {
	model   *ModelConfig
	name    string // the version number
	ctx     *deviceContext
	log     *slog.Logger
	now     func() time.Time
	batcher *batcher
	stats   *stats
	build   func() classifier
	staging *atomic.Int64 // bytes of host memory that transfers use

	net      atomic.Pointer[classifier]
	cost     atomic.Uint64 // thousandths
	loadSecs atomic.Uint64 // nanoseconds of the last load

	mu        sync.Mutex
	freeMem   func() // weights
	weights   int64
	instances []context.CancelFunc
	life      context.Context
	end       context.CancelFunc
	running   sync.WaitGroup
	onLost    func() // the context was lost: load everything again
}

// start loads the weights and starts the instances.
func (v *version) start(instances int) error {
	if err := v.load(0); err != nil {
		return err
	}
	workspace := (*v.net.Load()).activationBytes(max(1, v.model.MaxBatchSize), v.model.Height, v.model.Width)
	done, err := v.ctx.arena.get(workspace) // full batches of the usual size always fit
	if err != nil {
		v.freeMem()
		return err
	}
	done()
	v.life, v.end = context.WithCancel(context.Background())
	v.running.Go(func() { v.batcher.run(v.life) })
	v.setInstances(instances)
	return nil
}

// load generates the weights, runs passes forward passes to tune the engine and
// puts it in place. It is work of the host: the card is not busy.
func (v *version) load(passes int) error {
	begin := v.now()
	net := v.build()
	free, err := v.ctx.dev.Alloc(net.weightBytes())
	if err != nil {
		return err
	}
	probe := make([]float32, channelsIn*v.model.Height*v.model.Width)
	for range passes {
		if v.life != nil && v.life.Err() != nil {
			break // being stopped: nobody will use the engine
		}
		net.infer(probe, 1, v.model.Height, v.model.Width, 1)
	}
	v.net.Store(&net)
	v.loadSecs.Store(uint64(v.now().Sub(begin)))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.freeMem, v.weights = free, net.weightBytes()
	return nil
}

// drop gives the memory of the weights back.
func (v *version) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.freeMem != nil {
		v.freeMem()
		v.freeMem = nil
	}
}

// stop drains the queue until ctx ends, then ends what is left, and waits for
// the instances.
func (v *version) stop(ctx context.Context) {
	drained := v.batcher.close()
	select {
	case <-drained:
	case <-ctx.Done():
		v.batcher.abandon()
	}
	v.mu.Lock()
	v.end() // under the lock: setInstances starts nothing after it
	v.mu.Unlock()
	v.running.Wait()
	v.drop()
}

// setInstances starts or ends instances so that n are left. An instance that
// is executing finishes its batch first.
func (v *version) setInstances(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.life.Err() != nil {
		return
	}
	for len(v.instances) > n {
		last := len(v.instances) - 1
		v.instances[last]()
		v.instances = v.instances[:last]
	}
	for len(v.instances) < n {
		ctx, cancel := context.WithCancel(v.life)
		id := len(v.instances)
		v.instances = append(v.instances, cancel)
		v.running.Go(func() {
			defer cancel()
			v.serve(ctx, id)
		})
	}
}

func (v *version) instanceCount() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.instances)
}

// serve executes batch after batch until ctx ends.
func (v *version) serve(ctx context.Context, id int) {
	for {
		batch, stream, err := v.batcher.take(ctx, v.ctx.acquire)
		if err != nil {
			return
		}
		lost := v.execute(id, stream, batch)
		stream.Release()
		if lost {
			v.onLost()
		}
		// Those who wait for the answers come first; the next batch may take
		// both cores for a while.
		runtime.Gosched()
	}
}

// load of a classifier on the card (our choice): convolutions keep most
// multiprocessors busy, weights and activations stream from memory.
func loadOf(items, maxBatch int) accel.Load {
	fill := 0.5 + 0.5*float64(items)/float64(max(1, maxBatch))
	return accel.Load{SM: 0.9 * fill, Occupancy: 0.5 * fill, DRAM: 0.45 * fill, FP32: 0.7 * fill}
}

// execute runs one batch and answers its requests. It reports whether the
// context of the card was lost.
func (v *version) execute(id int, stream *accel.Stream, batch []*job) (lost bool) {
	net := *v.net.Load()
	items, h, w := 0, batch[0].h, batch[0].w
	for _, j := range batch {
		items += j.items
	}
	var times phases

	begin := v.now()
	free, err := v.ctx.arena.get(net.activationBytes(items, h, w))
	if err != nil {
		v.fail(batch, err)
		return true
	}
	defer free()
	images, bytes := v.gather(batch, items, h, w)
	v.ctx.dev.Transfer(bytes, 0)
	times.input = v.now().Sub(begin)

	begin = v.now()
	var logits []float32
	stream.Run(loadOf(items, v.model.MaxBatchSize), func() {
		logits = net.infer(images, items, h, w, float64(v.cost.Load())/1000)
	})
	times.infer = v.now().Sub(begin)

	begin = v.now()
	probs := softmax(logits, v.model.Classes)
	v.ctx.dev.Transfer(0, int64(8*len(logits)))
	outs := make([]outcome, len(batch))
	at := 0
	for i, j := range batch {
		n := j.items * v.model.Classes
		outs[i] = outcome{logits: logits[at : at+n], probs: probs[at : at+n], batch: items, inst: id}
		at += n
	}
	times.output = v.now().Sub(begin)

	done := make([]phases, len(batch))
	for i, j := range batch {
		p := times
		p.queue = j.queued
		p.request = v.now().Sub(j.start)
		done[i], outs[i].phases = p, p
	}
	v.stats.executed(items, times, done)
	for i, j := range batch {
		j.done <- outs[i]
	}
	return false
}

// gather copies the inputs into one buffer on the way to the card.
func (v *version) gather(batch []*job, items, h, w int) (images []float32, bytes int64) {
	size := channelsIn * h * w
	bytes = int64(items) * int64(size) * 4
	v.staging.Add(bytes)
	defer v.staging.Add(-bytes)
	images = make([]float32, items*size)
	at := 0
	for _, j := range batch {
		at += j.input.copyTo(images[at:])
	}
	return images, bytes
}

// fail answers all requests of a batch with a failure of the backend, in the
// words of a PyTorch backend.
func (v *version) fail(batch []*job, err error) {
	f := &failure{code: codes.Internal, text: "PyTorch execute failure: " + err.Error(), reason: reasonBackend}
	v.log.Error("batch failed", "model", v.model.Name, "version", v.name, "requests", len(batch), "error", err)
	for _, j := range batch {
		v.stats.failed(reasonBackend, v.now().Sub(j.start))
		j.done <- outcome{err: f}
	}
}

// dropped answers a request that left the queue without execution.
func (v *version) dropped(j *job, f *failure) {
	v.stats.failed(f.reason, v.now().Sub(j.start))
	j.done <- outcome{err: f}
}

// infer queues a request and waits for its answer. When ctx ends first the
// request is cancelled if it is still in the queue; a batch that runs is not
// stopped.
func (v *version) infer(ctx context.Context, j *job) (outcome, *failure) {
	j.start = v.now()
	j.done = make(chan outcome, 1)
	if f := v.batcher.enqueue(j); f != nil {
		return outcome{}, f
	}
	select {
	case o := <-j.done:
		return o, o.err
	case <-ctx.Done():
	}
	if v.batcher.cancel(j) {
		o := <-j.done
		return o, o.err
	}
	text := "request was cancelled by the client"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		text = "Deadline Exceeded"
	}
	return outcome{}, &failure{code: codes.Canceled, text: text}
}

// setCost sets the number of views per image.
func (v *version) setCost(f float64) { v.cost.Store(uint64(f * 1000)) }

// number is the version as a number, for sorting.
func (v *version) number() int64 {
	n, _ := strconv.ParseInt(v.name, 10, 64) // checked by Config.validate
	return n
}
