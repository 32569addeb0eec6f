import { describe, expect, it } from "vitest";
import { contrast, inkOn, luminance } from "./contrast";
import { cellOf, columns, scaleUnit, valueText } from "./figures";
import { placeHint } from "./Hints";
import { modelPath, signalQuery } from "./links";
import { layoutOf, lonelyPoints, plotData } from "./plot";
import { readoutLines } from "./Readout";
import { sparkPaths } from "./Sparkline";
import { thinned } from "./TableTwin";
import { timeTick } from "./ticks";
import { sentence } from "./words";
import { displayUnit, inUnit, numberText, tickText, withUnit } from "./units";

describe("units", () => {
  it("picks one scale for a chart from its greatest value", () => {
    expect(displayUnit("seconds", 0.03).suffix).toBe("ms");
    expect(displayUnit("seconds", 3).suffix).toBe("s");
    expect(displayUnit("seconds", 0.00003).suffix).toBe("µs");
    expect(displayUnit("bytes", 12 * 2 ** 30).suffix).toBe("GiB");
    expect(displayUnit("bytes per second", 3 * 2 ** 20).suffix).toBe("MiB/s");
    expect(displayUnit("ratio", 0.1).suffix).toBe("%");
    for (const u of ["requests per second", "tokens per second", "per_second", "events per second"]) expect(displayUnit(u, 9).suffix).toBe("/s");
    expect(displayUnit("degrees Celsius", 40).suffix).toBe("°C");
    expect(displayUnit("requests", 5).suffix).toBe("");
    expect(displayUnit(undefined, null).suffix).toBe("");
  });
  it("keeps small durations readable beside great ones", () => {
    expect(displayUnit("seconds", 1.2, 0.00001).suffix).toBe("ms");
    expect(displayUnit("seconds", 1.2, 0.5).suffix).toBe("s");
    expect(displayUnit("seconds", 1.2, 0).suffix).toBe("s");
    expect(displayUnit("seconds", 0.05, 0.00001).suffix).toBe("ms");
    expect(displayUnit("seconds", 0.05, 0.000001).suffix).toBe("µs");
    // a legend of six digits would not be readable either
    expect(displayUnit("seconds", 500, 0.00001).suffix).toBe("s");
    expect(inUnit(displayUnit("seconds", 1.2, 0.00001), 0.00001)).toBe("0.0100");
  });
  it("writes three significant digits and a dash for what is missing", () => {
    expect([0, 0.0123, 0.123, 1.234, 12.34, 123.4, 1234.5].map(numberText).map((s) => s.replace(/\s/g, " "))).toEqual(["0", "0.0123", "0.123", "1.23", "12.3", "123", "1 235"]);
    expect([0.00523, 0.00012, 1e-9].map(numberText)).toEqual(["0.0052", "0.00012", "<0.00001"]);
    expect(inUnit(displayUnit("seconds", 1), null)).toBe("—");
    expect(withUnit(displayUnit("ratio", 1), 0.5)).toBe("50.0%");
    expect(withUnit(displayUnit("seconds", 0.05), 0.05)).toBe("50.0 ms");
  });
  it("gives ticks just the digits that tell neighbours apart", () => {
    const ms = displayUnit("seconds", 0.05);
    expect(tickText(ms, 0.01, 0.01)).toBe("10");
    expect(tickText(ms, 0.0105, 0.0005)).toBe("10.5");
    expect(tickText(displayUnit("ratio", 1), 0.25, 0.25)).toBe("25");
    expect([0, 0.0025, 0.005].map((v) => tickText(displayUnit("ratio", 1), v, 0.0025))).toEqual(["0.00", "0.25", "0.50"]);
  });
});

describe("time ticks", () => {
  it("is a 24-hour clock, and a date where a day begins", () => {
    expect(timeTick(Date.UTC(2026, 0, 2, 15, 4, 5) / 1000, 600, "utc", false)).toBe("15:04");
    expect(timeTick(Date.UTC(2026, 0, 2, 15, 4, 5) / 1000, 5, "utc", false)).toBe("15:04:05");
    expect(timeTick(Date.UTC(2026, 0, 2) / 1000, 3600, "utc", false)).toBe("01-02");
    expect(timeTick(Date.UTC(2026, 0, 2) / 1000, 86400, "utc", true)).toBe("2026-01-02");
  });
});

describe("plot", () => {
  const lines = [
    { key: "a", slot: 1, values: [1, null, 1] },
    { key: "b", slot: 2, values: [2, 2, 2] },
    { key: "limit", slot: 3, dashed: true, values: [9, 9, 9] },
  ];
  it("keeps its instance when only values change", () => {
    expect(layoutOf(lines, false)).toBe(layoutOf(lines.map((l) => ({ ...l, values: [] })), false));
    expect(layoutOf(lines, false)).not.toBe(layoutOf(lines, true));
    expect(layoutOf(lines, false)).not.toBe(layoutOf(lines.slice(1), false));
  });
  it("stacks shown layers only, never limits, and leaves gaps open", () => {
    expect(plotData([1, 2, 3], lines, true, new Set())).toEqual([[1, 2, 3], [1, null, 1], [3, null, 3], [9, 9, 9]]);
    expect(plotData([1, 2, 3], lines, true, new Set(["a"]))[2]).toEqual([2, 2, 2]);
    expect(plotData([1, 2, 3], lines, false, new Set())[1]).toEqual([1, null, 1]);
  });
  it("finds points that no line would show", () => {
    expect(lonelyPoints([1, null, 2, null, 3, 4], 0, 5)).toEqual([0, 2]);
  });
  it("names the greatest lines when there are too many, and always the focused one", () => {
    const many = Array.from({ length: 20 }, (_, i) => ({ key: `k${i}`, values: [i] }));
    const named = readoutLines(many, new Set(["k19"]), 0, "k0", 3).map((l) => l.key);
    expect(named).toEqual(["k0", "k17", "k18"]);
  });
  it("thins the table to whole steps and keeps the last", () => {
    expect(thinned(10, 4)).toEqual([0, 3, 6, 9]);
    expect(thinned(3, 12)).toEqual([0, 1, 2]);
    expect(thinned(0, 12)).toEqual([]);
  });
});

describe("sparkline", () => {
  it("leaves gaps open and starts at zero", () => {
    const { line } = sparkPaths([1, 2, null, 4, null, 3, 3], 60, 20);
    expect(line.match(/M/g)).toHaveLength(3);
    expect(sparkPaths([], 60, 20)).toEqual({ line: "", area: "" });
    expect(sparkPaths([0, 0], 60, 20).line).toContain("19.3");
    expect(sparkPaths([null, null], 60, 20).line).toBe("");
  });
});

describe("contrast", () => {
  it("follows WCAG", () => {
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
    expect(luminance("red")).toBeNull();
    expect(inkOn("#e5b95c", ["#dbe1e9", "#0e1217"])).toBe("#0e1217");
    expect(inkOn("#173244", ["#dbe1e9", "#0e1217"])).toBe("#dbe1e9");
  });
});

describe("figures", () => {
  const column = (id: string) => columns.find((c) => c.id === id)!;
  it("shows a dash for what is missing and keeps the reason", () => {
    const c = cellOf({ value: null, signal: "s", reason: { code: "x", text: "why", remedy: "do" } });
    expect(c).toMatchObject({ kind: "missing", why: { code: "x", remedy: "do" } });
    expect(valueText(column("ttft"), c)).toBe("—");
    expect(cellOf(undefined).kind).toBe("missing");
    expect(cellOf({ value: NaN }).kind).toBe("missing");
  });
  it("marks a stand-in", () => {
    expect(cellOf({ value: 0.03, substitute: { op: "mean" } }).tag).toBe("mean");
  });
  it("writes zero as zero and never a missing value as one", () => {
    expect(valueText(column("errors"), cellOf({ value: 0 }))).toBe("0");
    expect(valueText(column("p99"), cellOf({ value: 0.0328 }))).toBe("32.8");
    expect(valueText(column("busy"), cellOf({ value: 0.41 }))).toBe("41.0");
    expect(valueText(column("busy"), cellOf({ value: 0.99996 }))).toBe(">99.99");
    expect(valueText(column("waiting"), cellOf({ value: 3 }))).toBe("3");
    expect(columns.map((c) => scaleUnit(c.scale))).toEqual(["/s", "%", "ms", "ms", "ms", "%", "", "%", "%"]);
  });
});

describe("sentences", () => {
  it("begin and end as people write them, but keep names that are written small", () => {
    expect(sentence("no server reports this")).toBe("No server reports this.");
    expect(sentence("vLLM does not export it")).toBe("vLLM does not export it.");
    expect(sentence("dcgm-exporter lists no process")).toBe("dcgm-exporter lists no process.");
    expect(sentence("已经写好。")).toBe("已经写好。");
    expect(sentence(" ")).toBe("");
  });
});

describe("hints", () => {
  const view = { width: 1000, height: 500 };
  it("go below their anchor, above where there is no room, and stay inside", () => {
    expect(placeHint({ left: 400, right: 460, top: 100, bottom: 120 }, { width: 200, height: 60 }, view)).toEqual({ left: 260, top: 124 });
    expect(placeHint({ left: 400, right: 460, top: 450, bottom: 470 }, { width: 200, height: 60 }, view).top).toBe(386);
    expect(placeHint({ left: 0, right: 30, top: 0, bottom: 20 }, { width: 200, height: 60 }, view).left).toBe(4);
    expect(placeHint({ left: 0, right: 30, top: 450, bottom: 470 }, { width: 200, height: 600 }, view).top).toBe(4);
  });
});

describe("links", () => {
  it("quotes what an address or a query could trip over", () => {
    expect(modelPath("a/b", "m#1")).toBe("/models/a%2Fb/m%231");
    expect(signalQuery("model:requests:rate", { service: 'a"b', model: "c\\d", version: undefined })).toBe('model:requests:rate{service="a\\"b", model="c\\\\d"}');
    expect(signalQuery("model:requests:rate", {})).toBe("model:requests:rate");
  });
});
