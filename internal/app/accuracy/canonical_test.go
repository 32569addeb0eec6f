package accuracy

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"
	"time"

	"sightline/internal/loadgen"
	"sightline/internal/model"
	"sightline/internal/signals"
)

// labels narrows a signal to one entity.
type labels map[string]string

// canonical reads one value of a canonical signal at a time, NaN when there is
// none. by splits the level further, as the Model page does in one click.
func (d *demo) canonical(signal string, at time.Time, want labels, by ...string) float64 {
	d.t.Helper()
	v := math.NaN()
	n := 0
	for _, s := range d.series(signal, model.TimeRange{Start: at, End: at}, by...) {
		if has(s.Labels, want) {
			v, n = s.Points[len(s.Points)-1].V, n+1
		}
	}
	if n > 1 {
		d.t.Errorf("%s %v: %d series match, want one", signal, want, n)
	}
	return v
}

func (d *demo) series(signal string, r model.TimeRange, by ...string) []model.Series {
	d.t.Helper()
	ss, err := d.cat.Range(context.Background(), d.store, signals.RangeRequest{
		Signal: signal, By: by, Time: r, Step: second,
		Options: signals.Options{Window: d.o.window, Interval: ruleInterval, ScrapeInterval: scrapeEvery},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return ss
}

// meanOver is the mean of a gauge's samples over a window.
func (d *demo) meanOver(signal string, w model.TimeRange, want labels) float64 {
	d.t.Helper()
	sum, n := 0.0, 0
	for _, s := range d.series(signal, w) {
		if !has(s.Labels, want) {
			continue
		}
		for _, p := range s.Points {
			sum, n = sum+p.V, n+1
		}
	}
	return sum / float64(n)
}

func has(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// log is the load generator's own summary of the requests that keep wants.
func (d *demo) log(w model.TimeRange, keep func(*loadgen.Record) bool) loadgen.Summary {
	d.t.Helper()
	rs, lost := d.load.Records()
	if lost > 0 {
		d.t.Fatalf("%d records left the log's memory before they were read", lost)
	}
	return loadgen.Summarise(loadgen.Select(rs, keep), w)
}

func ofPlan(name string) func(*loadgen.Record) bool {
	return func(r *loadgen.Record) bool { return r.Plan == name }
}

// rank gives the range in which a quantile of the log lies when it is read at
// any moment up to late before the window's end: a summary has the age of the
// scrape that brought it.
func (d *demo) rank(w model.TimeRange, late time.Duration, q float64, keep func(*loadgen.Record) bool) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for back := time.Duration(0); back <= late; back += 50 * time.Millisecond {
		v := d.log(model.TimeRange{Start: w.Start.Add(-back), End: w.End.Add(-back)}, keep).Latency.Rank(q)
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	return lo, hi
}

// overlap is the mean number of requests in the server, by the log: the time
// that requests spent open inside w over its length.
func (d *demo) overlap(w model.TimeRange, keep func(*loadgen.Record) bool) float64 {
	rs, _ := d.load.Records()
	open := time.Duration(0)
	for _, r := range loadgen.Select(rs, keep) {
		if r.Dropped {
			continue
		}
		from, to := r.Sent, r.Done
		if from.Before(w.Start) {
			from = w.Start
		}
		if to.After(w.End) {
			to = w.End
		}
		if to.After(from) {
			open += to.Sub(from)
		}
	}
	return open.Seconds() / w.Duration().Seconds()
}

// quantiles of the canonical names.
var quantiles = []struct {
	op string
	q  float64
}{{"p50", .5}, {"p90", .9}, {"p95", .95}, {"p99", .99}}

// ttftBounds and tokenBounds are the buckets of the chat engine's histograms
// (vLLM's): a quantile read from them is known to a bucket.
var (
	ttftBounds    = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBounds   = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBounds = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

func TestAccuracyOfTheModelPage(t *testing.T) {
	d := start(t, options{
		chat:   true,
		window: time.Minute,
		vision: loadgen.VisionPlan{
			Traffic:        loadgen.Traffic{Rate: 10},
			Versions:       []loadgen.Choice[string]{{Value: "1", Weight: 3}, {Value: "2", Weight: 1}},
			Items:          []loadgen.Choice[int]{{Value: 1, Weight: 4}, {Value: 2, Weight: 1}},
			ImpatientShare: .1,
		},
		talk: loadgen.ChatPlan{Traffic: loadgen.Traffic{Rate: 0.7}, AbandonShare: .05},
	})
	begin := time.Now()
	waitUntil(t, begin.Add(68*second))
	at := time.Now().Truncate(time.Millisecond)
	w := model.TimeRange{Start: at.Add(-time.Minute), End: at}
	waitUntil(t, at.Add(2*second)) // requests that ended inside the window are in the log by now

	r := &report{t: t}
	checkVision(d, r, at, w)
	checkChat(d, r, at, w)
	checkCards(d, r, at, w)
	checkRecorded(d, r, at)
	checkPage(d, r, at, w)
	r.done()
}

// stale is how old a scraped value may be: one interval and the scrape itself.
const stale = scrapeEvery + 200*time.Millisecond

func checkVision(d *demo, r *report, at time.Time, w model.TimeRange) {
	plan := ofPlan("vision")
	s := d.log(w, plan)
	r.t.Logf("vision by the log: %d requests, %v, batch %.3f, latency mean %.2f ms p99 %.2f ms, lag p99 %.2f ms, phases %s", s.Requests, s.ByKind, s.BatchSize, 1e3*s.Latency.Mean, 1e3*s.Latency.P99, 1e3*s.Lag.P99, phases(s))
	of := labels{"service": "vision", "model": imageModel}
	get := func(signal string) float64 { return d.canonical(signal, at, of) }
	one := 1 / w.Duration().Seconds()
	crowd, tail := d.allowance(s)
	r.within("model:requests:rate", get("model:requests:rate"), s.Rate, .03, one)
	r.within("model:errors:ratio", get("model:errors:ratio"), s.ErrorRatio, .03, 1.5/float64(s.Requests))
	r.within("model:errors:rate{kind=timeout}", d.canonical("model:errors:rate", at, labels{"model": imageModel, "kind": "timeout"}), float64(s.ByKind[model.ErrorTimeout])*one, .03, 1.5*one)
	r.within("model:request_latency_seconds:mean", get("model:request_latency_seconds:mean"), s.Latency.Mean, .03, crowd)
	r.within("model:queue_latency_seconds:mean", get("model:queue_latency_seconds:mean"), s.Phases["queue"].Mean, .03, 5e-5)
	r.within("model:compute_input_seconds:mean", get("model:compute_input_seconds:mean"), s.Phases["compute_input"].Mean, .03, 5e-5)
	r.within("model:compute_latency_seconds:mean", get("model:compute_latency_seconds:mean"), s.Phases["compute_infer"].Mean, .03, 0)
	r.within("model:compute_output_seconds:mean", get("model:compute_output_seconds:mean"), s.Phases["compute_output"].Mean, .03, 5e-5)
	r.within("queue share (queue mean / latency mean)", get("model:queue_latency_seconds:mean")/get("model:request_latency_seconds:mean"), s.QueueShare, 0, .02+crowd/s.Latency.Mean*s.QueueShare)
	r.within("model:batch_size:mean", get("model:batch_size:mean"), s.BatchSize, .02, 0)
	r.within("model:inflight:last (Little's law)", get("model:inflight:last"), d.overlap(w, func(x *loadgen.Record) bool { return plan(x) && x.OK() }), .05, crowd*s.Rate)
	waiting := d.meanOver("model:waiting:last", w, of)
	r.within("model:waiting:last, mean of the window", waiting, s.Rate*s.Phases["queue"].Mean, .5, .15)
	r.within("model:batch_limit:last", get("model:batch_limit:last"), 8, 0, 0)
	r.within("model:batch_window_seconds:last", get("model:batch_window_seconds:last"), .005, 0, 1e-9)

	// The phases, what the server reports besides and the client's own transfers sum up to the client's time.
	sum := s.Phases["receive"].Mean + d.way(w)
	for _, name := range []string{"queue_latency_seconds", "compute_input_seconds", "compute_latency_seconds", "compute_output_seconds"} {
		sum += get("model:" + name + ":mean")
	}
	r.within("queue + input + compute + output + transfers = end to end", sum, s.Latency.Mean, .02, crowd)

	for _, q := range quantiles {
		for i := range 2 {
			for _, version := range []string{"1", "2"} {
				keep := func(x *loadgen.Record) bool { return plan(x) && x.Instance == instanceName(i) && x.Version == version }
				lo, hi := d.rank(w, stale, q.q, keep)
				name := "instance:request_latency_seconds:" + q.op
				// The server's clock starts after the body is read: 3 % and 1.5 ms.
				r.between(fmt.Sprintf("%s %s v%s", name, instanceName(i), version), d.canonical(name, at, labels{"instance": instanceName(i), "model": imageModel, "version": version}), max(lo*.97-.0015-tail, lo/2), hi*1.005)
			}
		}
	}
	for _, by := range []string{"version", "instance"} {
		rs, _ := d.load.Records()
		key := loadgen.ByVersion
		if by == "instance" {
			key = loadgen.ByInstance
		}
		groups := loadgen.Group(loadgen.Select(rs, func(x *loadgen.Record) bool { return plan(x) && x.OK() }), key)
		for _, name := range sorted(groups) {
			g := loadgen.Summarise(groups[name], w)
			want := labels{"model": imageModel, by: name}
			r.within(fmt.Sprintf("model:request_latency_seconds:mean by %s=%s", by, name), d.canonical("model:request_latency_seconds:mean", at, want, by), g.Latency.Mean, .03, crowd)
			r.within(fmt.Sprintf("model:batch_size:mean by %s=%s", by, name), d.canonical("model:batch_size:mean", at, want, by), g.BatchSize, .02, 0)
		}
	}
}

func checkChat(d *demo, r *report, at time.Time, w model.TimeRange) {
	plan := ofPlan("chat")
	all := d.log(w, plan)
	rs, _ := d.load.Records()
	// vLLM times requests whose client left like all others, so do we here. The
	// tokens of an abandoned answer are those that arrived.
	for i := range rs {
		if x := &rs[i]; x.Abandoned {
			x.Error = ""
			x.Tokens = &loadgen.Usage{Output: len(x.TokenGaps) + 1}
		}
	}
	s := loadgen.Summarise(loadgen.Select(rs, plan), w)
	r.t.Logf("chat by the log: %d requests, %v, latency mean %.1f ms p99 %.1f ms, first token p99 %.1f ms, gap mean %.2f ms, phases %s", all.Requests, all.ByKind, 1e3*s.Latency.Mean, 1e3*s.Latency.P99, 1e3*s.FirstToken.P99, 1e3*s.TokenGap.Mean, phases(s))
	of := labels{"service": "chat", "model": chatModel}
	get := func(signal string) float64 { return d.canonical(signal, at, of) }
	one := 1 / w.Duration().Seconds()
	crowd, tail := d.allowance(s)
	r.within("model:requests:rate", get("model:requests:rate"), all.Rate, .03, 1.5*one)
	r.within("model:errors:ratio", get("model:errors:ratio"), all.ErrorRatio, .03, 1.5/float64(all.Requests))
	r.within("model:request_latency_seconds:mean", get("model:request_latency_seconds:mean"), s.Latency.Mean, .03, crowd)
	r.within("model:ttft_seconds:mean", get("model:ttft_seconds:mean"), s.FirstToken.Mean, .05, .002+crowd)
	r.within("model:inter_token_seconds:mean", get("model:inter_token_seconds:mean"), s.TokenGap.Mean, .05, crowd/2)
	r.within("model:queue_latency_seconds:mean", get("model:queue_latency_seconds:mean"), s.Phases["queue"].Mean, .05, .001)
	r.within("queue + prefill + decode = end to end", get("model:queue_latency_seconds:mean")+get("model:compute_input_seconds:mean")+get("model:compute_latency_seconds:mean"), s.Latency.Mean, .02, crowd)
	for _, q := range quantiles {
		quantile(r, d, at, "model:ttft_seconds:"+q.op, of, ttftBounds, s.FirstToken.Rank(q.q), tail)
		quantile(r, d, at, "model:inter_token_seconds:"+q.op, of, tokenBounds, s.TokenGap.Rank(q.q), tail)
		quantile(r, d, at, "model:request_latency_seconds:"+q.op, of, requestBounds, s.Latency.Rank(q.q), tail)
	}
	r.within("model:tokens_in:rate", get("model:tokens_in:rate"), tokensIn(all), .05, 2*float64(all.TokensIn)/float64(max(all.TokensKnown, 1))*one)
	r.within("model:tokens_out:rate", get("model:tokens_out:rate"), s.TokensOutRate, .05, 0)
	r.within("model:tokens_cached:rate", get("model:tokens_cached:rate"), float64(all.TokensCached)*one, .08, 100*one)
	open := d.overlap(w, plan)
	r.within("model:inflight:last, mean of the window", d.meanOver("model:inflight:last", w, of), open, .35, .2)
	r.within("model:batch_size:mean (running sequences)", get("model:batch_size:mean"), open, .35, .2)
	waiting := d.meanOver("model:waiting:last", w, of)
	r.within("model:waiting:last, mean of the window", waiting, s.Rate*s.Phases["queue"].Mean, .5, .2)
}

// tokensIn adds what the log cannot know: prompts of requests without usage
// are as long as the others on average.
func tokensIn(s loadgen.Summary) float64 {
	return s.TokensInRate * float64(s.Requests) / float64(s.TokensKnown)
}

// quantile checks that a value read from buckets lies in the bucket of the
// log's exact quantile, with room for the way between client and server: 3 %
// and 2 ms.
func quantile(r *report, d *demo, at time.Time, name string, of labels, bounds []float64, exact, tail float64) {
	r.t.Helper()
	lo, _ := bucket(bounds, max(exact*.97-.002-tail, exact/2))
	_, hi := bucket(bounds, exact*1.01)
	r.between(fmt.Sprintf("%s (log %.1f ms)", name, 1e3*exact), d.canonical(name, at, of), lo, hi)
}

func checkCards(d *demo, r *report, _ time.Time, w model.TimeRange) {
	for i, card := range d.cards {
		uuid := card.UUID()
		own := d.busy[i].mean(w)
		r.within(fmt.Sprintf("gpu:busy:ratio of card %d against the card's account", i), d.meanOver("gpu:busy:ratio", w, labels{"gpu": uuid}), own, .1, .02)
		s := card.Snapshot()
		r.within(fmt.Sprintf("gpu:memory_total_bytes:last of card %d", i), d.canonical("gpu:memory_total_bytes:last", w.End, labels{"gpu": uuid}), float64(s.MemoryTotal), 0, 2<<20)
	}
	// What the engines reported per request, every execution counted once, is
	// the time their cards were busy.
	for i := range d.images {
		rs, _ := d.load.Records()
		work := 0.0
		for _, x := range rs {
			if x.Instance != instanceName(i) || !x.OK() || x.Done.Before(w.Start) || x.Done.After(w.End) {
				continue
			}
			work += (x.Timings["compute_infer"]) * float64(x.Items) / x.BatchSize
		}
		r.within(fmt.Sprintf("gpu:busy:ratio of card %d against the requests' compute", i), d.meanOver("gpu:busy:ratio", w, labels{"gpu": d.cards[i].UUID()}), work/w.Duration().Seconds(), .1, .01)
	}
}

func phases(s loadgen.Summary) string {
	var out []string
	for _, name := range sorted(s.Phases) {
		out = append(out, fmt.Sprintf("%s %.3f ms", name, 1e3*s.Phases[name].Mean))
	}
	return strings.Join(out, ", ")
}

func sorted[T any](m map[string]T) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
