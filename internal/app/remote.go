package app

import (
	"context"
	"sort"
	"sync"
	"time"

	"sightline/internal/api"
	"sightline/internal/model"
	"sightline/internal/signals"
)

// remoteTargets lists what others scrape and send here: every target leaves an
// up series. The list is asked for at most every remoteEvery.
type remoteTargets struct {
	store instantQuerier
	cat   *signals.Catalogue

	mu   sync.Mutex
	at   time.Time
	list []api.TargetStatus
}

const (
	remoteEvery = 5 * time.Second
	// maxRemoteTargets bounds the list on the status page.
	maxRemoteTargets = 5000
)

// except gives the remote targets without those that are scraped here, named by
// instance and address.
func (r *remoteTargets) except(local map[[2]string]bool) []api.TargetStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) >= remoteEvery {
		r.list, r.at = r.ask(), time.Now()
	}
	var out []api.TargetStatus
	for _, t := range r.list {
		if !local[[2]string{t.Instance, t.ScrapeAddress}] {
			out = append(out, t)
		}
	}
	return out
}

func (r *remoteTargets) ask() []api.TargetStatus {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	now := time.Now()
	ups, err := r.store.QueryInstant(ctx, "up", now)
	if err != nil {
		return r.list // the last one is better than none
	}
	spoken := map[[2]string][]api.TargetDialect{}
	for _, d := range r.cat.Dialects() {
		found, err := r.store.QueryInstant(ctx, d.Probe(model.LabelInstance, model.LabelScrapeAddress), now)
		if err != nil {
			continue
		}
		for _, s := range found {
			k := [2]string{s.Labels[model.LabelInstance], s.Labels[model.LabelScrapeAddress]}
			spoken[k] = append(spoken[k], api.TargetDialect{Name: d.Name, Title: d.Title})
		}
	}
	var out []api.TargetStatus
	for _, s := range ups {
		if len(out) == maxRemoteTargets || len(s.Points) == 0 {
			break
		}
		l := s.Labels
		t := api.TargetStatus{
			ID: "remote " + l["job"] + " " + l[model.LabelInstance] + " " + l[model.LabelScrapeAddress], Remote: true,
			Job: l["job"], Service: l[model.LabelService], Instance: l[model.LabelInstance], Node: l[model.LabelNode], ScrapeAddress: l[model.LabelScrapeAddress],
			Health: "down", LastScrape: api.Moment{Time: time.UnixMilli(s.Points[0].T)}, Simulated: l[model.LabelSimulated] == "true",
			Dialects: spoken[[2]string{l[model.LabelInstance], l[model.LabelScrapeAddress]}],
		}
		if s.Points[0].V == 1 {
			t.Health = "up"
		} else {
			t.Error = &api.TargetError{Code: "target_down_remotely", Text: "whoever scrapes this target reports that it is down", Hint: "look at that agent's own page or log for the reason"}
		}
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}
