package signals

import (
	"fmt"
	"slices"
	"strings"

	"sightline/internal/model"
)

// Info series: value 1, the facts are in the labels.
const (
	// SignalSource says which source a canonical series was taken from:
	// signal, source and the entity's identity.
	SignalSource = "sightline_signal_source"
	// InstanceDialect is one series for each model version on an instance:
	// dialect and the instance's identity. It exists while the target does.
	InstanceDialect = "sightline_instance_dialect"
	// GPUInfo is one series for each card: the card's identity.
	GPUInfo = "sightline_gpu"
	// GPUIdentity is exactly one series for each card that an exporter sees: the
	// identity that its canonical series carry.
	GPUIdentity = "sightline_gpu_identity"
	// GPUPod says which pods a card is given to: gpu, node, namespace, pod.
	GPUPod = "sightline_gpu_pod"
	// EngineGPU says which cards an engine names itself: instance and gpu.
	EngineGPU = "sightline_engine_gpu"
	// InstanceGPU says which cards serve which instance: instance, service,
	// namespace, pod, gpu, and via, which is pod, gpu_uuid or lone_engine.
	InstanceGPU = "sightline_instance_gpu"
	// GPUOwnerCandidates counts the engines without a known card that may own a
	// card which nothing names: gpu, node. Above 1 the owner is ambiguous and none is guessed.
	GPUOwnerCandidates = "sightline_gpu_owner_candidates"
	// DialectEvaluated is 1 at each moment at which the rules of a dialect ran;
	// where it is missing, canonical series have a hole.
	DialectEvaluated = "sightline_dialect_evaluated"
)

// engine identifies an engine process, without the models on it.
var engine = []string{"cluster", "region", "namespace", "service", "instance", "pod", "node"}

// relation is an info series with its expression over native series and over
// other relations, which it names.
type relation struct {
	name string
	expr string
}

// relations compiles the info series of some dialects in the order of their
// dependence.
func (c *Catalogue) relations(ds []*Dialect, o Options) []relation {
	var servers, cards, pods, owns []string
	for _, d := range ds {
		presence := d.expand(d.presence, identity[d.Level()], "", "max", o)
		if d.Level() == model.LevelGPU {
			cards = append(cards, presence)
		} else {
			servers = append(servers, fmt.Sprintf(`label_replace(%s, "dialect", %q, "", "")`, presence, d.Name))
		}
		if d.podOfGPU != "" {
			// vector(1) has no pod: unless drops the cards that no pod has.
			pods = append(pods, d.expand(d.podOfGPU, identity[model.LevelGPU], "", "max", o)+" unless on (pod) vector(1)")
		}
		if d.ownsGPU != "" {
			owns = append(owns, d.expand(d.ownsGPU, append(slices.Clone(engine), "gpu"), "", "max", o))
		}
	}
	none := "vector(1) == 0"
	union := func(parts []string) string {
		if len(parts) == 0 {
			return none
		}
		return "(" + strings.Join(parts, ") or (") + ")"
	}
	e := strings.Join(engine, ", ")
	engines := fmt.Sprintf("group by (%s) (%s)", e, InstanceDialect)
	alone := func(which, on string) string {
		return fmt.Sprintf("((%[1]s) and on (%[2]s) (count by (%[2]s) (%[1]s) == 1))", which, on)
	}
	// An engine whose cards are known wants no other card: what is left over
	// on its node is idle.
	homeless := fmt.Sprintf("(%s unless on (cluster, namespace, pod) %s unless on (cluster, instance) %s)", engines, GPUPod, EngineGPU)
	via := func(how, expr string) string { return fmt.Sprintf(`label_replace(%s, "via", %q, "", "")`, expr, how) }
	unclaimed := fmt.Sprintf("(%s unless on (gpu) %s unless on (gpu) %s)", GPUInfo, GPUPod, EngineGPU)
	return []relation{
		{InstanceDialect, union(servers)},
		{GPUInfo, union(cards)},
		{GPUPod, union(pods)},
		{EngineGPU, union(owns)},
		{InstanceGPU, fmt.Sprintf("%s or on (gpu, instance) %s or on (gpu, instance) %s",
			via("pod", fmt.Sprintf("%s * on (cluster, namespace, pod) group_left (service, instance, region) %s", GPUPod, alone(engines, "cluster, namespace, pod"))),
			via("gpu_uuid", EngineGPU),
			via("lone_engine", fmt.Sprintf("%s * on (cluster, node) group_left (namespace, service, instance, pod) %s", unclaimed, alone(homeless, "cluster, node"))))},
		{GPUOwnerCandidates, fmt.Sprintf("group by (cluster, node, gpu) (%s) * on (cluster, node) group_left () count by (cluster, node) (%s)", unclaimed, homeless)},
	}
}

func (c *Catalogue) relationRules(ds []*Dialect, o Options) []Rule {
	var out []Rule
	for _, d := range ds {
		out = append(out, Rule{Record: DialectEvaluated, Expr: "vector(1)", Labels: map[string]string{"dialect": d.Name}})
	}
	for _, r := range c.relations(ds, o) {
		out = append(out, Rule{Record: r.name, Expr: r.expr})
	}
	return out
}

// Relation compiles an info series into one expression over native series
// alone; an unknown name gives "".
func (c *Catalogue) Relation(name string, dialects []string, o Options) string {
	done := map[string]string{}
	for _, r := range c.relations(c.pick(dialects), o) {
		expr := r.expr
		for _, dep := range sortedKeys(done) {
			expr = replaceName(expr, dep, done[dep])
		}
		done[r.name] = expr
		if r.name == name {
			return expr
		}
	}
	return ""
}

// replaceName puts an expression in the place of a metric name. Names of
// relations may begin with one another, so a name counts only where it ends.
func replaceName(expr, name, with string) string {
	var b strings.Builder
	for {
		i := strings.Index(expr, name)
		if i < 0 {
			b.WriteString(expr)
			return b.String()
		}
		end := i + len(name)
		if end < len(expr) && (expr[end] == '_' || expr[end] >= 'a' && expr[end] <= 'z') {
			b.WriteString(expr[:end])
		} else {
			b.WriteString(expr[:i] + "(" + with + ")")
		}
		expr = expr[end:]
	}
}
