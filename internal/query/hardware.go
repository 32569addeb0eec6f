package query

import (
	"context"
	"slices"
	"sort"
	"strconv"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// hardwareSignals are read for every card at once.
var hardwareSignals = []string{
	"gpu:busy:ratio", "gpu:memory_used_bytes:last", "gpu:memory_total_bytes:last", "gpu:power_watts:mean", "gpu:power_limit_watts:last",
	"gpu:temperature_celsius:max", "gpu:sm_clock_hertz:mean", "gpu:sm_clock_max_hertz:last", "gpu:clock_limited:ratio", "gpu:xid:rate",
}

// Hardware answers the GPU grid by node.
func (q *Query) Hardware(ctx context.Context, req HardwareRequest) (HardwareAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.o.Timeout)
	defer cancel()
	at := q.at(req.At)
	ans := HardwareAnswer{At: seconds(at), Nodes: []NodeRow{}}
	a := &answering{}
	s := q.snap(ctx, a, hardwareSignals, at)
	if err := a.err(); err != nil {
		return ans, err
	}
	idx := map[string]map[string]model.Series{}
	cards := map[string]map[string]string{}
	learn := func(labels map[string]string) {
		gpu := labels["gpu"]
		if gpu == "" {
			return
		}
		c := cards[gpu]
		if c == nil {
			c = map[string]string{}
			cards[gpu] = c
		}
		for _, k := range append(signals.Identity(model.LevelGPU), "simulated") {
			if c[k] == "" {
				c[k] = labels[k]
			}
		}
	}
	for _, x := range s.series[signals.GPUInfo] {
		learn(x.Labels)
	}
	for _, n := range hardwareSignals {
		idx[n] = s.index(q, n)
		for _, x := range idx[n] {
			learn(x.Labels)
		}
	}
	instances, models := owners(s)
	nodes := map[string][]GPURow{}
	for gpu, c := range cards {
		row := q.gpuRow(ctx, &s, idx, c)
		row.Instances, row.Models = sortedSet(instances[gpu]), sortedSet(models[gpu])
		if keepCard(req.Filter, c, instances[gpu], models[gpu]) {
			nodes[c["node"]] = append(nodes[c["node"]], row)
		}
	}
	for n, rows := range nodes {
		sort.Slice(rows, func(i, j int) bool {
			x, ex := strconv.Atoi(rows[i].GPUIndex)
			y, ey := strconv.Atoi(rows[j].GPUIndex)
			if ex == nil && ey == nil && x != y {
				return x < y
			}
			return rows[i].GPU < rows[j].GPU
		})
		ans.Nodes = append(ans.Nodes, NodeRow{Node: n, GPUs: rows})
	}
	sort.Slice(ans.Nodes, func(i, j int) bool { return ans.Nodes[i].Node < ans.Nodes[j].Node })
	ans.Warnings = a.warnings
	return ans, nil
}

// owners lists the instances and models of each card.
func owners(s snapshot) (instances, models map[string]map[string]bool) {
	instances, models = map[string]map[string]bool{}, map[string]map[string]bool{}
	on := map[string][]string{}
	for _, x := range s.series[signals.InstanceDialect] {
		on[within(x, "instance")] = append(on[within(x, "instance")], x.Labels["model"])
	}
	for _, x := range s.series[signals.InstanceGPU] {
		gpu := x.Labels["gpu"]
		if instances[gpu] == nil {
			instances[gpu], models[gpu] = map[string]bool{}, map[string]bool{}
		}
		instances[gpu][x.Labels["instance"]] = true
		for _, m := range on[within(x, "instance")] {
			models[gpu][m] = true
		}
	}
	return instances, models
}

func keepCard(f Filter, c map[string]string, instances, models map[string]bool) bool {
	in, _ := f.labels(model.LevelGPU)
	return has(c, in) && (f.Instance == "" || instances[f.Instance]) && (f.Model == "" || models[f.Model])
}

func exported(s *snapshot, gpu string) bool {
	return slices.ContainsFunc(s.series[signals.GPUInfo], func(x model.Series) bool { return x.Labels["gpu"] == gpu })
}

func (q *Query) gpuRow(ctx context.Context, s *snapshot, idx map[string]map[string]model.Series, c map[string]string) GPURow {
	row := GPURow{GPU: c["gpu"], GPUIndex: c["gpu_index"], GPUModel: c["gpu_model"], Node: c["node"], Simulated: c["simulated"] == "true", LastSample: seconds(s.at)}
	match := map[string]string{"gpu": c["gpu"]}
	live := false
	// What an exporter lacks is no reason for a card that no exporter sees.
	dialects := q.active()
	if !exported(s, c["gpu"]) {
		dialects = slices.DeleteFunc(slices.Clone(dialects), func(n string) bool {
			d, ok := q.cat.Dialect(n)
			return ok && d.Level() == model.LevelGPU
		})
	}
	cell := func(full string) Value {
		v := q.cell(ctx, s, full, idx[full], c["gpu"], dialects, match)
		live = live || v.Value != nil
		return v
	}
	row.Busy = cell("gpu:busy:ratio")
	row.MemoryUsedBytes = cell("gpu:memory_used_bytes:last")
	row.MemoryTotalBytes = cell("gpu:memory_total_bytes:last")
	row.PowerWatts = cell("gpu:power_watts:mean")
	row.PowerLimitWatts = cell("gpu:power_limit_watts:last")
	row.Temperature = cell("gpu:temperature_celsius:max")
	row.SMClockHertz = cell("gpu:sm_clock_hertz:mean")
	row.SMClockMaxHertz = cell("gpu:sm_clock_max_hertz:last")
	row.ClockLimited = cell("gpu:clock_limited:ratio")
	row.XID = cell("gpu:xid:rate")
	row.Stale = !live
	return row
}
