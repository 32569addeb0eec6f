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

/**
 * A slot for each key. A key prefers the slot that its own name gives, so it has the same colour on every page; where two
 * keys of one view want the same slot, the one later in the alphabet moves to the next free one, so lines of one view
 * differ while there are slots. Keys that `kept` knows keep what they had, so a newcomer never recolours its neighbours.
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
  for (const key of sorted) {
    if (out.has(key)) continue;
    const want = hashOf(key) % slots;
    let slot = want + 1;
    for (let i = 0; i < slots; i++) {
      const next = ((want + i) % slots) + 1;
      if (!taken.has(next)) {
        slot = next;
        break;
      }
    }
    out.set(key, slot);
    taken.add(slot);
  }
  return out;
}
