/** Zoom arithmetic of the time axis, in Unix seconds. Pure: the page writes the result into the address. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The window of a brush between two pixels over a plot of `width` pixels that shows `shown`. Null for a click or a
 * jitter (under 4 pixels). The window is at least `least` seconds wide (one step), grown around its middle, and stays
 * inside what is shown.
 */
export function brushed(shown: Span, width: number, x0: number, x1: number, least: number): Span | null {
  if (!(width > 0) || Math.abs(x1 - x0) < 4) return null;
  const length = shown.to - shown.from;
  const at = (x: number) => shown.from + (Math.min(width, Math.max(0, x)) / width) * length;
  let from = at(Math.min(x0, x1));
  let to = at(Math.max(x0, x1));
  if (to - from < least) {
    const mid = (from + to) / 2;
    from = mid - least / 2;
    to = mid + least / 2;
    if (from < shown.from) [from, to] = [shown.from, shown.from + least];
    if (to > shown.to) [from, to] = [shown.to - least, shown.to];
  }
  return { from: Math.floor(from), to: Math.ceil(to) };
}

