import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { en } from "@/i18n/en";
import { formatState, parseState } from "@/state/url";
import { groups, type Group } from "@/views/chart";
import { columns } from "@/views/figures";
import { asks, chartById, charts, sections, waitsFor } from "./charts";
import { hasLine } from "./usePresent";
import { modelCodec } from "./url";

describe("charts", () => {
  it("have words, known sections and three-part signals of one level", () => {
    const ids = new Set<string>();
    for (const c of charts) {
      expect(Object.keys(en)).toContain(`views.chart.${c.id}`);
      for (const l of c.lines) {
        expect(Object.keys(en)).toContain(`views.line.${l.id}`);
        expect(l.signal).toMatch(/^(model|gpu):[a-z_]+:(rate|ratio|mean|p50|p90|p95|p99|max|last)$/);
      }
      expect(new Set(c.lines.map((l) => l.signal.split(":")[0])).size).toBe(1);
    }
    for (const c of charts) {
      expect(ids.has(c.id)).toBe(false);
      ids.add(c.id);
      expect(sections).toContain(c.section);
      if (c.pick) expect(c.lines.some((l) => l.id === c.pick && !l.limit)).toBe(true);
    }
  });
  it("prove every figure of the Now page", () => {
    for (const c of columns) expect(chartById(c.chart), c.id).toBeDefined();
  });
  it("show latency as mean, P50, P90, P95 and P99", () => {
    expect(chartById("latency")?.lines.map((l) => l.id)).toEqual(["mean", "p50", "p90", "p95", "p99"]);
  });
});

describe("asks", () => {
  it("hold every signal of every chart under the chart's own split, in few requests", () => {
    for (const group of [undefined, ...groups]) {
      const list = asks(group);
      expect(list.length).toBeLessThanOrEqual(4);
      for (const c of charts) {
        const by: Group | undefined = c.by ?? group;
        for (const l of c.lines) expect(list.some((a) => a.by === by && a.signals.includes(l.signal)), `${c.id} ${l.id} ${group}`).toBe(true);
      }
      for (const a of list) expect(new Set(a.signals).size).toBe(a.signals.length);
    }
  });
  it("ask first for what stands first", () => {
    expect(asks(undefined)[0]?.signals[0]).toBe("model:requests:rate");
  });
});

describe("places", () => {
  it("are kept for charts whose answer has not come", () => {
    const list = asks(undefined);
    const answered = (i: number) => list.map((_, k) => (k === i ? {} : undefined));
    const waits = (id: string, answers: readonly unknown[], group?: Group) => waitsFor(chartById(id)!, group, group ? asks(group) : list, answers);
    expect(waits("rate", [])).toBe(true);
    expect(waits("rate", answered(0))).toBe(false);
    expect(waits("gpu_busy", answered(0))).toBe(true);
    expect(waits("rate_version", answered(0))).toBe(true);
    expect(waits("outcome", [], "gpu")).toBe(false);
  });
  it("are as high as what the list of signals promises", () => {
    const list = [{ signal: "model:batch_size:mean", present: false }, { signal: "model:batch_limit:last", present: true }, { signal: "model:requests:rate", present: true }];
    expect(hasLine(chartById("rate")!, list)).toBe(true);
    expect(hasLine(chartById("batch")!, list)).toBe(false);
    expect(hasLine(chartById("batch")!, undefined)).toBe(true);
    expect(hasLine(chartById("kv")!, list)).toBe(false);
  });
});

describe("address", () => {
  const search = (s: Record<string, string | undefined>) => Object.fromEntries(Object.entries(s).filter(([, v]) => v !== undefined)) as Record<string, string>;
  it("round-trips every state", () => {
    const picks = charts.flatMap((c) => c.lines.filter((l) => !l.limit && c.pick !== l.id).map((l) => [c.id, l.id] as const));
    fc.assert(
      fc.property(fc.record({ group: fc.constantFrom<Group | "">("", ...groups), chart: fc.constantFrom("", ...charts.map((c) => c.id)), pick: fc.uniqueArray(fc.constantFrom(...picks), { selector: (p) => p[0] }).map((l) => Object.fromEntries(l)) }), (state) => {
        expect(parseState(modelCodec, search(formatState(modelCodec, state)))).toEqual(state);
      }),
    );
  });
  it("leaves defaults out and forgives nonsense", () => {
    expect(search(formatState(modelCodec, { group: "", chart: "", pick: { latency: "p99" } }))).toEqual({});
    expect(parseState(modelCodec, { group: "galaxy", chart: "nope", pick: "latency:p98,,:x,phases:queue:x,batch:batch_limit" })).toEqual({ group: "", chart: "", pick: { phases: "queue" } });
  });
  it("still opens the links of the first release", () => {
    expect(parseState(modelCodec, { group: "instance", pick: "latency:p50,phases:compute", chart: "latency" })).toEqual({ group: "instance", pick: { latency: "p50", phases: "compute" }, chart: "latency" });
  });
});
