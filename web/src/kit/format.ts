// Numbers for people. Missing is a dash, never a zero. Every function takes
// null and undefined; units are those of the canonical signals.
export const missing = "—";

type Maybe = number | null | undefined;

function absent(v: Maybe): v is null | undefined {
  return v === null || v === undefined || !Number.isFinite(v);
}

/** Three significant digits without exponent or trailing noise: 0.0123, 1.23, 12.3, 123, 1234. */
export function digits(v: Maybe, significant = 3): string {
  if (absent(v)) return missing;
  if (v === 0) return "0";
  const a = Math.abs(v);
  if (a >= 10 ** (significant - 1)) return String(Math.round(v));
  const places = Math.min(Math.max(significant - 1 - Math.floor(Math.log10(a)), 0), 9);
  return trim(v.toFixed(places));
}

function trim(s: string): string {
  return s.includes(".") ? s.replace(/0+$/, "").replace(/\.$/, "") : s;
}

const siSteps: readonly [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** 12.3k, 4.5M. Below a thousand as digits() gives it. */
export function si(v: Maybe, significant = 3): string {
  if (absent(v)) return missing;
  const a = Math.abs(v);
  for (const [i, [size, letter]] of siSteps.entries()) {
    // 999,600 rounds to 1000k: that is 1M
    if (a / size >= 0.9995) {
      const scaled = v / size;
      const up = siSteps[i - 1];
      if (Math.abs(scaled) >= 999.5 && up) return digits(v / up[0], significant) + up[1];
      return digits(scaled, significant) + letter;
    }
  }
  return digits(v, significant);
}

/** Whole counts with thin grouping: 12 345. */
export function count(v: Maybe): string {
  if (absent(v)) return missing;
  return Math.round(v).toString().replace(/\B(?=(\d{3})+(?!\d))/g, " ");
}

/** Seconds as a duration: 850 µs, 12.3 ms, 1.23 s, 2m 5s, 3h 10m, 4d 2h. */
export function duration(seconds: Maybe): string {
  if (absent(seconds)) return missing;
  if (seconds === 0) return "0 s";
  const a = Math.abs(seconds);
  if (a < 0.9995e-6) return `${digits(seconds * 1e9)} ns`;
  if (a < 0.9995e-3) return `${digits(seconds * 1e6)} µs`;
  if (a < 0.9995) return `${digits(seconds * 1e3)} ms`;
  if (a < 99.95) return `${digits(seconds)} s`;
  const sign = seconds < 0 ? "-" : "";
  const whole = Math.round(a);
  if (whole < 3600) return sign + two(whole, 60, "m", "s", 1);
  if (whole < 86400) return sign + two(whole, 3600, "h", "m", 60);
  return sign + two(whole, 86400, "d", "h", 3600);
}

function two(seconds: number, size: number, unit: string, smaller: string, smallerSize: number): string {
  const rest = Math.floor((seconds % size) / smallerSize);
  return `${Math.floor(seconds / size)}${unit}${rest > 0 ? ` ${rest}${smaller}` : ""}`;
}

/** Seconds as bare milliseconds, for columns whose header says ms. */
export function milliseconds(seconds: Maybe): string {
  return absent(seconds) ? missing : digits(seconds * 1000);
}

/** A ratio 0..1 as percent with the sign. */
export function percent(ratio: Maybe): string {
  return absent(ratio) ? missing : `${percentDigits(ratio)} %`;
}

/** A ratio as percent without the sign, for columns whose header says %. */
export function percentDigits(ratio: Maybe): string {
  if (absent(ratio)) return missing;
  const p = ratio * 100;
  if (p === 0) return "0";
  const a = Math.abs(p);
  if (a < 0.001) return p < 0 ? ">-0.001" : "<0.001";
  // a hundred percent is a claim: 99.97 must not be rounded up to it
  if (a < 100 && a > 99.9) return a > 99.99 ? ">99.99" : trim(p.toFixed(2));
  return a >= 10 ? trim(p.toFixed(1)) : digits(p, 2);
}

const byteSteps: readonly [number, string][] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

export function bytes(v: Maybe): string {
  if (absent(v)) return missing;
  for (const [size, unit] of byteSteps) if (Math.abs(v) >= size) return `${digits(v / size)} ${unit}`;
  return `${digits(v)} B`;
}

/** Per second. */
export function rate(v: Maybe): string {
  return absent(v) ? missing : `${si(v)}/s`;
}

export function hertz(v: Maybe): string {
  return absent(v) ? missing : `${si(v)}Hz`.replace(/([kMGT])Hz$/, " $1Hz").replace(/(\d)Hz$/, "$1 Hz");
}

/** A value in one of the catalogue's units, with the unit. */
export function withUnit(v: Maybe, unit: string | undefined): string {
  if (absent(v)) return missing;
  switch (unit) {
    case "seconds":
      return duration(v);
    case "bytes":
      return bytes(v);
    case "ratio":
      return percent(v);
    case "per_second":
    case "rate":
      return rate(v);
    case "bytes_per_second":
      return `${bytes(v)}/s`;
    case "hertz":
      return hertz(v);
    case "watts":
      return `${digits(v)} W`;
    case "celsius":
      return `${digits(v)} °C`;
    case "cores":
      return `${digits(v)} cores`;
    default:
      return si(v);
  }
}

/** How long ago, coarse: 4 s, 2m 5s. */
export function ago(at: Maybe, now: number): string {
  return absent(at) ? missing : duration(Math.max(0, Math.round(now - at)));
}
