// Many lines drawn as pixels. Stroking hundreds of anti-aliased paths takes a
// canvas hundreds of milliseconds; a line is at most one vertical run per pixel
// column, and filling those runs in memory takes a few. Pure: buffers in,
// pixels out.
import type { Num } from "./align";

/** Lines above this number are drawn as pixels instead of paths. */
export const rasterFrom = 60;

export interface RasterLine {
  readonly values: ArrayLike<Num | undefined>;
  /** 0xAABBGGRR, the order of canvas memory on little-endian machines. */
  readonly colour: number;
  readonly stepped?: boolean;
}

export interface RasterView {
  readonly width: number;
  readonly height: number;
  /** Pixel column of every point; ascending. */
  readonly columns: ArrayLike<number>;
  /** Value range: `min` at the bottom row, `max` at the top row. */
  readonly min: number;
  readonly max: number;
}

/** Fills rows a..b of a column, in either order, cut to the view. */
function run(pixels: Uint32Array, w: number, h: number, x: number, a: number, b: number, colour: number): void {
  if (x < 0 || x >= w) return;
  let top = a < b ? a : b;
  let bottom = a < b ? b : a;
  if (bottom < 0 || top >= h) return;
  if (top < 0) top = 0;
  if (bottom >= h) bottom = h - 1;
  for (let at = top * w + x, end = bottom * w + x; at <= end; at += w) pixels[at] = colour;
}

/**
 * Draws lines into `pixels` (width × height, row by row), later ones over
 * earlier ones. A missing value breaks the line; a point with gaps on both
 * sides is a dot of three pixels. What lies outside the range is cut off.
 */
export function rasterise(pixels: Uint32Array, view: RasterView, lines: readonly RasterLine[]): void {
  const { width: w, height: h, columns, min, max } = view;
  const n = columns.length;
  if (!(max > min) || w < 1 || h < 1) return;
  const scale = (h - 1) / (max - min);
  for (const line of lines) {
    const { values, colour, stepped } = line;
    let open = false;
    let x0 = 0;
    let y0 = 0;
    for (let i = 0; i < n; i++) {
      const v = values[i];
      if (v === null || v === undefined) {
        open = false;
        continue;
      }
      const x = columns[i] ?? 0;
      const y = Math.round((max - v) * scale);
      if (!open) {
        run(pixels, w, h, x, y, y, colour);
        if (values[i + 1] == null) {
          run(pixels, w, h, x - 1, y, y, colour);
          run(pixels, w, h, x + 1, y, y, colour);
        }
      } else if (x - x0 <= 1) {
        run(pixels, w, h, x, y0, y, colour);
      } else if (stepped) {
        for (let c = x0 + 1; c < x; c++) run(pixels, w, h, c, y0, y0, colour);
        run(pixels, w, h, x, y0, y, colour);
      } else {
        const slope = (y - y0) / (x - x0);
        let last = y0;
        for (let c = x0 + 1; c <= x; c++) {
          const next = Math.round(y0 + slope * (c - x0));
          run(pixels, w, h, c, last, next, colour);
          last = next;
        }
      }
      open = true;
      x0 = x;
      y0 = y;
    }
  }
}

/** A #rrggbb colour with an alpha of 0..1 as canvas memory; opaque black for any other text. */
export function packed(colour: string, alpha = 1): number {
  const m = /^#([0-9a-f]{6})$/i.exec(colour.trim());
  const n = m?.[1] ? parseInt(m[1], 16) : 0;
  return ((Math.round(alpha * 255) << 24) | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}
