// The page's questions to the series endpoint. The first answer holds the whole
// window; while the page is live each tick asks for the newest steps only and
// lays them over what is there, so nothing flickers and little is sent.
import { keepPreviousData, useQueries, type QueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import type { Answer as Enveloped, ApiError } from "@/api/client";
import { fetchSeries } from "@/api/sightline";
import { liveState } from "@/state/live";
import { resolveRange, type TimeRange, type Window } from "@/state/time";
import { useTime } from "@/state/useUrl";
import { mergeTail } from "./align";
import type { Ask } from "./chart";
import type { Answer } from "./lines";

export interface Match {
  readonly service?: string;
  readonly model?: string;
  readonly version?: string;
  readonly instance?: string;
  readonly node?: string;
  readonly gpu?: string;
}

interface Kept extends Enveloped<Answer> {
  /** When the whole window was last read, Unix seconds. */
  whole: number;
}

/** Steps read again on each tick: the newest points are still being written. */
export const tailSteps = 3;
/** The whole window is read again this often, for data that came late. */
export const wholeEvery = 300;

/** A window on the grid of its step: equal questions for equal data, also for the server's cache. */
export function onGrid(w: Window): Window {
  return { from: Math.floor(w.from / w.step) * w.step, to: Math.floor(w.to / w.step) * w.step, step: w.step };
}

/** From when to ask for a tail over what is kept; null when the whole window must be read. */
export function tailFrom(kept: { data: Answer; whole: number } | undefined, w: Window, now: number): number | null {
  if (!kept || now - kept.whole > wholeEvery) return null;
  const { start, end, step_seconds: step } = kept.data;
  if (!(step > 0) || start > w.from + step || end < w.from) return null;
  const from = end - tailSteps * step;
  return from > w.from && from < w.to ? from : null;
}

async function read(client: QueryClient, key: readonly unknown[], ask: Ask, match: Match, range: TimeRange, signal: AbortSignal): Promise<Kept> {
  const now = liveState().now;
  const w = onGrid(resolveRange(range, now));
  const kept = client.getQueryData<Kept>(key);
  const from = range.kind === "relative" ? tailFrom(kept, w, now) : null;
  const by = ask.by ? { by: ask.by } : {};
  if (from !== null && kept) {
    const tail = await fetchSeries({ ...match, ...by, signal: ask.signals, from, to: w.to, step: kept.data.step_seconds }, signal);
    const merged = mergeTail<Answer["signals"][number], Answer>(kept.data, tail.data as Answer, w.from);
    if (merged) return { data: merged, warnings: tail.warnings, whole: kept.whole };
  }
  const all = await fetchSeries({ ...match, ...by, signal: ask.signals, from: w.from, to: w.to, step: w.step }, signal);
  return { data: all.data as Answer, warnings: all.warnings, whole: now };
}

export interface Answers {
  /** In the order of the asks; undefined where none has come yet. */
  readonly answers: readonly (Answer | undefined)[];
  readonly error: ApiError | null;
  /** No answer at all yet. */
  readonly pending: boolean;
  /** What is shown belongs to another window or split, until the new one comes. */
  readonly old: boolean;
  readonly warnings: readonly string[];
  readonly retry: () => void;
}

function useStable<T>(list: readonly T[]): readonly T[] {
  const kept = useRef(list);
  if (kept.current.length !== list.length || list.some((x, i) => x !== kept.current[i])) kept.current = list;
  return kept.current;
}

/** Answers to a fixed list of asks about one entity over the page's window. */
export function useSeries(asks: readonly Ask[], match: Match): Answers {
  const { range } = useTime();
  const rangeKey = range.kind === "relative" ? `r${range.seconds}` : `a${range.from}-${range.to}`;
  const results = useQueries({
    queries: asks.map((ask) => {
      const queryKey = ["series", match, ask.signals, ask.by ?? "", rangeKey] as const;
      return {
        queryKey,
        queryFn: ({ client, signal }: { client: QueryClient; signal: AbortSignal }) => read(client, queryKey, ask, match, range, signal),
        placeholderData: keepPreviousData,
        structuralSharing: false,
        meta: { live: range.kind === "relative" },
      };
    }),
  });
  const answers = useStable(results.map((r) => r.data?.data));
  const warnings = useStable([...new Set(results.flatMap((r) => r.data?.warnings ?? []))]);
  return {
    answers,
    warnings,
    error: (results.find((r) => r.error)?.error as ApiError | null | undefined) ?? null,
    pending: results.every((r) => r.data === undefined),
    old: results.some((r) => r.isPlaceholderData),
    retry: () => results.forEach((r) => void r.refetch()),
  };
}
