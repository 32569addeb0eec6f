// Words by computed keys: of lines, charts, and of reasons that the server sent.
import type { Reason } from "@/api/types";
import { codeWords, currentLang, isKey, type Key, type Translate } from "@/i18n";
import type { Chart } from "./chart";

/** A word of the catalogue by a computed key; the id itself where the catalogue has none. */
export function word(t: Translate, key: string, otherwise: string): string {
  return isKey(key) ? (t as (k: Key) => string)(key) : otherwise;
}

export function lineWord(t: Translate, id: string): string {
  return word(t, `views.line.${id}`, id);
}

/** A sentence as a person would write it: the server's begin small and have no stop. A name that is written small (vLLM, dcgm-exporter) stays so. */
export function sentence(text: string): string {
  const s = text.trim();
  if (s === "") return s;
  const plain = /^[a-z]+(?=[\s,;:]|$)/.test(s);
  return (plain ? s.charAt(0).toUpperCase() + s.slice(1) : s) + (/[.。!?！？…]$/.test(s) ? "" : ".");
}

/** In English the server's own sentence, which names the thing; elsewhere our words for its code where we have them. */
function said(t: Translate, code: string, part: "text" | "remedy", sent: string | undefined): string | undefined {
  return currentLang() === "en" && sent ? sent : codeWords(t, code, part, sent);
}

export function reasonText(t: Translate, r: Reason): string {
  return sentence(said(t, r.code, "text", r.text) ?? r.code);
}

export function remedyText(t: Translate, r: Reason): string | undefined {
  const words = said(t, r.code, "remedy", r.remedy);
  return words ? sentence(words) : undefined;
}

export function chartWord(t: Translate, chart: Chart): string {
  return word(t, `views.chart.${chart.id}`, chart.id);
}
