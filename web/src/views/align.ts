/**
 * Series answers on one time axis. An answer of the `series` endpoint is a regular grid (start, step, values per
 * series); a chart needs one array of times and one array per line. Missing stays null through every function here:
 * nothing interpolates, nothing turns into zero.
 */
export type Num = number | null;

export interface Grid {
  readonly start: number;
  readonly end: number;
  readonly step_seconds: number;
}

export interface LabelledValues {
  readonly labels: Readonly<Record<string, string>>;
  readonly values: readonly Num[];
}

export interface SignalOnGrid {
  readonly signal: string;
  readonly series: readonly LabelledValues[];
}

export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly reason?: string;
  /** Before anything ran: nothing is lost, so nothing warns. */
  readonly quiet?: boolean;
}

/** Reasons that say "nothing ran yet or nobody recorded", not "something is missing". */
const quietReasons: ReadonlySet<string> = new Set(["not_running"]);

/** Marks the gaps that begin with the window and whose reason is that nothing ran. */
export function quieted(gaps: readonly Gap[], start: number, step: number): Gap[] {
  return gaps.map((g) => (g.reason !== undefined && quietReasons.has(g.reason) && g.from <= start + step ? { ...g, quiet: true } : g));
}

export interface GridAnswer<S extends SignalOnGrid = SignalOnGrid> extends Grid {
  readonly signals: readonly S[];
  readonly gaps?: readonly Gap[] | null;
}

/** Number of points of a grid, both ends included; never negative. */
export function pointsOf(g: Grid): number {
  if (!(g.step_seconds > 0) || !(g.end >= g.start)) return 0;
  return Math.floor((g.end - g.start) / g.step_seconds + 1e-6) + 1;
}

/** Times of a grid in Unix seconds. */
export function timesOf(g: Grid): number[] {
  const n = pointsOf(g);
  const xs = new Array<number>(n);
  for (let i = 0; i < n; i++) xs[i] = g.start + i * g.step_seconds;
  return xs;
}

/** Values fitted to n points: a shorter array ends in nulls, a non-finite number is missing. */
export function fit(values: readonly Num[] | null | undefined, n: number): Num[] {
  const out = new Array<Num>(n);
  for (let i = 0; i < n; i++) {
    const v = values?.[i];
    out[i] = typeof v === "number" && Number.isFinite(v) ? v : null;
  }
  return out;
}

/** Values of one grid moved onto another: a point goes to the slot it falls on (within half a step), others stay null. */
export function regrid(values: readonly Num[], from: Grid, to: Grid): Num[] {
  const n = pointsOf(to);
  const out = new Array<Num>(n).fill(null);
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (typeof v !== "number" || !Number.isFinite(v)) continue;
    const slot = Math.round((from.start + i * from.step_seconds - to.start) / to.step_seconds);
    if (slot >= 0 && slot < n) out[slot] = v;
  }
  return out;
}

/** A key for a label set that does not depend on the order of the labels. */
export function labelKey(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort()
    .map((k) => `${k}=${labels[k] ?? ""}`)
    .join("\u0001");
}

/**
 * A fresh tail laid over an older answer, cut on the left to `from`. The tail wins where both have a point, also where
 * the tail says "missing": it was read later. Grids that do not share step and phase cannot be merged: the answer is
 * null and the caller asks for the whole window again.
 */
export function mergeTail<S extends SignalOnGrid, A extends GridAnswer<S>>(old: A, tail: A, from: number): A | null {
  const step = old.step_seconds;
  if (step !== tail.step_seconds || !(step > 0)) return null;
  const phase = (tail.start - old.start) / step;
  if (Math.abs(phase - Math.round(phase)) > 1e-6) return null;
  if (tail.start > old.end + step + 1e-6) return null;
  const drop = Math.max(0, Math.ceil((from - old.start) / step - 1e-6));
  const grid: Grid = { start: old.start + drop * step, end: Math.max(old.end, tail.end), step_seconds: step };
  if (grid.end < grid.start) return null;
  const n = pointsOf(grid);
  const tailAt = Math.round((tail.start - grid.start) / step);
  const tailN = pointsOf(tail);

  const overlay = (before: readonly Num[] | undefined, after: readonly Num[] | undefined): Num[] => {
    const out = new Array<Num>(n).fill(null);
    if (before) {
      for (let i = 0; i < n; i++) out[i] = before[i + drop] ?? null;
    }
    for (let i = 0; i < tailN; i++) {
      const at = tailAt + i;
      if (at >= 0 && at < n) out[at] = after?.[i] ?? null;
    }
    return out;
  };

  const olds = new Map(old.signals.map((s) => [s.signal, s]));
  const signals = tail.signals.map((now): S => {
    const was = olds.get(now.signal);
    const wasByKey = new Map((was?.series ?? []).map((s) => [labelKey(s.labels), s]));
    const series: LabelledValues[] = [];
    const used = new Set<string>();
    for (const s of now.series) {
      const key = labelKey(s.labels);
      used.add(key);
      series.push({ labels: s.labels, values: overlay(wasByKey.get(key)?.values, s.values) });
    }
    for (const [key, s] of wasByKey) {
      if (used.has(key)) continue;
      const values = overlay(s.values, undefined);
      if (values.some((v) => v !== null)) series.push({ labels: s.labels, values });
    }
    // An absent signal that still has points in the window keeps them; only an empty one shows the reason.
    const rest: S = { ...now, series };
    if (series.length > 0 && "absent" in rest) delete (rest as { absent?: unknown }).absent;
    return rest;
  });
  const gaps = joinGaps([...(old.gaps ?? []).filter((g) => g.to > grid.start), ...(tail.gaps ?? [])]);
  return { ...tail, ...grid, signals, gaps };
}

/** Overlapping or touching gaps of the same reason become one, in order of time. */
export function joinGaps(gaps: readonly Gap[]): Gap[] {
  const out: Gap[] = [];
  for (const g of [...gaps].sort((a, b) => a.from - b.from)) {
    const last = out[out.length - 1];
    if (last && last.reason === g.reason && g.from <= last.to) {
      out[out.length - 1] = { ...last, to: Math.max(last.to, g.to) };
    } else {
      out.push(g);
    }
  }
  return out;
}

/**
 * Stretches in which no line has a point, between the first and the last point that any line has. One missing step is
 * a gap of one step. Before the first point there was nothing yet, which is not a gap.
 */
export function gapsOf(xs: readonly number[], lines: readonly (readonly Num[])[], step: number): Gap[] {
  const has = (i: number) => lines.some((l) => l[i] !== null && l[i] !== undefined);
  let first = 0;
  while (first < xs.length && !has(first)) first++;
  let last = xs.length - 1;
  while (last > first && !has(last)) last--;
  const out: Gap[] = [];
  for (let i = first; i <= last; i++) {
    if (has(i)) continue;
    let j = i;
    while (j + 1 <= last && !has(j + 1)) j++;
    const a = xs[i];
    const b = xs[j];
    if (a !== undefined && b !== undefined) out.push({ from: a - step / 2, to: b + step / 2 });
    i = j;
  }
  return out;
}
