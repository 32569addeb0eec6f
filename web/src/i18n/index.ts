// All words of the console. Keys are typed: a key that is missing in a
// language, or a placeholder without its value, does not type-check.
import { useSyncExternalStore } from "react";
import { readPreference, writePreference } from "@/state/preferences";
import { en } from "./en";
import { zh } from "./zh";

export type Lang = "en" | "zh";
export const languages: readonly { id: Lang; name: string; html: string }[] = [
  { id: "en", name: "English", html: "en" },
  { id: "zh", name: "简体中文", html: "zh-CN" },
];

type Catalogue = typeof en;
export type Key = keyof Catalogue;
/** {n} is a value; {n:node|nodes} is a word that follows the value n. */
type Name<P extends string> = P extends `${infer N}:${string}` ? N : P;
type Holes<S extends string> = S extends `${string}{${infer P}}${infer R}` ? Name<P> | Holes<R> : never;
type Args<K extends Key> = [Holes<Catalogue[K]>] extends [never] ? [] : [Record<Holes<Catalogue[K]>, string | number>];
/** Keys whose words have no placeholder: what tables of records carry. */
export type PlainKey = { [K in Key]: [Holes<Catalogue[K]>] extends [never] ? K : never }[Key];
export type Translate = <K extends Key>(key: K, ...args: Args<K>) => string;

const catalogues: Record<Lang, Record<Key, string>> = { en, zh };

export function isKey(key: string): key is Key {
  return Object.hasOwn(en, key);
}

function fill(text: string, values: Record<string, string | number> | undefined): string {
  if (!values) return text;
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (hole, name: string, one?: string, many?: string) => {
    const value = values[name];
    if (value === undefined) return hole;
    return one === undefined ? String(value) : ((String(value) === "1" ? one : many) ?? "");
  });
}

function translator(lang: Lang): Translate {
  return (key, ...args) => fill(catalogues[lang][key], args[0] as Record<string, string | number> | undefined);
}

const translators: Record<Lang, Translate> = { en: translator("en"), zh: translator("zh") };

function toLang(text: string | null | undefined): Lang | null {
  if (!text) return null;
  if (/^zh/i.test(text)) return "zh";
  if (/^en/i.test(text)) return "en";
  return null;
}

/** ?lang of the address, else the stored choice, else the browser's, else English. */
export function pickLang(search: string, stored: string | null, browser: readonly string[]): Lang {
  const link = toLang(new URLSearchParams(search).get("lang"));
  if (link) return link;
  const kept = toLang(stored);
  if (kept) return kept;
  for (const l of browser) {
    const known = toLang(l);
    if (known) return known;
  }
  return "en";
}

let current: Lang = "en";
const listeners = new Set<() => void>();

function show(lang: Lang): void {
  current = lang;
  if (typeof document !== "undefined") document.documentElement.lang = languages.find((l) => l.id === lang)?.html ?? "en";
  for (const l of listeners) l();
}

if (typeof window !== "undefined") show(pickLang(location.search, readPreference("lang"), navigator.languages));

export function currentLang(): Lang {
  return current;
}

/** The reader's choice; stored. A ?lang in the address is for the caller to remove. */
export function setLang(lang: Lang): void {
  writePreference("lang", lang);
  show(lang);
}

export function useLang(): Lang {
  return useSyncExternalStore(
    (l) => (listeners.add(l), () => listeners.delete(l)),
    currentLang,
  );
}

/** Words for components; they change with the language. */
export function useT(): Translate {
  return translators[useLang()];
}

/** Words outside React (canvas, formatters): the language at the time of the call. */
export const t: Translate = (key, ...args) => translators[current](key, ...args);

/** A sentence of the server that names its thing and value. In English it is shown as it
 *  is; in another language our words for the code stand first and the original follows. */
export interface Specific {
  words: string;
  /** The server's own sentence, when `words` is a translation that lacks its particulars. */
  original?: string;
}

export function specificWords(lang: Lang, code: string | undefined, part: "text" | "remedy", sent: string | undefined): Specific | undefined {
  const key = `code.${code}.${part}`;
  const own = code !== undefined && isKey(key) ? catalogues[lang][key] : undefined;
  if (sent === undefined || sent === "") return own === undefined ? undefined : { words: own };
  if (lang === "en" || own === undefined) return { words: sent };
  return { words: own, original: sent };
}

export function useSpecific(): (code: string | undefined, part: "text" | "remedy", sent: string | undefined) => Specific | undefined {
  const lang = useLang();
  return (code, part, sent) => specificWords(lang, code, part, sent);
}

/** Words that the server sent with a code: ours when the catalogue has the code, else the server's. */
export function codeWords(tr: Translate, code: string | undefined, part: "text" | "remedy", fallback: string | undefined): string | undefined {
  const key = `code.${code}.${part}`;
  return code !== undefined && isKey(key) ? (tr as (k: Key) => string)(key) : fallback;
}

/** What a canonical signal (level:name:operation) means: in English the server's own words, elsewhere ours where we have them. */
export function signalMeaning(lang: Lang, signal: string, sent: string): string {
  if (lang === "en") return sent;
  const [level = "", name = signal, operation = ""] = signal.split(":");
  for (const key of [`signal.${level}.${name}`, `signal.${name}.${operation}`, `signal.${name}`]) if (isKey(key)) return catalogues[lang][key];
  return sent;
}
