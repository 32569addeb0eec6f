// What the pointer is on: time and values in a small box beside the cursor of
// the chart under the hand. Written straight into the page, like the legend.
import { useImperativeHandle, useRef, type Ref } from "react";
import { codeWords, useT } from "@/i18n";
import { dateTimeText, type Zone } from "@/state/time";
import type { Gap } from "./align";
import { slotVar } from "./look";
import type { TimeSeriesLine } from "./TimeSeries";
import { withUnit, type DisplayUnit } from "./units";

export interface ReadoutHandle {
  show(index: number | null, left: number, top: number): void;
  focus(key: string | null): void;
}

interface Props {
  ref: Ref<ReadoutHandle>;
  xs: readonly number[];
  lines: readonly TimeSeriesLine[];
  gaps: readonly Gap[];
  zone: Zone;
  display: DisplayUnit;
  hidden: ReadonlySet<string>;
  /** Pixels from the chart's left edge to the plot. */
  inset: number;
}

/** Lines named in the box; the greatest at that moment when there are more. */
export const readoutRows = 8;

/** Which lines the box names at a point: those shown, greatest first when they are too many, the focused one always. */
export function readoutLines<L extends { key: string; values: readonly (number | null)[] }>(lines: readonly L[], hidden: ReadonlySet<string>, index: number, focused: string | null, most = readoutRows): L[] {
  const shown = lines.filter((l) => !hidden.has(l.key));
  if (shown.length <= most) return shown;
  const top = new Set(
    [...shown]
      .filter((l) => l.values[index] != null)
      .sort((a, b) => Number(b.key === focused) - Number(a.key === focused) || (b.values[index] ?? 0) - (a.values[index] ?? 0))
      .slice(0, most),
  );
  return shown.filter((l) => top.has(l));
}

export function Readout({ ref, xs, lines, gaps, zone, display, hidden, inset }: Props) {
  const t = useT();
  const box = useRef<HTMLDivElement>(null);
  const focused = useRef<string | null>(null);

  useImperativeHandle(
    ref,
    () => ({
      focus(key) {
        focused.current = key;
      },
      show(index, left, top) {
        const el = box.current;
        if (!el) return;
        const x = index === null ? undefined : xs[index];
        if (index === null || x === undefined) {
          el.hidden = true;
          return;
        }
        const rows: HTMLElement[] = [];
        const head = document.createElement("div");
        head.className = "text-2xs text-muted";
        head.textContent = dateTimeText(x, zone);
        rows.push(head);
        for (const l of readoutLines(lines, hidden, index, focused.current)) {
          const row = document.createElement("div");
          row.className = l.key === focused.current ? "flex items-center gap-1.5 font-semibold" : "flex items-center gap-1.5";
          const mark = document.createElement("span");
          mark.className = "w-2 shrink-0 border-t-2";
          mark.style.borderColor = slotVar(l.slot);
          if (l.dashed) mark.style.borderTopStyle = "dashed";
          const name = document.createElement("span");
          name.className = "min-w-0 flex-1 truncate";
          name.textContent = l.name;
          const value = document.createElement("span");
          value.className = "pl-3 text-right";
          value.textContent = withUnit(display, l.values[index]);
          row.append(mark, name, value);
          rows.push(row);
        }
        const gap = gaps.find((g) => g.from <= x && x <= g.to);
        if (gap) {
          const row = document.createElement("div");
          row.className = "text-warn";
          row.textContent = gap.reason ? t("views.gapReason", { reason: codeWords(t, gap.reason, "text", gap.reason) ?? gap.reason }) : t("views.gap");
          rows.push(row);
        }
        el.replaceChildren(...rows);
        el.hidden = false;
        const width = el.parentElement?.clientWidth ?? 0;
        const at = inset + left;
        const flip = at + 16 + el.offsetWidth > width;
        el.style.left = `${Math.max(0, flip ? at - 12 - el.offsetWidth : at + 12)}px`;
        el.style.top = `${Math.max(0, top - 8)}px`;
      },
    }),
    [xs, lines, gaps, zone, display, hidden, inset, t],
  );
  return <div ref={box} hidden aria-hidden className="pointer-events-none absolute z-20 max-w-72 min-w-36 rounded-md border border-line-strong bg-raised px-2 py-1 text-xs tabular-nums shadow-pop" />;
}
