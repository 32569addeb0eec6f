// Theme: the system's choice unless the reader stored one. Canvas views read
// tokens through token() and redraw on subscribe().
import { useSyncExternalStore } from "react";
import { readPreference, writePreference } from "@/state/preferences";

export type Theme = "dark" | "light";
export type ThemeChoice = Theme | "system";

const listeners = new Set<() => void>();
const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: light)") : null;

function systemTheme(): Theme {
  return media?.matches ? "light" : "dark";
}

export function themeChoice(): ThemeChoice {
  const stored = readPreference("theme");
  return stored === "dark" || stored === "light" ? stored : "system";
}

/** The theme on screen now. */
export function currentTheme(): Theme {
  const choice = themeChoice();
  return choice === "system" ? systemTheme() : choice;
}

function apply(): void {
  document.documentElement.dataset.theme = currentTheme();
  for (const l of listeners) l();
}

export function setTheme(choice: ThemeChoice): void {
  writePreference("theme", choice === "system" ? null : choice);
  apply();
}

media?.addEventListener("change", apply);

export function subscribeTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribeTheme, currentTheme);
}

export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore(subscribeTheme, themeChoice);
}

/** The value of a token such as "--series-1", for canvas. */
export function token(name: `--${string}`): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** How many series colours exist; --series-1 … --series-20. */
export const seriesColours = 20;

/** A stable colour token for an entity: the same name gets the same colour. */
export function seriesToken(index: number): `--series-${number}` {
  return `--series-${(((index % seriesColours) + seriesColours) % seriesColours) + 1}`;
}

/** Hands out colours that differ within one view and stay with their entity
 *  where possible: a name's hash picks first, a collision moves on. */
export function assignSeriesColours(names: readonly string[]): Map<string, `--series-${number}`> {
  const out = new Map<string, `--series-${number}`>();
  const taken = new Set<number>();
  for (const name of [...new Set(names)].sort()) {
    let at = hash(name) % seriesColours;
    for (let tries = 0; taken.has(at) && tries < seriesColours; tries++) at = (at + 1) % seriesColours;
    taken.add(at);
    out.set(name, seriesToken(at));
  }
  return out;
}

function hash(s: string): number {
  let h = 2166136261; // FNV-1a
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return h >>> 0;
}
