package metricstore

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the store's own numbers; the TSDB's and the engine's come beside
// them under their usual names.
type metrics struct {
	refused  prometheus.Counter
	torn     prometheus.Counter
	reopened prometheus.Counter
	all      []prometheus.Collector
}

func newMetrics(s *Store) *metrics {
	m := &metrics{
		refused:  prometheus.NewCounter(prometheus.CounterOpts{Name: "sightline_storage_refused_samples_total", Help: "Samples that were refused because the disk is full."}),
		torn:     prometheus.NewCounter(prometheus.CounterOpts{Name: "sightline_storage_log_write_failures_total", Help: "Writes to the log that failed."}),
		reopened: prometheus.NewCounter(prometheus.CounterOpts{Name: "sightline_storage_reopened_total", Help: "How often the store was opened again after a failed write to the log."}),
	}
	m.all = []prometheus.Collector{
		m.refused, m.torn, m.reopened,
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sightline_storage_acknowledged_samples_total", Help: "Samples that were committed to the log."}, func() float64 { return float64(s.appended.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sightline_storage_quarantined_blocks", Help: "Damaged blocks that were moved to the quarantine folder."}, func() float64 { return float64(len(s.quarantined)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sightline_storage_disk_free_bytes", Help: "Free space on the file system of the data directory."}, func() float64 { return float64(s.disk.free.Load()) }),
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(ch)
	}
}
