package api

import (
	"net/url"

	"sightline/internal/collect/scrape"
	"sightline/internal/ingest"
	"sightline/internal/metricstore"
	"sightline/internal/model"
)

// StorageFacts puts the store's statistics into the answer's form.
func StorageFacts(s metricstore.Stats) StorageStatus {
	out := StorageStatus{
		Dir: s.Dir, Series: s.Series, SamplesPerSecond: s.SamplesPerSecond, Bytes: s.Bytes, WALBytes: s.WALBytes,
		Oldest: Moment{s.Oldest}, Newest: Moment{s.Newest}, RetentionSeconds: s.Retention.Seconds(), ReadOnly: s.ReadOnly,
		Quarantined: []QuarantinedPart{},
	}
	for _, q := range s.Quarantined {
		out.Quarantined = append(out.Quarantined, QuarantinedPart{Name: q.Block, Reason: q.Reason, From: Moment{q.MinTime}, To: Moment{q.MaxTime}})
	}
	return out
}

// IngestFacts puts the guard's sources into the answer's form.
func IngestFacts(sources []ingest.SourceStatus) IngestStatus {
	out := IngestStatus{Sources: []IngestSource{}, Dropped: map[string]float64{"future": 0, "too_old": 0}}
	for _, s := range sources {
		out.Sources = append(out.Sources, IngestSource{Name: s.Name, Series: s.Series, Limit: s.Limit, Refused: s.Refused, Label: s.Label})
		out.Dropped["future"] += float64(s.Future)
		out.Dropped["too_old"] += float64(s.TooOld)
	}
	return out
}

// TargetFacts puts a scrape target and the dialects recognised at it into the
// answer's form. A password in the target's address is replaced.
func TargetFacts(t scrape.TargetStatus, dialects []TargetDialect) TargetStatus {
	out := TargetStatus{
		ID: redacted(t.ID), Job: t.Job, Service: t.Service, Instance: t.Instance, Node: t.Node, URL: redacted(t.URL), ScrapeAddress: t.ScrapeAddress,
		Health: t.Health, Error: targetError(t.Error), LastScrape: Moment{t.LastScrape}, IntervalSeconds: t.Interval.Seconds(),
		SeriesLimit: int64(t.SeriesLimit), SeriesRefused: int64(t.SeriesRefused), RefusedLabel: t.RefusedLabel, Dialects: dialects, Simulated: t.Simulated,
	}
	for _, w := range t.Warnings {
		out.Warnings = append(out.Warnings, *targetError(w))
	}
	if !t.LastScrape.IsZero() {
		seconds, samples := t.LastDuration.Seconds(), int64(t.Samples)
		out.LastDurationSeconds, out.Samples = &seconds, &samples
	}
	if t.SeriesLimit > 0 { // else nobody counts
		series := int64(t.Series)
		out.Series = &series
	}
	return out
}

func targetError(p *model.Problem) *TargetError {
	if p == nil {
		return nil
	}
	text := p.Text
	if p.Err != nil {
		text += ": " + p.Err.Error()
	}
	return &TargetError{Code: p.Code, Text: text, Hint: p.Hint}
}

func redacted(s string) string {
	if u, err := url.Parse(s); err == nil && u.User != nil {
		return u.Redacted()
	}
	return s
}
