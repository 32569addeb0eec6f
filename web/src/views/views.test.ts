import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fit, gapsOf, joinGaps, labelKey, mergeTail, pointsOf, regrid, timesOf, type GridAnswer } from "./align";
import { brushed } from "./brush";
import { apartSlots, assignSlots, clearSlots, hashOf, seriesSlots } from "./colour";
import { lastTime } from "./Legend";
import { axisKind, heatLevel, tickStep, tickSteps, valueRange } from "./scales";
import { cumulate, remainder } from "./stack";
import { statsOf } from "./stats";

const answer = (start: number, values: (number | null)[][], extra: Partial<GridAnswer> = {}): GridAnswer => ({
  start,
  end: start + 5 * ((values[0]?.length ?? 1) - 1),
  step_seconds: 5,
  signals: [{ signal: "s", series: values.map((v, i) => ({ labels: { instance: `i${i}` }, values: v })) }],
  ...extra,
});

describe("grid", () => {
  it("has both ends", () => {
    expect(pointsOf({ start: 100, end: 115, step_seconds: 5 })).toBe(4);
    expect(timesOf({ start: 100, end: 115, step_seconds: 5 })).toEqual([100, 105, 110, 115]);
  });
  it("is empty for a broken step or window", () => {
    expect(pointsOf({ start: 0, end: 10, step_seconds: 0 })).toBe(0);
    expect(pointsOf({ start: 10, end: 0, step_seconds: 1 })).toBe(0);
    expect(pointsOf({ start: NaN, end: 0, step_seconds: 1 })).toBe(0);
  });
  it("fits: missing stays missing, never zero", () => {
    expect(fit([1, null, NaN, Infinity], 6)).toEqual([1, null, null, null, null, null]);
    expect(fit(undefined, 2)).toEqual([null, null]);
  });
  it("moves onto another grid without interpolating", () => {
    const from = { start: 0, end: 20, step_seconds: 10 };
    const to = { start: 0, end: 20, step_seconds: 5 };
    expect(regrid([1, 2, 3], from, to)).toEqual([1, null, 2, null, 3]);
  });
  it("names label sets independent of order", () => {
    expect(labelKey({ a: "1", b: "2" })).toBe(labelKey({ b: "2", a: "1" }));
    expect(labelKey({ a: "1" })).not.toBe(labelKey({ a: "2" }));
  });
});

describe("mergeTail", () => {
  it("appends, lets the tail win, trims on the left", () => {
    const old = answer(100, [[1, 2, 3, 4]]);
    const tail = answer(110, [[30, null, 5, 6]]);
    const m = mergeTail(old, tail, 104);
    expect(m).not.toBeNull();
    expect(m?.start).toBe(105);
    expect(m?.end).toBe(125);
    expect(m?.signals[0]?.series[0]?.values).toEqual([2, 30, null, 5, 6]);
  });
  it("keeps a series that ended and takes one that began", () => {
    const old = answer(100, [[1, 2], [7, 8]]);
    const tail: GridAnswer = { ...answer(105, [[20, 3]]), signals: [{ signal: "s", series: [{ labels: { instance: "i0" }, values: [20, 3] }, { labels: { instance: "new" }, values: [null, 9] }] }] };
    const m = mergeTail(old, tail, 100);
    const by = Object.fromEntries((m?.signals[0]?.series ?? []).map((s) => [s.labels["instance"], s.values]));
    expect(by).toEqual({ i0: [1, 20, 3], new: [null, null, 9], i1: [7, null, null] });
  });
  it("refuses another step, phase or a hole between", () => {
    const old = answer(100, [[1, 2]]);
    expect(mergeTail(old, { ...answer(105, [[1]]), step_seconds: 10 }, 100)).toBeNull();
    expect(mergeTail(old, answer(107, [[1]]), 100)).toBeNull();
    expect(mergeTail(old, answer(200, [[1]]), 100)).toBeNull();
  });
  it("equals asking for the whole window again", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer(), { nil: null }), { minLength: 12, maxLength: 40 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 4 }), (all, added, dropped) => {
        const old = answer(0, [all.slice(0, all.length - added)]);
        const from = all.length - added - 2;
        const tail = answer(from * 5, [all.slice(from)]);
        const m = mergeTail(old, tail, dropped * 5);
        expect(m?.start).toBe(dropped * 5);
        const got = m?.signals[0]?.series[0]?.values ?? all.slice(dropped).map(() => null);
        expect(got).toEqual(all.slice(dropped));
      }),
    );
  });
});

describe("gaps", () => {
  it("is where no line has a point, between first and last", () => {
    const xs = [0, 5, 10, 15, 20, 25];
    expect(gapsOf(xs, [[null, 1, null, null, 2, null]], 5)).toEqual([{ from: 7.5, to: 17.5 }]);
    expect(gapsOf(xs, [[null, 1, null, null, 2, null], [null, null, 3, 3, null, null]], 5)).toEqual([]);
    expect(gapsOf(xs, [[null, null, null, null, null, null]], 5)).toEqual([]);
  });
  it("joins overlapping gaps of one reason", () => {
    expect(joinGaps([{ from: 5, to: 9, reason: "a" }, { from: 0, to: 5, reason: "a" }, { from: 6, to: 7, reason: "b" }])).toEqual([
      { from: 0, to: 9, reason: "a" },
      { from: 6, to: 7, reason: "b" },
    ]);
  });
});

describe("stats", () => {
  it("ignores what is missing", () => {
    expect(statsOf([null, 4, null, 2, null])).toEqual({ last: 2, min: 2, mean: 3, max: 4, count: 2 });
    expect(statsOf([null])).toEqual({ last: null, min: null, mean: null, max: null, count: 0 });
    expect(statsOf([0, 0]).min).toBe(0);
  });
});

describe("stack", () => {
  it("sums upwards and does not stack over a hole", () => {
    expect(cumulate([{ id: "a", values: [1, null, 1] }, { id: "b", values: [2, 2, null] }, { id: "c", values: [3, 3, 3] }])).toEqual([
      [1, null, 1],
      [3, null, null],
      [6, null, null],
    ]);
  });
  it("leaves the rest of a total", () => {
    expect(remainder([10, null, 10, 10, 10], [[4, 4, null, 7, 9], [5, 5, 5, 3.2, 9]])).toEqual([1, null, null, 0, null]);
  });
});

describe("scales", () => {
  it("picks the least round step", () => {
    expect(tickStep("number", 97, 5)).toBe(20);
    expect(tickStep("bytes", 1000, 4)).toBe(256);
    expect(tickStep("seconds", 600, 5)).toBe(120);
    expect(tickStep("seconds", 0.009, 5)).toBe(0.002);
    expect(tickStep("number", 0, 5)).toBeUndefined();
  });
  it("has ascending steps", () => {
    for (const k of ["seconds", "bytes", "number", "ratio"] as const) {
      const s = tickSteps(k);
      for (let i = 1; i < s.length; i++) expect(s[i]! > s[i - 1]!).toBe(true);
    }
  });
  it("keeps zero and every value on the axis", () => {
    fc.assert(
      fc.property(fc.constantFrom("seconds" as const, "bytes" as const, "ratio" as const, "number" as const), fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 1000), fc.integer({ min: 0, max: 1e9 }).map((n) => n / 1000), (kind, a, d) => {
        const [lo, hi] = valueRange(kind, a, a + d);
        expect(lo).toBeLessThanOrEqual(0);
        expect(hi).toBeGreaterThan(lo - 1e-300);
        expect(lo).toBeLessThanOrEqual(a + Math.abs(a) * 1e-9);
        expect(hi).toBeGreaterThanOrEqual(a + d - Math.abs(a + d) * 1e-9);
      }),
    );
  });
  it("ends a ratio at one, zooms into a small one, gives a flat chart a height", () => {
    expect(valueRange("ratio", 0.1, 0.7)).toEqual([0, 1]);
    expect(valueRange("ratio", 0, 0.02)[1]).toBeLessThan(0.05);
    expect(valueRange("ratio", 0, 0)).toEqual([0, 0.01]);
    expect(valueRange("number", null, null)).toEqual([0, 1]);
    expect(valueRange("number", 3, 3)[1]).toBeGreaterThan(3);
  });
  it("keeps a limit on the axis", () => {
    expect(valueRange("number", 1, 8)[1]).toBeGreaterThanOrEqual(8);
  });
  it("knows axis kinds by unit", () => {
    expect([axisKind("seconds"), axisKind("bytes"), axisKind("bytes per second"), axisKind("ratio"), axisKind("requests per second"), axisKind(undefined)]).toEqual(["seconds", "bytes", "bytes", "ratio", "number", "number"]);
  });
  it("maps to heat levels and keeps missing apart from cold", () => {
    expect(heatLevel(0, 0, 1, 10)).toBe(0);
    expect(heatLevel(1, 0, 1, 10)).toBe(9);
    expect(heatLevel(2, 0, 1, 10)).toBe(9);
    expect(heatLevel(-1, 0, 1, 10)).toBe(0);
    expect(heatLevel(null, 0, 1, 10)).toBeNull();
    expect(heatLevel(NaN, 0, 1, 10)).toBeNull();
  });
});

describe("brush", () => {
  const shown = { from: 1000, to: 2000 };
  it("maps pixels to time in either direction", () => {
    expect(brushed(shown, 500, 100, 200, 5)).toEqual({ from: 1200, to: 1400 });
    expect(brushed(shown, 500, 200, 100, 5)).toEqual({ from: 1200, to: 1400 });
  });
  it("ignores a click and clamps to what is shown", () => {
    expect(brushed(shown, 500, 100, 102, 5)).toBeNull();
    expect(brushed(shown, 0, 0, 100, 5)).toBeNull();
    expect(brushed(shown, 500, -50, 250, 5)).toEqual({ from: 1000, to: 1500 });
  });
  it("never makes a window narrower than a step, nor leaves the shown one", () => {
    expect(brushed(shown, 500, 0, 5, 60)).toEqual({ from: 1000, to: 1060 });
    expect(brushed(shown, 500, 495, 500, 60)).toEqual({ from: 1940, to: 2000 });
  });
});

describe("legend", () => {
  it("says when the last point was", () => {
    expect(lastTime([1, 2, 3], [{ values: [1, 2, null] }, { values: [1, null, null] }])).toBe(2);
    expect(lastTime([1, 2], [{ values: [null, null] }])).toBeUndefined();
  });
});

describe("colour", () => {
  it("is the same for a name whatever the view, unless taken", () => {
    const alone = assignSlots(["demo/vision-0"]).get("demo/vision-0");
    expect(alone).toBe((hashOf("demo/vision-0") % apartSlots) + 1);
    expect(assignSlots(["demo/vision-0", "demo/vision-1"]).get("demo/vision-0")).toBe(alone);
  });
  it("differs within a view while there are slots, independent of order", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: seriesSlots }), (keys) => {
        const a = assignSlots(keys);
        expect(new Set(a.values()).size).toBe(keys.length);
        expect([...assignSlots([...keys].reverse())].sort()).toEqual([...a].sort());
      }),
    );
  });
  it("uses the hues that differ most as long as they last", () => {
    const used = (n: number) => Math.max(...assignSlots(Array.from({ length: n }, (_, i) => `v${i}`)).values());
    expect(used(2)).toBeLessThanOrEqual(apartSlots);
    expect(used(apartSlots)).toBe(apartSlots);
    expect(used(clearSlots)).toBe(clearSlots);
    expect(used(clearSlots + 1)).toBeGreaterThan(clearSlots);
  });
  it("does not recolour when a line comes", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 10 }), fc.string(), (keys, extra) => {
        const before = assignSlots(keys);
        const after = assignSlots([...keys, extra], before);
        for (const k of keys) expect(after.get(k)).toBe(before.get(k));
      }),
    );
  });
  it("gives more keys than slots a slot each", () => {
    const keys = Array.from({ length: 50 }, (_, i) => `k${i}`);
    const m = assignSlots(keys);
    expect(m.size).toBe(50);
    for (const s of m.values()) expect(s >= 1 && s <= seriesSlots).toBe(true);
  });
});
