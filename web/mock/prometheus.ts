// A little of the Prometheus API for the mock: names, labels, and made-up
// results for any expression. It does not evaluate PromQL.
import { wave } from "./noise.ts";

export const metrics: Record<string, { type: string; help: string }> = {
  "model:requests:rate": { type: "gauge", help: "Requests per second." },
  "model:errors:ratio": { type: "gauge", help: "Share of failed requests." },
  "model:request_latency_seconds:p99": { type: "gauge", help: "99th percentile of request latency." },
  "gpu:busy:ratio": { type: "gauge", help: "Share of time that any kernel ran." },
  nv_inference_request_success: { type: "counter", help: "Number of successful inference requests, all batch sizes." },
  nv_inference_count: { type: "counter", help: "Number of inferences performed." },
  nv_gpu_utilization: { type: "gauge", help: "GPU utilization rate [0.0 - 1.0)." },
  "vllm:num_requests_running": { type: "gauge", help: "Number of requests in model execution batches." },
  up: { type: "gauge", help: "Whether the target answers." },
};

const labelSets: Record<string, string>[] = [
  { service: "vision", model: "resnet_mini", instance: "demo/vision-0" },
  { service: "vision", model: "resnet_mini", instance: "demo/vision-1" },
  { service: "chat", model: "tiny-chat", instance: "demo/chat-0" },
];

export function labels(): string[] {
  return ["__name__", "service", "model", "instance"];
}

export function labelValues(label: string): string[] {
  if (label === "__name__") return Object.keys(metrics);
  return [...new Set(labelSets.map((l) => l[label]).filter((v): v is string => v !== undefined))];
}

/** Prometheus-like complaint for what is plainly malformed. */
export function parseError(expr: string): string | null {
  let depth = 0;
  for (const [i, c] of [...expr].entries()) {
    if (c === "(") depth++;
    if (c === ")" && --depth < 0) return `invalid parameter "query": 1:${i + 1}: parse error: unexpected right parenthesis ')'`;
  }
  if (depth > 0) return `invalid parameter "query": 1:${expr.length + 1}: parse error: unclosed left parenthesis`;
  if (expr.trim() === "") return `invalid parameter "query": unknown position: parse error: no expression found in input`;
  const op = /[+\-*/]\s*$/.exec(expr);
  if (op) return `invalid parameter "query": 1:${expr.length + 1}: parse error: unexpected end of input`;
  return null;
}

function matching(expr: string): Record<string, string>[] {
  const by = /by\s*\(([^)]*)\)/.exec(expr)?.[1]?.split(",").map((s) => s.trim());
  const name = /^[a-zA-Z_:][\w:]*$/.exec(expr.trim())?.[0];
  const sets = labelSets.map((l) => {
    const kept = by ? Object.fromEntries(Object.entries(l).filter(([k]) => by.includes(k))) : l;
    return name ? { __name__: name, ...kept } : kept;
  });
  const unique = new Map(sets.map((s) => [JSON.stringify(s), s]));
  return /^(sum|avg|max|min|count)\s*\(/.test(expr) && !by ? [{}] : [...unique.values()];
}

export function instant(expr: string, at: number): unknown {
  if (/^\d+(\.\d+)?$/.test(expr.trim())) return { resultType: "scalar", result: [at, expr.trim()] };
  return { resultType: "vector", result: matching(expr).map((metric) => ({ metric, value: [at, String(20 * wave(expr + JSON.stringify(metric), at))] })) };
}

export function range(expr: string, from: number, to: number, step: number): unknown {
  return {
    resultType: "matrix",
    result: matching(expr).map((metric) => {
      const values: [number, string][] = [];
      for (let at = from; at <= to && values.length < 11_000; at += step) {
        if (at < from + (to - from) * 0.4 || at > from + (to - from) * 0.45) values.push([at, String(20 * wave(expr + JSON.stringify(metric), at))]);
      }
      return { metric, values };
    }),
  };
}
