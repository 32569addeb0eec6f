// The chart as a table: for readers by ear always, for everyone on request.
// A long window is thinned to whole steps; the legend says min, mean and max.
import { memo, useMemo } from "react";
import { useT } from "@/i18n";
import { dateTimeText, type Zone } from "@/state/time";
import type { TimeSeriesLine } from "./TimeSeries";
import { inUnit, type DisplayUnit } from "./units";

interface Props {
  id: string;
  label: string;
  xs: readonly number[];
  lines: readonly TimeSeriesLine[];
  zone: Zone;
  display: DisplayUnit;
  step: number;
  visible: boolean;
}

/** Indices of at most `most` points, evenly spaced, the last one always among them. */
export function thinned(n: number, most: number): number[] {
  if (n <= 0 || most <= 0) return [];
  const stride = Math.ceil(n / most);
  const out: number[] = [];
  for (let i = n - 1; i >= 0; i -= stride) out.push(i);
  return out.reverse();
}

const hiddenRows = 12;
const visibleRows = 120;
const columnsMost = 20;

export const TableTwin = memo(function TableTwin({ id, label, xs, lines, zone, display, visible }: Props) {
  const t = useT();
  const rows = useMemo(() => thinned(xs.length, visible ? visibleRows : hiddenRows), [xs.length, visible]);
  const shown = lines.slice(0, columnsMost);
  const table = (
    <table className={visible ? "w-full border-collapse text-xs tabular-nums" : ""}>
      <caption className="sr-only">{label}</caption>
      <thead>
        <tr className={visible ? "sticky top-0 bg-raised text-faint" : ""}>
          <th scope="col" className="py-0.5 pr-3 text-left font-normal">
            {t("views.time")}
          </th>
          {shown.map((l) => (
            <th key={l.key} scope="col" className="px-2 text-right font-normal">
              {l.name}
              {display.suffix ? ` (${display.suffix})` : ""}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((i) => (
          <tr key={i} className={visible ? "border-t border-line" : ""}>
            <th scope="row" className="pr-3 text-left font-normal text-muted">
              {dateTimeText(xs[i] ?? 0, zone)}
            </th>
            {shown.map((l) => (
              <td key={l.key} className="px-2 text-right">
                {l.values[i] == null ? t("views.noValue") : inUnit(display, l.values[i])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
  return (
    <div id={id} className={visible ? "mt-2 max-h-80 overflow-auto" : "sr-only"}>
      {table}
      {lines.length > columnsMost ? <p>{t("views.more", { n: lines.length - columnsMost })}</p> : null}
    </div>
  );
});
