// @vitest-environment jsdom
// What a chart says when its signal is absent, replaced or simulated.
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { setLang } from "@/i18n";
import { chartById } from "@/pages/model/charts";
import { AbsentRow, ChartCard } from "./ChartCard";
import type { Chart } from "./chart";
import { absent, asked, one, signal } from "./fixtures";
import { chartData, type ChartData } from "./lines";
import { TimeSeries } from "./TimeSeries";

const made: { destroyed: boolean; data: unknown[] }[] = [];
vi.mock("uplot", () => {
  class FakePlot {
    static sync = () => ({});
    static paths = {};
    static tzDate = (d: Date) => d;
    series: { show: boolean }[] = [];
    cursor = {};
    width = 0;
    record = { destroyed: false, data: [] as unknown[] };
    constructor(opts: { series: { show?: boolean }[] }) {
      this.series = opts.series.map((s) => ({ show: s.show ?? true }));
      made.push(this.record);
    }
    batch(f: () => void) {
      f();
    }
    setData(d: unknown) {
      this.record.data.push(d);
    }
    setSeries() {}
    setCursor() {}
    setSize() {}
    addBand() {}
    delBand() {}
    redraw() {}
    destroy() {
      this.record.destroyed = true;
    }
  }
  return { default: FakePlot };
});

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
globalThis.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};

let host: HTMLElement;
let root: Root;
beforeEach(() => {
  made.length = 0;
  setLang("en");
  host = document.createElement("div");
  document.body.append(host);
  root = createRoot(host);
});
afterEach(() => {
  act(() => root.unmount());
  host.remove();
});
const render = (node: ReactNode) => act(() => root.render(node));

const chart = (id: string): Chart => {
  const c = chartById(id);
  if (!c) throw new Error(`no chart ${id}`);
  return c;
};
const data = (id: string, answers: Parameters<typeof chartData>[1]): ChartData => {
  const d = chartData(chart(id), answers, undefined, undefined);
  if (!d) throw new Error("no answer");
  return d;
};
const window = { from: 1000, to: 1015, step: 5 };
const nothing = () => undefined;
const card = (id: string, d: ChartData) => (
  <ChartCard chart={chart(id)} data={d} window={window} zone="utc" split={false} picked={undefined} marked={false} onPick={nothing} onZoom={nothing} onZoomOut={nothing} exploreHref={() => "/explore"} linkFor={() => ""} />
);

describe("a chart whose signal is absent", () => {
  const d = data("kv", [asked([absent("model:kv_cache_used:ratio", "triton_no_kv_cache", "scrape the backend")])]);
  it("says the reason and the remedy in the reader's language, and draws no box", () => {
    render(<AbsentRow chart={chart("kv")} data={d} window={window} zone="utc" marked={false} />);
    expect(host.textContent).toContain("KV cache in use");
    expect(host.textContent).toContain("Text of triton_no_kv_cache.");
    expect(host.textContent).toContain("Scrape the backend.");
    expect(host.querySelector("canvas, [role=img]")).toBeNull();
    act(() => setLang("zh"));
    expect(host.textContent).toContain("Triton 核心没有 KV 缓存");
  });
  it("shows the server's own words for a reason that the catalogue does not have", () => {
    render(<AbsentRow chart={chart("kv")} data={data("kv", [asked([absent("model:kv_cache_used:ratio", "brand_new_code", "turn it on")])])} window={window} zone="utc" marked={false} />);
    expect(host.textContent).toContain("Text of brand_new_code.");
    act(() => setLang("zh"));
    expect(host.textContent).toContain("Turn it on.");
  });
  it("tells an empty window from a signal that is never reported", () => {
    render(<AbsentRow chart={chart("kv")} data={data("kv", [asked([signal("model:kv_cache_used:ratio", [])])])} window={window} zone="utc" marked={false} />);
    expect(host.textContent).toContain("No points in this window");
  });
});

describe("a chart with a stand-in", () => {
  const why = { code: "triton_no_summaries", text: "means only", remedy: "switch them on" };
  const latency = (op: string, sub: boolean) => signal(`model:request_latency_seconds:${op}`, [[one, [0.03, 0.03, null, 0.04]]], sub ? { method: "mean", substitute: { op: "mean" }, reason: why } : {});
  it("marks it, says why and how to get the real thing", () => {
    render(card("latency", data("latency", [asked([latency("mean", false), latency("p99", true)])])));
    expect(host.textContent).toContain("mean instead of P99");
    expect(host.textContent).toContain("P99: Means only. To get it: Switch them on.");
    expect([...host.querySelectorAll("tbody tr button")].map((b) => b.textContent)).toEqual(["mean"]);
    act(() => setLang("zh"));
    expect(host.textContent).toContain("--metrics-config summary_latencies=true");
  });
  it("names source and method, and marks simulated hardware", () => {
    render(card("gpu_busy", data("gpu_busy", [asked([signal("gpu:busy:ratio", [[{ node: "n", gpu: "GPU-1", gpu_index: "0" }, [0.1, 0.2, 0.3, 0.4]]], { source: "dcgm", method: "gauge", simulated: true })])])));
    expect(host.querySelector("header")?.textContent).toContain("DCGM, gauge");
    expect(host.querySelector("header")?.textContent).toContain("simulated");
    expect(host.querySelector("[title*='GPU-1']")?.textContent).toContain("n · GPU 0");
  });
});

describe("TimeSeries", () => {
  const line = (key: string, values: (number | null)[]) => ({ key, name: key, slot: 1, values });
  const view = (lines: ReturnType<typeof line>[], from = 1000) => <TimeSeries label="Requests" xs={[1000, 1005, 1010, 1015]} lines={lines} unit="requests per second" from={from} to={from + 15} step={5} zone="utc" />;

  it("keeps one instance over new data and a new window", () => {
    render(view([line("a", [1, 2, null, 4])]));
    render(view([line("a", [2, null, 4, 5])], 1005));
    expect(made).toHaveLength(1);
    expect(made[0]?.data.at(-1)).toEqual([[1000, 1005, 1010, 1015], [2, null, 4, 5]]);
  });
  it("makes a new instance for another set of lines and destroys the old one", () => {
    render(view([line("a", [1, 1, 1, 1])]));
    render(view([line("a", [1, 1, 1, 1]), line("b", [1, 1, 1, 1])]));
    expect(made.map((m) => m.destroyed)).toEqual([true, false]);
  });
  it("destroys its instance on unmount", () => {
    render(view([line("a", [1, 1, 1, 1])]));
    render(null);
    expect(made.map((m) => m.destroyed)).toEqual([true]);
  });
  it("has no canvas while out of sight, and draws what is then current", () => {
    const at = (active: boolean, values: number[]) => <TimeSeries label="Requests" xs={[1000, 1005, 1010, 1015]} lines={[line("a", values)]} unit="" from={1000} to={1015} step={5} zone="utc" active={active} />;
    render(at(true, [1, 1, 1, 1]));
    render(at(false, [2, 2, 2, 2]));
    expect(made.map((m) => m.destroyed)).toEqual([true]);
    render(at(true, [3, 3, 3, 3]));
    expect(made.map((m) => m.destroyed)).toEqual([true, false]);
    expect(made[1]?.data.at(-1)).toEqual([[1000, 1005, 1010, 1015], [3, 3, 3, 3]]);
  });
  it("has a legend with last, min, mean, max and a table twin that says what is missing", () => {
    render(view([line("a", [1, 2, null, 6])]));
    const cells = [...host.querySelectorAll("tbody tr")[0]!.querySelectorAll("td")].map((c) => c.textContent);
    expect(cells.slice(1)).toEqual(["6.00", "1.00", "3.00", "6.00"]);
    const twin = host.querySelector("[role=img]")?.getAttribute("aria-describedby");
    expect(document.getElementById(twin ?? "")?.textContent).toContain("no value");
  });
  it("shows one line alone on a click and all again on the next", () => {
    render(view([line("a", [1, 1, 1, 1]), line("b", [1, 1, 1, 1])]));
    const pressed = () => [...host.querySelectorAll("tbody button")].map((b) => b.getAttribute("aria-pressed"));
    const click = (i: number, more = {}) => act(() => void host.querySelectorAll("tbody button")[i]!.dispatchEvent(new MouseEvent("click", { bubbles: true, ...more })));
    click(0);
    expect(pressed()).toEqual(["true", "false"]);
    click(0);
    expect(pressed()).toEqual(["true", "true"]);
    click(1, { ctrlKey: true });
    expect(pressed()).toEqual(["true", "false"]);
  });
});
