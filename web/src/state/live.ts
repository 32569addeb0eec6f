// The shared clock. Every live query of a page resolves its range against the
// same now, so all charts share one axis. The clock follows the server: the
// offset comes from the Date header of its answers.
import { useSyncExternalStore } from "react";

export interface LiveState {
  /** Unix seconds that relative ranges end at. */
  now: number;
  /** Paused by the reader. */
  paused: boolean;
  /** Server minus browser, seconds; null until an answer came. */
  skew: number | null;
  /** When an answer last arrived, Unix seconds; null before the first. */
  lastAnswer: number | null;
}

let state: LiveState = { now: Math.floor(Date.now() / 1000), paused: false, skew: null, lastAnswer: null };
const listeners = new Set<() => void>();

function set(change: Partial<LiveState>): void {
  state = { ...state, ...change };
  for (const l of listeners) l();
}

export function liveState(): LiveState {
  return state;
}

export function subscribeLive(l: () => void): () => void {
  listeners.add(l);
  return () => listeners.delete(l);
}

export function useLive(): LiveState {
  return useSyncExternalStore(subscribeLive, liveState);
}

/** Server time now, in Unix seconds. */
export function serverNow(): number {
  // Date headers have whole seconds: below 2 s an offset is noise
  const skew = state.skew !== null && Math.abs(state.skew) >= 2 ? state.skew : 0;
  return Date.now() / 1000 + skew;
}

/** Moves the shared clock on; does nothing while paused. */
export function tick(): boolean {
  if (state.paused) return false;
  set({ now: Math.floor(serverNow()) });
  return true;
}

export function setPaused(paused: boolean): void {
  set(paused ? { paused } : { paused, now: Math.floor(serverNow()) });
}

/** Called by the API client with each answer's Date header. */
export function noteAnswer(dateHeader: string | null, sentMs: number, receivedMs: number): void {
  const at = dateHeader ? Date.parse(dateHeader) : NaN;
  if (!Number.isFinite(at)) {
    set({ lastAnswer: receivedMs / 1000 });
    return;
  }
  // the header is truncated to the second: its middle lies half a second later
  const skew = (at + 500 - (sentMs + receivedMs) / 2) / 1000;
  const old = state.skew;
  set({ lastAnswer: receivedMs / 1000, skew: old === null || Math.abs(skew - old) > 1 ? skew : old });
}

/** Skew that is worth a warning, in seconds. */
export const skewLimit = 30;
