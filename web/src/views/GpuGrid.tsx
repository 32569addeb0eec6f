// A grid of cards by node. Each cell shows one signal as heat colour and number,
// and memory, temperature and power beneath; what is wrong has a mark.
import { memo, useCallback, useRef, type KeyboardEvent } from "react";
import { cx } from "@/kit/basics";
import { useTheme } from "@/theme/theme";
import { heatStyle } from "./look";

/** A cell as drawn: all texts are ready. */
export interface GridCell {
  readonly id: string;
  /** Card number or the short name of the card. */
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  /** 0-based heat level; null is "no data". */
  readonly heat: number | null;
  /** Share of memory in use; null draws no bar. */
  readonly bar: number | null;
  readonly foot: string;
  readonly marks: readonly { readonly id: string; readonly sign: string; readonly word: string; readonly bad: boolean }[];
  readonly title: string;
  readonly dim: boolean;
}

export interface GridRow {
  readonly id: string;
  readonly name: string;
  readonly note: string;
  readonly cells: readonly GridCell[];
}

interface Props {
  readonly label: string;
  readonly rows: readonly GridRow[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  readonly onMove: (key: "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown", from: string) => string | undefined;
}

export function GpuGrid({ label, rows, selected, onSelect, onMove }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const first = rows[0]?.cells[0]?.id;
  const known = rows.some((r) => r.cells.some((c) => c.id === selected));
  const onKeyDown = useCallback(
    (e: KeyboardEvent) => {
      if (e.key !== "ArrowLeft" && e.key !== "ArrowRight" && e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
      const from = (e.target as HTMLElement).dataset.cell;
      if (from === undefined) return;
      e.preventDefault();
      const next = onMove(e.key, from);
      if (next === undefined) return;
      host.current?.querySelector<HTMLElement>(`[data-cell="${CSS.escape(next)}"]`)?.focus();
      if (known) onSelect(next);
    },
    [onMove, onSelect, known],
  );
  return (
    <div ref={host} role="group" aria-label={label} onKeyDown={onKeyDown} data-theme-seen={theme} className="flex flex-col">
      {rows.map((r) => (
        <section key={r.id} aria-label={r.name} className="flex gap-4 border-b border-line px-4 py-2 [contain-intrinsic-size:auto_104px] [content-visibility:auto]">
          <div className="w-40 shrink-0 pt-1">
            <h2 className="truncate font-medium" title={r.name}>
              {r.name}
            </h2>
            <p className="truncate text-2xs text-faint" title={r.note}>
              {r.note}
            </p>
          </div>
          <div className="flex min-w-0 flex-1 flex-wrap gap-1.5">
            {r.cells.map((c) => (
              <Cell key={c.id} cell={c} theme={theme} selected={c.id === selected} stop={c.id === (known ? selected : first)} onSelect={onSelect} />
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}

// theme is a property so that a switch repaints: heat colours come from tokens
const Cell = memo(function Cell({ cell: c, selected, stop, onSelect }: { cell: GridCell; theme: string; selected: boolean; stop: boolean; onSelect: (id: string) => void }) {
  return (
    <button
      type="button"
      data-cell={c.id}
      tabIndex={stop ? 0 : -1}
      aria-pressed={selected}
      aria-label={c.title}
      title={c.title}
      onClick={() => onSelect(c.id)}
      className={cx("flex w-[7.25rem] flex-col overflow-hidden rounded-md border bg-raised text-left", selected ? "border-accent outline-1 outline-accent" : "border-line hover:border-line-strong", c.dim && "opacity-50")}
    >
      <span className="flex h-10 w-full items-center gap-1 px-2" style={heatStyle(c.heat)}>
        <span className="self-start pt-1 text-2xs opacity-80">{c.name}</span>
        <span className="flex-1" />
        <span className="text-lg font-semibold tabular-nums">{c.value}</span>
        {c.unit && <span className="text-2xs opacity-80">{c.unit}</span>}
      </span>
      <span className="block h-1 w-full bg-sunken">{c.bar !== null && <span className={cx("block h-full", c.bar >= 0.97 ? "bg-bad" : "bg-accent")} style={{ width: `${Math.min(100, Math.max(0, c.bar * 100))}%` }} />}</span>
      <span className="flex h-5 w-full items-center gap-1 px-2 text-2xs text-muted tabular-nums">
        <span className="min-w-0 flex-1 truncate">{c.foot}</span>
        {c.marks.map((m) => (
          <span key={m.id} className={cx("shrink-0 font-semibold", m.bad ? "text-bad" : "text-warn")}>
            {m.sign}
          </span>
        ))}
      </span>
    </button>
  );
});
