// The rows of the Now page: order, filter, sums. Pure; the page draws what this says.
import type { NowRow } from "@/api/types";
import type { Scope } from "@/state/scope";
import type { Num } from "@/views/align";
import { columns } from "@/views/figures";

/** `model`, or the id of a number column; a leading minus means greatest first. */
export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

export const defaultSort: Sort = { column: "model", descending: false };

export function isSortColumn(id: string): boolean {
  return id === "model" || columns.some((c) => c.id === id);
}

const byText = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Rows in order. A row without the number goes last in both directions: missing is not small. Ties go by name. */
export function sortRows(rows: readonly NowRow[], sort: Sort): NowRow[] {
  const sign = sort.descending ? -1 : 1;
  const name = (a: NowRow, b: NowRow) => byText.compare(a.service, b.service) || byText.compare(a.model, b.model) || byText.compare(a.id, b.id);
  const col = columns.find((c) => c.id === sort.column);
  if (!col) return [...rows].sort((a, b) => sign * name(a, b));
  return [...rows].sort((a, b) => {
    const x = a[col.field]?.value ?? null;
    const y = b[col.field]?.value ?? null;
    if (x === null || y === null) return x === y ? name(a, b) : x === null ? 1 : -1;
    return sign * (x - y) || name(a, b);
  });
}

/** Whether a row belongs to the scope of the address. A row does not say its node: that key lets every row pass. */
export function inScope(r: NowRow, scope: Scope): boolean {
  const one = (want: string | undefined, have: string | undefined) => want === undefined || want === have;
  const any = (want: string | undefined, have: readonly string[]) => want === undefined || have.includes(want);
  return (
    one(scope.cluster, r.cluster) &&
    one(scope.region, r.region) &&
    one(scope.namespace, r.namespace) &&
    one(scope.service, r.service) &&
    one(scope.model, r.model) &&
    any(scope.version, r.versions) &&
    any(scope.instance, r.instances) &&
    any(scope.gpu, r.gpus)
  );
}

/** What the filter box searches: names people know a row by. */
function haystack(r: NowRow): string {
  return [r.service, r.model, r.namespace ?? "", ...(r.dialects ?? []), ...(r.instances ?? []), ...(r.versions ?? []).map((v) => `v${v}`)].join("\u0001").toLowerCase();
}

/** Every word must be found somewhere in the row; a word with a leading minus must not. */
export function filterRows(rows: readonly NowRow[], q: string): NowRow[] {
  const words = q.toLowerCase().split(/\s+/).filter((w) => w !== "" && w !== "-");
  if (words.length === 0) return [...rows];
  return rows.filter((r) => {
    const hay = haystack(r);
    return words.every((w) => (w.startsWith("-") ? !hay.includes(w.slice(1)) : hay.includes(w)));
  });
}

/** Error ratio bands: worth a mark from 1 %, alarming from 5 %. */
export function errorBand(ratio: number): "ok" | "warn" | "bad" {
  return ratio >= 0.05 ? "bad" : ratio >= 0.01 ? "warn" : "ok";
}

/** Sums over the shown rows for the page's headline; null where no row has the number. */
export interface Totals {
  readonly rows: number;
  readonly rate: Num;
  /** Errors per second over requests per second of the rows that have both. */
  readonly errorRatio: Num;
  readonly waiting: Num;
  readonly stale: number;
}

export function totals(rows: readonly NowRow[]): Totals {
  let rate: Num = null;
  let waiting: Num = null;
  let weighted = 0;
  let weight = 0;
  let anyError = false;
  let stale = 0;
  for (const r of rows) {
    if (r.stale) {
      stale++;
      continue;
    }
    const q = r.request_rate?.value ?? null;
    const e = r.error_ratio?.value ?? null;
    const w = r.waiting?.value ?? null;
    if (q !== null) rate = (rate ?? 0) + q;
    if (w !== null) waiting = (waiting ?? 0) + w;
    if (q !== null && e !== null) {
      anyError = true;
      weighted += q * e;
      weight += q;
    }
  }
  return { rows: rows.length, rate, errorRatio: anyError ? (weight > 0 ? weighted / weight : 0) : null, waiting, stale };
}
