import type { Num } from "./align";

/** What the legend says about a line. All null for a line without a point. `mean` is the mean of the drawn points. */
export interface Stats {
  readonly last: Num;
  readonly min: Num;
  readonly mean: Num;
  readonly max: Num;
  readonly count: number;
}

/** Last, least, mean and greatest of the points that exist; missing points count for nothing. */
export function statsOf(values: readonly Num[]): Stats {
  let last: Num = null;
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let count = 0;
  for (const v of values) {
    if (v === null || v === undefined) continue;
    last = v;
    if (v < min) min = v;
    if (v > max) max = v;
    sum += v;
    count++;
  }
  if (count === 0) return { last: null, min: null, mean: null, max: null, count: 0 };
  return { last, min, mean: sum / count, max, count };
}
