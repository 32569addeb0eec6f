// The legend is a table: a line's swatch and name, its value under the cursor
// or its last one, least, mean and greatest. Values under the cursor are
// written straight into the cells: a mouse move must not render React.
import { useImperativeHandle, useMemo, useRef, type Ref } from "react";
import { useT } from "@/i18n";
import { dateParts, type Zone } from "@/state/time";
import { slotVar } from "./look";
import { statsOf } from "./stats";
import type { TimeSeriesLine } from "./TimeSeries";
import { inUnit, type DisplayUnit } from "./units";

export interface LegendHandle {
  /** Index of the point under the cursor; null shows the last value again. */
  show(index: number | null): void;
  focus(key: string | null): void;
}

interface Props {
  ref: Ref<LegendHandle>;
  xs: readonly number[];
  lines: readonly TimeSeriesLine[];
  zone: Zone;
  display: DisplayUnit;
  hidden: ReadonlySet<string>;
  maxHeight: number;
  onToggle(key: string, solo: boolean): void;
  onFocus(key: string | null): void;
}

/** Rows of a legend; more lines than this are drawn but named only on hover. */
export const legendRows = 100;

/** Time of the last point that any line has. */
export function lastTime(xs: readonly number[], lines: readonly Pick<TimeSeriesLine, "values">[]): number | undefined {
  for (let i = xs.length - 1; i >= 0; i--) if (lines.some((l) => l.values[i] != null)) return xs[i];
  return undefined;
}

export function Legend({ ref, xs, lines, zone, display, hidden, maxHeight, onToggle, onFocus }: Props) {
  const t = useT();
  const body = useRef<HTMLTableSectionElement>(null);
  const head = useRef<HTMLTableCellElement>(null);
  const at = useRef<number | null>(null);
  const shown = useMemo(() => lines.slice(0, legendRows), [lines]);
  const stats = useMemo(() => shown.map((l) => statsOf(l.values)), [shown]);
  // tiles show this second, a chart ends at its last step: the legend says when that was
  const lastX = useMemo(() => lastTime(xs, shown), [xs, shown]);
  const lastWord = lastX === undefined ? t("views.last") : t("views.lastAt", { time: dateParts(lastX, zone).time });

  useImperativeHandle(
    ref,
    () => {
      const write = (index: number | null) => {
        at.current = index;
        const x = index === null ? undefined : xs[index];
        if (head.current) head.current.textContent = x === undefined ? lastWord : dateParts(x, zone).time;
        const rows = body.current?.rows;
        if (!rows) return;
        for (let i = 0; i < rows.length; i++) {
          const cell = rows[i]?.cells[1];
          const line = shown[i];
          if (cell && line) cell.textContent = inUnit(display, index === null ? stats[i]?.last : line.values[index]);
        }
      };
      if (at.current !== null) queueMicrotask(() => write(at.current));
      return {
        show: write,
        focus(key) {
          const rows = body.current?.rows;
          if (!rows) return;
          for (let i = 0; i < rows.length; i++) rows[i]?.toggleAttribute("data-focus", key !== null && shown[i]?.key === key);
        },
      };
    },
    [xs, shown, stats, zone, display, lastWord],
  );

  return (
    <div className="min-w-0 overflow-y-auto text-xs" style={{ maxHeight }}>
      <table className="w-full table-fixed border-collapse tabular-nums">
        <colgroup>
          <col />
          <col className="w-[5.75rem]" />
          <col className="w-[3.75rem]" />
          <col className="w-[3.75rem]" />
          <col className="w-[3.75rem]" />
        </colgroup>
        <thead className="sticky top-0 z-[1] bg-raised text-2xs text-faint">
          <tr>
            <th scope="col" className="py-0 pr-2 text-left font-normal">
              {display.suffix}
            </th>
            <th scope="col" ref={head} className="pl-2 text-right font-normal whitespace-nowrap">
              {lastWord}
            </th>
            <th scope="col" className="pl-2 text-right font-normal">
              {t("views.min")}
            </th>
            <th scope="col" className="pl-2 text-right font-normal">
              {t("views.mean")}
            </th>
            <th scope="col" className="pl-2 text-right font-normal">
              {t("views.max")}
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {shown.map((l, i) => {
            const st = stats[i];
            const off = hidden.has(l.key);
            return (
              <tr key={l.key} className={`data-focus:bg-hover hover:bg-hover ${off ? "text-faint" : ""}`} onMouseEnter={() => onFocus(l.key)} onMouseLeave={() => onFocus(null)}>
                <td className="max-w-0 py-0 pr-2">
                  <button type="button" aria-pressed={!off} title={l.title ? `${l.name}\n${l.title}` : l.name} onClick={(e) => onToggle(l.key, !(e.ctrlKey || e.metaKey || e.shiftKey))} className="flex w-full min-w-0 items-center gap-1.5 text-left leading-[18px]">
                    <span aria-hidden className="w-3 shrink-0 border-t-2" style={{ borderColor: off ? "var(--line-strong)" : slotVar(l.slot), borderTopStyle: l.dashed ? "dotted" : "solid" }} />
                    <span className={`truncate ${off ? "line-through" : ""}`}>{l.name}</span>
                  </button>
                </td>
                <td className="truncate pl-2 text-right">{inUnit(display, st?.last)}</td>
                <td className="truncate pl-2 text-right text-muted">{inUnit(display, st?.min)}</td>
                <td className="truncate pl-2 text-right text-muted">{inUnit(display, st?.mean)}</td>
                <td className="truncate pl-2 text-right text-muted">{inUnit(display, st?.max)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {lines.length > legendRows ? <p className="py-1 text-2xs text-faint">{t("views.more", { n: lines.length - legendRows })}</p> : null}
    </div>
  );
}
