// One function per endpoint of /api/v1/sightline.
import { ask, askPlain, askText, type Answer } from "./client";
import type { HardwareAnswer, NowAnswer, ReadyAnswer, SeriesAnswer, SignalsAnswer, SplitBy, StatusAnswer } from "./types";

const base = "/api/v1/sightline";

export function fetchNow(q: { at?: number; window?: number; points?: number }, signal?: AbortSignal): Promise<Answer<NowAnswer>> {
  return ask(`${base}/now`, { query: q, ...(signal ? { signal } : {}) });
}

export interface SeriesQuery {
  signal: readonly string[];
  service?: string;
  model?: string;
  version?: string;
  instance?: string;
  node?: string;
  gpu?: string;
  from: number;
  to: number;
  step?: number;
  by?: SplitBy;
}

export function fetchSeries(q: SeriesQuery, signal?: AbortSignal): Promise<Answer<SeriesAnswer>> {
  return ask(`${base}/series`, { query: { ...q }, ...(signal ? { signal } : {}) });
}

export function fetchHardware(q: { at?: number }, signal?: AbortSignal): Promise<Answer<HardwareAnswer>> {
  return ask(`${base}/hardware`, { query: q, ...(signal ? { signal } : {}) });
}

export function fetchSignals(q: { service?: string; model?: string; instance?: string }, signal?: AbortSignal): Promise<Answer<SignalsAnswer>> {
  return ask(`${base}/signals`, { query: q, ...(signal ? { signal } : {}) });
}

export function fetchStatus(signal?: AbortSignal): Promise<Answer<StatusAnswer>> {
  return ask(`${base}/status`, signal ? { signal } : {});
}

/** What the server waits for; answered also while it starts. */
export function fetchReady(signal?: AbortSignal): Promise<ReadyAnswer> {
  return askPlain("/readyz", signal ? { signal } : {});
}

/** The running configuration as YAML text. */
export function fetchConfig(signal?: AbortSignal): Promise<string> {
  return askText(`${base}/config`, signal ? { signal } : {});
}

export function login(token: string): Promise<Answer<unknown>> {
  return ask(`${base}/login`, { body: { token } });
}
