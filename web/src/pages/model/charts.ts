// The charts of the Model page as a table, in the order of the page.
import type { Ask, Chart, Group, Line } from "@/views/chart";

export const sections = ["traffic", "time", "hardware", "batching", "load", "tokens", "errors", "versions"] as const;
export type Section = (typeof sections)[number];

export interface ModelChart extends Chart {
  readonly section: Section;
}

const percentiles = (signal: string): Line[] => [
  { id: "mean", signal: `model:${signal}:mean`, slot: 20 },
  { id: "p50", signal: `model:${signal}:p50`, slot: 1 },
  { id: "p90", signal: `model:${signal}:p90`, slot: 3 },
  { id: "p95", signal: `model:${signal}:p95`, slot: 2 },
  { id: "p99", signal: `model:${signal}:p99`, slot: 4 },
];

export const charts: readonly ModelChart[] = [
  { id: "rate", section: "traffic", kind: "lines", lines: [{ id: "requests", signal: "model:requests:rate", slot: 1 }] },
  { id: "latency", section: "traffic", kind: "lines", pick: "p99", height: 160, lines: percentiles("request_latency_seconds") },
  { id: "ttft", section: "traffic", kind: "lines", pick: "p99", lines: percentiles("ttft_seconds") },
  { id: "inter_token", section: "traffic", kind: "lines", pick: "p99", lines: percentiles("inter_token_seconds") },
  {
    id: "phases", section: "time", kind: "phases", pick: "queue", height: 160,
    lines: [
      { id: "queue", signal: "model:queue_latency_seconds:mean", slot: 4 },
      { id: "compute_input", signal: "model:compute_input_seconds:mean", slot: 2 },
      { id: "compute", signal: "model:compute_latency_seconds:mean", slot: 1 },
      { id: "compute_output", signal: "model:compute_output_seconds:mean", slot: 6 },
    ],
  },
  { id: "queue", section: "time", kind: "lines", pick: "p99", lines: percentiles("queue_latency_seconds") },
  { id: "compute", section: "time", kind: "lines", pick: "p99", lines: percentiles("compute_latency_seconds") },
  { id: "gpu_busy", section: "hardware", kind: "lines", label: "gpu", lines: [{ id: "busy", signal: "gpu:busy:ratio" }] },
  {
    id: "gpu_memory", section: "hardware", kind: "lines", label: "gpu", pick: "used",
    lines: [
      { id: "used", signal: "gpu:memory_used_bytes:last" },
      { id: "total", signal: "gpu:memory_total_bytes:last", limit: true, stepped: true, slot: 20 },
    ],
  },
  {
    id: "gpu_power", section: "hardware", kind: "lines", label: "gpu", pick: "power",
    lines: [
      { id: "power", signal: "gpu:power_watts:mean" },
      { id: "power_limit", signal: "gpu:power_limit_watts:last", limit: true, stepped: true, slot: 20 },
    ],
  },
  {
    id: "batch", section: "batching", kind: "lines", pick: "batch_size",
    lines: [
      { id: "batch_size", signal: "model:batch_size:mean", slot: 1 },
      { id: "batch_limit", signal: "model:batch_limit:last", slot: 20, limit: true, stepped: true },
    ],
  },
  {
    id: "formation", section: "batching", kind: "lines", pick: "formation",
    lines: [
      { id: "formation", signal: "model:batch_formation_seconds:mean", slot: 2 },
      { id: "window", signal: "model:batch_window_seconds:last", slot: 20, limit: true, stepped: true },
    ],
  },
  {
    id: "running", section: "load", kind: "lines", pick: "waiting",
    lines: [
      { id: "inflight", signal: "model:inflight:last", slot: 7, stepped: true },
      { id: "running", signal: "model:running:last", slot: 1, stepped: true },
      { id: "waiting", signal: "model:waiting:last", slot: 4, stepped: true },
    ],
  },
  { id: "kv", section: "load", kind: "lines", lines: [{ id: "kv", signal: "model:kv_cache_used:ratio", slot: 6 }] },
  { id: "cache_hit", section: "load", kind: "lines", label: "cache", lines: [{ id: "hit", signal: "model:cache_hit:ratio" }] },
  { id: "preemptions", section: "load", kind: "lines", lines: [{ id: "preemptions", signal: "model:preemptions:rate", slot: 5 }] },
  {
    id: "tokens", section: "tokens", kind: "lines", pick: "tokens_out",
    lines: [
      { id: "tokens_in", signal: "model:tokens_in:rate", slot: 2 },
      { id: "tokens_out", signal: "model:tokens_out:rate", slot: 1 },
      { id: "tokens_cached", signal: "model:tokens_cached:rate", slot: 20 },
    ],
  },
  { id: "outcome", section: "errors", kind: "outcome", lines: [{ id: "requests", signal: "model:requests:rate", slot: 3 }] },
  { id: "error_ratio", section: "errors", kind: "lines", lines: [{ id: "error_ratio", signal: "model:errors:ratio", slot: 8 }] },
  { id: "errors", section: "errors", kind: "stack", label: "kind", lines: [{ id: "errors", signal: "model:errors:rate" }] },
  { id: "rate_version", section: "versions", kind: "stack", by: "version", label: "version", lines: [{ id: "requests", signal: "model:requests:rate" }] },
  { id: "errors_version", section: "versions", kind: "lines", by: "version", label: "version", sum: true, lines: [{ id: "errors", signal: "model:errors:rate" }] },
  { id: "ready", section: "versions", kind: "lines", by: "version", label: "version", lines: [{ id: "ready", signal: "model:model_ready:last", stepped: true }] },
];

export const chartById = (id: string): ModelChart | undefined => charts.find((c) => c.id === id);

/** The chart that proves a number of the Now page, by the signal the number came from. */
export function chartOfSignal(signal: string): string | undefined {
  const level = signal.split(":")[0];
  const name = signal.split(":")[1];
  const exact = charts.find((c) => c.by === undefined && c.lines.some((l) => l.signal === signal));
  if (exact) return exact.id;
  return charts.find((c) => c.by === undefined && c.lines.some((l) => l.signal.startsWith(`${level}:${name}:`)))?.id;
}


/**
 * The requests that fill the page: the first holds what is above the fold, so that it paints first; what has its own
 * split goes apart. The server answers many signals at once, so a page is a handful of requests.
 */
export function asks(group: Group | undefined): Ask[] {
  const first: string[] = [];
  const rest: string[] = [];
  const hardware: string[] = [];
  const own = new Map<Group, string[]>();
  for (const chart of charts) {
    const into =
      chart.by !== undefined && chart.by !== group
        ? (own.get(chart.by) ?? own.set(chart.by, []).get(chart.by)!)
        : chart.section === "traffic" || chart.section === "time"
          ? first
          : chart.section === "hardware"
            ? hardware
            : rest;
    for (const line of chart.lines) if (!into.includes(line.signal)) into.push(line.signal);
  }
  if (!first.includes("model:request_latency_seconds:mean")) first.push("model:request_latency_seconds:mean");
  const withGroup = (signals: string[]): Ask => (group ? { signals, by: group } : { signals });
  const out: Ask[] = [withGroup(first), withGroup(hardware), withGroup(rest)];
  for (const [by, signals] of own) out.push({ signals, by });
  return out.filter((a) => a.signals.length > 0);
}

/** Whether a chart's answer has still to come, under whichever of the asks that hold it. */
export function waitsFor(chart: ModelChart, group: Group | undefined, list: readonly Ask[], answers: readonly unknown[]): boolean {
  const by = chart.by ?? group;
  if (chart.kind === "outcome" && by !== undefined) return false;
  const signal = chart.lines[0]?.signal ?? "";
  const holding = list.flatMap((a, i) => (a.by === by && a.signals.includes(signal) ? [i] : []));
  return holding.length > 0 && holding.every((i) => answers[i] === undefined);
}
