// React hooks over the address. push = a change of subject, replace = tuning.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useSyncExternalStore } from "react";
import { liveState, useLive } from "./live";
import { readPreference, writePreference } from "./preferences";
import type { Scope, ScopeKey } from "./scope";
import { resolveRange, type TimeRange, type Window, type Zone } from "./time";
import { formatShared, formatState, formatTimeRange, parseShared, parseState, type Codec, type Search, type SharedState } from "./url";

export type Step = "push" | "replace";

/** The raw search of the address. */
export function useRawSearch(): Search {
  return useSearch({ strict: false }) as Search;
}

/** Changes keys of the address; undefined removes a key. */
export function usePatchSearch(): (patch: Record<string, string | undefined>, step?: Step) => void {
  const navigate = useNavigate();
  return useCallback(
    (patch, step = "replace") => {
      void navigate({
        to: ".",
        search: (old: Search) => {
          const next: Search = { ...old };
          for (const [k, v] of Object.entries(patch)) {
            if (v === undefined) delete next[k];
            else next[k] = v;
          }
          return next;
        },
        replace: step === "replace",
        resetScroll: false,
      } as never);
    },
    [navigate],
  );
}

/** A page's own state; set() writes only what changed. */
export function useUrlState<S>(codec: Codec<S>): [S, (change: Partial<S>, step?: Step) => void] {
  const search = useRawSearch();
  const patch = usePatchSearch();
  const state = useMemo(() => parseState(codec, search), [codec, search]);
  const set = useCallback((change: Partial<S>, step?: Step) => patch(formatState(codec, change), step), [codec, patch]);
  return [state, set];
}

const tzListeners = new Set<() => void>();
function preferredZone(): Zone {
  return readPreference("tz") === "utc" ? "utc" : "local";
}

export interface TimeControl {
  range: TimeRange;
  zone: Zone;
  /** Follows the clock now: relative and not paused. */
  live: boolean;
  paused: boolean;
  window: Window;
  setRange(range: TimeRange, step?: Step): void;
  /** What brushing a chart calls, Unix seconds. */
  zoomTo(from: number, to: number): void;
  setZone(zone: Zone): void;
}

/** Time range and zone of the page; the window moves with the shared clock. */
export function useTime(): TimeControl {
  const search = useRawSearch();
  const patch = usePatchSearch();
  const { now, paused } = useLive();
  const preferred = useSyncExternalStore(
    (l) => (tzListeners.add(l), () => tzListeners.delete(l)),
    preferredZone,
  );
  const { from, to, tz } = search;
  const shared = useMemo(() => parseShared({ ...(from !== undefined ? { from } : {}), ...(to !== undefined ? { to } : {}), ...(tz !== undefined ? { tz } : {}) }), [from, to, tz]);
  const range = shared.range;
  const window = useMemo(() => resolveRange(range, now), [range, now]);
  const setRange = useCallback(
    (r: TimeRange, step: Step = "push") => patch({ from: undefined, to: undefined, ...formatTimeRange(r) }, step),
    [patch],
  );
  const zoomTo = useCallback(
    (a: number, b: number) => setRange({ kind: "absolute", from: Math.round(Math.min(a, b)), to: Math.round(Math.max(a, b)) }),
    [setRange],
  );
  const setZone = useCallback(
    (zone: Zone) => {
      writePreference("tz", zone === "local" ? null : zone);
      for (const l of tzListeners) l();
      patch({ tz: undefined });
    },
    [patch],
  );
  return {
    range,
    zone: shared.tz ?? preferred,
    live: range.kind === "relative" && !paused,
    paused: range.kind === "relative" && paused,
    window,
    setRange,
    zoomTo,
    setZone,
  };
}

export interface ScopeControl {
  scope: Scope;
  setScope(change: Partial<Record<ScopeKey, string | undefined>>, step?: Step): void;
}

export function useScope(): ScopeControl {
  const { scope: text } = useRawSearch();
  const patch = usePatchSearch();
  const scope = useMemo(() => parseShared(text === undefined ? {} : { scope: text }).scope, [text]);
  const setScope = useCallback(
    (change: Partial<Record<ScopeKey, string | undefined>>, step: Step = "push") => {
      const next: Scope = { ...scope };
      for (const [k, v] of Object.entries(change) as [ScopeKey, string | undefined][]) {
        if (v) next[k] = v;
        else delete next[k];
      }
      patch({ scope: formatShared({ range: { kind: "relative", seconds: 3600 }, scope: next }).scope }, step);
    },
    [scope, patch],
  );
  return { scope, setScope };
}

/** Search that a link to another page carries along: time and zone, and the scope when asked. */
export function useCarriedSearch(withScope = false): Search {
  const search = useRawSearch();
  return useMemo(() => {
    const out: Search = {};
    for (const k of withScope ? ["from", "to", "tz", "scope", "lang"] : ["from", "to", "tz", "lang"]) {
      const v = search[k];
      if (v !== undefined) out[k] = v;
    }
    return out;
  }, [search, withScope]);
}

/** This page's address with relative time frozen: for sharing what is seen now. */
export function frozenAddress(href: string, search: Search, zone: Zone): string {
  const url = new URL(href);
  const shared: SharedState = parseShared(search);
  const w = resolveRange(shared.range, liveState().now);
  const next: Record<string, string> = { ...search, ...formatTimeRange({ kind: "absolute", from: w.from, to: w.to }), tz: zone };
  const pairs = Object.entries(next).map(([k, v]) => `${encodeURIComponent(k)}=${encodeURIComponent(v).replace(/%(2C|3A|2F)/g, decodeURIComponent)}`);
  return `${url.origin}${url.pathname}?${pairs.join("&")}`;
}
