package vision

import (
	"context"
	"sync"

	"sightline/internal/demo/accel"
)

// deviceContext is what the process holds on its card: the context itself and
// the memory arena. Losing it stops all models of the process until every one
// has been loaded again.
type deviceContext struct {
	dev    *accel.Device
	arena  arena
	energy float64 // joules of the card when the context was opened

	mu   sync.Mutex
	gate chan struct{} // not nil while the context is lost; closed when it is back
	free func()        // gives the context's own memory back
}

func openContext(dev *accel.Device, bytes int64) (*deviceContext, error) {
	free, err := dev.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	return &deviceContext{dev: dev, arena: arena{dev: dev}, energy: dev.Snapshot().EnergyJoules, free: free}, nil
}

// acquire waits until the context is usable, then for a stream.
func (c *deviceContext) acquire(ctx context.Context) (*accel.Stream, error) {
	for {
		c.mu.Lock()
		gate := c.gate
		c.mu.Unlock()
		if gate == nil {
			s, err := c.dev.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			if !c.lost() {
				return s, nil
			}
			s.Release() // lost while waiting
			continue
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *deviceContext) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gate != nil
}

// lose marks the context as lost and reports whether it was usable before.
func (c *deviceContext) lose() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gate != nil {
		return false
	}
	c.gate = make(chan struct{})
	return true
}

func (c *deviceContext) recovered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.gate)
	c.gate = nil
}

// close gives all device memory of the process back.
func (c *deviceContext) close() {
	c.arena.release()
	c.free()
}

// arena is a caching allocator as frameworks have it: memory that a batch has
// given back stays with the process for the next batch, so what the card shows
// as used is the peak so far and never falls before the process ends.
type arena struct {
	dev *accel.Device

	mu     sync.Mutex
	held   int64 // bytes taken from the card
	inUse  int64
	blocks []func()
}

// get reserves bytes until the returned function is called. The error is an
// *accel.OutOfMemoryError when the card has too little left.
func (a *arena) get(bytes int64) (func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if missing := a.inUse + bytes - a.held; missing > 0 {
		free, err := a.dev.Alloc(missing)
		if err != nil {
			return nil, err
		}
		a.held += missing
		a.blocks = append(a.blocks, free)
	}
	a.inUse += bytes
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.inUse -= bytes
	}), nil
}

func (a *arena) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, free := range a.blocks {
		free()
	}
	a.blocks, a.held = nil, 0
}
