// Text on a heat colour: whichever of two inks can be read on it.

function channel(v: number): number {
  const s = v / 255;
  return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
}

/** Relative luminance of a #rrggbb colour as WCAG 2.2 defines it; null when the text is no such colour. */
export function luminance(colour: string): number | null {
  const m = /^#([0-9a-f]{6})$/i.exec(colour.trim());
  if (!m?.[1]) return null;
  const n = parseInt(m[1], 16);
  return 0.2126 * channel(n >> 16) + 0.7152 * channel((n >> 8) & 255) + 0.0722 * channel(n & 255);
}

/** Contrast ratio of two colours, 1 to 21; 1 when one cannot be read. */
export function contrast(a: string, b: string): number {
  const x = luminance(a);
  const y = luminance(b);
  if (x === null || y === null) return 1;
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** The ink that reads best on a ground. */
export function inkOn(ground: string, inks: readonly string[]): string {
  return [...inks].sort((a, b) => contrast(ground, b) - contrast(ground, a))[0] ?? "";
}
