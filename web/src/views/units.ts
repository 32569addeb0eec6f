// How a chart writes numbers: one scale per chart, chosen from its greatest
// value, so that a column of numbers can be compared at a glance and the unit
// stands once in the header.

import { count, missing } from "@/kit/format";

export interface DisplayUnit {
  /** Written once beside the title or in a header: "ms", "GiB", "%", "req/s" is the page's word. Empty for a plain number. */
  readonly suffix: string;
  readonly divisor: number;
}

const plain: DisplayUnit = { suffix: "", divisor: 1 };

function scaled(max: number, steps: readonly (readonly [number, string])[]): DisplayUnit {
  for (const [divisor, suffix] of steps) if (max >= divisor) return { divisor, suffix };
  const last = steps[steps.length - 1];
  return last ? { divisor: last[0], suffix: last[1] } : plain;
}

const seconds = [[3600, "h"], [120, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]] as const;
const bytes = [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]] as const;
const hertz = [[1e9, "GHz"], [1e6, "MHz"], [1e3, "kHz"], [1, "Hz"]] as const;

/**
 * A scale for seconds in which the small lines of a chart can be read beside the great one: 10 µs beside 1.2 s is
 * written in ms, as long as the great one keeps to five digits.
 */
function secondsScale(top: number, small: number): DisplayUnit {
  let at = scaled(top, seconds);
  for (const [divisor, suffix] of seconds) {
    if (divisor >= at.divisor || small / at.divisor >= 0.01) continue;
    if (top / divisor < 1e5) at = { divisor, suffix };
  }
  return at;
}

/**
 * The scale for a signal's unit, as the catalogue names units, when the greatest value shown is `max` and the least
 * that matters is `small`.
 */
export function displayUnit(unit: string | undefined, max: number | null, small: number | null = max): DisplayUnit {
  const top = Math.abs(max ?? 0);
  const name = (unit ?? "").toLowerCase().replaceAll("_", " ");
  if (name.endsWith("per second")) {
    if (!name.startsWith("bytes")) return { suffix: "/s", divisor: 1 };
    const s = scaled(top, bytes);
    return { divisor: s.divisor, suffix: `${s.suffix}/s` };
  }
  switch (name) {
    case "seconds":
      return top === 0 ? { suffix: "ms", divisor: 1e-3 } : secondsScale(top, Math.abs(small ?? top) || top);
    case "bytes":
      return scaled(top, bytes);
    case "hertz":
      return scaled(top, hertz);
    case "ratio":
      return { suffix: "%", divisor: 0.01 };
    case "watts":
      return { suffix: "W", divisor: 1 };
    case "celsius":
    case "degrees celsius":
      return { suffix: "°C", divisor: 1 };
    case "cores":
      return { suffix: "cores", divisor: 1 };
    default:
      return plain;
  }
}

const formats = new Map<number, Intl.NumberFormat>();
function fixed(digits: number): Intl.NumberFormat {
  let f = formats.get(digits);
  if (!f) {
    f = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false });
    formats.set(digits, f);
  }
  return f;
}

/** Three significant digits, fewer below 0.01; thousands grouped, never an exponent; zero is "0". */
export function numberText(v: number): string {
  if (v === 0) return "0";
  const a = Math.abs(v);
  if (a >= 1e9) return `${numberText(v / 1e9)}G`;
  if (a >= 1e6) return `${numberText(v / 1e6)}M`;
  if (a >= 999.5) return count(v);
  const digits = a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : a >= 0.0995 ? 3 : a >= 0.000995 ? 4 : 5;
  if (a < 0.000005) return v < 0 ? ">-0.00001" : "<0.00001";
  return fixed(digits).format(v);
}

/** A value in a chart's scale without the suffix; "—" when missing. */
export function inUnit(u: DisplayUnit, v: number | null | undefined): string {
  return v === null || v === undefined || !Number.isFinite(v) ? missing : numberText(v / u.divisor);
}

/** A value with its suffix, for prose and hover. */
export function withUnit(u: DisplayUnit, v: number | null | undefined): string {
  const n = inUnit(u, v);
  return n === missing || u.suffix === "" ? n : u.suffix === "%" || u.suffix.startsWith("/") ? `${n}${u.suffix}` : `${n} ${u.suffix}`;
}

/** A tick of an axis whose ticks are `step` apart: as many digits as tell neighbours apart. */
export function tickText(u: DisplayUnit, v: number, step: number): string {
  const x = v / u.divisor;
  const d = Math.abs(step / u.divisor);
  if (Math.abs(x) >= 1e6) return `${numberText(x / 1e6)}M`;
  // 0.25 needs two digits, 0.2 one
  let digits = 0;
  while (digits < 6 && Math.abs(d * 10 ** digits - Math.round(d * 10 ** digits)) > 1e-6 * d * 10 ** digits) digits++;
  return fixed(digits).format(Math.abs(x) < d / 1e6 ? 0 : x);
}
