package signals

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"sightline/internal/model"
)

// Dialect is one server's or exporter's way to say things.
type Dialect struct {
	Name, Title string
	// Source is the source that its candidates carry.
	Source model.Source
	// Covers names the groups of signals for which the dialect answers.
	Covers    []string
	recognise []string
	versions  []versionHint
	labels    []labelRule
	presence  string
	ownsGPU   string
	podOfGPU  string
	renames   []rename
	terms     map[*Signal]*term
	absent    map[*Signal]Reason
}

type dialectFile struct {
	Name      string        `yaml:"name"`
	Title     string        `yaml:"title"`
	Source    model.Source  `yaml:"source"`
	Recognise []string      `yaml:"recognise"`
	Versions  []versionHint `yaml:"versions"`
	Covers    []string      `yaml:"covers"`
	Labels    []labelRule   `yaml:"labels"`
	Presence  string        `yaml:"presence"`
	OwnsGPU   string        `yaml:"owns_gpu"`
	PodOfGPU  string        `yaml:"pod_of_gpu"`
	Renames   []rename      `yaml:"renames"`
	Signals   []termFile    `yaml:"signals"`
	Absent    []struct {
		Signals []string `yaml:"signals"`
		Reason  `yaml:",inline"`
	} `yaml:"absent"`
}

type versionHint struct {
	Has  []string `yaml:"has"`
	Says string   `yaml:"says"`
}

// labelRule fills a canonical label from the first native one that is not empty.
type labelRule struct {
	To   string   `yaml:"to"`
	From []string `yaml:"from"`
}

type rename struct {
	Old   string `yaml:"old"`
	New   string `yaml:"new"`
	Since string `yaml:"since"`
}

type termFile struct {
	Signal        string      `yaml:"signal"`
	Level         model.Level `yaml:"level"`
	Method        string      `yaml:"method"`
	Needs         []string    `yaml:"needs"`
	WorstInstance bool        `yaml:"worst_instance"`
	Expr          string      `yaml:"expr"`
	Histogram     *struct {
		Metrics []string `yaml:"metrics"`
		Scale   float64  `yaml:"scale"`
	} `yaml:"histogram"`
	MeanOf *struct {
		Sum   string  `yaml:"sum"`
		Count string  `yaml:"count"`
		Scale float64 `yaml:"scale"`
	} `yaml:"mean_of"`
	Summary *struct {
		Metric string  `yaml:"metric"`
		Scale  float64 `yaml:"scale"`
	} `yaml:"summary"`
	Missing *Reason `yaml:"missing"`
}

// term is how a dialect gives one signal.
type term struct {
	method  string
	worst   bool
	needs   []string
	missing *Reason
	tmpl    string
	// merge joins series of one entity that differ in native labels.
	merge string
}

// methods is the closed list of how a number comes about.
var methods = []string{"histogram", "summary", "first_response_histogram", "counter", "gauge", "mean"}

func (c *Catalogue) parseDialect(b []byte) (*Dialect, error) {
	var f dialectFile
	if err := strict(b, &f); err != nil {
		return nil, fault("dialect "+f.Name, err)
	}
	d := &Dialect{
		Name: f.Name, Title: f.Title, Source: f.Source, Covers: f.Covers, recognise: f.Recognise, versions: f.Versions,
		labels: f.Labels, presence: f.Presence, ownsGPU: f.OwnsGPU, podOfGPU: f.PodOfGPU, renames: f.Renames,
		terms: map[*Signal]*term{}, absent: map[*Signal]Reason{},
	}
	if d.Source == "" {
		d.Source = model.SourceServer
	}
	var errs []error
	if d.Name == "" || d.Title == "" || len(d.recognise) == 0 || len(d.Covers) == 0 || d.presence == "" {
		errs = append(errs, errors.New("name, title, recognise, covers and presence must be given"))
	}
	if trust(d.Source) < 0 {
		errs = append(errs, fmt.Errorf("source %q is unknown", d.Source))
	}
	for _, t := range f.Signals {
		if err := c.addTerm(d, t); err != nil {
			errs = append(errs, fmt.Errorf("signal %s: %w", t.Signal, err))
		}
	}
	for _, a := range f.Absent {
		if a.Code == "" || a.Text == "" || a.Remedy == "" {
			errs = append(errs, fmt.Errorf("absent %v needs code, text and remedy", a.Signals))
		}
		for _, name := range a.Signals {
			ss := c.named(name, "", d.Covers)
			if len(ss) == 0 {
				errs = append(errs, fmt.Errorf("absent: no signal %q in the groups it covers", name))
			}
			for _, s := range ss {
				if d.terms[s] != nil {
					errs = append(errs, fmt.Errorf("%s is both given and absent", s.key()))
				}
				d.absent[s] = a.Reason
			}
		}
	}
	for _, s := range c.signals {
		if _, gone := d.absent[s]; slices.Contains(d.Covers, s.Group) && !gone && d.terms[s] == nil {
			errs = append(errs, fmt.Errorf("%s is neither given nor absent with a reason", s.key()))
		}
	}
	if err := d.check(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fault("dialect "+f.Name, err)
	}
	return d, nil
}

// named finds signals by name or name:operation, within a level or else within
// groups when the name exists in several.
func (c *Catalogue) named(name string, l model.Level, covers []string) (out []*Signal) {
	for _, s := range c.signals {
		if (s.Name == name || s.key() == name) && (l == "" || slices.Contains(s.Levels, l)) {
			out = append(out, s)
		}
	}
	if l == "" && len(out) > 1 {
		in := slices.DeleteFunc(slices.Clone(out), func(s *Signal) bool { return !slices.Contains(covers, s.Group) })
		if len(in) > 0 {
			return in
		}
	}
	return out
}

func (c *Catalogue) addTerm(d *Dialect, t termFile) error {
	ss := c.named(t.Signal, t.Level, d.Covers)
	if len(ss) == 0 {
		return errors.New("it is not in the catalogue")
	}
	added := 0
	for _, s := range ss {
		x, err := t.compile(s.Operation)
		if err != nil {
			return err
		}
		if x == nil {
			continue
		}
		// What a server counts adds up; of a card, or of means and shares, the
		// largest stands for all.
		x.merge = "max"
		if d.Level() != model.LevelGPU && (s.Operation == "rate" || s.Group == "load") {
			x.merge = "sum"
		}
		if d.terms[s] != nil {
			return fmt.Errorf("%s is given twice", s.key())
		}
		if !slices.Contains(methods, x.method) {
			return fmt.Errorf("method %q is unknown", x.method)
		}
		d.terms[s] = x
		added++
	}
	if added == 0 {
		return errors.New("nothing gives any of its operations")
	}
	return nil
}

var quantiles = map[string]string{"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99"}

// compile gives the template for one operation, nil when the term has none.
func (t termFile) compile(op string) (*term, error) {
	x := &term{method: t.Method, worst: t.WorstInstance, needs: t.Needs, missing: t.Missing}
	q, isQuantile := quantiles[op]
	switch {
	case t.Expr != "":
		x.tmpl = t.Expr
	case t.Histogram != nil:
		if x.method == "" {
			x.method = "histogram"
		}
		for _, m := range t.Histogram.Metrics {
			x.needs = append(x.needs, m+"_count", m)
		}
		if isQuantile {
			x.tmpl = histogramQuantile(q, t.Histogram.Metrics)
		} else {
			x.tmpl = histogramMean(t.Histogram.Metrics)
		}
		x.tmpl = scaled(x.tmpl, t.Histogram.Scale)
	case isQuantile && t.Summary != nil:
		x.method, x.worst, x.needs = "summary", true, []string{t.Summary.Metric}
		// An idle summary is NaN, and NaN is never >= 0. Quantiles of several
		// processes cannot be merged: the worst instance stands for all.
		x.tmpl = scaled(fmt.Sprintf(`max by ($by) (%s{quantile="%s",$match} >= 0)`, t.Summary.Metric, q), t.Summary.Scale)
	case !isQuantile && t.MeanOf != nil:
		x.method, x.needs, x.missing = "mean", []string{t.MeanOf.Count}, nil
		x.tmpl = scaled(fmt.Sprintf("sum by ($by) (rate(%s{$match}[$window])) / (sum by ($by) (rate(%s{$match}[$window])) > 0)", t.MeanOf.Sum, t.MeanOf.Count), t.MeanOf.Scale)
	default:
		return nil, nil
	}
	var err error
	x.tmpl, err = expandBirths(x.tmpl)
	return x, err
}

func scaled(expr string, by float64) string {
	if by == 0 || by == 1 {
		return expr
	}
	return strconv.FormatFloat(by, 'g', -1, 64) + " * (" + expr + ")"
}

// histogramQuantile reads classic buckets and native histograms of every name
// a server has used; replicas with the old and the new name count together. No
// observation gives NaN, which >= 0 removes.
func histogramQuantile(q string, metrics []string) string {
	return fmt.Sprintf("histogram_quantile(%[1]s, sum by ($by, le) (%[2]s)) >= 0 or histogram_quantile(%[1]s, sum by ($by) (%[3]s)) >= 0",
		q, anyRate(metrics, "_bucket"), anyRate(metrics, ""))
}

func histogramMean(metrics []string) string {
	return fmt.Sprintf("sum by ($by) (%s) / (sum by ($by) (%s) > 0) or histogram_avg(sum by ($by) (%s)) >= 0",
		anyRate(metrics, "_sum"), anyRate(metrics, "_count"), anyRate(metrics, ""))
}

// anyRate is the rate of each series under the first of its names that exists.
func anyRate(metrics []string, suffix string) string {
	var alts []string
	for _, m := range metrics {
		alts = append(alts, fmt.Sprintf("rate(%s%s{$match}[$window])", m, suffix))
	}
	return strings.Join(alts, " or ")
}

// expandBirths replaces births(SELECTOR) by the rate of the selected counters
// and, beside it under the scratch label sightline_born, what a series that is
// born within the window was born with: a labelled counter appears with its
// first event, which rate alone never sees. The caller sums both. A birth counts
// only on a target that was up a window ago, else every start of scraping would
// look like a burst.
func expandBirths(tmpl string) (string, error) {
	for {
		i := strings.Index(tmpl, "births(")
		if i < 0 {
			return tmpl, nil
		}
		j := strings.Index(tmpl[i:], "})")
		if j < 0 {
			return "", errors.New("births( needs a selector that ends in })")
		}
		m := tmpl[i+len("births(") : i+j+1]
		born := fmt.Sprintf("((min_over_time(%[1]s[$window]) unless %[1]s offset $window) / $seconds and on (job, instance, scrape_address) (up offset $window == 1))", m)
		tmpl = tmpl[:i] + fmt.Sprintf(`(rate(%s[$window]) or label_replace(%s, "sightline_born", "1", "", ""))`, m, born) + tmpl[i+j+2:]
	}
}

// promql is the parser of the package; experimental functions stay off so that
// every store with the same language can evaluate a dialect.
var promql = parser.NewParser(parser.Options{})

// check parses every template at a sample of levels and makes sure that each
// selector takes the request's matchers, so that no filter is ever ignored.
func (d *Dialect) check() error {
	var errs []error
	try := func(what, tmpl string, l model.Level) {
		expr := d.expand(tmpl, append(slices.Clone(identity[l]), "gpu"), `sightline_check="1"`, "max", Options{})
		e, err := promql.ParseExpr(expr)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w in %s", what, err, expr))
			return
		}
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok && v.Name != "up" && !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "sightline_check" }) {
				errs = append(errs, fmt.Errorf("%s: selector %s lacks $match", what, v))
			}
			return nil
		})
	}
	for s, t := range d.terms {
		try(s.key(), t.tmpl, s.Levels[0])
	}
	try("presence", d.presence, d.Level())
	if d.ownsGPU != "" {
		try("owns_gpu", d.ownsGPU, model.LevelInstance)
	}
	if d.podOfGPU != "" {
		try("pod_of_gpu", d.podOfGPU, model.LevelGPU)
	}
	return errors.Join(errs...)
}

// Level is what the dialect's targets are: instances of servers, or GPUs.
func (d *Dialect) Level() model.Level {
	if slices.Contains(d.Covers, "gpu") {
		return model.LevelGPU
	}
	return model.LevelInstance
}
