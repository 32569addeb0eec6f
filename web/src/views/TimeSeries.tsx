// A time series on canvas: one uPlot instance per chart for its whole life.
// New data and a new window are updates; only another set of lines makes a new
// instance. Every chart of a page shares one cursor.
import "uplot/dist/uPlot.min.css";
import "./plot.css";
import { memo, useCallback, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import uPlot from "uplot";
import { useT } from "@/i18n";
import { dateTimeText, type Zone } from "@/state/time";
import { subscribeTheme } from "@/theme/theme";
import type { Gap } from "./align";
import { brushed } from "./brush";
import { Legend, type LegendHandle } from "./Legend";
import { layoutOf, plotData, plotOptions, setBands, valueAxisWidth, type PlotLine, type PlotState } from "./plot";
import { axisKind } from "./scales";
import { statsOf } from "./stats";
import { TableTwin } from "./TableTwin";
import { Readout, type ReadoutHandle } from "./Readout";
import { displayUnit, tickText, type DisplayUnit } from "./units";

export interface TimeSeriesLine extends PlotLine {
  /** Name in legend and readout. */
  readonly name: string;
  /** Said on hover: the UUID of a GPU. */
  readonly title?: string;
  /** Adds to the twin and the legend but is dashed and never counts as data: a limit. */
}

export interface TimeSeriesProps {
  /** What the chart shows, for readers of the page by ear. */
  readonly label: string;
  readonly xs: readonly number[];
  readonly lines: readonly TimeSeriesLine[];
  /** Unit as the API names it. */
  readonly unit: string;
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly zone: Zone;
  readonly stacked?: boolean;
  readonly gaps?: readonly Gap[];
  readonly height?: number;
  /** Charts with one key share their cursor. */
  readonly sync?: string;
  readonly onZoom?: (from: number, to: number) => void;
  readonly onZoomOut?: () => void;
  /** Beside the plot on wide screens, below it otherwise; "below" always below; "none" for small charts. */
  readonly legend?: "side" | "below" | "none";
  /** False while the chart is out of sight: it keeps its place and its legend, but no canvas. */
  readonly active?: boolean;
  /** Shows the values as a table for everyone, not only for screen readers. */
  readonly asTable?: boolean;
}

/** Unit in which a set of lines is written. */
export function unitOf(unit: string, lines: readonly PlotLine[]): DisplayUnit {
  let max: number | null = null;
  let small: number | null = null;
  for (const l of lines) {
    const s = statsOf(l.values);
    if (s.max !== null && (max === null || s.max > max)) max = s.max;
    // what the legend writes beside the greatest; a zero reads well in every unit
    for (const v of [s.last, s.min, s.mean]) if (v !== null && v > 0 && (small === null || v < small)) small = v;
  }
  return displayUnit(unit, max, small);
}

export const TimeSeries = memo(function TimeSeries(p: TimeSeriesProps) {
  const { xs, lines, unit, from, to, step, zone, stacked = false, height = 120, sync = "page", legend = "side", active = true } = p;
  const t = useT();
  const id = useId();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const legendRef = useRef<LegendHandle>(null);
  const readout = useRef<ReadoutHandle>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => new Set());
  const display = useMemo(() => unitOf(unit, lines), [unit, lines]);
  const gaps = useMemo(() => p.gaps ?? [], [p.gaps]);

  const state = useRef<PlotState>(null as unknown as PlotState);
  state.current ??= { from, to, kind: "number", zone, stacked, lines, gaps, hidden, tick: String };
  const s = state.current;
  const latest = useRef(p);
  latest.current = p;

  const layout = layoutOf(lines, stacked);

  const assign = useCallback(() => {
    Object.assign(s, { from, to, kind: axisKind(unit), zone, stacked, lines, gaps, hidden, tick: (v: number, d: number) => tickText(display, v, d) });
  }, [s, from, to, unit, zone, stacked, lines, gaps, hidden, display]);

  // One instance per layout.
  useEffect(() => {
    const el = host.current;
    if (!el || !active) return;
    assign();
    s.onBrush = (x0, x1, width) => {
      const now = latest.current;
      const z = brushed({ from: s.from, to: s.to }, width, x0, x1, now.step);
      if (z) now.onZoom?.(z.from, z.to);
    };
    s.onZoomOut = () => latest.current.onZoomOut?.();
    s.onCursor = (index, own, left, top) => {
      legendRef.current?.show(index);
      readout.current?.show(own ? index : null, left, top);
    };
    s.onFocus = (key) => {
      legendRef.current?.focus(key);
      readout.current?.focus(key);
    };
    const width = Math.max(60, el.clientWidth);
    const u = new uPlot(plotOptions(s, { width, height }, sync), plotData(latest.current.xs, s.lines, s.stacked, s.hidden), el);
    plot.current = u;
    const sized = new ResizeObserver(() => {
      if (el.clientWidth > 0 && el.clientWidth !== u.width) u.setSize({ width: el.clientWidth, height });
    });
    sized.observe(el);
    const themed = subscribeTheme(() => requestAnimationFrame(() => plot.current === u && u.redraw(false, true)));
    return () => {
      themed();
      sized.disconnect();
      plot.current = null;
      u.destroy();
    };
    // values, window and look are updates below: they must not make an instance
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [layout, sync, height, active]);

  // Everything else is an update.
  const drawn = useRef<{ hidden: ReadonlySet<string>; plot: uPlot } | null>(null);
  useEffect(() => {
    const u = plot.current;
    if (!u) return;
    assign();
    u.batch(() => {
      if (drawn.current?.plot !== u || drawn.current.hidden !== hidden) {
        lines.forEach((l, i) => {
          const show = !hidden.has(l.key);
          if (u.series[i + 1]?.show !== show) u.setSeries(i + 1, { show });
        });
        setBands(u, s);
        drawn.current = { hidden, plot: u };
      }
      u.setData(plotData(xs, lines, stacked, hidden));
    });
  }, [assign, s, xs, lines, stacked, hidden, layout, active]);

  const toggle = useCallback(
    (key: string, solo: boolean) => {
      setHidden((old) => {
        const keys = latest.current.lines.map((l) => l.key);
        if (solo) {
          const others = keys.filter((k) => k !== key);
          const alone = others.every((k) => old.has(k)) && !old.has(key);
          return new Set(alone ? [] : others);
        }
        const next = new Set(old);
        if (!next.delete(key)) next.add(key);
        return next;
      });
    },
    [],
  );
  const focusLine = useCallback((key: string | null) => {
    const u = plot.current;
    if (!u) return;
    const at = key === null ? -1 : latest.current.lines.findIndex((l) => l.key === key);
    u.setSeries(at < 0 ? null : at + 1, { focus: at >= 0 }, false);
  }, []);

  const onKeyDown = (e: KeyboardEvent) => {
    const u = plot.current;
    if (!u || (e.key !== "ArrowLeft" && e.key !== "ArrowRight") || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    const at = u.cursor.idx ?? (e.key === "ArrowRight" ? -1 : xs.length);
    const next = Math.min(xs.length - 1, Math.max(0, at + (e.key === "ArrowRight" ? 1 : -1)));
    const x = xs[next];
    if (x !== undefined) u.setCursor({ left: u.valToPos(x, "x"), top: 10 });
  };

  const summary = t("views.summary", { label: p.label, lines: lines.length, from: dateTimeText(from, zone), to: dateTimeText(to, zone) });
  const plotBox = (
    <div className="relative min-w-0" style={{ height }}>
      <div ref={host} role="img" aria-label={summary} aria-describedby={`${id}-twin`} tabIndex={0} onKeyDown={onKeyDown} onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })} className="ts-plot h-full overflow-hidden" />
      <Readout ref={readout} xs={xs} lines={lines} gaps={gaps} zone={zone} display={display} hidden={hidden} inset={valueAxisWidth} />
    </div>
  );
  const table = legend === "none" ? null : <Legend ref={legendRef} xs={xs} lines={lines} zone={zone} display={display} hidden={hidden} onToggle={toggle} onFocus={focusLine} maxHeight={legend === "side" ? height : 220} />;
  return (
    <>
      {legend === "side" ? (
        <div className="grid grid-cols-1 gap-x-4 gap-y-1 lg:grid-cols-[minmax(0,1fr)_27rem]">
          {plotBox}
          {table}
        </div>
      ) : (
        <div className="flex flex-col gap-1">
          {plotBox}
          {table}
        </div>
      )}
      <TableTwin id={`${id}-twin`} label={summary} xs={xs} lines={lines} zone={zone} display={display} step={step} visible={p.asTable === true} />
    </>
  );
});
