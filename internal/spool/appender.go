package spool

import (
	"context"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/storage"
)

// maxSamplesPerRequest keeps one request well below the body limit of any
// receiver; Prometheus' own default is 2,000.
const maxSamplesPerRequest = 2000

// AppenderV2 implements storage.AppendableV2. The appender is for one goroutine.
func (s *Spool) AppenderV2(context.Context) storage.AppenderV2 {
	return &appender{spool: s, symbols: writev2.NewSymbolTable()}
}

// appender packs samples into remote write v2 requests; nothing is queued
// before Commit.
type appender struct {
	spool   *Spool
	symbols writev2.SymbolsTable
	series  []writev2.TimeSeries
	ready   []packed
}

// Append implements storage.AppenderV2. References are of no use over the wire:
// the one returned only says that the sample was taken, which a caller may tell
// from 0; the labels count each time.
func (a *appender) Append(_ storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o storage.AppendV2Options) (storage.SeriesRef, error) {
	ts := writev2.TimeSeries{LabelsRefs: a.symbols.SymbolizeLabels(ls, nil)}
	switch {
	case fh != nil:
		ts.Histograms = []writev2.Histogram{writev2.FromFloatHistogram(st, t, fh)}
	case h != nil:
		ts.Histograms = []writev2.Histogram{writev2.FromIntHistogram(st, t, h)}
	default:
		ts.Samples = []writev2.Sample{{Value: v, Timestamp: t, StartTimestamp: st}}
	}
	ts.Metadata = writev2.Metadata{
		Type:    writev2.FromMetadataType(o.Metadata.Type),
		HelpRef: a.symbols.Symbolize(o.Metadata.Help),
		UnitRef: a.symbols.Symbolize(o.Metadata.Unit),
	}
	for _, e := range o.Exemplars {
		ts.Exemplars = append(ts.Exemplars, a.exemplar(e))
	}
	a.series = append(a.series, ts)
	ref := storage.SeriesRef(ls.Hash() | 1)
	if len(a.series) >= maxSamplesPerRequest {
		return ref, a.pack()
	}
	return ref, nil
}

func (a *appender) exemplar(e exemplar.Exemplar) writev2.Exemplar {
	return writev2.Exemplar{LabelsRefs: a.symbols.SymbolizeLabels(e.Labels, nil), Value: e.Value, Timestamp: e.Ts}
}

// pack turns the collected series into one request.
func (a *appender) pack() error {
	if len(a.series) == 0 {
		return nil
	}
	req := writev2.Request{Symbols: a.symbols.Symbols(), Timeseries: a.series}
	body, err := req.Marshal()
	if err != nil {
		return err
	}
	a.ready = append(a.ready, packed{body: body, samples: len(a.series)})
	a.symbols.Reset()
	a.series = a.series[:0]
	return nil
}

// Commit queues everything that was appended.
func (a *appender) Commit() error {
	if err := a.pack(); err != nil {
		return err
	}
	for _, p := range a.ready {
		a.spool.push(p)
	}
	a.ready = nil
	return nil
}

// Rollback forgets everything that was appended.
func (a *appender) Rollback() error {
	a.series, a.ready = nil, nil
	a.symbols.Reset()
	return nil
}
