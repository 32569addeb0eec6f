// Answers of /api/v1/sightline/* as the server sends them. Times are Unix
// seconds; a missing number is null or absent, never 0.

export interface Envelope<T> {
  status: "success" | "error";
  data?: T;
  warnings?: string[];
  infos?: string[];
  errorType?: string;
  error?: string;
  code?: string;
  hint?: string;
}

/** Why something is absent or replaced, and what would give it. */
export interface Reason {
  code: string;
  text: string;
  remedy?: string;
}

export interface Substitute {
  op: string;
}

export type Method = "histogram" | "summary" | "first_response_histogram" | "counter" | "gauge" | "mean" | (string & {});

export interface Value {
  value: number | null;
  signal?: string;
  source?: string;
  method?: Method;
  substitute?: Substitute | null;
  reason?: Reason | null;
  worst_instance?: boolean;
  simulated?: boolean;
}

export interface Spark {
  signal: string;
  start: number;
  step_seconds: number;
  values: (number | null)[];
}

export interface NowRow {
  id: string;
  service: string;
  namespace?: string;
  cluster?: string;
  region?: string;
  model: string;
  dialects: string[];
  versions: string[];
  instances: string[];
  gpus: string[];
  request_rate: Value;
  error_ratio: Value;
  latency_p50: Value;
  latency_p99: Value;
  ttft_p99?: Value;
  queue_share: Value;
  waiting: Value;
  gpu_busy: Value;
  gpu_memory: Value;
  spark?: Spark | null;
  last_sample?: number | null;
  stale?: boolean;
  /** Rates still read too low: an instance is new. */
  warming?: boolean;
}

export interface NowAnswer {
  at: number;
  window_seconds: number;
  step_seconds: number;
  rows: NowRow[];
}

export type SplitBy = "version" | "instance" | "node" | "gpu";

export interface SignalSeries {
  labels: Record<string, string>;
  values: (number | null)[];
}

export interface SignalAnswer {
  signal: string;
  level?: string;
  unit: string;
  source?: string;
  method?: Method;
  substitute?: Substitute | null;
  absent?: Reason | null;
  worst_instance?: boolean;
  simulated?: boolean;
  series: SignalSeries[];
}

export interface Gap {
  from: number;
  to: number;
  reason: string;
}

export interface SeriesAnswer {
  start: number;
  end: number;
  step_seconds: number;
  signals: SignalAnswer[];
  gaps?: Gap[];
}

export interface Gpu {
  gpu: string;
  gpu_index?: string;
  gpu_model?: string;
  simulated?: boolean;
  instances: string[];
  models: string[];
  busy: Value;
  memory_used_bytes: Value;
  memory_total_bytes: Value;
  power_watts: Value;
  power_limit_watts: Value;
  temperature_celsius: Value;
  sm_clock_hertz: Value;
  sm_clock_max_hertz: Value;
  clock_limited: Value;
  xid: Value;
}

export interface HardwareNode {
  node: string;
  gpus: Gpu[];
}

export interface HardwareAnswer {
  nodes: HardwareNode[];
}

export interface SignalInfo {
  signal: string;
  unit: string;
  meaning: string;
  present: boolean;
  source?: string;
  method?: Method;
  absent?: Reason | null;
  entities?: number;
}

export interface SignalsAnswer {
  signals: SignalInfo[];
  dialects: (string | Dialect)[];
}

export type PartState = "starting" | "ready" | "degraded" | "stopped";

export interface Part {
  name: string;
  state: PartState;
  text?: string;
  since: string;
}

export interface ReadyAnswer {
  ready: boolean;
  parts?: Part[] | null;
}

export type Severity = "info" | "warning" | "error";

export interface Condition {
  code: string;
  severity: Severity;
  subject: string;
  text: string;
  hint?: string;
  since: string;
  updated: string;
}

export interface Dialect {
  name: string;
  title?: string;
  matched?: string[] | null;
  versions?: string;
}

export interface TargetError {
  code: string;
  text: string;
  hint?: string;
}

/** Times in a target are Unix seconds or RFC 3339. */
export type Moment = number | string | null;

export interface Target {
  id: string;
  job?: string;
  service: string;
  instance: string;
  node?: string;
  url: string;
  scrape_address?: string;
  health: "up" | "down" | "unknown";
  error?: TargetError | null;
  last_scrape?: Moment;
  last_duration_seconds?: number | null;
  interval_seconds?: number | null;
  samples?: number | null;
  series?: number | null;
  series_limit?: number | null;
  series_refused?: number | null;
  dialects?: Dialect[] | null;
  simulated?: boolean;
  /** Scraped by an agent or by another server that sends here. */
  remote?: boolean;
}

export interface RuleGroup {
  name: string;
  rules: number;
  last_evaluation?: Moment;
  last_duration_seconds?: number | null;
  failed?: number | null;
  last_error?: string | null;
}

export interface StorageStatus {
  dir: string;
  series: number;
  samples_per_second?: number | null;
  bytes: number;
  wal_bytes: number;
  oldest?: Moment;
  newest?: Moment;
  retention_seconds: number;
  quarantined?: unknown[] | null;
  read_only?: boolean;
}

export interface IngestSource {
  name: string;
  series: number;
  limit: number;
  refused: number;
  label?: string;
}

export interface StatusAnswer {
  version: string;
  go_version: string;
  started: Moment;
  uptime_seconds: number;
  role: string;
  ready: boolean;
  parts?: Part[] | null;
  conditions?: Condition[] | null;
  targets?: Target[] | null;
  rules?: { interval_seconds: number; groups?: RuleGroup[] | null } | null;
  storage?: StorageStatus | null;
  ingest?: { sources?: IngestSource[] | null; dropped?: Record<string, number> | null } | null;
}

/** Unix seconds of a Moment; null when there is none. */
export function momentSeconds(m: Moment | undefined): number | null {
  if (m === null || m === undefined || m === "") return null;
  if (typeof m === "number") return m > 0 ? m : null;
  const ms = Date.parse(m);
  return Number.isFinite(ms) && ms > 0 ? ms / 1000 : null;
}
