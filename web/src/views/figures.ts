// The numbers of a model as people read them: one record per figure, used by the
// Now page and by the head of the Model page, so that both always agree.
import type { NowRow, Reason, Value } from "@/api/types";
import { count, digits, missing, percentDigits } from "@/kit/format";
import { numberText } from "./units";

/** How a column's numbers are written: the unit stands in the header, once. */
export type Scale = "per_second" | "percent" | "milliseconds" | "count";

export type NumberField =
  | "request_rate" | "error_ratio" | "latency_p50" | "latency_p99" | "ttft_p99" | "queue_share" | "waiting" | "gpu_busy" | "gpu_memory";

export interface Column {
  readonly id: string;
  readonly field: NumberField;
  readonly scale: Scale;
  /** Chart of the Model page that proves the number. */
  readonly chart: string;
  /** A bar behind the number shows the ratio. */
  readonly bar?: boolean;
}

export const columns: readonly Column[] = [
  { id: "rate", field: "request_rate", scale: "per_second", chart: "rate" },
  { id: "errors", field: "error_ratio", scale: "percent", chart: "error_ratio" },
  { id: "p50", field: "latency_p50", scale: "milliseconds", chart: "latency" },
  { id: "p99", field: "latency_p99", scale: "milliseconds", chart: "latency" },
  { id: "ttft", field: "ttft_p99", scale: "milliseconds", chart: "ttft" },
  { id: "queue", field: "queue_share", scale: "percent", chart: "phases", bar: true },
  { id: "waiting", field: "waiting", scale: "count", chart: "running" },
  { id: "busy", field: "gpu_busy", scale: "percent", chart: "gpu_busy", bar: true },
  { id: "memory", field: "gpu_memory", scale: "percent", chart: "gpu_memory", bar: true },
];

/** What a number cell shows. `missing` shows a dash; both carry the reason where the server gave one. */
export interface Cell {
  readonly kind: "value" | "missing";
  readonly value: number;
  readonly tag?: string;
  readonly why?: Reason;
  readonly worstInstance: boolean;
}

export function cellOf(v: Value | undefined): Cell {
  const why = v?.reason ? { why: v.reason } : {};
  const worstInstance = v?.worst_instance === true;
  if (!v || v.value === null || v.value === undefined || !Number.isFinite(v.value)) return { kind: "missing", value: 0, worstInstance, ...why };
  return { kind: "value", value: v.value, worstInstance, ...why, ...(v.substitute ? { tag: v.substitute.op } : {}) };
}

/** Unit of a scale, as the header writes it. */
export function scaleUnit(scale: Scale): string {
  return { per_second: "/s", percent: "%", milliseconds: "ms", count: "" }[scale];
}

/** A ratio as percent with digits that stand under each other: 41.0, 9.30, 0.24. */
function percentText(ratio: number): string {
  const p = ratio * 100;
  if (p === 0 || p < 0.1 || (p > 99.9 && p < 100)) return percentDigits(ratio);
  return p.toFixed(p >= 10 ? 1 : 2);
}

/** The number of a cell in its column's unit, without the unit. */
export function valueText(column: Column, cell: Cell): string {
  if (cell.kind === "missing") return missing;
  switch (column.scale) {
    case "percent":
      return percentText(cell.value);
    case "milliseconds":
      return numberText(cell.value * 1000);
    case "per_second":
      return numberText(cell.value);
    case "count":
      return Number.isInteger(cell.value) ? count(cell.value) : digits(cell.value);
  }
}

/** Whether any hardware number of the row is simulated. */
export function simulatedRow(r: NowRow): boolean {
  return columns.some((c) => r[c.field]?.simulated === true);
}
