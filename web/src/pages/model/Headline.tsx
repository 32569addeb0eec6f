// The model's numbers of this moment, above its charts. The same row as on the
// Now page, so both always agree.
import type { NowRow } from "@/api/types";
import { useT, type Key, type Translate } from "@/i18n";
import { Chip, cx, Simulated } from "@/kit/basics";
import { dateTimeText, type Zone } from "@/state/time";
import { cellOf, columns, scaleUnit, simulatedRow, valueText } from "@/views/figures";
import { reasonText, remedyText, word } from "@/views/words";

export function Facts(p: { row: NowRow; zone: Zone }) {
  const t = useT();
  const { row } = p;
  const n = row.instances.length;
  return (
    <>
      {row.dialects.map((d) => (
        <Chip key={d}>{d}</Chip>
      ))}
      {row.versions.length > 0 && <span className="text-xs text-muted">{t("model.versions", { list: row.versions.join(", ") })}</span>}
      {n > 0 && (
        <span className="text-xs text-muted" title={row.instances.join("\n")}>
          {n === 1 ? t("model.instances.one") : t("model.instances", { n })}
        </span>
      )}
      {simulatedRow(row) && <Simulated />}
      {row.stale && row.last_sample && <Chip tone="warn">{t("model.stale", { time: dateTimeText(row.last_sample, p.zone) })}</Chip>}
    </>
  );
}

function columnWord(t: Translate, id: string): string {
  return (t as (k: Key) => string)(`now.column.${id}` as Key);
}

/** One figure per number of the row; each scrolls to the chart that proves it. */
export function Headline(p: { row: NowRow; goTo: (chart: string) => void }) {
  const t = useT();
  return (
    <dl aria-label={t("model.now")} className={cx("flex flex-wrap gap-x-1 px-3", p.row.stale && "opacity-60")}>
      {columns.map((c) => {
        const cell = cellOf(p.row[c.field]);
        if (cell.kind === "missing" && c.id === "ttft") return null;
        const why = cell.why ? [reasonText(t, cell.why), remedyText(t, cell.why)].filter(Boolean).join("\n") : undefined;
        return (
          <button key={c.id} type="button" onClick={() => p.goTo(c.chart)} title={why} className="flex flex-col rounded-md px-1.5 py-0.5 text-left hover:bg-hover">
            <dt className="text-2xs text-faint">
              {columnWord(t, c.id)}
              {cell.tag ? ` (${word(t, `views.line.${cell.tag}`, cell.tag)})` : ""}
            </dt>
            <dd className="text-lg leading-5 font-medium tabular-nums">
              {valueText(c, cell)}
              {cell.kind === "value" && scaleUnit(c.scale) !== "" && <span className="pl-1 text-2xs font-normal text-faint">{scaleUnit(c.scale)}</span>}
            </dd>
          </button>
        );
      })}
    </dl>
  );
}
