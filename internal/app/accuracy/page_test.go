package accuracy

import (
	"context"
	"fmt"
	"time"

	"sightline/internal/model"
	"sightline/internal/query"
	"sightline/internal/signals"
)

// pageSignals are what the Model page draws, each the last point of its line.
var pageSignals = []string{
	"model:requests:rate", "model:errors:ratio", "model:request_latency_seconds:mean", "model:request_latency_seconds:p99",
	"model:queue_latency_seconds:mean", "model:compute_latency_seconds:mean", "model:batch_size:mean", "model:tokens_in:rate", "model:tokens_out:rate",
	"model:ttft_seconds:p99", "model:inter_token_seconds:p99",
}

// checkPage asks the questions that the console asks and compares the answers
// with the log and with the expressions that the log was compared with.
func checkPage(d *demo, r *report, at time.Time, w model.TimeRange) {
	q := query.New(d.store, d.cat, query.Options{Signals: signals.Options{Window: d.o.window, Interval: ruleInterval, ScrapeInterval: scrapeEvery}})
	now, err := q.Now(context.Background(), query.NowRequest{At: at, Window: time.Minute, Points: 30})
	if err != nil {
		d.t.Fatal(err)
	}
	value := func(v query.Value) float64 {
		if v.Value == nil {
			return nan
		}
		return *v.Value
	}
	rows := 0
	for _, row := range now.Rows {
		plan := map[string]string{imageModel: "vision", chatModel: "chat"}[row.Model]
		s := d.log(w, ofPlan(plan))
		crowd, _ := d.allowance(s)
		rows++
		// The row is as old as the last evaluation: one rule interval and the
		// offset at which rules look.
		r.within("now: "+row.ID+" request rate", value(row.RequestRate), s.Rate, .05, 2.5/60)
		r.within("now: "+row.ID+" error ratio", value(row.ErrorRatio), s.ErrorRatio, .05, 2.5/float64(s.Requests))
		if plan == "vision" {
			r.within("now: "+row.ID+" queue share", value(row.QueueShare), s.QueueShare, 0, .02+crowd/s.Latency.Mean*s.QueueShare)
		}
	}
	r.between("now: rows", float64(rows), 2, 2)

	for _, of := range []query.Filter{{Service: "vision", Model: imageModel}, {Service: "chat", Model: chatModel}} {
		ans, err := q.Series(context.Background(), query.SeriesRequest{Signals: pageSignals, Filter: of, From: at.Add(-30 * second), To: at, Step: ruleInterval})
		if err != nil {
			d.t.Fatal(err)
		}
		lines := 0
		for _, s := range ans.Signals {
			for _, line := range s.Series {
				for i := len(line.Values) - 1; i >= 0; i-- {
					if line.Values[i] == nil {
						continue
					}
					lines++
					when := time.UnixMilli(int64(1000 * (ans.Start + float64(i)*ans.StepSeconds)))
					name := s.Signal
					if s.Substitute != nil && s.Substitute.Op != "" {
						r.line("page: "+name, false, "is drawn as "+s.Substitute.Op)
					}
					// The point may be one evaluation older than its place.
					lo, hi := nan, nan
					for back := time.Duration(0); back <= ruleInterval+2*second; back += 500 * time.Millisecond {
						v := d.canonical(name, when.Add(-back), labels{"model": of.Model})
						lo, hi = smaller(lo, v), -smaller(-hi, -v)
					}
					r.between(fmt.Sprintf("page: %s of %s", name, of.Model), *line.Values[i], lo*.999-1e-12, hi*1.001+1e-12)
					break
				}
			}
		}
		want := 7.
		if of.Model == chatModel {
			want = 11
		}
		r.between("page: lines of "+of.Model, float64(lines), want, 11)
	}
}
