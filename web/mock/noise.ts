// Smooth deterministic values: the same name and moment always give the same number.

export function hash(s: string): number {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return h >>> 0;
}

function lattice(seed: number, i: number): number {
  let h = Math.imul(seed ^ (i * 374761393), 668265263);
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 4294967296;
}

/** 0..1, changing over `period` seconds, with finer ripples. */
export function wave(name: string, at: number, period = 240): number {
  const seed = hash(name);
  const layer = (p: number, s: number) => {
    const x = at / p;
    const i = Math.floor(x);
    const f = x - i;
    const u = f * f * (3 - 2 * f);
    return lattice(s, i) * (1 - u) + lattice(s, i + 1) * u;
  };
  return 0.62 * layer(period, seed) + 0.26 * layer(period / 5, seed + 1) + 0.12 * layer(period / 20, seed + 2);
}
