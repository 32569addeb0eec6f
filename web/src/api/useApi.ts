// Server data for components. Live queries are asked again when the shared
// clock ticks (see app/Ticker); what is on screen stays while new data loads.
import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { liveState } from "@/state/live";
import type { TimeRange, Window } from "@/state/time";
import { resolveRange } from "@/state/time";
import { useTime } from "@/state/useUrl";
import type { Answer, ApiError } from "./client";
import { fetchReady, fetchStatus } from "./sightline";
import type { Part, StatusAnswer } from "./types";

export type Result<T> = UseQueryResult<Answer<T>, ApiError>;

function rangeKey(r: TimeRange): string {
  return r.kind === "relative" ? `r${r.seconds}` : `a${r.from}-${r.to}`;
}

/** A query over the page's time range. `key` names everything else that the answer depends on. */
export function useRangeQuery<T>(
  key: readonly unknown[],
  fetcher: (window: Window, signal: AbortSignal) => Promise<Answer<T>>,
  options: { enabled?: boolean } = {},
): Result<T> {
  const { range } = useTime();
  return useQuery<Answer<T>, ApiError>({
    queryKey: [...key, rangeKey(range)],
    queryFn: ({ signal }) => fetcher(resolveRange(range, liveState().now), signal),
    placeholderData: keepPreviousData,
    meta: { live: range.kind === "relative" },
    enabled: options.enabled ?? true,
  });
}

/** A query about this moment (or the end of an absolute range). */
export function useMomentQuery<T>(
  key: readonly unknown[],
  fetcher: (at: number, signal: AbortSignal) => Promise<Answer<T>>,
  options: { enabled?: boolean } = {},
): Result<T> {
  return useRangeQuery<T>(key, (w, signal) => fetcher(w.to, signal), options);
}

/** The server's own state; asked again every 5 s on every page, also when paused. */
export function useStatus(): Result<StatusAnswer> {
  return useQuery<Answer<StatusAnswer>, ApiError>({
    queryKey: ["status"],
    queryFn: ({ signal }) => fetchStatus(signal),
    refetchInterval: 5000,
    placeholderData: keepPreviousData,
  });
}

/** The parts of a server that is starting, from /readyz every second; null while it is not starting. */
export function useStarting(): readonly Part[] | null {
  const status = useStatus();
  const known = status.data?.data;
  const starting = status.error?.code === "starting" || (status.error === null && known?.ready === false && (known.parts ?? []).some((p) => p.state === "starting"));
  const ready = useQuery({
    queryKey: ["readyz"],
    queryFn: ({ signal }) => fetchReady(signal),
    enabled: starting,
    refetchInterval: 1000,
    gcTime: 0,
  });
  if (!starting) return null;
  // /readyz keeps sentences from strangers: the status, where it answers, has them
  return status.error === null ? (known?.parts ?? []) : (ready.data?.parts ?? []);
}
