package api

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	commonmodel "github.com/prometheus/common/model"

	"sightline/internal/model"
	"sightline/internal/query"
)

// Bounds of what the console may ask.
const (
	maxSignals   = 100                  // per series request; the Model page asks for about 40
	maxValue     = 1024                 // bytes of an identity label
	maxSparkline = 1000                 // points of a sparkline
	maxWindow    = 366 * 24 * time.Hour // of a window or range
	maxPoints    = 11_000               // of a line, as the Prometheus API's
	defaultRange = time.Hour
	maxUnix      = 253402300799 // 9999-12-31T23:59:59Z
)

// signalName is level:signal_unit:operation.
var signalName = regexp.MustCompile(`^(service|model|instance|gpu|node):[a-z][a-z0-9_]*:[a-z][a-z0-9]*$`)

// params reads a query string; the first fault wins and the rest reads as zero.
type params struct {
	v    url.Values
	seen map[string]bool
	err  error
}

func newParams(v url.Values) *params { return &params{v: v, seen: map[string]bool{}} }

func (p *params) fail(name, got, want string) {
	if p.err == nil {
		p.err = &model.Problem{Code: "parameter_invalid", Text: fmt.Sprintf("parameter %s is %q", name, clip(got, 100)), Hint: want}
	}
}

// one returns the only value of name; a repeated parameter is a fault.
func (p *params) one(name string) string {
	p.seen[name] = true
	vs := p.v[name]
	if len(vs) > 1 {
		p.fail(name, strings.Join(vs, ", "), "give it once")
		return ""
	}
	if len(vs) == 0 {
		return ""
	}
	return vs[0]
}

// time reads Unix seconds, whole or not, or RFC 3339; zero when absent.
func (p *params) time(name string) time.Time {
	s := p.one(name)
	if s == "" {
		return time.Time{}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if f <= 0 || f > maxUnix || math.IsNaN(f) {
			p.fail(name, s, "give Unix seconds between 1970 and 9999")
			return time.Time{}
		}
		return time.UnixMilli(int64(math.Round(f * 1000)))
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Unix() <= 0 || t.Unix() > maxUnix {
		p.fail(name, s, "give Unix seconds or a time such as 2026-01-31T12:00:00Z")
		return time.Time{}
	}
	return t
}

// duration reads seconds, whole or not, or Prometheus' form such as 5m; zero
// when absent.
func (p *params) duration(name string, least, most time.Duration) time.Duration {
	s := p.one(name)
	if s == "" {
		return 0
	}
	var d time.Duration
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if !(f > 0) || f > most.Seconds() {
			f = 0
		}
		d = time.Duration(math.Round(f*1000)) * time.Millisecond
	} else if pd, err := commonmodel.ParseDuration(s); err == nil {
		d = time.Duration(pd)
	}
	if d < least || d > most {
		p.fail(name, s, fmt.Sprintf("give seconds, or a duration such as 5m, between %s and %s", commonmodel.Duration(least), commonmodel.Duration(most)))
		return 0
	}
	return d
}

// count reads a whole number between 1 and most; zero when absent.
func (p *params) count(name string, most int) int {
	s := p.one(name)
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		p.fail(name, s, fmt.Sprintf("give a whole number from 1 to %d", most))
		return 0
	}
	return n
}

func (p *params) label(name string) string {
	s := p.one(name)
	if len(s) > maxValue || !commonmodel.LabelValue(s).IsValid() || strings.ContainsRune(s, 0) {
		p.fail(name, s, fmt.Sprintf("give a label value of at most %d bytes of UTF-8", maxValue))
		return ""
	}
	return s
}

func (p *params) filter() query.Filter {
	return query.Filter{
		Cluster: p.label(model.LabelCluster), Region: p.label(model.LabelRegion), Namespace: p.label(model.LabelNamespace),
		Service: p.label(model.LabelService), Model: p.label(model.LabelModel), Version: p.label(model.LabelVersion),
		Instance: p.label(model.LabelInstance), Node: p.label(model.LabelNode), GPU: p.label(model.LabelGPU),
	}
}

// done reports the first fault, a parameter that nobody reads included: a
// misspelt one would otherwise widen the question in silence.
func (p *params) done() error {
	for name := range p.v {
		if !p.seen[name] {
			p.fail(clip(name, 50), p.v.Get(name), "this path has no such parameter")
		}
	}
	return p.err
}

func parseNow(v url.Values) (query.NowRequest, error) {
	p := newParams(v)
	r := query.NowRequest{At: p.time("at"), Window: p.duration("window", time.Minute, maxWindow), Points: p.count("points", maxSparkline), Filter: p.filter()}
	if err := p.done(); err != nil {
		return query.NowRequest{}, err
	}
	return r, nil
}

func parseSeries(v url.Values, now time.Time) (query.SeriesRequest, error) {
	p := newParams(v)
	p.seen["signal"] = true
	r := query.SeriesRequest{Filter: p.filter(), From: p.time("from"), To: p.time("to"), Step: p.duration("step", time.Millisecond, maxWindow)}
	for _, s := range v["signal"] {
		if len(s) > 200 || !signalName.MatchString(s) {
			p.fail("signal", s, "give a name of three parts such as model:requests:rate; /api/v1/sightline/signals lists them")
		}
		r.Signals = append(r.Signals, s)
	}
	if n := len(r.Signals); n == 0 || n > maxSignals {
		p.fail("signal", fmt.Sprintf("given %d times", n), fmt.Sprintf("give it 1 to %d times", maxSignals))
	}
	switch by := query.By(p.one("by")); by {
	case query.ByNothing, query.ByVersion, query.ByInstance, query.ByNode, query.ByGPU:
		r.By = by
	default:
		p.fail("by", string(by), "use version, instance, node or gpu")
	}
	if r.To.IsZero() {
		r.To = now
	}
	if r.From.IsZero() {
		r.From = r.To.Add(-defaultRange)
	}
	if err := p.done(); err != nil {
		return query.SeriesRequest{}, err
	}
	span := model.TimeRange{Start: r.From, End: r.To}
	if err := span.Validate(); err != nil {
		return query.SeriesRequest{}, err
	}
	if span.Duration() > maxWindow {
		p.fail("from", v.Get("from"), "ask for at most 366 days")
		return query.SeriesRequest{}, p.err
	}
	if r.Step > 0 && span.Duration()/r.Step >= maxPoints {
		return query.SeriesRequest{}, &model.Problem{
			Code: "too_many_points", Text: fmt.Sprintf("%s in steps of %s are more than %d points", span.Duration().Round(time.Second), r.Step, maxPoints), Hint: "use a larger step or a shorter range",
		}
	}
	return r, nil
}

func parseHardware(v url.Values) (query.HardwareRequest, error) {
	p := newParams(v)
	r := query.HardwareRequest{At: p.time("at"), Filter: p.filter()}
	if err := p.done(); err != nil {
		return query.HardwareRequest{}, err
	}
	return r, nil
}

func parseSignals(v url.Values) (query.SignalsRequest, error) {
	p := newParams(v)
	r := query.SignalsRequest{At: p.time("at"), Filter: p.filter()}
	if err := p.done(); err != nil {
		return query.SignalsRequest{}, err
	}
	return r, nil
}
