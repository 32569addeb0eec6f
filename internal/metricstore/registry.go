package metricstore

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// registryProxy shows the metrics of the current generation under one
// registration: the TSDB registers its metrics at each opening and a registry
// accepts a name only once.
type registryProxy struct {
	lasting *prometheus.Registry
	mu      sync.Mutex
	current *prometheus.Registry
}

func (p *registryProxy) set(r *prometheus.Registry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = r
}

// clear shows nothing from now on. A registry cannot drop an unchecked
// collector, so a closed store leaves an empty one behind.
func (p *registryProxy) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.lasting = nil, nil
}

// Describe sends nothing, which makes the collector an unchecked one: the set
// of metrics is not known before the TSDB is open.
func (p *registryProxy) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (p *registryProxy) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	shown := []*prometheus.Registry{p.lasting, p.current}
	p.mu.Unlock()
	for _, r := range shown {
		if r != nil {
			r.Collect(ch)
		}
	}
}

// registerAll registers all or none.
func registerAll(reg prometheus.Registerer, cs ...prometheus.Collector) error {
	for i, c := range cs {
		if err := reg.Register(c); err != nil {
			for _, done := range cs[:i] {
				reg.Unregister(done)
			}
			return err
		}
	}
	return nil
}

// logFailures catches, among the metrics that the TSDB registers, the counter of
// failed log writes. The TSDB counts a failure while it holds the log's lock, so
// whoever commits next and then reads the counter cannot miss it.
type logFailures struct {
	*prometheus.Registry
	counter prometheus.Collector
}

const logFailuresName = "prometheus_tsdb_wal_writes_failed_total"

// Register implements prometheus.Registerer.
func (l *logFailures) Register(c prometheus.Collector) error {
	l.catch(c)
	return l.Registry.Register(c)
}

// MustRegister implements prometheus.Registerer.
func (l *logFailures) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		l.catch(c)
	}
	l.Registry.MustRegister(cs...)
}

func (l *logFailures) catch(c prometheus.Collector) {
	ch := make(chan *prometheus.Desc, 64)
	go func() { defer close(ch); c.Describe(ch) }()
	for d := range ch {
		if strings.Contains(d.String(), `"`+logFailuresName+`"`) {
			l.counter = c
		}
	}
}

// any reports whether a write to the log has failed since the opening.
func (l *logFailures) any() bool {
	if l.counter == nil {
		return false
	}
	ch := make(chan prometheus.Metric, 1)
	l.counter.Collect(ch)
	var m dto.Metric
	return (<-ch).Write(&m) == nil && m.GetCounter().GetValue() > 0
}
