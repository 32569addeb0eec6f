// The Prometheus API as Explore uses it. Long expressions go by POST.
import { ask, type Answer } from "./client";

export type PromLabels = Record<string, string>;

/** A native histogram in an answer. */
export interface PromHistogram {
  count: string;
  sum: string;
  buckets?: [number, string, string, string][];
}

export interface InstantSample {
  metric: PromLabels;
  value?: [number, string];
  histogram?: [number, PromHistogram];
}

export interface RangeSeries {
  metric: PromLabels;
  values?: [number, string][];
  histograms?: [number, PromHistogram][];
}

export type PromData =
  | { resultType: "vector"; result: InstantSample[] }
  | { resultType: "matrix"; result: RangeSeries[] }
  | { resultType: "scalar"; result: [number, string] }
  | { resultType: "string"; result: [number, string] };

export function queryInstant(expr: string, at: number, signal?: AbortSignal): Promise<Answer<PromData>> {
  return ask("/api/v1/query", { form: { query: expr, time: at }, ...(signal ? { signal } : {}) });
}

export function queryRange(expr: string, w: { from: number; to: number; step: number }, signal?: AbortSignal): Promise<Answer<PromData>> {
  // whole steps: neighbouring questions meet the same points
  const start = Math.floor(w.from / w.step) * w.step;
  const end = Math.floor(w.to / w.step) * w.step;
  return ask("/api/v1/query_range", { form: { query: expr, start, end, step: w.step }, ...(signal ? { signal } : {}) });
}

/** Prometheus writes NaN and infinities as words; they are no numbers to draw. */
export function sampleNumber(text: string): number | null {
  const n = Number(text === "+Inf" ? "Infinity" : text === "-Inf" ? "-Infinity" : text);
  return Number.isFinite(n) ? n : null;
}

/** name{label="value", …} as PromQL reads it. */
export function seriesName(labels: PromLabels): string {
  const { __name__: name = "", ...rest } = labels;
  const pairs = Object.entries(rest)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => `${k}=${JSON.stringify(v)}`);
  return pairs.length === 0 ? name || "{}" : `${name}{${pairs.join(", ")}}`;
}
