// The address is the page's state. Keys shared by all pages: from, to, tz,
// scope; per page q, view, sel, group, sort. Parsing never throws and never
// refuses: what is not understood counts as the default. Defaults are left out.
import { formatScope, parseScope, type Scope } from "./scope";
import { absoluteRange, defaultRange, durationText, isoUTC, parseDuration, parseInstant, sameRange, type TimeRange, type Zone } from "./time";

/** Flat string map of the search part; what the router carries. */
export type Search = Record<string, string>;

export function parseSearch(search: string): Search {
  const out: Search = {};
  for (const pair of search.replace(/^\?/, "").split("&")) {
    if (pair === "") continue;
    const eq = pair.indexOf("=");
    const key = decode(eq < 0 ? pair : pair.slice(0, eq));
    if (key !== "" && key !== "__proto__") out[key] = decode(eq < 0 ? "" : pair.slice(eq + 1));
  }
  return out;
}

function decode(s: string): string {
  const spaced = s.replace(/\+/g, " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced; // half an escape: take the text as it stands
  }
}

// Readable addresses: these need no escape inside a query.
const plain = /%(2C|3A|2F|40|7B|7D|28|29|21|27|2A|7E)/gi;

/** Encodes a query text; lone surrogates, which no encoder takes, become U+FFFD. */
function encode(s: string): string {
  return encodeURIComponent(s.toWellFormed())
    .replace(plain, (c) => decodeURIComponent(c))
    .replace(/%20/g, "+");
}

export function stringifySearch(search: Record<string, unknown>): string {
  const pairs = Object.entries(search)
    .filter((e): e is [string, string] => typeof e[1] === "string" && e[0] !== "")
    .map(([k, v]) => `${encode(k)}=${encode(v)}`);
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}

/** State that every page shares. tz is undefined when the reader's preference decides. */
export interface SharedState {
  range: TimeRange;
  tz?: Zone;
  scope: Scope;
}

/** from=1h is the last hour; from=ISO&to=ISO is absolute. Older forms now-1h and epoch are read too. */
export function parseTimeRange(from: string | undefined, to: string | undefined): TimeRange {
  const text = (from ?? "").trim();
  if (text === "") return defaultRange;
  const endsNow = to === undefined || to.trim() === "" || to.trim() === "now";
  if (endsNow) {
    const seconds = parseDuration(text.replace(/^now-|^-/, ""));
    if (seconds !== null) return { kind: "relative", seconds };
    return defaultRange;
  }
  const clock = { now: Date.now() / 1000, zone: "utc" as const };
  const a = parseInstant(text, clock);
  const b = parseInstant(to, clock);
  if (a === null || b === null || a >= b) return defaultRange;
  return absoluteRange(a, b);
}

export function parseShared(search: Search): SharedState {
  const tz = search.tz === "utc" || search.tz === "local" ? search.tz : undefined;
  return { range: parseTimeRange(search.from, search.to), scope: parseScope(search.scope), ...(tz ? { tz } : {}) };
}

export function formatShared(s: SharedState): Search {
  const out: Search = { ...formatTimeRange(s.range) };
  if (s.tz) out.tz = s.tz;
  const scope = formatScope(s.scope);
  if (scope) out.scope = scope;
  return out;
}

export function formatTimeRange(r: TimeRange): Search {
  if (sameRange(r, defaultRange)) return {};
  if (r.kind === "relative") return { from: durationText(r.seconds) };
  return { from: isoUTC(r.from), to: isoUTC(r.to) };
}

/** One key of a page's state: how to read it and how to write it. */
export interface Param<T> {
  key: string;
  fallback: T;
  parse(text: string): T | undefined;
  format(value: T): string;
}

export function textParam(key: string, fallback = ""): Param<string> {
  return { key, fallback, parse: (t) => t, format: (v) => v };
}

export function choiceParam<const C extends string>(key: string, choices: readonly C[], fallback: C): Param<C> {
  return { key, fallback, parse: (t) => choices.find((c) => c === t), format: (v) => v };
}

export function listParam(key: string): Param<string[]> {
  return {
    key,
    fallback: [],
    parse: (t) => t.split(",").map((p) => p.replace(/%2C/gi, ",").replace(/%25/g, "%")).filter((p) => p !== ""),
    format: (v) => v.map((p) => p.replace(/%/g, "%25").replace(/,/g, "%2C")).join(","),
  };
}

export interface Sort {
  by: string;
  descending: boolean;
}

/** sort=name, or sort=-name for descending. */
export function sortParam(fallback: Sort, key = "sort"): Param<Sort> {
  return {
    key,
    fallback,
    parse: (t) => {
      const descending = t.startsWith("-");
      const by = descending ? t.slice(1) : t;
      return by === "" ? undefined : { by, descending };
    },
    format: (v) => (v.descending ? "-" : "") + v.by,
  };
}

export type Codec<S> = { [K in keyof S]: Param<S[K]> };

/** Reads a page's state; a key that is missing or not understood gives its fallback. */
export function parseState<S>(codec: Codec<S>, search: Search): S {
  const out = {} as S;
  for (const name of Object.keys(codec) as (keyof S)[]) {
    const p = codec[name];
    const text = search[p.key];
    out[name] = (text === undefined ? undefined : p.parse(text)) ?? p.fallback;
  }
  return out;
}

/** The keys that a change needs; undefined means "leave out". */
export function formatState<S>(codec: Codec<S>, state: Partial<S>): Record<string, string | undefined> {
  const out: Record<string, string | undefined> = {};
  for (const name of Object.keys(state) as (keyof S)[]) {
    const p = codec[name];
    const text = p.format(state[name] as S[typeof name]);
    out[p.key] = text === p.format(p.fallback) ? undefined : text;
  }
  return out;
}
