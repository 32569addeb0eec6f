package loadgen

import (
	"github.com/prometheus/client_golang/prometheus"
)

// latencyBuckets go 1-2-5 from 1 ms to 300 s like all of the product's own.
var latencyBuckets = []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100, 200, 300}

// meters are the generator's own metrics.
type meters struct {
	lanes    []*lane
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	lag      *prometheus.HistogramVec
	logLost  prometheus.Counter
}

func newMeters(lanes []*lane) *meters {
	m := &meters{
		lanes: lanes,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sightline_loadgen_requests_total", Help: "Requests that ended, by plan and outcome: ok or the kind of error."}, []string{"plan", "outcome"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sightline_loadgen_latency_seconds", Help: "Time from the scheduled start of a successful request to its last byte, by plan.",
			Buckets: latencyBuckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100}, []string{"plan"}),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sightline_loadgen_lag_seconds", Help: "How much later than scheduled requests left, by plan.",
			Buckets: latencyBuckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100}, []string{"plan"}),
		logLost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sightline_loadgen_log_lost_total", Help: "Records that did not reach the log file because the disk was too slow or failed."}),
	}
	for _, l := range lanes {
		m.requests.WithLabelValues(l.traffic.Name, "ok")
		m.latency.WithLabelValues(l.traffic.Name)
		m.lag.WithLabelValues(l.traffic.Name)
	}
	return m
}

func (m *meters) observe(l *lane, r *Record) {
	if r.Dropped {
		return // counted by the lane
	}
	outcome := "ok"
	if r.Error != "" {
		outcome = string(r.Error)
	} else {
		m.latency.WithLabelValues(l.traffic.Name).Observe(r.FromSchedule().Seconds())
	}
	m.requests.WithLabelValues(l.traffic.Name, outcome).Inc()
	m.lag.WithLabelValues(l.traffic.Name).Observe(r.Sent.Sub(r.Scheduled).Seconds())
}

var (
	droppedDesc     = prometheus.NewDesc("sightline_loadgen_dropped_total", "Requests that were due but never sent because too many were in flight, by plan.", []string{"plan"}, nil)
	inFlightDesc    = prometheus.NewDesc("sightline_loadgen_in_flight", "Requests that are open now, by plan.", []string{"plan"}, nil)
	rateDesc        = prometheus.NewDesc("sightline_loadgen_target_rate", "Requests per second that the plan is set to, its factor included.", []string{"plan"}, nil)
	overwrittenDesc = prometheus.NewDesc("sightline_loadgen_records_overwritten_total", "Records that left memory because newer ones took their place.", nil, nil)
)

// Describe implements prometheus.Collector.
func (g *Generator) Describe(ch chan<- *prometheus.Desc) {
	g.meters.requests.Describe(ch)
	g.meters.latency.Describe(ch)
	g.meters.lag.Describe(ch)
	g.meters.logLost.Describe(ch)
	ch <- droppedDesc
	ch <- inFlightDesc
	ch <- rateDesc
	ch <- overwrittenDesc
}

// Collect implements prometheus.Collector.
func (g *Generator) Collect(ch chan<- prometheus.Metric) {
	g.meters.requests.Collect(ch)
	g.meters.latency.Collect(ch)
	g.meters.lag.Collect(ch)
	g.meters.logLost.Collect(ch)
	for _, l := range g.lanes {
		factor, inFlight, drops := l.state()
		ch <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(drops), l.traffic.Name)
		ch <- prometheus.MustNewConstMetric(inFlightDesc, prometheus.GaugeValue, float64(inFlight), l.traffic.Name)
		ch <- prometheus.MustNewConstMetric(rateDesc, prometheus.GaugeValue, factor*l.traffic.Rate, l.traffic.Name)
	}
	ch <- prometheus.MustNewConstMetric(overwrittenDesc, prometheus.CounterValue, float64(g.ring.overwritten()))
}
