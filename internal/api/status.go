package api

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"sightline/internal/health"
)

// Moment is a time in answers: Unix seconds, null when there is none.
type Moment struct{ time.Time }

// MarshalJSON writes Unix seconds, to the millisecond.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(m.UnixMilli())/1e3, 'f', -1, 64), nil
}

// TargetStatus is one scrape target on the status page.
type TargetStatus struct {
	ID            string `json:"id"`
	Job           string `json:"job"`
	Service       string `json:"service"`
	Instance      string `json:"instance"`
	Node          string `json:"node,omitempty"`
	URL           string `json:"url"`
	ScrapeAddress string `json:"scrape_address"`
	// Health is up, down or unknown.
	Health              string       `json:"health"`
	Error               *TargetError `json:"error,omitempty"`
	LastScrape          Moment       `json:"last_scrape"`
	LastDurationSeconds *float64     `json:"last_duration_seconds"`
	IntervalSeconds     float64      `json:"interval_seconds"`
	// Samples of the last scrape; Series known, allowed and refused.
	Samples       *int64 `json:"samples"`
	Series        *int64 `json:"series"`
	SeriesLimit   int64  `json:"series_limit"`
	SeriesRefused int64  `json:"series_refused"`
	// RefusedLabel is the label that takes ever new values, when one does.
	RefusedLabel string `json:"refused_label,omitempty"`
	// Warnings are samples of a successful scrape that were dropped, and why.
	Warnings  []TargetError   `json:"warnings,omitempty"`
	Dialects  []TargetDialect `json:"dialects"`
	Simulated bool            `json:"simulated,omitempty"`
	// Remote is true for a target that an agent or another server scrapes and
	// whose series arrive by remote write: its URL and interval are not known.
	Remote bool `json:"remote,omitempty"`
}

// TargetError says why a target is down.
type TargetError struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// TargetDialect is a dialect that was recognised at a target and by which
// metrics.
type TargetDialect struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Matched  []string `json:"matched"`
	Versions string   `json:"versions,omitempty"`
}

// RulesStatus is the health of the live rules.
type RulesStatus struct {
	IntervalSeconds float64     `json:"interval_seconds"`
	Groups          []RuleGroup `json:"groups"`
}

// RuleGroup is one group of rules that are evaluated together.
type RuleGroup struct {
	Name                string  `json:"name"`
	Rules               int     `json:"rules"`
	LastEvaluation      Moment  `json:"last_evaluation"`
	LastDurationSeconds float64 `json:"last_duration_seconds"`
	// Failed counts rules whose last evaluation failed.
	Failed    int    `json:"failed"`
	LastError string `json:"last_error,omitempty"`
}

// StorageStatus describes the series store.
type StorageStatus struct {
	Dir              string  `json:"dir"`
	Series           uint64  `json:"series"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	Bytes            int64   `json:"bytes"`
	WALBytes         int64   `json:"wal_bytes"`
	Oldest           Moment  `json:"oldest"`
	Newest           Moment  `json:"newest"`
	RetentionSeconds float64 `json:"retention_seconds"`
	// Quarantined is what was set aside because it was damaged.
	Quarantined []QuarantinedPart `json:"quarantined"`
	ReadOnly    bool              `json:"read_only"`
}

// QuarantinedPart is one damaged piece of the store, and the stretch of time
// that it held as far as known.
type QuarantinedPart struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	From   Moment `json:"from"`
	To     Moment `json:"to"`
}

// IngestStatus says who writes, and what was refused.
type IngestStatus struct {
	Sources []IngestSource `json:"sources"`
	// Dropped counts samples that were not stored, by reason.
	Dropped map[string]float64 `json:"dropped"`
}

// IngestSource is one writer with its series limit.
type IngestSource struct {
	Name    string `json:"name"`
	Series  int    `json:"series"`
	Limit   int    `json:"limit"`
	Refused uint64 `json:"refused"`
	// Label is the label that takes ever new values, when one does.
	Label string `json:"label,omitempty"`
}

// StatusAnswer is everything that the status page shows.
type StatusAnswer struct {
	Version       string             `json:"version"`
	GoVersion     string             `json:"go_version"`
	Started       Moment             `json:"started"`
	UptimeSeconds float64            `json:"uptime_seconds"`
	Role          string             `json:"role"`
	Ready         bool               `json:"ready"`
	Parts         []health.Part      `json:"parts"`
	Conditions    []health.Condition `json:"conditions"`
	Targets       []TargetStatus     `json:"targets"`
	Rules         RulesStatus        `json:"rules"`
	Storage       StorageStatus      `json:"storage"`
	Ingest        IngestStatus       `json:"ingest"`
}

func (a *API) serveStatus(w http.ResponseWriter, r *http.Request) {
	d := a.deps
	ready, _ := d.Health.Ready()
	ans := StatusAnswer{
		Version: a.cfg.Version, GoVersion: runtime.Version(), Started: Moment{a.started},
		UptimeSeconds: a.now().Sub(a.started).Round(time.Millisecond).Seconds(), Role: a.cfg.Role, Ready: ready,
		Parts: d.Health.Parts(), Conditions: d.Health.Conditions(),
		Targets: d.Targets(), Rules: d.RuleSet(), Storage: d.Storage(), Ingest: d.Ingest(),
	}
	// Lists are never null: an empty one means that there is nothing.
	if ans.Targets == nil {
		ans.Targets = []TargetStatus{}
	}
	for i := range ans.Targets {
		if ans.Targets[i].Dialects == nil {
			ans.Targets[i].Dialects = []TargetDialect{}
		}
	}
	if ans.Rules.Groups == nil {
		ans.Rules.Groups = []RuleGroup{}
	}
	if ans.Storage.Quarantined == nil {
		ans.Storage.Quarantined = []QuarantinedPart{}
	}
	if ans.Ingest.Sources == nil {
		ans.Ingest.Sources = []IngestSource{}
	}
	if ans.Ingest.Dropped == nil {
		ans.Ingest.Dropped = map[string]float64{}
	}
	writeData(w, r, ans, nil)
}
