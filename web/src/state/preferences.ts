// Stored preferences: small strings in local storage. A browser that refuses
// storage gets a memory of this page's life.
const prefix = "sightline.";
const memory = new Map<string, string>();

export type Preference = "theme" | "lang" | "tz" | "explore.history" | "rail";

export function readPreference(name: Preference): string | null {
  try {
    return localStorage.getItem(prefix + name) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

export function writePreference(name: Preference, value: string | null): void {
  if (value === null) memory.delete(name);
  else memory.set(name, value);
  try {
    if (value === null) localStorage.removeItem(prefix + name);
    else localStorage.setItem(prefix + name, value);
  } catch {
    // storage is refused or full: the memory above serves until the page closes
  }
}
