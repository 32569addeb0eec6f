// Words by computed keys: of lines, charts, and of reasons that the server sent.
import type { Reason } from "@/api/types";
import { codeWords, isKey, type Key, type Translate } from "@/i18n";
import type { Chart } from "./chart";

/** A word of the catalogue by a computed key; the id itself where the catalogue has none. */
export function word(t: Translate, key: string, otherwise: string): string {
  return isKey(key) ? (t as (k: Key) => string)(key) : otherwise;
}

export function lineWord(t: Translate, id: string): string {
  return word(t, `views.line.${id}`, id);
}

export function reasonText(t: Translate, r: Reason): string {
  return codeWords(t, r.code, "text", r.text) ?? r.text;
}

export function remedyText(t: Translate, r: Reason): string | undefined {
  return codeWords(t, r.code, "remedy", r.remedy);
}

export function chartWord(t: Translate, chart: Chart): string {
  return word(t, `views.chart.${chart.id}`, chart.id);
}
