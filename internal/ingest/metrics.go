package ingest

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/storage"
)

// metrics are the Guard's own numbers.
type metrics struct {
	series  *prometheus.CounterVec
	samples *prometheus.CounterVec
	guard   *Guard
}

var (
	aliveDesc = prometheus.NewDesc("sightline_ingest_source_series", "Series that a source keeps alive.", []string{"source"}, nil)
	limitDesc = prometheus.NewDesc("sightline_ingest_source_series_limit", "Series that a source may keep alive.", []string{"source"}, nil)
)

func newMetrics(g *Guard) *metrics {
	m := &metrics{
		guard:   g,
		series:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sightline_ingest_refused_series_total", Help: "Attempts to add a series beyond the limit of its source."}, []string{"source"}),
		samples: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sightline_ingest_refused_samples_total", Help: "Samples that were refused for a reason other than the series limit."}, []string{"reason"}),
	}
	for _, r := range reasons {
		m.samples.WithLabelValues(r)
	}
	return m
}

// countError counts a sample that the store refused for its time or value.
func (m *metrics) countError(err error) {
	for _, r := range []struct {
		err    error
		reason string
	}{
		{storage.ErrTooOldSample, "timestamp_too_old"},
		{storage.ErrOutOfBounds, "timestamp_too_old"},
		{storage.ErrOutOfOrderSample, "out_of_order"},
		{storage.ErrDuplicateSampleForTimestamp, "duplicate_timestamp"},
	} {
		if errors.Is(err, r.err) {
			m.samples.WithLabelValues(r.reason).Inc()
			return
		}
	}
	var partial *storage.AppendPartialError
	if errors.As(err, &partial) {
		m.samples.WithLabelValues("exemplar").Add(float64(len(partial.ExemplarErrors)))
		return
	}
	m.samples.WithLabelValues("other").Inc()
}

// reasons why samples are refused; each is counted from the start, so that a
// rate over the first refusal exists.
var reasons = []string{"timestamp_future", "timestamp_too_old", "out_of_order", "duplicate_timestamp", "invalid_labels", "exemplar", "exemplar_of_refused_series", "other"}

func (m *metrics) dropped() map[string]uint64 {
	out := map[string]uint64{}
	for _, r := range reasons {
		var d dto.Metric
		if err := m.samples.WithLabelValues(r).Write(&d); err == nil {
			out[r] = uint64(d.GetCounter().GetValue())
		}
	}
	return out
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	m.series.Describe(ch)
	m.samples.Describe(ch)
	ch <- aliveDesc
	ch <- limitDesc
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.series.Collect(ch)
	m.samples.Collect(ch)
	for _, s := range m.guard.Sources() {
		ch <- prometheus.MustNewConstMetric(aliveDesc, prometheus.GaugeValue, float64(s.Series), s.Name)
		ch <- prometheus.MustNewConstMetric(limitDesc, prometheus.GaugeValue, float64(s.Limit), s.Name)
	}
}
