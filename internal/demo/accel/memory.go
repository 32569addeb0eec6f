package accel

import (
	"fmt"
	"sync"
)

type memory struct{ total, reserved, used int64 }

func (m memory) free() int64 { return m.total - m.reserved - m.used }

// OutOfMemoryError says that an allocation did not fit. All sizes are bytes.
type OutOfMemoryError struct {
	Index                  int // number of the card on its node
	Requested, Free, Total int64
}

// Error words the failure as PyTorch does, because that is the text by which
// operators and classifiers know it.
func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf("CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free.",
		sizeText(e.Requested), e.Index, sizeText(e.Total), sizeText(e.Free))
}

// sizeText prints bytes in the largest binary unit with two decimals.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= MiB:
		return fmt.Sprintf("%.2f MiB", float64(n)/MiB)
	case n >= 1<<10:
		return fmt.Sprintf("%.2f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// Alloc takes bytes from the card's memory. release gives them back and may be
// called more than once. The error is an *OutOfMemoryError when they do not fit.
func (d *Device) Alloc(bytes int64) (release func(), err error) {
	if bytes < 0 {
		return nil, fmt.Errorf("allocation of %d bytes; ask for zero or more", bytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if free := d.mem.free(); bytes > free {
		return nil, &OutOfMemoryError{Index: d.cfg.Index, Requested: bytes, Free: free, Total: d.mem.total}
	}
	d.mem.used += bytes
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.mem.used -= bytes
	}), nil
}

// Memory returns total, allocated and reserved bytes.
func (d *Device) Memory() (total, used, reserved int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mem.total, d.mem.used, d.mem.reserved
}
