package query

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// nowSignals are read for every row at once.
var nowSignals = []string{
	"model:requests:rate", "model:errors:ratio",
	"model:request_latency_seconds:p50", "model:request_latency_seconds:p99", "model:request_latency_seconds:mean",
	"model:ttft_seconds:p99", "model:ttft_seconds:mean", "model:queue_latency_seconds:mean", "model:waiting:last",
	"gpu:busy:ratio", "gpu:memory_used_bytes:last", "gpu:memory_total_bytes:last",
}

// rowFacts is what the relations know of one model of one service.
type rowFacts struct {
	labels                        map[string]string
	dialects, versions, instances map[string]bool
	gpus                          map[string]bool
	ambiguous                     bool
	live                          bool
	// warming is true while an instance has not been seen for a whole window.
	warming bool
}

// Now answers one row per model and service. Rows of models that were there
// within the window and are gone stay, marked stale.
func (q *Query) Now(ctx context.Context, req NowRequest) (NowAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.o.Timeout)
	defer cancel()
	at := q.at(req.At)
	if req.Window <= 0 {
		req.Window = time.Hour
	}
	if req.Points <= 0 {
		req.Points = 60
	}
	if req.Points > q.o.MaxPoints {
		return NowAnswer{}, tooManyPoints(req.Points, q.o.MaxPoints)
	}
	step := roundUp(req.Window/time.Duration(req.Points), q.o.Signals.Interval)
	ans := NowAnswer{At: seconds(at), WindowSeconds: req.Window.Seconds(), StepSeconds: step.Seconds(), Rows: []NowRow{}}
	a := &answering{}
	var (
		s     snapshot
		seen  []model.Series
		spark grid
		young []model.Series
	)
	q.each(
		func() { s = q.snap(ctx, a, nowSignals, at) },
		func() {
			var err error
			young, err = q.store.QueryInstant(ctx, fmt.Sprintf("%[1]s unless %[1]s offset %[2]ds", signals.InstanceDialect, int(q.window().Seconds())), at)
			a.note("which instances are new", err)
		},
		func() {
			// The last point is now and not the last full step: a server that
			// was started half a minute ago has something to show.
			end := at.Truncate(q.o.Signals.Interval)
			r := model.TimeRange{Start: end.Add(-step * time.Duration(req.Points-1)), End: end}
			var err error
			spark, err = q.lines(ctx, lineRequest{full: "model:requests:rate", r: r, step: step})
			a.note("the sparklines", err)
		},
	)
	id := signals.Identity(model.LevelModel)
	if gone(spark, s, id) {
		// Reading an hour of presence costs more than all the rest, so it is
		// done only when some model has a past but no present.
		var err error
		seen, err = q.store.QueryInstant(ctx, fmt.Sprintf("last_over_time(%s[%ds])", signals.InstanceDialect, int(req.Window.Seconds())), at)
		a.note("rows that are gone", err)
	}
	if err := a.err(); err != nil {
		return ans, err
	}
	rows := q.rows(s, seen, req.Filter)
	for _, x := range young {
		if f := rows[keyOf(x.Labels, id)]; f != nil {
			f.warming = true
		}
	}
	idx := map[string]map[string]model.Series{}
	for _, n := range nowSignals {
		idx[n] = s.index(q, n)
		s.cards[n] = map[string]string{}
		for key, x := range idx[n] {
			if gpu := x.Labels["gpu"]; gpu != "" {
				s.cards[n][gpu] = key
			}
		}
	}
	sparks := map[string][]*float64{}
	for _, l := range spark.lines {
		sparks[keyOf(l.Labels, id)] = l.Values
	}
	for key, f := range rows {
		ans.Rows = append(ans.Rows, q.row(ctx, &s, idx, key, f, spark, sparks[key]))
	}
	sort.Slice(ans.Rows, func(i, j int) bool {
		x, y := ans.Rows[i], ans.Rows[j]
		if x.ID != y.ID {
			return x.ID < y.ID
		}
		return x.Cluster+x.Region+x.Namespace < y.Cluster+y.Region+y.Namespace
	})
	unique(ans.Rows)
	ans.Warnings = a.warnings
	return ans, nil
}

// gone tells whether a sparkline belongs to a model that is not there now.
func gone(spark grid, s snapshot, id []string) bool {
	live := map[string]bool{}
	for _, x := range s.series[signals.InstanceDialect] {
		live[keyOf(x.Labels, id)] = true
	}
	return slices.ContainsFunc(spark.lines, func(l Line) bool { return !live[keyOf(l.Labels, id)] })
}

// unique prefixes ids that two rows would share.
func unique(rows []NowRow) {
	n := map[string]int{}
	for _, r := range rows {
		n[r.ID]++
	}
	for i, r := range rows {
		if n[r.ID] > 1 {
			rows[i].ID = r.Cluster + "/" + r.Region + "/" + r.Namespace + "/" + r.ID
		}
	}
}

// rows groups the relations by model and service.
func (q *Query) rows(s snapshot, seen []model.Series, filter Filter) map[string]*rowFacts {
	want, beyond := filter.labels(model.LevelModel)
	id := signals.Identity(model.LevelModel)
	rows := map[string]*rowFacts{}
	byInstance := map[string][]*rowFacts{}
	nodes := map[string][]*rowFacts{}
	add := func(x model.Series, live bool) {
		if !has(x.Labels, want) || x.Labels["model"] == "" {
			return
		}
		k := keyOf(x.Labels, id)
		f := rows[k]
		if f == nil {
			f = &rowFacts{labels: map[string]string{}, dialects: map[string]bool{}, versions: map[string]bool{}, instances: map[string]bool{}, gpus: map[string]bool{}}
			for _, n := range id {
				f.labels[n] = x.Labels[n]
			}
			rows[k] = f
		}
		f.dialects[x.Labels["dialect"]] = true
		if live || !f.live {
			f.versions[x.Labels["version"]] = true
			f.instances[x.Labels["instance"]] = true
		}
		f.live = f.live || live
		byInstance[within(x, "instance")] = append(byInstance[within(x, "instance")], f)
		nodes[within(x, "node")] = append(nodes[within(x, "node")], f)
	}
	for _, x := range s.series[signals.InstanceDialect] {
		if has(x.Labels, onlyOf(beyond, "version", "instance", "node")) {
			add(x, true)
		}
	}
	for _, x := range seen {
		if has(x.Labels, onlyOf(beyond, "version", "instance", "node")) {
			add(x, false)
		}
	}
	for _, x := range s.series[signals.InstanceGPU] {
		for _, f := range byInstance[within(x, "instance")] {
			f.gpus[x.Labels["gpu"]] = true
		}
	}
	for _, x := range s.series[signals.GPUOwnerCandidates] {
		if x.Points[0].V > 1 {
			for _, f := range nodes[within(x, "node")] {
				f.ambiguous = true
			}
		}
	}
	if filter.GPU != "" {
		for k, f := range rows {
			if !f.gpus[filter.GPU] {
				delete(rows, k)
			}
		}
	}
	return rows
}

// within names an instance or a node in its cluster.
func within(x model.Series, label string) string {
	return x.Labels["cluster"] + "\x00" + x.Labels[label]
}

func onlyOf(m map[string]string, keys ...string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if slices.Contains(keys, k) {
			out[k] = v
		}
	}
	return out
}

func (q *Query) row(ctx context.Context, s *snapshot, idx map[string]map[string]model.Series, key string, f *rowFacts, g grid, spark []*float64) NowRow {
	l := f.labels
	row := NowRow{
		ID: l["service"] + "/" + l["model"], Cluster: l["cluster"], Region: l["region"], Namespace: l["namespace"], Service: l["service"], Model: l["model"],
		Dialects: sortedSet(f.dialects), Versions: sortedSet(f.versions), Instances: sortedSet(f.instances), GPUs: sortedSet(f.gpus),
		Spark: Spark{Signal: "model:requests:rate", Start: seconds(g.start), StepSeconds: g.step.Seconds(), Values: spark},
	}
	if row.Spark.Values == nil {
		row.Spark.Values = make([]*float64, g.n)
	}
	match := map[string]string{}
	for k, v := range l {
		if v != "" {
			match[k] = v
		}
	}
	cell := func(full string) Value { return q.cell(ctx, s, full, idx[full], key, row.Dialects, match) }
	mean := cell("model:request_latency_seconds:mean")
	orMean := func(v, mean Value) Value {
		if v.Value != nil || mean.Value == nil {
			return v
		}
		mean.Substitute = &Substitute{Op: "mean", Signal: mean.Signal}
		mean.Reason, mean.Signal, mean.Method = v.Reason, v.Signal, "mean"
		return mean
	}
	row.RequestRate = cell("model:requests:rate")
	if f.warming {
		// PromQL divides what it saw by the whole window; ratios, means and
		// quantiles are right from the second sample on.
		row.Warming = true
		if row.RequestRate.Value != nil {
			row.RequestRate.Reason = &Reason{Code: "window_filling", Text: fmt.Sprintf("an instance is known for less than the window of %s over which rates are taken: the rate still reads too low", q.window()), Remedy: "wait until the window is full"}
		}
	}
	row.ErrorRatio = cell("model:errors:ratio")
	row.LatencyP50 = orMean(cell("model:request_latency_seconds:p50"), mean)
	row.LatencyP99 = orMean(cell("model:request_latency_seconds:p99"), mean)
	row.TTFTP99 = orMean(cell("model:ttft_seconds:p99"), cell("model:ttft_seconds:mean"))
	row.Waiting = cell("model:waiting:last")
	row.QueueShare = cell("model:queue_latency_seconds:mean")
	if row.QueueShare.Value != nil {
		if mean.Value == nil || *mean.Value <= 0 {
			row.QueueShare.Value, row.QueueShare.Reason = nil, mean.Reason
		} else {
			row.QueueShare.Value = finite(*row.QueueShare.Value / *mean.Value)
		}
	}
	q.gpuCells(ctx, s, idx, f, &row)
	row.Stale = !f.live
	row.LastSample = lastSample(s.at, g, spark, f.live)
	row.Simulated = row.GPUBusy.Simulated || row.GPUMemory.Simulated
	return row
}

// lastSample is the moment asked for when the row lives, else that of the last
// point of its sparkline.
func lastSample(at time.Time, g grid, spark []*float64, live bool) float64 {
	if live {
		return seconds(at)
	}
	for i := len(spark) - 1; i >= 0; i-- {
		if spark[i] != nil {
			return seconds(g.start.Add(time.Duration(i) * g.step))
		}
	}
	return seconds(g.start)
}

// gpuCells averages busy over the row's cards and divides their memory in use
// by their memory.
func (q *Query) gpuCells(ctx context.Context, s *snapshot, idx map[string]map[string]model.Series, f *rowFacts, row *NowRow) {
	var busy, used, total float64
	var nBusy, nMem int
	var bv, mv Value
	for gpu := range f.gpus {
		if key, ok := s.cards["gpu:busy:ratio"][gpu]; ok {
			busy, nBusy = busy+idx["gpu:busy:ratio"][key].Points[0].V, nBusy+1
			bv = q.cell(ctx, s, "gpu:busy:ratio", idx["gpu:busy:ratio"], key, q.active(), nil)
		}
		key, ok := s.cards["gpu:memory_used_bytes:last"][gpu]
		if t, has := s.cards["gpu:memory_total_bytes:last"][gpu]; ok && has {
			used, total, nMem = used+idx["gpu:memory_used_bytes:last"][key].Points[0].V, total+idx["gpu:memory_total_bytes:last"][t].Points[0].V, nMem+1
			mv = q.cell(ctx, s, "gpu:memory_used_bytes:last", idx["gpu:memory_used_bytes:last"], key, q.active(), nil)
		}
	}
	row.GPUBusy, row.GPUMemory = bv, mv
	row.GPUBusy.Signal, row.GPUMemory.Signal = "gpu:busy:ratio", "gpu:memory_used_bytes:last"
	if nBusy > 0 {
		row.GPUBusy.Value = finite(busy / float64(nBusy))
	} else {
		row.GPUBusy.Reason = q.noGPU(ctx, s, "gpu:busy:ratio", f)
	}
	if nMem > 0 && total > 0 {
		row.GPUMemory.Value = finite(used / total)
	} else {
		row.GPUMemory.Value, row.GPUMemory.Reason = nil, q.noGPU(ctx, s, "gpu:memory_used_bytes:last", f)
	}
}

// window is over which rates are taken.
func (q *Query) window() time.Duration { return signals.WindowOf(q.o.Signals) }

func (q *Query) noGPU(ctx context.Context, s *snapshot, full string, f *rowFacts) *Reason {
	switch {
	case len(f.gpus) > 0:
		return q.why(ctx, full, q.active(), nil, s.at)
	case f.ambiguous:
		return ownerAmbiguous()
	}
	return ownerUnknown()
}

func ownerAmbiguous() *Reason {
	return &Reason{Code: "gpu_owner_ambiguous", Text: "several servers run on the node and nothing says which of them uses the card", Remedy: "give dcgm-exporter its Kubernetes mapping, or name the card in the target's configuration"}
}

func ownerUnknown() *Reason {
	return &Reason{Code: "gpu_unknown", Text: "no GPU is known to serve this model", Remedy: "scrape dcgm-exporter of the node that the server runs on"}
}

func roundUp(d, unit time.Duration) time.Duration {
	if unit <= 0 || d <= 0 {
		return max(unit, time.Second)
	}
	return (d + unit - 1) / unit * unit
}

func tooManyPoints(n, limit int) error {
	return &model.Problem{Code: "too_many_points", Text: fmt.Sprintf("the request asks for %d points, the limit is %d", n, limit), Hint: "ask for a longer step or a shorter range"}
}
