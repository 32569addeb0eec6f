package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sort"
	"strings"
	"time"

	common "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"

	"sightline/internal/health"
	"sightline/internal/model"
)

// TargetStatus is what is known of one target.
type TargetStatus struct {
	ID            string // the URL
	Pool          string
	Job           string
	Service       string
	Instance      string
	Node          string
	URL           string
	ScrapeAddress string
	Labels        map[string]string
	Health        string // up, down or unknown
	// Error says why the last scrape failed; nil when it did not.
	Error *model.Problem
	// Warnings are samples of a successful scrape that were dropped, and why.
	Warnings []*model.Problem
	// LastScrape is zero before the first one.
	LastScrape    time.Time
	LastDuration  time.Duration
	Interval      time.Duration
	Timeout       time.Duration
	Samples       int // in the last scrape, as exposed
	Series        int // kept alive in the store; 0 when the sink has no limits
	SeriesLimit   int
	SeriesRefused int
	RefusedLabel  string // the label that grows, when series were refused
	// Simulated is true when the target marks its series as simulated hardware.
	Simulated bool
}

// targetCodes are the codes of a target's problems.
var targetCodes = []string{
	"target_unreachable", "target_timeout", "target_http_status", "target_not_exposition",
	"target_truncated", "target_body_too_large", "target_duplicate_series", "target_timestamp_future",
	"target_out_of_order", "target_link_local", "target_tls", "target_store_refused", "target_failed",
}

// Targets lists the active targets by id.
func (m *Manager) Targets() []TargetStatus {
	var out []TargetStatus
	for pool, targets := range m.loops.TargetsActive() {
		for _, t := range targets {
			out = append(out, m.status(pool, t))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func (m *Manager) status(pool string, t *scrape.Target) TargetStatus {
	id := targetID(t)
	ls := t.Labels(labels.NewBuilder(labels.EmptyLabels())).Map()
	out := TargetStatus{
		ID: id, URL: id, Pool: pool, Labels: ls,
		Job: ls["job"], Service: ls[model.LabelService], Instance: ls[model.LabelInstance],
		Node: ls[model.LabelNode], ScrapeAddress: ls[model.LabelScrapeAddress],
		Health: string(t.Health()), LastScrape: t.LastScrape(), LastDuration: t.LastScrapeDuration(),
		Interval: parseDuration(t.GetValue(common.ScrapeIntervalLabel)),
		Timeout:  parseDuration(t.GetValue(common.ScrapeTimeoutLabel)),
	}
	if m.sink.limiter != nil {
		out.Series, out.SeriesLimit, out.SeriesRefused, out.RefusedLabel, _ = m.sink.limiter.Usage(id)
	}
	if err := t.LastError(); err != nil {
		out.Error = classify(id, err)
	}
	if st := m.sink.known(id); st != nil {
		st.mu.Lock()
		d := st.last
		out.Samples, out.Simulated = st.samples, st.simulated
		st.mu.Unlock()
		out.Warnings = m.warnings(id, d)
	}
	return out
}

func parseDuration(s string) time.Duration {
	d, err := common.ParseDuration(s)
	if err != nil {
		return 0
	}
	return time.Duration(d)
}

// judge runs at the end of each scrape: it counts what was dropped and sets or
// clears the target's conditions.
func (m *Manager) judge(t *scrape.Target, id string, d drops, commitErr error) {
	for reason, n := range map[string]int{"series_limit": d.refused, "duplicate": d.duplicate, "out_of_order": d.outOfOrder, "timestamp": d.outOfBounds} {
		if n > 0 {
			m.drops.WithLabelValues(reason).Add(float64(n))
		}
	}
	problems := m.warnings(id, d)
	err := t.LastError()
	if err == nil && commitErr != nil {
		err = commitErr
	}
	if err != nil {
		problems = append(problems, classify(id, err))
	}
	set := map[string]bool{}
	for _, p := range problems {
		if p.Code == "target_series_limit" {
			continue // the limiter has a condition of its own
		}
		set[p.Code] = true
		severity := health.Warning
		if err != nil && p == problems[len(problems)-1] {
			severity = health.Error
		}
		m.health.Set(health.Condition{Code: p.Code, Severity: severity, Subject: id, Text: p.Text, Hint: p.Hint})
	}
	for _, code := range targetCodes {
		if !set[code] {
			m.health.Clear(code, id)
		}
	}
}

// warnings words what was dropped from a scrape that succeeded.
func (m *Manager) warnings(id string, d drops) []*model.Problem {
	var out []*model.Problem
	if d.refused > 0 {
		limit, label := 0, ""
		if m.sink.limiter != nil {
			_, limit, _, label, _ = m.sink.limiter.Usage(id)
		}
		text := fmt.Sprintf("target %s has reached its limit of %d series; %d new series of the last scrape were refused, known ones keep updating", id, limit, d.refused)
		if label != "" {
			text += fmt.Sprintf("; the label %q takes ever new values", label)
		}
		out = append(out, &model.Problem{Code: "target_series_limit", Text: text, Hint: "remove that label at its origin, or raise the limit for this target"})
	}
	if d.duplicate > 0 {
		out = append(out, &model.Problem{Code: "target_duplicate_series", Text: fmt.Sprintf("target %s exposes %d series more than once; the first value of each was kept", id, d.duplicate), Hint: "fix the exporter: each series may appear once"})
	}
	if d.outOfOrder > 0 {
		out = append(out, &model.Problem{Code: "target_out_of_order", Text: fmt.Sprintf("target %s sent %d samples older than those stored", id, d.outOfOrder), Hint: "stop the exporter from setting timestamps"})
	}
	if d.outOfBounds > 0 {
		out = append(out, &model.Problem{Code: "target_timestamp_future", Text: fmt.Sprintf("target %s sent %d samples with a timestamp more than 10 minutes in the future or too old", id, d.outOfBounds), Hint: "compare the clocks of both machines, or stop the exporter from setting timestamps"})
	}
	return out
}

// classify gives the error of a scrape its code, a sentence and advice. The
// scrape library has no error types of its own, hence the words; a test holds
// each of them against the library.
func classify(id string, err error) *model.Problem {
	var own *model.Problem
	if errors.As(err, &own) {
		if strings.HasPrefix(own.Code, "target_") {
			return &model.Problem{Code: own.Code, Text: "target " + id + ": " + own.Text, Hint: own.Hint}
		}
		return &model.Problem{Code: "target_store_refused", Text: "the samples of target " + id + " were not stored: " + own.Text, Hint: own.Hint}
	}
	words := err.Error()
	says := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(words, p) {
				return true
			}
		}
		return false
	}
	problem := func(code, text, hint string) *model.Problem {
		return &model.Problem{Code: code, Text: fmt.Sprintf("target %s %s", id, text), Hint: hint}
	}
	var netErr net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return problem("target_timeout", "did not answer within the scrape timeout", "look whether the server is overloaded, or give this target a longer timeout")
	case says("server returned HTTP status"):
		status := words[strings.Index(words, "HTTP status"):]
		hint := "open the URL in a browser; the path may be wrong or need a login"
		if strings.HasPrefix(status, "HTTP status 3") {
			hint = "redirects are not followed; name the final address"
		}
		return problem("target_http_status", "answered with "+status, hint)
	case says("body size limit exceeded"):
		return problem("target_body_too_large", "sent a larger body than allowed; the scrape was thrown away", "expose less, or raise the body size limit for this target")
	case errors.Is(err, io.ErrUnexpectedEOF), says("unexpected EOF", "insufficient length of buffer", "does not end with # EOF"):
		return problem("target_truncated", "closed the connection in the middle of its answer; a scrape is stored whole or not at all", "look into the target's log; a proxy in between may cut long answers")
	case says("tls:", "x509:", "server gave HTTP response to HTTPS client", "malformed HTTP response"):
		return problem("target_tls", "does not speak the expected protocol or its certificate is not trusted: "+words, "check http or https in the URL and the certificate")
	case says("after # EOF"):
		// The parser's words for OpenMetrics, not the end of a connection.
		return unreadable(id, words)
	case errors.As(err, &netErr), says("connection refused", "no such host", "connection reset", "EOF"):
		return problem("target_unreachable", "cannot be reached: "+words, "check that the server runs and that address and port are right")
	case says(`"<"`, `got "<`, "text/html"):
		return problem("target_not_exposition", "answered with a web page, not with metrics", "check the path; most servers use /metrics")
	case says("while parsing", "parse", "invalid UTF-8", "invalid metric", "expected", "proto", "wire", "content type", "Content-Type"):
		return unreadable(id, words)
	}
	return problem("target_failed", "failed: "+words, "")
}

// unreadable words a body that the parser refused. It refuses the whole scrape
// for one bad line.
func unreadable(id, words string) *model.Problem {
	if len(words) > 200 {
		words = strings.ToValidUTF8(words[:200], "") + "…"
	}
	return &model.Problem{Code: "target_not_exposition", Text: fmt.Sprintf("target %s sent something that is not Prometheus metrics (%s); one bad line voids the whole scrape", id, words), Hint: "check the path with promtool check metrics"}
}
