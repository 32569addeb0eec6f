package vllmstats

import (
	"bytes"
	"math"
	"sort"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// processNames are the process metrics that a Python server has; the collector
// here knows more.
var processNames = map[string]bool{
	"process_virtual_memory_bytes": true, "process_resident_memory_bytes": true, "process_start_time_seconds": true,
	"process_cpu_seconds_total": true, "process_open_fds": true, "process_max_fds": true,
}

// Exposition is the text that a scraper reads, written as the Python client
// writes it: numbers are floats with a point, labels in alphabetical order and
// the count before the sum.
func (m *Metrics) Exposition() ([]byte, error) {
	families, err := m.reg.Gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "process_") && !processNames[name] {
			continue
		}
		b.WriteString("# HELP " + name + " " + helpEscape.Replace(f.GetHelp()) + "\n")
		b.WriteString("# TYPE " + name + " " + strings.ToLower(f.GetType().String()) + "\n")
		for _, s := range f.GetMetric() {
			write(&b, name, s)
		}
	}
	return b.Bytes(), nil
}

func write(b *bytes.Buffer, name string, s *dto.Metric) {
	switch {
	case s.Gauge != nil:
		sample(b, name, s.GetLabel(), "", s.Gauge.GetValue())
	case s.Counter != nil:
		sample(b, name, s.GetLabel(), "", s.Counter.GetValue())
	case s.Histogram != nil:
		h := s.Histogram
		for _, k := range h.GetBucket() {
			sample(b, name+"_bucket", s.GetLabel(), number(k.GetUpperBound()), float64(k.GetCumulativeCount()))
		}
		sample(b, name+"_bucket", s.GetLabel(), "+Inf", float64(h.GetSampleCount()))
		sample(b, name+"_count", s.GetLabel(), "", float64(h.GetSampleCount()))
		sample(b, name+"_sum", s.GetLabel(), "", h.GetSampleSum())
	}
}

var (
	helpEscape  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func sample(b *bytes.Buffer, name string, labels []*dto.LabelPair, le string, v float64) {
	var pairs []string
	for _, l := range labels {
		pairs = append(pairs, l.GetName()+`="`+labelEscape.Replace(l.GetValue())+`"`)
	}
	if le != "" {
		pairs = append(pairs, `le="`+le+`"`)
	}
	sort.Strings(pairs)
	b.WriteString(name)
	if len(pairs) > 0 {
		b.WriteString("{" + strings.Join(pairs, ",") + "}")
	}
	b.WriteString(" " + number(v) + "\n")
}

// number writes a float with a point or an exponent, never as an integer.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case math.IsNaN(v):
		return "NaN"
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
