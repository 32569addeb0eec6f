import type { Num } from "./align";

/** One layer of a stack: its own values, and the running sum up to and including it (what is drawn). */
export interface Layer {
  readonly id: string;
  readonly values: readonly Num[];
}

/**
 * Running sums from the first layer up. A point at which any layer is missing has no sum from that layer on: a stack
 * over a hole would show a total that nobody measured.
 */
export function cumulate(layers: readonly Layer[]): Num[][] {
  const out: Num[][] = [];
  let below: Num[] | null = null;
  for (const layer of layers) {
    const sums: Num[] = layer.values.map((v, i): Num => {
      if (v === null) return null;
      if (below === null) return v;
      const b = below[i] ?? null;
      return b === null ? null : b + v;
    });
    out.push(sums);
    below = sums;
  }
  return out;
}

/**
 * What is left of a total after its parts. Null where the total or a part is missing. Small negatives are the noise of
 * separately rounded means and become 0; a remainder below −5 % of the total says that the parts do not belong to the
 * total, and is missing rather than hidden.
 */
export function remainder(total: readonly Num[], parts: readonly (readonly Num[])[]): Num[] {
  return total.map((t, i) => {
    if (t === null) return null;
    let rest = t;
    for (const p of parts) {
      const v = p[i] ?? null;
      if (v === null) return null;
      rest -= v;
    }
    if (rest >= 0) return rest;
    return rest >= -0.05 * Math.abs(t) ? 0 : null;
  });
}
