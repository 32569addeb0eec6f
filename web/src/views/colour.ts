/** Which of the theme's series colours a line gets. Numbers only: 1-based slots of the `--series-N` tokens. */

export const seriesSlots = 20;

/** FNV-1a, 32 bits: the same name gives the same number in every browser and every session. */
export function hashOf(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193);
  }
  return h >>> 0;
}

/** The first slots are the hues that differ most; the others are for crowded views. */
export const clearSlots = 10;

/** Blue, orange, green, pink: no two of them can be taken for each other. A view of few lines has only these. */
export const apartSlots = 4;

/**
 * A slot for each key. A key prefers the slot that its own name gives among those furthest apart, so it has the same colour on
 * every page; where two keys of one view want the same slot, the one later in the alphabet moves to the next free one,
 * first among those, then among the clear ones, so lines of one view differ while there are slots. Keys that `kept` knows keep what they
 * had, so a newcomer never recolours its neighbours.
 */
export function assignSlots(keys: readonly string[], kept?: ReadonlyMap<string, number>, slots = seriesSlots): Map<string, number> {
  const out = new Map<string, number>();
  const taken = new Set<number>();
  const sorted = [...new Set(keys)].sort();
  for (const key of sorted) {
    const slot = kept?.get(key);
    if (slot !== undefined && slot >= 1 && slot <= slots && !taken.has(slot)) {
      out.set(key, slot);
      taken.add(slot);
    }
  }
  const apart = Math.min(apartSlots, slots);
  const clear = Math.min(clearSlots, slots);
  for (const key of sorted) {
    if (out.has(key)) continue;
    const hash = hashOf(key);
    const slot = free(hash % apart, 0, apart, taken) ?? free(hash % Math.max(1, clear - apart), apart, clear - apart, taken) ?? free(hash % Math.max(1, slots - clear), clear, slots - clear, taken) ?? (hash % slots) + 1;
    out.set(key, slot);
    taken.add(slot);
  }
  return out;
}

/** The next free slot of `count` after `first`, beginning at `want`. */
function free(want: number, first: number, count: number, taken: ReadonlySet<number>): number | undefined {
  for (let i = 0; i < count; i++) {
    const slot = first + ((want + i) % count) + 1;
    if (!taken.has(slot)) return slot;
  }
  return undefined;
}
