// The world that the mock describes: the demo's two services. Shapes are those
// of the API contract; numbers are made up and smooth.
import type { Gap, Gpu, HardwareAnswer, NowAnswer, NowRow, SeriesAnswer, SignalAnswer, SignalsAnswer, SplitBy, StatusAnswer, Target, Value } from "../src/api/types.ts";
import { wave } from "./noise.ts";

export type Scenario = "demo" | "empty" | "starting" | "token" | "broken" | "many";

const started = Date.now() / 1000 - 3 * 3600;

interface ModelFacts {
  service: string;
  model: string;
  dialect: string;
  versions: string[];
  instances: string[];
  gpus: { gpu: string; node: string; index: string; instance: string }[];
  rate: number;
  latency: number;
}

const world: ModelFacts[] = [
  {
    service: "vision",
    model: "resnet_mini",
    dialect: "triton",
    versions: ["1", "2"],
    instances: ["demo/vision-0", "demo/vision-1"],
    gpus: [
      { gpu: "GPU-51b0a2f4-9d1e-4c8a-8f00-000000000000", node: "demo-node-1", index: "0", instance: "demo/vision-0" },
      { gpu: "GPU-51b0a2f4-9d1e-4c8a-8f00-000000000001", node: "demo-node-1", index: "1", instance: "demo/vision-1" },
    ],
    rate: 64,
    latency: 0.034,
  },
  {
    service: "chat",
    model: "tiny-chat",
    dialect: "vllm",
    versions: ["1"],
    instances: ["demo/chat-0"],
    gpus: [{ gpu: "GPU-7c24e8b1-0a55-4b0e-a100-000000000000", node: "demo-node-2", index: "0", instance: "demo/chat-0" }],
    rate: 4.2,
    latency: 1.9,
  },
];

function facts(scenario: Scenario): ModelFacts[] {
  if (scenario === "empty" || scenario === "starting") return [];
  if (scenario !== "many") return world;
  return Array.from({ length: 200 }, (_, i) => {
    const of = world[i % 2] as ModelFacts;
    return { ...of, service: `svc-${String(i >> 2).padStart(2, "0")}`, model: `${of.model}-${i}`, rate: of.rate * (0.1 + wave(`r${i}`, 0) * 3) };
  });
}

interface SignalFacts {
  unit: string;
  meaning: string;
  method: string;
  source: string;
  /** Which dialects report it; all when absent. */
  only?: string;
  value(m: ModelFacts, name: string, at: number): number;
}

const quantile: Record<string, number> = { mean: 1, p50: 0.85, p90: 1.9, p95: 2.4, p99: 3.7 };

function latencySignals(): [string, SignalFacts][] {
  const shares: [string, number, string?][] = [
    ["request_latency_seconds", 1],
    ["queue_latency_seconds", 0.35],
    ["compute_latency_seconds", 0.55],
    ["compute_input_seconds", 0.04, "triton"],
    ["compute_output_seconds", 0.03, "triton"],
    ["ttft_seconds", 0.12, "vllm"],
    ["inter_token_seconds", 0.018, "vllm"],
  ];
  return shares.flatMap(([name, share, only]) =>
    Object.entries(quantile).map(([op, factor]): [string, SignalFacts] => [
      `${name}:${op}`,
      {
        unit: "seconds",
        meaning: name.replaceAll("_", " "),
        method: op === "mean" ? "counter" : "summary",
        source: "server",
        ...(only ? { only } : {}),
        value: (m, n, at) => m.latency * share * factor * (0.7 + 0.8 * wave(n + name, at, 400)),
      },
    ]),
  );
}

const signals = new Map<string, SignalFacts>([
  ...latencySignals(),
  ["requests:rate", { unit: "per_second", meaning: "requests", method: "counter", source: "server", value: (m, n, at) => m.rate * (0.6 + 0.7 * wave(n, at)) }],
  ["errors:rate", { unit: "per_second", meaning: "failed requests", method: "counter", source: "server", value: (m, n, at) => Math.max(0, m.rate * 0.02 * (wave(n + "e", at, 120) - 0.55)) }],
  ["errors:ratio", { unit: "ratio", meaning: "share of failed requests", method: "counter", source: "server", value: (_m, n, at) => Math.max(0, 0.02 * (wave(n + "e", at, 120) - 0.55)) }],
  ["inflight:last", { unit: "", meaning: "requests in flight", method: "gauge", source: "server", value: (_m, n, at) => Math.round(12 * wave(n + "f", at, 60)) }],
  ["running:last", { unit: "", meaning: "requests running", method: "gauge", source: "server", only: "vllm", value: (_m, n, at) => Math.round(8 * wave(n + "n", at, 60)) }],
  ["waiting:last", { unit: "", meaning: "requests waiting", method: "gauge", source: "server", value: (_m, n, at) => Math.round(Math.max(0, 9 * (wave(n + "w", at, 90) - 0.35))) }],
  ["preemptions:rate", { unit: "per_second", meaning: "preemptions", method: "counter", source: "server", only: "vllm", value: (_m, n, at) => Math.max(0, 0.3 * (wave(n + "p", at, 90) - 0.6)) }],
  ["batch_size:mean", { unit: "", meaning: "mean batch size", method: "counter", source: "server", value: (_m, n, at) => 1 + 6 * wave(n + "b", at) }],
  ["batch_limit:last", { unit: "", meaning: "largest batch allowed", method: "gauge", source: "server", only: "triton", value: () => 8 }],
  ["batch_window_seconds:last", { unit: "seconds", meaning: "configured batching window", method: "gauge", source: "server", only: "triton", value: () => 0.005 }],
  ["batch_formation_seconds:mean", { unit: "seconds", meaning: "time to form a batch", method: "counter", source: "server", only: "triton", value: (_m, n, at) => 0.002 + 0.003 * wave(n + "bf", at) }],
  ["tokens_in:rate", { unit: "per_second", meaning: "prompt tokens", method: "counter", source: "server", only: "vllm", value: (_m, n, at) => 900 * wave(n + "ti", at) }],
  ["tokens_out:rate", { unit: "per_second", meaning: "generated tokens", method: "counter", source: "server", only: "vllm", value: (_m, n, at) => 400 * wave(n + "to", at) }],
  ["kv_cache_used:ratio", { unit: "ratio", meaning: "KV cache in use", method: "gauge", source: "server", only: "vllm", value: (_m, n, at) => 0.2 + 0.7 * wave(n + "kv", at, 600) }],
  ["cache_hit:ratio", { unit: "ratio", meaning: "cache hits", method: "counter", source: "server", only: "vllm", value: (_m, n, at) => 0.3 + 0.4 * wave(n + "ch", at, 600) }],
  ["model_ready:last", { unit: "", meaning: "model ready", method: "gauge", source: "server", value: () => 1 }],
]);

const gpuSignals = new Map<string, SignalFacts>([
  ["busy:ratio", { unit: "ratio", meaning: "share of time that any kernel ran", method: "gauge", source: "dcgm", value: (_m, n, at) => 0.15 + 0.83 * wave(n + "busy", at, 200) }],
  ["memory_used_bytes:last", { unit: "bytes", meaning: "memory in use", method: "gauge", source: "dcgm", value: (_m, n, at) => 2 ** 30 * (9 + 4 * wave(n + "mem", at, 1500)) }],
  ["memory_total_bytes:last", { unit: "bytes", meaning: "memory", method: "gauge", source: "dcgm", value: () => 16 * 2 ** 30 }],
  ["power_watts:mean", { unit: "watts", meaning: "power", method: "gauge", source: "dcgm", value: (_m, n, at) => 60 + 210 * wave(n + "busy", at - 4, 220) }],
  ["power_limit_watts:last", { unit: "watts", meaning: "power limit", method: "gauge", source: "dcgm", value: () => 300 }],
  ["temperature_celsius:max", { unit: "celsius", meaning: "temperature", method: "gauge", source: "dcgm", value: (_m, n, at) => 42 + 34 * wave(n + "busy", at - 30, 500) }],
  ["sm_clock_hertz:mean", { unit: "hertz", meaning: "SM clock", method: "gauge", source: "dcgm", value: (_m, n, at) => 1e6 * (1410 - 120 * wave(n + "clk", at, 700)) }],
  ["sm_clock_max_hertz:last", { unit: "hertz", meaning: "largest SM clock", method: "gauge", source: "dcgm", value: () => 1.41e9 }],
]);

function value(v: number | null, signal: string, more: Partial<Value> = {}): Value {
  return { value: v, signal, source: "server", method: "counter", ...more };
}

const noTtft = { code: "not_streaming", text: "This engine does not stream tokens, so there is no first token.", remedy: undefined as string | undefined };

function row(m: ModelFacts, at: number, window: number, points: number): NowRow {
  const get = (s: string) => (signals.get(s) as SignalFacts).value(m, m.model, at);
  const gpu = (s: string) => m.gpus.reduce((sum, g) => sum + (gpuSignals.get(s) as SignalFacts).value(m, g.gpu, at), 0) / m.gpus.length;
  const step = Math.max(5, Math.round(window / points));
  const start = at - window;
  const spark = Array.from({ length: points }, (_, i) => {
    const tt = start + i * step;
    return m.service === "vision" && i > points * 0.3 && i < points * 0.36 ? null : (signals.get("requests:rate") as SignalFacts).value(m, m.model, tt);
  });
  const chat = m.dialect === "vllm";
  return {
    id: `${m.service}/${m.model}`,
    service: m.service,
    namespace: "demo",
    model: m.model,
    dialects: [m.dialect],
    versions: m.versions,
    instances: m.instances,
    gpus: m.gpus.map((g) => g.gpu),
    request_rate: value(get("requests:rate"), "model:requests:rate"),
    error_ratio: value(get("errors:ratio"), "model:errors:ratio"),
    latency_p50: value(get("request_latency_seconds:p50"), "model:request_latency_seconds:p50", { method: chat ? "histogram" : "summary" }),
    latency_p99: chat
      ? value(get("request_latency_seconds:p99"), "model:request_latency_seconds:p99", { method: "histogram" })
      : value(get("request_latency_seconds:mean"), "model:request_latency_seconds:mean", {
          method: "mean",
          substitute: { op: "mean" },
          reason: { code: "triton_no_summaries", text: "Triton exports no latency summaries", remedy: "start Triton with --metrics-config summary_latencies=true" },
        }),
    ttft_p99: chat ? value(get("ttft_seconds:p99"), "model:ttft_seconds:p99", { method: "histogram" }) : { value: null, signal: "model:ttft_seconds:p99", reason: noTtft },
    queue_share: value(get("queue_latency_seconds:mean") / get("request_latency_seconds:mean"), "model:queue_latency_seconds:mean"),
    waiting: value(get("waiting:last"), "model:waiting:last", { method: "gauge" }),
    gpu_busy: value(gpu("busy:ratio"), "gpu:busy:ratio", { source: "dcgm", method: "gauge", simulated: true }),
    gpu_memory: value(gpu("memory_used_bytes:last") / gpu("memory_total_bytes:last"), "gpu:memory_used_bytes:last", { source: "dcgm", method: "gauge", simulated: true }),
    spark: { signal: "model:requests:rate", start, step_seconds: step, values: spark },
    last_sample: at - 2,
    stale: false,
  };
}

export function now(scenario: Scenario, at: number, window: number, points: number): NowAnswer {
  const rows = facts(scenario).map((m) => row(m, at, window, points));
  // a large fleet always has something wrong somewhere
  if (scenario === "many")
    rows.forEach((r, i) => {
      if (i % 23 === 7) Object.assign(r, { stale: true, last_sample: at - 95 - i });
      if (i % 17 === 4) r.error_ratio = { ...r.error_ratio, value: 0.014 };
      if (i % 41 === 9) r.error_ratio = { ...r.error_ratio, value: 0.083 };
      if (i % 13 === 3) for (const k of ["gpu_busy", "gpu_memory"] as const) r[k] = { value: null, reason: { code: "no_gpu_exporter", text: "nothing that was recognised observes this GPU", remedy: "scrape dcgm-exporter of the node, usually at port 9400" } };
    });
  return { at, window_seconds: window, step_seconds: 5, rows };
}

export interface SeriesAsk {
  signals: string[];
  service?: string;
  model?: string;
  instance?: string;
  version?: string;
  node?: string;
  gpu?: string;
  from: number;
  to: number;
  step: number;
  by?: SplitBy;
}

export function series(scenario: Scenario, q: SeriesAsk): SeriesAnswer {
  const step = Math.max(5, Math.ceil(q.step / 5) * 5);
  const start = Math.ceil(q.from / step) * step;
  const times: number[] = [];
  for (let at = start; at <= q.to && times.length < 11_000; at += step) times.push(at);
  const gapAt = Math.floor((q.from + (q.to - q.from) * 0.62) / step) * step;
  const gap: Gap = { from: gapAt, to: gapAt + Math.max(step * 3, (q.to - q.from) * 0.02), reason: "scrape_failed" };
  const chosen = facts(scenario).filter((m) => (!q.service || m.service === q.service) && (!q.model || m.model === q.model));
  const answers = q.signals.map((full): SignalAnswer => {
    const [level = "model", ...rest] = full.split(":");
    const name = rest.join(":");
    const table = level === "gpu" || level === "node" ? gpuSignals : signals;
    const f = table.get(name);
    if (!f || chosen.length === 0) return { signal: full, level, unit: "", series: [], absent: { code: "unknown_signal", text: `no dialect here reports ${full}` } };
    if (f.only && !chosen.some((m) => m.dialect === f.only)) {
      return { signal: full, level, unit: f.unit, series: [], absent: { code: "dialect_lacks_signal", text: `${chosen[0]?.dialect} does not report ${name}`, remedy: "put the Sightline proxy in front of it" } };
    }
    const substituted = name.startsWith("request_latency_seconds:p") && name !== "request_latency_seconds:p50" && chosen[0]?.dialect === "triton" && level === "instance";
    const groups = chosen.flatMap((m): { m: ModelFacts; labels: Record<string, string> }[] => {
      const id = { service: m.service, model: m.model };
      const gpus = m.gpus.filter((g) => (!q.gpu || g.gpu === q.gpu) && (!q.node || g.node === q.node) && (!q.instance || g.instance === q.instance));
      if (level === "gpu") return gpus.map((g) => ({ m, labels: { node: g.node, gpu: g.gpu, gpu_index: g.index, instance: g.instance } }));
      switch (q.by) {
        case "version":
          return m.versions.map((version) => ({ m, labels: { ...id, version } }));
        case "instance":
          return m.instances.map((instance) => ({ m, labels: { ...id, instance } }));
        case "node":
          return [...new Set(gpus.map((g) => g.node))].map((node) => ({ m, labels: { ...id, node } }));
        case "gpu":
          return gpus.map((g) => ({ m, labels: { ...id, gpu: g.gpu } }));
        default:
          return [{ m, labels: id }];
      }
    });
    const kinds = name === "errors:rate" ? ["timeout", "overloaded", "oom"] : [null];
    return {
      signal: full,
      level: q.by ?? level,
      unit: f.unit,
      source: f.source,
      method: f.method,
      ...(substituted ? { substitute: { op: "mean" } } : {}),
      ...(level === "gpu" ? { simulated: true } : {}),
      series: groups.flatMap(({ m, labels }) =>
        kinds.map((kind) => ({
          labels: kind ? { ...labels, kind } : labels,
          values: times.map((at) => (at >= gap.from && at < gap.to ? null : at > Date.now() / 1000 ? null : f.value(m, (labels.gpu ?? labels.instance ?? labels.version ?? m.model) + (kind ?? ""), at))),
        })),
      ),
    };
  });
  return { start, end: times.at(-1) ?? start, step_seconds: step, signals: answers, gaps: [gap] };
}

export function hardware(scenario: Scenario, at: number): HardwareAnswer {
  const byNode = new Map<string, Gpu[]>();
  const list = scenario === "many" ? Array.from({ length: 32 }, (_, n) => Array.from({ length: 8 }, (_, i) => ({ gpu: `GPU-${n}-${i}`, node: `node-${String(n).padStart(2, "0")}`, index: String(i), instance: `demo/vision-${n * 8 + i}`, m: world[0] as ModelFacts }))).flat() : facts(scenario).flatMap((m) => m.gpus.map((g) => ({ ...g, m })));
  for (const g of list) {
    const v = (s: string, signal = `gpu:${s}`): Value => ({ value: (gpuSignals.get(s) as SignalFacts).value(g.m, g.gpu, at), signal, source: "dcgm", method: "gauge", simulated: true });
    const gpu: Gpu = {
      gpu: g.gpu,
      gpu_index: g.index,
      gpu_model: "Sightline accelerator model",
      simulated: true,
      instances: [g.instance],
      models: [g.m.model],
      busy: v("busy:ratio"),
      memory_used_bytes: v("memory_used_bytes:last"),
      memory_total_bytes: v("memory_total_bytes:last"),
      power_watts: v("power_watts:mean"),
      power_limit_watts: v("power_limit_watts:last"),
      temperature_celsius: v("temperature_celsius:max"),
      sm_clock_hertz: v("sm_clock_hertz:mean"),
      sm_clock_max_hertz: v("sm_clock_max_hertz:last"),
      clock_limited: { value: null, reason: { code: "dcgm_field_off", text: "dcgm-exporter does not collect clock reasons here", remedy: "add DCGM_FI_DEV_CLOCKS_EVENT_REASONS to its counters file" } },
      xid: { value: 0, signal: "gpu:xid:rate", source: "dcgm", simulated: true },
    };
    const n = byNode.size * 8 + (byNode.get(g.node)?.length ?? 0);
    if (scenario === "many") {
      if (n === 19) gpu.xid = { ...gpu.xid, value: 0.2 };
      if (n % 37 === 12) gpu.clock_limited = { value: 0.42, signal: "gpu:clock_limited:ratio", source: "dcgm", method: "counter" };
      if (n % 53 === 30) gpu.temperature_celsius = { ...gpu.temperature_celsius, value: 88 };
      if (n % 61 === 22) gpu.memory_used_bytes = { ...gpu.memory_used_bytes, value: 15.9 * 2 ** 30 };
      if (n % 29 === 11) gpu.busy = { value: null, reason: { code: "dcgm_field_off", text: "the exporter's counter file does not list this field", remedy: "add DCGM_FI_DEV_GPU_UTIL to the counter file of dcgm-exporter" } };
    }
    byNode.set(g.node, [...(byNode.get(g.node) ?? []), gpu]);
  }
  return { nodes: [...byNode].map(([node, gpus]) => ({ node, gpus })) };
}

export function signalList(scenario: Scenario, q: { service?: string; model?: string }): SignalsAnswer {
  const chosen = facts(scenario).filter((m) => (!q.service || m.service === q.service) && (!q.model || m.model === q.model));
  const one = (level: string, name: string, f: SignalFacts) => {
    const present = chosen.some((m) => !f.only || f.only === m.dialect);
    return { signal: `${level}:${name}`, unit: f.unit, meaning: f.meaning, present, source: f.source, method: f.method, entities: present ? chosen.length : 0, ...(present ? {} : { absent: { code: "dialect_lacks_signal", text: `${chosen[0]?.dialect ?? "nothing here"} does not report ${name}`, remedy: "put the Sightline proxy in front of it" } }) };
  };
  return {
    signals: [...[...signals].map(([n, f]) => one("model", n, f)), ...[...gpuSignals].map(([n, f]) => one("gpu", n, f))],
    dialects: [...new Set(chosen.map((m) => m.dialect))],
  };
}

function target(i: number, at: number, more: Partial<Target>): Target {
  return {
    id: `t${i}`,
    job: "sightline",
    service: "vision",
    instance: `demo/vision-${i}`,
    node: "demo-node-1",
    url: `http://127.0.0.1:${8002 + i}/metrics`,
    scrape_address: `127.0.0.1:${8002 + i}`,
    health: "up",
    last_scrape: at - (i % 5),
    last_duration_seconds: 0.002 + 0.006 * wave(`d${i}`, at),
    interval_seconds: 5,
    samples: 180 + (i % 40),
    series: 180 + (i % 40),
    series_limit: 50_000,
    series_refused: 0,
    dialects: [{ name: "triton", title: "NVIDIA Triton", matched: ["nv_inference_request_success", "nv_inference_count"], versions: "24.11 or newer" }],
    ...more,
  };
}

export function status(scenario: Scenario, at: number): StatusAnswer {
  const ready = scenario !== "starting";
  const base = [
    target(0, at, {}),
    target(1, at, {}),
    target(2, at, { service: "chat", instance: "demo/chat-0", node: "demo-node-2", url: "http://127.0.0.1:8010/metrics", scrape_address: "127.0.0.1:8010", samples: 412, series: 412, dialects: [{ name: "vllm", title: "vLLM", matched: ["vllm:num_requests_running"], versions: "0.10 or newer" }] }),
    target(3, at, { service: "default", instance: "demo-node-1:9400", url: "http://127.0.0.1:9400/metrics", scrape_address: "127.0.0.1:9400", simulated: true, dialects: [{ name: "dcgm", title: "NVIDIA dcgm-exporter", matched: ["DCGM_FI_DEV_GPU_UTIL"], versions: "3.3 or newer" }] }),
    target(4, at, { service: "legacy", instance: "10.0.0.9:8002", node: "10.0.0.9", url: "http://10.0.0.9:8002/metrics", scrape_address: "10.0.0.9:8002", health: "down", samples: null, series: 0, dialects: [], last_duration_seconds: 4.0, error: { code: "connection_refused", text: "dial tcp 10.0.0.9:8002: connect: connection refused", hint: "is the metrics port open? Triton serves metrics on port 8002 only" } }),
    target(5, at, { service: "vision", instance: "demo/edge-0", url: "http://127.0.0.1:8099/metrics", scrape_address: "127.0.0.1:8099", series: 49_990, samples: 49_990, series_refused: 1204, dialects: [] }),
    target(6, at, { service: "chat", instance: "far/chat-1", node: "far-node-1", url: "http://10.0.0.20:8000/metrics", scrape_address: "10.0.0.20:8000", remote: true, last_scrape: null, interval_seconds: null, last_duration_seconds: null, dialects: [{ name: "vllm", title: "vLLM", matched: ["vllm:num_requests_running"], versions: "0.10 or newer" }] }),
  ];
  const targets =
    scenario === "empty" || scenario === "starting"
      ? []
      : scenario === "many"
        ? Array.from({ length: 1000 }, (_, i) => target(i, at, { service: `svc-${String(i % 50).padStart(2, "0")}`, ...(i % 97 === 5 ? { health: "down" as const, error: { code: "timeout", text: "context deadline exceeded", hint: "raise the timeout or look at the server" } } : {}) }))
        : base;
  return {
    version: "0.1.0-dev",
    go_version: "go1.26.8",
    started: new Date(started * 1000).toISOString(),
    uptime_seconds: at - started,
    role: scenario === "empty" ? "serve" : "demo",
    ready,
    parts: [
      { name: "storage", state: ready ? "ready" : "starting", text: ready ? "" : "replaying the write-ahead log: segment 14 of 52", since: new Date((started + 1) * 1000).toISOString() },
      { name: "scrape", state: "ready", since: new Date((started + 1) * 1000).toISOString() },
      { name: "rules", state: ready ? "ready" : "starting", since: new Date((started + 2) * 1000).toISOString() },
      { name: "api", state: "ready", since: new Date(started * 1000).toISOString() },
    ],
    conditions:
      scenario === "demo" || scenario === "many"
        ? [
            { code: "target_down", severity: "error", subject: "10.0.0.9:8002", text: "target 10.0.0.9:8002 does not answer: connection refused", hint: "is the metrics port open?", since: new Date((at - 840) * 1000).toISOString(), updated: new Date(at * 1000).toISOString() },
            { code: "series_limit", severity: "warning", subject: "127.0.0.1:8099", text: "127.0.0.1:8099 sends ever new values of the label request_id; series beyond 50000 are refused", hint: "drop the label at the source", since: new Date((at - 300) * 1000).toISOString(), updated: new Date(at * 1000).toISOString() },
          ]
        : [],
    targets,
    rules: {
      interval_seconds: 5,
      groups: scenario === "empty" ? [] : ["candidates", "canonical", "sources"].map((name, i) => ({ name, rules: [84, 61, 40][i] ?? 0, last_evaluation: at - 2, last_duration_seconds: [0.041, 0.018, 0.007][i] ?? 0, failed: i === 2 ? 1 : 0, last_error: i === 2 ? "vector contains metrics with the same labelset after applying rule labels" : "" })),
    },
    storage: { dir: "/var/lib/sightline", series: 3120, samples_per_second: 610 + 40 * wave("sps", at), bytes: 48 * 2 ** 20, wal_bytes: 7.2 * 2 ** 20, oldest: started, newest: at - 1, retention_seconds: 15 * 86400, quarantined: [], read_only: false },
    ingest: {
      sources: targets.slice(0, 50).map((t) => ({ name: t.scrape_address ?? t.id, series: t.series ?? 0, limit: 50_000, refused: t.series_refused ?? 0, ...(t.series_refused ? { label: "request_id" } : {}) })),
      dropped: { future: 0, too_old: 3 },
    },
  };
}

export const config = `listen: 127.0.0.1:7070
data: /var/lib/sightline
auth:
  tokens:
    - scope: console
      token: <secret>
targets:
  - service: vision
    url: http://127.0.0.1:8002/metrics
`;
