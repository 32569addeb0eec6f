import type { Condition, Severity } from "@/api/types";
import { useSpecific, useT } from "@/i18n";
import { useLive } from "@/state/live";
import { StateMark, type Tone } from "./basics";
import { ago } from "./format";
import { Sentence } from "./states";

export const severityTone: Record<Severity, Tone> = { error: "bad", warning: "warn", info: "info" };

/** What is wrong with the product itself, worst first as the server sends it. */
export function ConditionList(p: { conditions: readonly Condition[] }) {
  const t = useT();
  const { now } = useLive();
  const specific = useSpecific();
  return (
    <ul className="min-h-0 divide-y divide-line overflow-auto">
      {p.conditions.map((c) => (
        <li key={`${c.code} ${c.subject}`} className="flex flex-col gap-0.5 px-3 py-2">
          <span className="flex items-baseline gap-2">
            <StateMark tone={severityTone[c.severity] ?? "neutral"}>
              <span className="font-mono text-xs">{c.code}</span>
            </StateMark>
            <span className="min-w-0 truncate font-mono text-xs text-muted" title={c.subject}>
              {c.subject}
            </span>
            <span className="flex-1" />
            <span className="text-2xs whitespace-nowrap text-faint">{t("shell.health.since", { age: ago(Date.parse(c.since) / 1000, now) })}</span>
          </span>
          <span className="break-words">
            <Sentence of={specific(c.code, "text", c.text) ?? { words: c.text }} />
          </span>
          {c.hint && <span className="text-xs break-words text-muted">{specific(c.code, "remedy", c.hint)?.words}</span>}
        </li>
      ))}
    </ul>
  );
}
