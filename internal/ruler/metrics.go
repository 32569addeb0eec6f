package ruler

import (
	"github.com/prometheus/client_golang/prometheus"
)

// ownMetrics counts what the ruler does beside the manager's own metrics.
type ownMetrics struct {
	marked, dropped, windows, corrected, failed prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, r *Ruler) *ownMetrics {
	c := func(name, help string) prometheus.Counter {
		x := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		if reg != nil {
			reg.MustRegister(x)
		}
		return x
	}
	m := &ownMetrics{
		marked:    c("sightline_ruler_dirty_marks_total", "Late samples that marked their window for another evaluation."),
		dropped:   c("sightline_ruler_dirty_dropped_total", "Marks that were dropped because too many windows waited."),
		windows:   c("sightline_ruler_dirty_windows_total", "Windows that were evaluated again for late data."),
		corrected: c("sightline_ruler_corrections_total", "Samples of recorded series that another evaluation wrote."),
		failed:    c("sightline_ruler_dirty_failures_total", "Windows whose other evaluation failed."),
	}
	if reg != nil {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sightline_ruler_dirty_pending", Help: "Windows that wait for another evaluation."}, func() float64 { return float64(r.dirty.len()) }))
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sightline_ruler_alerts_unsent_total", Help: "Alerts of user rules that fired while nothing was configured to send them to."}, func() float64 { return float64(r.notes.Load()) }))
	}
	return m
}
