// The redraw of one chart of 500 lines × 1,000 points, canvas included: new
// values into the living instance, then a pixel is read back so that the
// drawing is really done when the clock stops.
import "uplot/dist/uPlot.min.css";
import uPlot from "uplot";
import "../src/theme/tokens.css";
import { plotData, plotOptions, type PlotLine, type PlotState } from "../src/views/plot";

const lines = 500;
const points = 1000;
const start = 1_700_000_000;
const xs = Array.from({ length: points }, (_, i) => start + i * 5);
const make = (phase: number): PlotLine[] =>
  Array.from({ length: lines }, (_, i) => ({
    key: `k${i}`,
    slot: (i % 20) + 1,
    values: xs.map((_x, k) => (k % 97 === i % 97 ? null : 2 + Math.sin(i + (k + phase) / 30) + 0.2 * Math.sin(k * i))),
  }));

declare global {
  interface Window {
    redraw: (runs: number) => Promise<number[]>;
  }
}

window.redraw = async (runs) => {
  const host = document.getElementById("plot") as HTMLElement;
  const state: PlotState = { from: xs[0] ?? 0, to: xs[points - 1] ?? 0, kind: "number", zone: "utc", stacked: false, lines: make(0), gaps: [], hidden: new Set(), tick: String };
  const u = new uPlot(plotOptions(state, { width: 900, height: 160 }, "bench"), plotData(xs, state.lines, false, state.hidden), host);
  await new Promise((r) => requestAnimationFrame(r));
  const out: number[] = [];
  for (let i = 0; i < runs; i++) {
    const data = plotData(xs, make(i + 1), false, state.hidden);
    await new Promise((r) => requestAnimationFrame(r));
    const began = performance.now();
    u.setData(data);
    await Promise.resolve();
    u.ctx.getImageData(1, 1, 1, 1);
    out.push(performance.now() - began);
  }
  u.destroy();
  return out;
};
