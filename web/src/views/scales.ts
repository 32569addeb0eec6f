/** Axis arithmetic: ranges, tick steps and the place of a number on a heat scale. Pure; no words, no colours. */

/** The shape of an axis: what is counted decides where zero is and which steps are round. */
export type AxisKind = "seconds" | "bytes" | "ratio" | "number";

/** The axis kind of a signal's unit as the API names it. */
export function axisKind(unit: string | undefined): AxisKind {
  switch (unit) {
    case "seconds":
      return "seconds";
    case "bytes":
    case "bytes per second":
      return "bytes";
    case "ratio":
      return "ratio";
    default:
      return "number";
  }
}

/** Round steps for ticks of this kind, ascending. Seconds go 1-2-5 below a minute and clock-like above; bytes in powers of two; ratios in quarters. */
export function tickSteps(kind: AxisKind): number[] {
  const out: number[] = [];
  if (kind === "bytes") {
    for (let e = 0; e <= 60; e++) out.push(2 ** e);
    return out;
  }
  const top = kind === "seconds" ? 1 : 12;
  for (let e = -9; e <= top; e++) {
    for (const m of kind === "ratio" ? ["1", "2.5", "5"] : ["1", "2", "5"]) out.push(Number(`${m}e${e}`));
  }
  if (kind === "seconds") {
    const clock = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400];
    return [...out.filter((s) => s < 60), ...clock, ...[2, 5, 10, 20, 50, 100].map((d) => d * 86400)];
  }
  return out;
}

/** The least round step that gives at most `most` ticks over a span; undefined for an empty span. */
export function tickStep(kind: AxisKind, span: number, most: number): number | undefined {
  if (!(span > 0) || !(most > 0)) return undefined;
  const steps = tickSteps(kind);
  return steps.find((s) => span / s <= most) ?? steps[steps.length - 1];
}

/**
 * Range of a value axis. Zero is always on it (a truncated axis exaggerates), a ratio ends at 1 unless its values are
 * small or above 1, and a flat or empty chart still gets a height.
 */
export function valueRange(kind: AxisKind, min: number | null, max: number | null, most = 4): [number, number] {
  const lo = Math.min(0, min ?? 0);
  let hi = Math.max(0, max ?? 0);
  if (kind === "ratio") {
    if (hi > 0.5 && hi <= 1) return [lo, 1];
    if (hi === 0) return [lo, lo < 0 ? 0 : 0.01];
  }
  if (hi === 0 && lo === 0) return [0, kind === "seconds" ? 0.001 : 1];
  const step = tickStep(kind, hi - lo, most) ?? 1;
  const top = hi === 0 ? 0 : Math.ceil(hi / step - 1e-9) * step;
  const headroom = top - hi < 0.04 * (hi - lo) && hi > 0 ? step / 4 : 0;
  const bottom = lo === 0 ? 0 : Math.floor(lo / step + 1e-9) * step;
  return [bottom, Number((top + headroom).toPrecision(12))];
}

/** Where a value lies on a scale of `levels` heat colours, 0-based; null stays null. Values outside are clamped. */
export function heatLevel(value: number | null | undefined, min: number, max: number, levels: number): number | null {
  if (value === null || value === undefined || !Number.isFinite(value) || !(max > min) || levels < 1) return null;
  const t = (value - min) / (max - min);
  return Math.min(levels - 1, Math.max(0, Math.floor(t * levels)));
}
