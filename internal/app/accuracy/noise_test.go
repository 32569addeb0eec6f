package accuracy

import (
	"context"
	"sync"
	"time"

	"sightline/internal/loadgen"
	"sightline/internal/model"
)

// noise measures how late this machine wakes whoever has slept: on an idle one
// about a tenth of a millisecond, on a crowded one many. A client's time holds
// two such wake-ups that belong to no phase of the server: that of the server
// when the request arrives and that of the client when the answer does.
type noise struct {
	mu   sync.Mutex
	at   []time.Time
	late []time.Duration
}

// crowded is the mean lateness from which times between processes say more
// about the machine than about the product.
const crowded = 250 * time.Microsecond

func (n *noise) follow(ctx context.Context) {
	const nap = 10 * time.Millisecond
	timer := time.NewTimer(nap)
	defer timer.Stop()
	for {
		due := time.Now().Add(nap)
		timer.Reset(nap)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := time.Now()
		n.mu.Lock()
		n.at, n.late = append(n.at, now), append(n.late, now.Sub(due))
		n.mu.Unlock()
	}
}

// mean is the mean lateness inside w.
func (n *noise) mean(w model.TimeRange) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	sum, count := time.Duration(0), time.Duration(0)
	for i, at := range n.at {
		if at.After(w.Start) && at.Before(w.End) {
			sum, count = sum+n.late[i], count+1
		}
	}
	return sum / max(count, 1)
}

// quantile is how late the slowest wake-ups inside w were, by nearest rank.
func (n *noise) quantile(w model.TimeRange, q float64) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	var late []float64
	for i, at := range n.at {
		if at.After(w.Start) && at.Before(w.End) {
			late = append(late, n.late[i].Seconds())
		}
	}
	return time.Duration(loadgen.Describe(late).Rank(q) * float64(second))
}

// allowance is what a client's time may exceed the server's by in seconds:
// nothing on a quiet machine, two wake-ups on a crowded one, of which a mean has
// mean ones and a quantile may have two of the slowest hundredth. How late the
// generator itself sent the same requests counts as a wake-up too.
func (d *demo) allowance(s loadgen.Summary) (mean, tail float64) {
	d.t.Helper()
	late, slow := d.noise.mean(s.Window), d.noise.quantile(s.Window, .99)
	if late <= crowded {
		d.t.Logf("the machine wakes sleepers %v late on average, %v at the 99th percentile", late, slow)
		return 0, 0
	}
	mean, tail = 2*max(late.Seconds(), s.Lag.Mean), 2*max(slow.Seconds(), s.Lag.P99)
	mean = min(mean, s.Latency.Mean/4) // beyond a quarter the check would be worth nothing
	d.t.Logf("THE MACHINE IS CROWDED: it wakes sleepers %v late on average and %v at the 99th percentile, requests left %.2f ms late on average; client times get %.2f ms as allowance, quantiles %.2f ms. Run this test alone for the full tolerance", late, slow, 1e3*s.Lag.Mean, 1e3*mean, 1e3*tail)
	return mean, tail
}
