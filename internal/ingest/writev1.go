package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gogo/protobuf/proto"
	commonmodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
)

// WriteV1 stores the samples of a remote write 1.0 message. Prometheus' own
// receiver throws a whole request away for one sample that is too old, ahead or
// broken, although the sender will not send the others again, and passes over
// series without a usable name in silence. Here the rest is stored, and the
// error tells what was not: a *model.Problem with code samples_refused, after
// the rest was committed, or body_invalid. Any other error means that nothing
// was stored and the sender should try again.
func (g *Guard) WriteV1(ctx context.Context, body []byte) error {
	var req prompb.WriteRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		return &model.Problem{Code: "body_invalid", Text: "the body is no remote write 1.0 message", Hint: "send prometheus.WriteRequest, compressed with snappy", Err: err}
	}
	w := &writerV1{g: g, app: g.AppenderV2(ctx), b: labels.NewScratchBuilder(0)}
	for i := range req.Timeseries {
		if err := w.series(&req.Timeseries[i]); err != nil {
			return errors.Join(err, w.app.Rollback())
		}
	}
	if err := w.app.Commit(); err != nil {
		return err
	}
	return w.problem()
}

// writerV1 stores one message.
type writerV1 struct {
	g       *Guard
	app     storage.AppenderV2
	b       labels.ScratchBuilder
	refused int
	stored  int
	first   string
}

func (w *writerV1) series(ts *prompb.TimeSeries) error {
	ls := ts.ToLabels(&w.b, nil)
	n := len(ts.Samples) + len(ts.Histograms)
	if !ls.Has(commonmodel.MetricNameLabel) || !ls.IsValid(commonmodel.UTF8Validation) {
		w.invalid(n, "a series has no usable name or label", ls)
		return nil
	}
	if name, twice := ls.HasDuplicateLabelNames(); twice {
		w.invalid(n, fmt.Sprintf("a series has the label %q twice", name), ls)
		return nil
	}
	var ref storage.SeriesRef
	for _, s := range ts.Samples {
		got, err := w.app.Append(ref, ls, 0, s.Timestamp, s.Value, nil, nil, storage.AOptions{})
		if err := w.judge(err, ls); err != nil {
			return err
		}
		ref = cmp.Or(got, ref)
	}
	for _, p := range ts.Histograms {
		got, err := w.histogram(ref, ls, p)
		if err := w.judge(err, ls); err != nil {
			return err
		}
		ref = cmp.Or(got, ref)
	}
	w.exemplars(ref, ls, ts.Exemplars)
	return nil
}

// histogram stores one, at a resolution that the store has.
func (w *writerV1) histogram(ref storage.SeriesRef, ls labels.Labels, p prompb.Histogram) (storage.SeriesRef, error) {
	tooFine := func(schema int32) bool {
		return histogram.IsExponentialSchemaReserved(schema) && schema > histogram.ExponentialSchemaMax
	}
	if p.IsFloatHistogram() {
		fh := p.ToFloatHistogram()
		if tooFine(fh.Schema) {
			if err := fh.ReduceResolution(histogram.ExponentialSchemaMax); err != nil {
				return 0, err
			}
		}
		return w.app.Append(ref, ls, 0, p.Timestamp, 0, nil, fh, storage.AOptions{})
	}
	h := p.ToIntHistogram()
	if tooFine(h.Schema) {
		if err := h.ReduceResolution(histogram.ExponentialSchemaMax); err != nil {
			return 0, err
		}
	}
	return w.app.Append(ref, ls, 0, p.Timestamp, 0, h, nil, storage.AOptions{})
}

// exemplars are decoration: what is wrong with them is counted and voids nothing.
func (w *writerV1) exemplars(ref storage.SeriesRef, ls labels.Labels, in []prompb.Exemplar) {
	ea, ok := w.app.(storage.ExemplarAppenderV2)
	if !ok || len(in) == 0 {
		return
	}
	horizon := w.g.now().Add(w.g.limits.FutureTolerance).UnixMilli()
	var es []exemplar.Exemplar
	for _, e := range in {
		if e.Timestamp > horizon {
			w.g.metrics.samples.WithLabelValues("exemplar").Inc()
			continue
		}
		es = append(es, e.ToExemplar(&w.b, nil))
	}
	slices.SortFunc(es, exemplar.Compare)
	if _, err := ea.AppendExemplars(ref, ls, es); err != nil {
		w.g.metrics.samples.WithLabelValues("exemplar").Inc()
	}
}

// judge passes on an error that is the store's and notes one that is the
// sample's. The guard has counted it.
func (w *writerV1) judge(err error, ls labels.Labels) error {
	var broken histogram.Error
	switch {
	case err == nil || errors.Is(err, (*storage.AppendPartialError)(nil)):
		w.stored++
		return nil
	case errors.Is(err, storage.ErrOutOfOrderSample), errors.Is(err, storage.ErrOutOfBounds),
		errors.Is(err, storage.ErrDuplicateSampleForTimestamp), errors.Is(err, storage.ErrTooOldSample), errors.As(err, &broken):
		w.note(1, err.Error(), ls)
		return nil
	}
	return err
}

func (w *writerV1) invalid(n int, why string, ls labels.Labels) {
	w.g.metrics.samples.WithLabelValues("invalid_labels").Add(float64(n))
	w.note(n, why, ls)
}

func (w *writerV1) note(n int, why string, ls labels.Labels) {
	if w.refused == 0 {
		name := ls.String()
		if len(name) > 200 {
			name = name[:200] + "…"
		}
		w.first = strings.ToValidUTF8(fmt.Sprintf("%s (%s)", why, name), "\uFFFD")
	}
	w.refused += n
}

func (w *writerV1) problem() error {
	if w.refused == 0 {
		return nil
	}
	return &model.Problem{
		Code: "samples_refused",
		Text: fmt.Sprintf("%d samples were stored and %d refused; the first: %s", w.stored, w.refused, w.first),
		Hint: "do not send the request again; correct the sender",
	}
}
