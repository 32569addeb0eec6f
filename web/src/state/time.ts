// Time ranges: relative ("the last hour", moves with the clock) and absolute
// (fixed) are different things. Times are Unix seconds. Nothing here throws.

export interface RelativeRange {
  kind: "relative";
  /** Length in seconds, ending now. */
  seconds: number;
}
export interface AbsoluteRange {
  kind: "absolute";
  from: number;
  to: number;
}
export type TimeRange = RelativeRange | AbsoluteRange;
export type Zone = "utc" | "local";

/** A range resolved against a clock, with the step that charts ask for. */
export interface Window {
  from: number;
  to: number;
  step: number;
}

export const defaultRange: RelativeRange = { kind: "relative", seconds: 900 };

/** Presets of the picker, in seconds. */
export const presets: readonly number[] = [300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 15 * 86400];

/** Shortest range that zooming gives, in seconds. */
export const shortestRange = 15;
const longestRange = 10 * 366 * 86400;

const steps = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** The smallest round step that keeps a range under `points` points. */
export function stepFor(seconds: number, points = 300): number {
  for (const s of steps) if (seconds / s <= points) return s;
  return Math.ceil(seconds / points / 86400) * 86400;
}

/** How often a live page asks again, in seconds. */
export function refreshSeconds(seconds: number): number {
  if (seconds <= 3600) return 5;
  if (seconds <= 6 * 3600) return 15;
  if (seconds <= 86400) return 30;
  return 60;
}

export function rangeSeconds(r: TimeRange): number {
  return r.kind === "relative" ? r.seconds : r.to - r.from;
}

export function resolveRange(r: TimeRange, now: number): Window {
  const seconds = rangeSeconds(r);
  const step = stepFor(seconds);
  if (r.kind === "absolute") return { from: r.from, to: r.to, step };
  return { from: now - seconds, to: now, step };
}

export function absoluteRange(a: number, b: number): AbsoluteRange {
  const from = Math.round(Math.min(a, b));
  const to = Math.max(Math.round(Math.max(a, b)), from + shortestRange);
  return { kind: "absolute", from, to };
}

export function sameRange(a: TimeRange, b: TimeRange): boolean {
  if (a.kind === "relative") return b.kind === "relative" && a.seconds === b.seconds;
  return b.kind === "absolute" && a.from === b.from && a.to === b.to;
}

/** Doubles the range about its middle; never reaches past now. */
export function zoomOut(r: TimeRange, now: number): TimeRange {
  const w = resolveRange(r, now);
  const length = Math.min((w.to - w.from) * 2, longestRange);
  if (r.kind === "relative") return { kind: "relative", seconds: length };
  const middle = (w.from + w.to) / 2;
  const to = Math.min(middle + length / 2, now);
  return absoluteRange(to - length, to);
}

export function zoomIn(r: TimeRange, now: number): TimeRange {
  const w = resolveRange(r, now);
  const length = Math.max((w.to - w.from) / 2, shortestRange);
  if (r.kind === "relative") return { kind: "relative", seconds: Math.round(length) };
  const middle = (w.from + w.to) / 2;
  return absoluteRange(middle - length / 2, middle + length / 2);
}

/** Moves by half a length; -1 is into the past. Shifting makes it absolute. */
export function shift(r: TimeRange, now: number, direction: -1 | 1): TimeRange {
  const w = resolveRange(r, now);
  const half = ((w.to - w.from) / 2) * direction;
  const to = Math.min(w.to + half, now);
  return absoluteRange(to - (w.to - w.from), to);
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 7 * 86400, y: 365 * 86400 };

/** "90m", "1h30m", "2d" as seconds; null when it is no duration. */
export function parseDuration(text: string): number | null {
  const s = text.trim().toLowerCase();
  if (!/^(\d+(\.\d+)?[smhdwy])+$/.test(s)) return null;
  let total = 0;
  for (const [, n, u] of s.matchAll(/(\d+(?:\.\d+)?)([smhdwy])/g)) total += Number(n) * (unitSeconds[u ?? ""] ?? 0);
  return total > 0 && total <= longestRange ? total : null;
}

/** 5400 as "1h30m": the shortest exact text that parseDuration reads back. */
export function durationText(seconds: number): string {
  let rest = Math.round(seconds);
  let out = "";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]] as const) {
    const n = Math.floor(rest / size);
    if (n > 0) out += `${n}${unit}`;
    rest -= n * size;
  }
  return out === "" ? "0s" : out;
}

interface Clock {
  now: number;
  zone: Zone;
}

function startOfDay(at: number, zone: Zone): number {
  const d = new Date(at * 1000);
  if (zone === "utc") d.setUTCHours(0, 0, 0, 0);
  else d.setHours(0, 0, 0, 0);
  return d.getTime() / 1000;
}

function previousDay(day: number, days: number, zone: Zone): number {
  const d = new Date(day * 1000);
  if (zone === "utc") d.setUTCDate(d.getUTCDate() - days);
  else d.setDate(d.getDate() - days);
  return d.getTime() / 1000;
}

function atTime(day: number, h: number, m: number, s: number, zone: Zone): number {
  const d = new Date(day * 1000);
  if (zone === "utc") d.setUTCHours(h, m, s, 0);
  else d.setHours(h, m, s, 0);
  return d.getTime() / 1000;
}

const dayWords: Record<string, number> = { today: 0, yesterday: 1, 今天: 0, 昨天: 1 };
const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/** One point in time: "now", "now-2h", "yesterday 14:00", "14:00", "monday 9:30", ISO, epoch
 *  seconds or milliseconds. A text without zone is read in the zone shown. */
export function parseInstant(text: string, clock: Clock): number | null {
  const s = text.trim().toLowerCase();
  if (s === "") return null;
  if (s === "now" || s === "现在") return clock.now;
  const back = /^(?:now)?\s*-\s*(.+)$/.exec(s) ?? /^(.+?)\s+ago$/.exec(s) ?? /^(.+?)\s*前$/.exec(s);
  if (back) {
    const d = parseDuration((back[1] ?? "").replace(/\s+/g, ""));
    return d === null ? null : clock.now - d;
  }
  if (/^\d{9,10}(\.\d+)?$/.test(s)) return Number(s);
  if (/^\d{12,13}$/.test(s)) return Number(s) / 1000;
  const word = /^([a-z一-鿿]+)?\s*(?:(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/.exec(s);
  if (word && (word[1] || word[2])) {
    let day = startOfDay(clock.now, clock.zone);
    let named = false;
    if (word[1]) {
      const days = dayWords[word[1]];
      const weekday = weekdays.indexOf(word[1]);
      if (days !== undefined) day = previousDay(day, days, clock.zone);
      else if (weekday >= 0) {
        const d = new Date(day * 1000);
        const today = clock.zone === "utc" ? d.getUTCDay() : d.getDay();
        day = previousDay(day, (today - weekday + 7) % 7, clock.zone);
      } else return null;
      named = true;
    }
    const [h, m, sec] = [Number(word[2] ?? 0), Number(word[3] ?? 0), Number(word[4] ?? 0)];
    if (h > 23 || m > 59 || sec > 59) return null;
    const at = atTime(day, h, m, sec, clock.zone);
    // a bare clock time that has not come yet today means yesterday's
    return !named && at > clock.now ? atTime(previousDay(day, 1, clock.zone), h, m, sec, clock.zone) : at;
  }
  return parseISO(s, clock.zone);
}

function parseISO(s: string, zone: Zone): number | null {
  const m = /^(\d{4})-(\d{2})-(\d{2})(?:[t ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(z|[+-]\d{2}:?\d{2})?$/.exec(s);
  if (!m) return null;
  const [, y, mo, d, h = "0", mi = "0", sec = "0", offset] = m;
  const parts = [Number(y), Number(mo) - 1, Number(d), Number(h), Number(mi), Number(sec)] as const;
  if (parts[1] > 11 || parts[2] < 1 || parts[2] > 31 || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) return null;
  if (offset || zone === "utc") {
    let ms = Date.UTC(...parts);
    if (offset && offset !== "z") {
      const sign = offset[0] === "-" ? -1 : 1;
      const digits = offset.replace(/[^\d]/g, "");
      ms -= sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000;
    }
    return Number.isFinite(ms) ? ms / 1000 : null;
  }
  const ms = new Date(...parts).getTime();
  return Number.isFinite(ms) ? ms / 1000 : null;
}

/** What a person types into the picker: a duration, a range "A to B", or a start. */
export function parseRange(text: string, clock: Clock): TimeRange | null {
  const s = text.trim();
  const duration = parseDuration(s.toLowerCase().replace(/^(last|past)\s+/, "").replace(/\s+/g, ""));
  if (duration !== null) return { kind: "relative", seconds: duration };
  const two = /^(.+?)\s+(?:to|until|–|—|…|到|至|-)\s+(.+)$/i.exec(s) ?? /^(.+?)\s*(?:\.\.|…|到|至)\s*(.+)$/.exec(s);
  if (two) {
    const from = parseInstant(two[1] ?? "", clock);
    if (from === null) return null;
    // "yesterday 14:00 to 15:00": a bare time belongs to the day of the start
    const second = (two[2] ?? "").trim();
    const bare = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(second);
    const to = bare
      ? atTime(startOfDay(from, clock.zone), Number(bare[1]), Number(bare[2]), Number(bare[3] ?? 0), clock.zone)
      : parseInstant(second, clock);
    if (to === null || to <= from) return null;
    return absoluteRange(from, to);
  }
  const from = parseInstant(s, clock);
  if (from === null || from >= clock.now) return null;
  return absoluteRange(from, clock.now);
}

function pad(n: number, width = 2): string {
  return String(n).padStart(width, "0");
}

/** ISO with a Z, to the second: what links carry. */
export function isoUTC(at: number): string {
  return new Date(Math.round(at) * 1000).toISOString().slice(0, 19) + "Z";
}

export interface DateParts {
  date: string;
  time: string;
}

/** 24-hour date and clock in the zone shown. */
export function dateParts(at: number, zone: Zone): DateParts {
  const d = new Date(at * 1000);
  if (zone === "utc")
    return {
      date: `${d.getUTCFullYear()}-${pad(d.getUTCMonth() + 1)}-${pad(d.getUTCDate())}`,
      time: `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}`,
    };
  return {
    date: `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`,
    time: `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`,
  };
}

export function dateTimeText(at: number, zone: Zone): string {
  const p = dateParts(at, zone);
  return `${p.date} ${p.time}`;
}

/** "UTC", "UTC+8" for the zone shown at a moment. */
export function zoneName(zone: Zone, at: number): string {
  if (zone === "utc") return "UTC";
  const minutes = -new Date(at * 1000).getTimezoneOffset();
  if (minutes === 0) return "UTC+0";
  const h = Math.trunc(Math.abs(minutes) / 60);
  const m = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "-" : "+"}${h}${m ? ":" + pad(m) : ""}`;
}

/** Absolute range on one line; the second date is left out on the same day. */
export function rangeText(from: number, to: number, zone: Zone): string {
  const a = dateParts(from, zone);
  const b = dateParts(to, zone);
  const short = (t: string) => (t.endsWith(":00") ? t.slice(0, 5) : t);
  return a.date === b.date
    ? `${a.date} ${short(a.time)} – ${short(b.time)}`
    : `${a.date} ${short(a.time)} – ${b.date} ${short(b.time)}`;
}
