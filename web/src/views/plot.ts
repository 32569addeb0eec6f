// uPlot options for a time series: the one place for axes, units, time zone,
// theme, cursor and brush. No React here; TimeSeries.tsx owns the instance.
import uPlot from "uplot";
import type { Zone } from "@/state/time";
import type { Gap, Num } from "./align";
import { look, slotColour } from "./look";
import { packed, rasterFrom, rasterise, type RasterLine } from "./raster";
import { tickStep, valueRange, type AxisKind } from "./scales";
import { cumulate } from "./stack";
import { timeTick } from "./ticks";

export interface PlotLine {
  /** Identity of the line: layout and colour hang on it. */
  readonly key: string;
  /** 1-based slot of the theme's series colours. */
  readonly slot: number;
  readonly dashed?: boolean;
  readonly stepped?: boolean;
  readonly values: readonly Num[];
}

/** All that a plot reads while it draws. Held by reference: updates change fields, not the instance. */
export interface PlotState {
  from: number;
  to: number;
  kind: AxisKind;
  zone: Zone;
  stacked: boolean;
  lines: readonly PlotLine[];
  gaps: readonly Gap[];
  hidden: ReadonlySet<string>;
  /** Key of the line under the pointer. */
  focus?: string | null;
  /** Value of a tick in the axis' unit. */
  tick: (value: number, step: number) => string;
  onBrush?: (x0: number, x1: number, width: number) => void;
  onZoomOut?: () => void;
  onCursor?: (index: number | null, own: boolean, left: number, top: number) => void;
  onFocus?: (key: string | null) => void;
}

/** Width of the value axis: the same on every chart, so that times stand under each other. */
export const valueAxisWidth = 56;
const ribbon = 4;

/** What must stay equal for an instance to be kept: which lines, in which order and shape. */
export function layoutOf(lines: readonly PlotLine[], stacked: boolean): string {
  return `${stacked ? "S" : "L"}\u0002${lines.map((l) => `${l.key}\u0001${l.slot}${l.dashed ? "d" : ""}${l.stepped ? "s" : ""}`).join("\u0002")}`;
}

/** Data as uPlot wants it. A stack is drawn from running sums of the layers that are shown. */
export function plotData(xs: readonly number[], lines: readonly PlotLine[], stacked: boolean, hidden: ReadonlySet<string>): uPlot.AlignedData {
  if (!stacked) return [xs as number[], ...lines.map((l) => l.values as Num[])];
  const shown = lines.filter((l) => !hidden.has(l.key) && !l.dashed);
  const sums = cumulate(shown.map((l) => ({ id: l.key, values: l.values })));
  const by = new Map(shown.map((l, i) => [l.key, sums[i]]));
  return [xs as number[], ...lines.map((l) => (by.get(l.key) ?? l.values) as Num[])];
}

function bandsOf(lines: readonly PlotLine[], hidden: ReadonlySet<string>): uPlot.Band[] {
  const shown = lines.map((l, i) => ({ l, at: i + 1 })).filter(({ l }) => !hidden.has(l.key) && !l.dashed);
  const out: uPlot.Band[] = [];
  for (let i = 1; i < shown.length; i++) {
    const upper = shown[i];
    const lower = shown[i - 1];
    if (upper && lower) out.push({ series: [upper.at, lower.at] });
  }
  return out;
}

/** Sets the fills between layers anew after layers were hidden or shown. */
export function setBands(u: uPlot, s: PlotState): void {
  u.delBand(null);
  if (s.stacked) for (const b of bandsOf(s.lines, s.hidden)) u.addBand(b);
}

function withAlpha(colour: string, alpha: number): string {
  const m = /^#([0-9a-f]{6})$/i.exec(colour);
  if (!m?.[1]) return colour;
  const n = parseInt(m[1], 16);
  return `rgb(${n >> 16} ${(n >> 8) & 255} ${n & 255} / ${alpha})`;
}

/** Whether there are so many lines that they are drawn as pixels. */
function rastered(s: PlotState): boolean {
  return !s.stacked && s.lines.length > rasterFrom;
}

/** Draws all lines as pixels: into memory, then over the grid in one go. */
function drawRaster(u: uPlot, s: PlotState, buffer: { canvas?: OffscreenCanvas }): void {
  const { bbox, ctx } = u;
  const width = Math.round(bbox.width);
  const height = Math.round(bbox.height);
  const min = u.scales.y?.min;
  const max = u.scales.y?.max;
  const times = u.data[0];
  if (width < 1 || height < 1 || min == null || max == null) return;
  const columns = new Int32Array(times.length);
  const perSecond = width / Math.max(1e-9, s.to - s.from);
  for (let i = 0; i < times.length; i++) columns[i] = Math.round(((times[i] ?? 0) - s.from) * perSecond);
  const focus = s.focus == null ? -1 : s.lines.findIndex((l) => l.key === s.focus);
  const shown: RasterLine[] = [];
  s.lines.forEach((l, i) => {
    if (i === focus || !u.series[i + 1]?.show) return;
    shown.push({ values: u.data[i + 1] ?? [], colour: packed(slotColour(l.slot), focus < 0 ? 1 : 0.25), ...(l.stepped ? { stepped: true } : {}) });
  });
  const top = s.lines[focus];
  if (top) shown.push({ values: u.data[focus + 1] ?? [], colour: packed(slotColour(top.slot)), ...(top.stepped ? { stepped: true } : {}) });
  const pixels = new Uint32Array(width * height);
  rasterise(pixels, { width, height, columns, min, max }, shown);
  buffer.canvas ??= new OffscreenCanvas(width, height);
  if (buffer.canvas.width !== width) buffer.canvas.width = width;
  if (buffer.canvas.height !== height) buffer.canvas.height = height;
  buffer.canvas.getContext("2d")?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
  ctx.drawImage(buffer.canvas, Math.round(bbox.left), Math.round(bbox.top));
}

function seriesOf(line: PlotLine, s: PlotState, count: number): uPlot.Series {
  const raster = rastered(s);
  const stepped = line.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    label: line.key,
    show: !s.hidden.has(line.key),
    scale: "y",
    width: s.stacked && !line.dashed ? 1 : count > 40 ? 1 : 1.5,
    spanGaps: false,
    pxAlign: 0,
    stroke: () => slotColour(line.slot),
    ...(s.stacked && !line.dashed ? { fill: () => withAlpha(slotColour(line.slot), 0.38) } : {}),
    ...(!s.stacked && !line.dashed && count === 1 ? { fill: () => withAlpha(slotColour(line.slot), 0.1) } : {}),
    ...(line.dashed ? { dash: [4, 4] } : {}),
    ...(raster ? { paths: () => null } : stepped ? { paths: stepped } : {}),
    points: {
      // a point without neighbours would not be seen as a line
      show: false,
      size: 3,
      filter: lonely,
    },
  };
}

/** Indices of points with a gap on both sides. */
export function lonelyPoints(values: ArrayLike<Num | undefined>, from: number, to: number): number[] {
  const out: number[] = [];
  for (let i = from; i <= to; i++) {
    if (values[i] == null) continue;
    if ((i === 0 || values[i - 1] == null) && (i + 1 >= values.length || values[i + 1] == null)) out.push(i);
  }
  return out;
}

function lonely(u: uPlot, seriesIdx: number, show: boolean): number[] | null {
  if (show) return null;
  const values = u.data[seriesIdx];
  return values ? lonelyPoints(values as ArrayLike<Num>, u.series[0]?.idxs?.[0] ?? 0, u.series[0]?.idxs?.[1] ?? values.length - 1) : null;
}

/** Gap ribbon along the foot of the plot, and a faint column over the same time. */
function drawGaps(u: uPlot, s: PlotState): void {
  if (s.gaps.length === 0) return;
  const { ctx, bbox } = u;
  const px = devicePixelRatio || 1;
  const right = bbox.left + bbox.width;
  ctx.save();
  for (const g of s.gaps) {
    const a = Math.max(bbox.left, u.valToPos(Math.max(g.from, s.from), "x", true));
    const b = Math.min(right, u.valToPos(Math.min(g.to, s.to), "x", true));
    if (!(b > a)) continue;
    const w = Math.max(b - a, 2 * px);
    if (g.quiet) {
      ctx.fillStyle = withAlpha(look().axis, 0.06);
      ctx.fillRect(a, bbox.top, w, bbox.height);
      continue;
    }
    ctx.fillStyle = withAlpha(look().gap, 0.08);
    ctx.fillRect(a, bbox.top, w, bbox.height);
    ctx.fillStyle = look().gap;
    ctx.fillRect(a, bbox.top + bbox.height - ribbon * px, w, ribbon * px);
  }
  ctx.restore();
}

export interface PlotSize {
  readonly width: number;
  readonly height: number;
}

/** Options of a new instance over `s`. */
export function plotOptions(s: PlotState, size: PlotSize, syncKey: string): uPlot.Options {
  const font = `11px ${look().font}`;
  const count = s.lines.filter((l) => !l.dashed).length;
  const ticks = Math.max(2, Math.floor((size.height - 28) / 22));
  const raster = rastered(s);
  const buffer: { canvas?: OffscreenCanvas } = {};
  let brushing = false;
  return {
    ...size,
    padding: [8, 18, 0, 0],
    pxAlign: 0,
    legend: { show: false },
    focus: { alpha: 0.25 },
    tzDate: (ts) => (s.zone === "utc" ? uPlot.tzDate(new Date(ts * 1000), "Etc/UTC") : new Date(ts * 1000)),
    scales: {
      x: { time: true, range: () => [s.from, s.to] },
      y: { range: (_u, min, max) => valueRange(s.kind, min, max, ticks) },
    },
    bands: s.stacked ? bandsOf(s.lines, s.hidden) : [],
    series: [{}, ...s.lines.map((l) => seriesOf(l, s, count))],
    axes: [
      {
        stroke: () => look().axis,
        grid: { stroke: () => look().grid, width: 1 },
        ticks: { show: false },
        font,
        size: 20,
        gap: 4,
        space: 84,
        values: (_u, splits, _axis, _space, incr) => splits.map((t, i) => timeTick(t, incr, s.zone, i === 0)),
      },
      {
        stroke: () => look().axis,
        grid: { stroke: () => look().grid, width: 1 },
        ticks: { show: false },
        font,
        size: valueAxisWidth,
        gap: 6,
        splits: (_u, _axis, min, max) => {
          const step = tickStep(s.kind, (max - min) * 0.88, ticks) ?? 1;
          const out: number[] = [];
          for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
          return out;
        },
        values: (_u, splits) => {
          const step = splits.length > 1 ? Math.abs((splits[1] ?? 0) - (splits[0] ?? 0)) : 1;
          return splits.map((v) => s.tick(v, step));
        },
      },
    ],
    cursor: {
      y: false,
      sync: { key: syncKey, setSeries: false, scales: ["x", null] },
      drag: { x: true, y: false, setScale: false, dist: 4 },
      focus: { prox: count > 1 ? 24 : -1 },
      points: { size: 6, show: count <= 40 },
      bind: {
        mousedown: (_u, _target, handler) => (e: MouseEvent) => {
          brushing = e.button === 0;
          handler(e);
          return null;
        },
        dblclick: () => () => {
          s.onZoomOut?.();
          return null;
        },
      },
    },
    hooks: {
      drawClear: [(u) => drawGaps(u, s)],
      ...(raster ? { draw: [(u: uPlot) => drawRaster(u, s, buffer)] } : {}),
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          const own = brushing;
          brushing = false;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          // synced charts show the brush too; only the one under the hand reports it
          if (own && width > 0) s.onBrush?.(left, left + width, u.over.clientWidth);
        },
      ],
      setCursor: [
        (u) => {
          const left = u.cursor.left ?? -1;
          const at = left >= 0 ? (u.cursor.idx ?? null) : null;
          s.onCursor?.(at, u.cursor.event != null && left >= 0, left, u.cursor.top ?? -1);
        },
      ],
      setSeries: [
        (_u, i) => {
          s.focus = i === null ? null : (s.lines[i - 1]?.key ?? null);
          s.onFocus?.(s.focus);
        },
      ],
    },
  };
}
