package app

import (
	"sightline/internal/api"
	"sightline/internal/model"
)

func (sv *server) targetStatus() []api.TargetStatus {
	var out []api.TargetStatus
	local := map[[2]string]bool{}
	for _, t := range sv.scrape.Targets() {
		local[[2]string{t.Instance, t.ScrapeAddress}] = true
		st := api.TargetStatus{
			ID: t.ID, Job: t.Job, Service: t.Service, Instance: t.Instance, Node: t.Node, URL: t.URL, ScrapeAddress: t.ScrapeAddress,
			Health: t.Health, IntervalSeconds: t.Interval.Seconds(), LastScrape: api.Moment{Time: t.LastScrape},
			SeriesLimit: int64(t.SeriesLimit), SeriesRefused: int64(t.SeriesRefused), Simulated: t.Simulated,
		}
		if p := firstProblem(t.Error, t.Warnings); p != nil {
			st.Error = &api.TargetError{Code: p.Code, Text: p.Text, Hint: p.Hint}
			if p.Err != nil {
				st.Error.Text += ": " + p.Err.Error()
			}
		}
		if !t.LastScrape.IsZero() {
			d, samples, series := t.LastDuration.Seconds(), int64(t.Samples), int64(t.Series)
			st.LastDurationSeconds, st.Samples, st.Series = &d, &samples, &series
		}
		for _, g := range sv.known.of(t.ID) {
			st.Dialects = append(st.Dialects, api.TargetDialect{Name: g.Dialect, Title: g.Title, Matched: g.Matched, Versions: g.Versions})
		}
		out = append(out, st)
	}
	return append(out, sv.remote.except(local)...)
}

// firstProblem is the failure of the scrape, else the first thing it dropped.
func firstProblem(failed *model.Problem, dropped []*model.Problem) *model.Problem {
	if failed != nil {
		return failed
	}
	if len(dropped) > 0 {
		return dropped[0]
	}
	return nil
}

func (sv *server) ruleStatus() api.RulesStatus {
	out := api.RulesStatus{IntervalSeconds: sv.interval.Seconds()}
	for _, g := range sv.rules.Health() {
		out.Groups = append(out.Groups, api.RuleGroup{Name: g.Name, Rules: g.Rules, LastEvaluation: api.Moment{Time: g.LastEvaluation},
			LastDurationSeconds: g.LastDuration.Seconds(), Failed: g.Failed, LastError: g.LastError})
	}
	return out
}

func (sv *server) storageStatus() api.StorageStatus {
	s := sv.store.Stats()
	out := api.StorageStatus{
		Dir: s.Dir, Series: s.Series, SamplesPerSecond: s.SamplesPerSecond, Bytes: s.Bytes, WALBytes: s.WALBytes,
		Oldest: api.Moment{Time: s.Oldest}, Newest: api.Moment{Time: s.Newest}, RetentionSeconds: s.Retention.Seconds(), ReadOnly: s.ReadOnly,
	}
	for _, q := range s.Quarantined {
		out.Quarantined = append(out.Quarantined, api.QuarantinedPart{Name: q.Block, Reason: q.Reason, From: api.Moment{Time: q.MinTime}, To: api.Moment{Time: q.MaxTime}})
	}
	return out
}

func (sv *server) ingestStatus() api.IngestStatus {
	out := api.IngestStatus{Dropped: map[string]float64{}}
	for _, s := range sv.guard.Sources() {
		out.Sources = append(out.Sources, api.IngestSource{Name: s.Name, Series: s.Series, Limit: s.Limit, Refused: uint64(s.Refused), Label: s.Label})
	}
	for reason, n := range sv.guard.Dropped() {
		out.Dropped[reason] = float64(n)
	}
	return out
}
