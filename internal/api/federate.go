package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	commonmodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"google.golang.org/protobuf/proto"

	"sightline/internal/model"
)

// Kinds of samples as a store's iterator numbers them; the type that names
// them stays behind metricstore. A test compares them.
const (
	kindNone           = 0
	kindFloat          = 1
	kindHistogram      = 2
	kindFloatHistogram = 3
)

// maxFederated bounds the series of one answer, which are held in memory to be
// sorted: about 150 MB.
const maxFederated = 500_000

// federation answers /federate: of every series that a match[] selects, the
// newest sample within the lookback, with its own timestamp, for another
// Prometheus to scrape.
type federation struct {
	store    storage.Queryable
	lookback time.Duration
	timeout  time.Duration
	limit    int
	now      func() time.Time
	parse    parser.Parser
	log      *slog.Logger

	errors   prometheus.Counter
	warnings prometheus.Counter
	skipped  *prometheus.CounterVec
}

func newFederation(store storage.Queryable, lookback, timeout time.Duration, now func() time.Time, reg prometheus.Registerer, log *slog.Logger) *federation {
	f := &federation{
		store: store, lookback: lookback, timeout: timeout, limit: maxFederated, now: now, parse: parser.NewParser(parser.Options{}), log: log,
		errors:   prometheus.NewCounter(prometheus.CounterOpts{Name: "sightline_federation_errors_total", Help: "Federation requests that failed or broke off."}),
		warnings: prometheus.NewCounter(prometheus.CounterOpts{Name: "sightline_federation_warnings_total", Help: "Warnings of the store while it answered federation requests."}),
		skipped:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sightline_federation_skipped_series_total", Help: "Selected series that federation could not show, by reason."}, []string{"reason"}),
	}
	reg.MustRegister(f.errors, f.warnings, f.skipped)
	return f
}

// latest is the newest sample of one series; h is nil for a plain number.
type latest struct {
	labels labels.Labels
	name   string
	t      int64
	v      float64
	h      *histogram.FloatHistogram
}

// group orders samples of one name into families that share a type.
func (l latest) group() int {
	switch {
	case l.h == nil:
		return 0
	case l.h.CounterResetHint == histogram.GaugeType:
		return 2
	}
	return 1
}

// ServeHTTP implements http.Handler.
func (f *federation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, err := parseQuery(r)
	if err != nil {
		writeProblem(w, r, http.StatusBadRequest, "bad_data", err)
		return
	}
	selectors, err := f.parse.ParseMetricSelectors(v["match[]"])
	if err != nil {
		code, hint, pos := explain("bad_data", err.Error())
		writeEnvelope(w, r, http.StatusBadRequest, envelope{Status: "error", ErrorType: "bad_data", Error: "parameter match[]: " + err.Error(), Code: code, Hint: hint, Position: pos})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), f.timeout)
	defer cancel()
	samples, err := f.collect(ctx, selectors)
	if err != nil {
		f.errors.Inc()
		f.log.Error("federation failed", "err", err)
		status, typ := answerStatus(err)
		writeProblem(w, r, status, typ, err)
		return
	}
	format := expfmt.NegotiateAccept(r.Header,
		expfmt.FmtText, expfmt.FmtProtoDelim, expfmt.FmtProtoText, expfmt.FmtProtoCompact, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1)
	w.Header().Set("Content-Type", string(format))
	w.Header().Set("Cache-Control", "no-store")
	if err := f.encode(w, format, samples); err != nil {
		// The status line is out: the scraper sees a body that ends early.
		f.errors.Inc()
		f.log.Warn("federation broke off", "err", err)
	}
}

// collect reads the newest samples, sorted by name, type and labels.
func (f *federation) collect(ctx context.Context, selectors [][]*labels.Matcher) ([]latest, error) {
	if len(selectors) == 0 {
		return nil, nil
	}
	maxt := f.now().UnixMilli()
	mint := maxt - f.lookback.Milliseconds()
	q, err := f.store.Querier(mint, maxt)
	if err != nil {
		return nil, unreadable(err)
	}
	defer q.Close() //nolint:errcheck // reading is over, nothing to save
	hints := &storage.SelectHints{Start: mint, End: maxt}
	var sets []storage.SeriesSet
	for _, s := range selectors {
		sets = append(sets, q.Select(ctx, true, hints, s...))
	}
	set := storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	var out []latest
	for set.Next() {
		l, ok, err := newest(set.At(), mint, maxt)
		if err != nil {
			return nil, unreadable(err)
		}
		if !ok {
			continue
		}
		if len(out) == f.limit {
			return nil, &model.Problem{Code: "too_many_series", Text: fmt.Sprintf("the selectors match more than %d series", f.limit), Hint: "narrow match[], or split it over several scrapes"}
		}
		if l.name == "" {
			f.skipped.WithLabelValues("nameless").Inc()
			continue
		}
		out = append(out, l)
	}
	f.warnings.Add(float64(len(set.Warnings())))
	if err := set.Err(); err != nil {
		return nil, unreadable(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b latest) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return a.group() - b.group()
	})
	return out, nil
}

func unreadable(err error) error {
	return &model.Problem{Code: "query_failed", Text: "the series cannot be read", Err: err}
}

// newest walks one series. ok is false when it has no sample in the window, or
// ended: the exposition formats know no stale marker, so a series that ended is
// left out.
func newest(s storage.Series, mint, maxt int64) (l latest, ok bool, err error) {
	it := s.Iterator(nil)
	for kind := it.Next(); kind != kindNone; kind = it.Next() {
		t := it.AtT()
		if t < mint {
			continue
		}
		if t > maxt {
			break
		}
		ok = true
		switch kind {
		case kindFloat:
			l.t, l.v = it.At()
			l.h = nil
		case kindHistogram, kindFloatHistogram:
			l.t, l.h = it.AtFloatHistogram(nil)
		}
	}
	if err := it.Err(); err != nil {
		return latest{}, false, err
	}
	if !ok || (l.h == nil && value.IsStaleNaN(l.v)) || (l.h != nil && value.IsStaleNaN(l.h.Sum)) {
		return latest{}, false, nil
	}
	l.labels = s.Labels()
	l.name = l.labels.Get(commonmodel.MetricNameLabel)
	return l, true, nil
}

// encode writes families. Native histograms exist only in protobuf; those with
// custom buckets go out as classic ones in every format.
func (f *federation) encode(w io.Writer, format expfmt.Format, samples []latest) error {
	enc := expfmt.NewEncoder(w, format)
	native, whole := false, false
	switch format.FormatType() {
	case expfmt.TypeProtoDelim, expfmt.TypeProtoText, expfmt.TypeProtoCompact:
		native = true
	case expfmt.TypeOpenMetrics:
		whole = true
	}
	var fam *dto.MetricFamily
	group := 0
	flush := func() error {
		if fam == nil {
			return nil
		}
		return enc.Encode(fam)
	}
	for _, s := range samples {
		if s.h != nil && !native && !s.h.UsesCustomBuckets() {
			f.skipped.WithLabelValues("native_histogram_in_text").Inc()
			continue
		}
		if s.h != nil && whole && !wholeCounts(s.h) {
			// OpenMetrics 1.0 knows no fractions of an observation.
			f.skipped.WithLabelValues("fractional_histogram_in_openmetrics").Inc()
			continue
		}
		if fam == nil || fam.GetName() != s.name || group != s.group() {
			if err := flush(); err != nil {
				return err
			}
			group = s.group()
			fam = &dto.MetricFamily{Name: proto.String(s.name), Type: familyType(group).Enum()}
		}
		fam.Metric = append(fam.Metric, s.metric(whole))
	}
	if err := flush(); err != nil {
		return err
	}
	if c, ok := enc.(expfmt.Closer); ok {
		return c.Close() // OpenMetrics ends with # EOF
	}
	return nil
}

func familyType(group int) dto.MetricType {
	switch group {
	case 1:
		return dto.MetricType_HISTOGRAM
	case 2:
		return dto.MetricType_GAUGE_HISTOGRAM
	}
	return dto.MetricType_UNTYPED
}

// metric writes one sample; whole asks for integer counts in classic histograms.
func (l latest) metric(whole bool) *dto.Metric {
	m := &dto.Metric{TimestampMs: proto.Int64(l.t)}
	hasInstance := false
	l.labels.Range(func(lb labels.Label) {
		if lb.Name == commonmodel.MetricNameLabel || lb.Value == "" {
			return
		}
		hasInstance = hasInstance || lb.Name == model.LabelInstance
		m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(lb.Name), Value: proto.String(lb.Value)})
	})
	if !hasInstance {
		// With honor_labels an empty instance keeps the scraper from putting our
		// own address on a series that belongs to no instance.
		m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(model.LabelInstance), Value: proto.String("")})
	}
	switch {
	case l.h == nil:
		m.Untyped = &dto.Untyped{Value: proto.Float64(l.v)}
	case l.h.UsesCustomBuckets():
		m.Histogram = classicHistogram(l.h, whole)
	default:
		m.Histogram = nativeHistogram(l.h)
	}
	return m
}
