// Pure part of Explore: answers onto one grid, error positions, units, history.
import { sampleNumber, seriesName, type InstantSample, type PromData, type RangeSeries } from "@/api/prom";

/** Lines that a chart draws; the rest is counted and said. */
export const drawnLimit = 200;

export interface RangeGrid {
  xs: number[];
  lines: { key: string; labels: Record<string, string>; values: (number | null)[] }[];
  /** Series that are not drawn because there are too many. */
  hidden: number;
  /** Native histograms, which have no single line. */
  histograms: number;
  points: number;
}

/** A matrix on the grid of the question; a step without a sample is null. */
export function toGrid(result: readonly RangeSeries[], from: number, to: number, step: number, limit = drawnLimit): RangeGrid {
  const start = Math.floor(from / step) * step;
  const n = Math.max(0, Math.floor((Math.floor(to / step) * step - start) / step + 1e-6) + 1);
  const xs = Array.from({ length: n }, (_, i) => start + i * step);
  let points = 0;
  const floats = result.filter((s) => (s.values?.length ?? 0) > 0);
  const lines = floats.slice(0, limit).map((s) => {
    const values = new Array<number | null>(n).fill(null);
    for (const [at, text] of s.values ?? []) {
      const slot = Math.round((at - start) / step);
      if (slot >= 0 && slot < n) {
        values[slot] = sampleNumber(text);
        points++;
      }
    }
    return { key: seriesName(s.metric), labels: s.metric, values };
  });
  return { xs, lines, hidden: Math.max(0, floats.length - limit), histograms: result.filter((s) => (s.histograms?.length ?? 0) > 0).length, points };
}

export interface Row {
  id: string;
  labels: Record<string, string>;
  /** null for a native histogram, whose text says what it holds. */
  value: number | null;
  text: string;
}

export function toRows(data: PromData): Row[] {
  if (data.resultType === "scalar" || data.resultType === "string") {
    const text = data.result[1];
    return [{ id: data.resultType, labels: {}, value: data.resultType === "scalar" ? sampleNumber(text) : null, text }];
  }
  if (data.resultType === "matrix")
    // a range selector asked for at one moment: its newest sample
    return data.result.map((s) => {
      const text = s.values?.at(-1)?.[1] ?? "";
      return { id: seriesName(s.metric), labels: s.metric, value: text === "" ? null : sampleNumber(text), text };
    });
  return data.result.map((s: InstantSample) => {
    if (s.histogram) return { id: seriesName(s.metric), labels: s.metric, value: null, text: `count ${s.histogram[1].count}, sum ${s.histogram[1].sum}` };
    const text = s.value?.[1] ?? "";
    return { id: seriesName(s.metric), labels: s.metric, value: sampleNumber(text), text };
  });
}

/** Label names of a result: the name first, then those that differ between rows, then the rest. */
export function labelColumns(rows: readonly Row[]): string[] {
  const seen = new Map<string, Set<string>>();
  for (const r of rows) for (const k of Object.keys(r.labels)) seen.set(k, (seen.get(k) ?? new Set()).add(r.labels[k] ?? ""));
  const all = [...seen.keys()];
  const differs = (k: string) => (seen.get(k)?.size ?? 0) > 1 || rows.some((r) => r.labels[k] === undefined);
  return all.sort((a, b) => {
    if (a === "__name__" || b === "__name__") return a === "__name__" ? -1 : 1;
    return Number(differs(b)) - Number(differs(a)) || (a < b ? -1 : 1);
  });
}

export interface ErrorPlace {
  /** Offsets into the expression. */
  from: number;
  to: number;
  message: string;
}

/** Where Prometheus says that the expression is wrong: "… 1:5: parse error: …" with line:column from 1. */
export function errorPlace(message: string, expr: string): ErrorPlace | null {
  const m = /(?:^|[\s:])(\d+):(\d+): parse error: (.*)$/s.exec(message);
  if (!m) return null;
  const [line, column] = [Number(m[1]), Number(m[2])];
  const lines = expr.split("\n");
  if (line < 1 || line > lines.length) return null;
  const before = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
  const from = Math.min(before + Math.max(column - 1, 0), expr.length);
  // at the end of the text there is nothing to mark: mark its last letter
  const at = from >= expr.length ? Math.max(0, expr.length - 1) : from;
  const word = /^[\w:]+/.exec(expr.slice(at));
  return { from: at, to: Math.min(expr.length, at + (word ? word[0].length : 1)), message: m[3] ?? message };
}

/** Unit of an expression when it is plainly one series' value, by the names' convention. */
export function unitOfExpr(expr: string): string {
  const text = expr.trim();
  // sum by (x) (…) and sum(…) by (x) say the same
  const inner = /^(?:sum|avg|max|min|topk|bottomk|quantile)\s*(?:(?:by|without)\s*\([^)]*\))?\s*\((?:[\d.]+\s*,)?\s*([\s\S]*?)\)\s*(?:(?:by|without)\s*\([^)]*\))?$/.exec(text);
  const core = inner?.[1]?.trim() ?? text;
  const quantile = /^histogram_quantile\s*\(/.test(core) && /_seconds/.test(core);
  if (quantile) return "seconds";
  const name = /^([a-zA-Z_:][\w:]*)\s*(?:\{[^}]*\})?$/.exec(core)?.[1];
  if (!name) return "";
  if (/_seconds:(mean|p\d+|max|last)$/.test(name) || /_seconds$/.test(name)) return "seconds";
  if (/_bytes(:last|:mean)?$/.test(name)) return "bytes";
  if (/:ratio$/.test(name) || /_ratio$/.test(name)) return "ratio";
  if (/_bytes:rate$/.test(name)) return "bytes_per_second";
  if (/:rate$/.test(name)) return "per_second";
  if (/_watts(:mean|:last)?$/.test(name)) return "watts";
  if (/_celsius(:max|:last)?$/.test(name)) return "celsius";
  if (/_hertz(:mean|:last)?$/.test(name)) return "hertz";
  return "";
}

export const historyLimit = 30;

/** History with `expr` in front, without repeats. */
export function remember(history: readonly string[], expr: string): string[] {
  const text = expr.trim();
  return text === "" ? [...history] : [text, ...history.filter((h) => h !== text)].slice(0, historyLimit);
}

/** Stored text as a history; anything else is an empty one. */
export function parseHistory(text: string | null): string[] {
  try {
    const v: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(v) ? v.filter((x): x is string => typeof x === "string" && x !== "").slice(0, historyLimit) : [];
  } catch {
    return [];
  }
}

export interface SignalGroup {
  /** level:signal without the operation. */
  name: string;
  meaning: string;
  operations: { operation: string; signal: string }[];
}

/** level:signal:operation by level:signal, in the order of the catalogue. What exists for
 *  the model is listed once: service and instance have the same names. */
export function groupSignals(signals: readonly { signal: string; meaning: string }[]): SignalGroup[] {
  const out = new Map<string, SignalGroup>();
  const all = new Set(signals.map((s) => s.signal));
  for (const s of signals) {
    const twin = /^(?:service|instance):(.*)$/.exec(s.signal)?.[1];
    if (twin !== undefined && all.has(`model:${twin}`)) continue;
    const at = s.signal.lastIndexOf(":");
    const name = at > 0 ? s.signal.slice(0, at) : s.signal;
    const group = out.get(name) ?? { name, meaning: s.meaning, operations: [] };
    group.operations.push({ operation: at > 0 ? s.signal.slice(at + 1) : "last", signal: s.signal });
    out.set(name, group);
  }
  return [...out.values()];
}
