package accuracy

import (
	"context"
	"fmt"
	"time"

	"sightline/internal/model"
	"sightline/internal/ruler"
)

// ruleInterval is how often the live rules record here.
const ruleInterval = 2 * second

// follow gives the ruler the dialects that the scraped targets speak, as the
// product does, until ctx ends.
func (d *demo) follow(ctx context.Context, r *ruler.Ruler) {
	tick := time.NewTicker(second)
	defer tick.Stop()
	for {
		known := map[string]bool{}
		for _, t := range d.scrapes.Targets() {
			for _, x := range d.cat.Recognise(d.scrapes.MetricNames(t.ID)) {
				known[x.Dialect] = true
			}
		}
		if err := r.SetDialects(sorted(known)); err != nil {
			d.t.Errorf("rules: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// checkRecorded compares what the live rules wrote, which is what the console
// reads, with the same expression evaluated at the moment of each sample. The
// rest of the test checks that expression against the log.
func checkRecorded(d *demo, r *report, at time.Time) {
	compared := 0
	for _, s := range d.cat.All() {
		for _, l := range s.Levels {
			name := s.At(l)
			times, err := d.store.QueryInstant(context.Background(), fmt.Sprintf("timestamp(%s)", name), at)
			if err != nil {
				d.t.Fatal(err)
			}
			values, err := d.store.QueryInstant(context.Background(), name, at)
			if err != nil {
				d.t.Fatal(err)
			}
			compared += len(values)
			d.recordedOnce(r, name, times, values)
		}
	}
	// Three dialects, four instances and versions, three cards.
	r.between("canonical series recorded by the live rules", float64(compared), 150, 2000)
}

func (d *demo) recordedOnce(r *report, name string, times, values []model.Series) {
	key := func(ls map[string]string) string {
		out := ""
		for _, k := range sorted(ls) {
			if k != "__name__" && ls[k] != "" {
				out += k + "=" + ls[k] + " "
			}
		}
		return out
	}
	when := map[string]time.Time{}
	for _, s := range times {
		when[key(s.Labels)] = time.UnixMilli(int64(s.Points[0].V * 1000))
	}
	again := map[time.Time][]model.Series{}
	for _, s := range values {
		k := key(s.Labels)
		at, ok := when[k]
		if !ok {
			r.line(name, false, "has no time: "+k)
			continue
		}
		if again[at] == nil {
			again[at] = d.series(name, model.TimeRange{Start: at, End: at})
		}
		found := false
		for _, x := range again[at] {
			if key(x.Labels) != k {
				continue
			}
			found = true
			got, want := s.Points[0].V, x.Points[0].V
			if got != want && !(got != got && want != want) { // both may be NaN
				r.within("recorded "+name+" "+k, got, want, .005, 1e-12)
			}
		}
		if !found {
			r.line("recorded "+name, false, "is not what Range gives: "+k)
		}
	}
}
