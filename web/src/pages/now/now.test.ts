import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NowRow } from "@/api/types";
import { formatState, parseState } from "@/state/url";
import { columns } from "@/views/figures";
import { defaultSort, errorBand, filterRows, inScope, isSortColumn, sortRows, totals } from "./rows";
import { nowCodec } from "./url";

const none = { value: null };
const row = (service: string, model: string, more: Partial<NowRow> = {}): NowRow => ({
  id: `${service}/${model}`,
  service,
  model,
  dialects: ["triton"],
  versions: ["1"],
  instances: [`demo/${service}-0`],
  gpus: ["GPU-0"],
  request_rate: none,
  error_ratio: none,
  latency_p50: none,
  latency_p99: none,
  queue_share: none,
  waiting: none,
  gpu_busy: none,
  gpu_memory: none,
  ...more,
});
const ids = (rows: readonly NowRow[]) => rows.map((r) => r.id);

describe("order", () => {
  const rows = [row("b", "x", { request_rate: { value: 5 } }), row("a", "y"), row("a", "x10", { request_rate: { value: 50 } }), row("a", "x9", { request_rate: { value: 0 } })];
  it("is by name with numbers as numbers", () => {
    expect(ids(sortRows(rows, defaultSort))).toEqual(["a/x9", "a/x10", "a/y", "b/x"]);
  });
  it("puts a row without the number last in both directions", () => {
    expect(ids(sortRows(rows, { column: "rate", descending: true }))).toEqual(["a/x10", "b/x", "a/x9", "a/y"]);
    expect(ids(sortRows(rows, { column: "rate", descending: false }))).toEqual(["a/x9", "b/x", "a/x10", "a/y"]);
  });
  it("keeps every row and does not touch its input", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.option(fc.float({ noNaN: true }), { nil: null }))), fc.constantFrom("model", ...columns.map((c) => c.id)), fc.boolean(), (list, column, descending) => {
        const input = list.map(([m, v], i) => row("s", `${m}${i}`, { request_rate: { value: v }, waiting: { value: v } }));
        const before = ids(input);
        const out = sortRows(input, { column, descending });
        expect(ids(input)).toEqual(before);
        expect([...ids(out)].sort()).toEqual([...before].sort());
      }),
    );
  });
});

describe("filter", () => {
  const rows = [row("vision", "resnet_mini"), row("chat", "tiny-chat", { dialects: ["vllm"] })];
  it("wants every word, in any field, in any case", () => {
    expect(ids(filterRows(rows, "VISION resnet"))).toEqual(["vision/resnet_mini"]);
    expect(ids(filterRows(rows, "vllm"))).toEqual(["chat/tiny-chat"]);
    expect(ids(filterRows(rows, "demo/chat-0"))).toEqual(["chat/tiny-chat"]);
    expect(ids(filterRows(rows, "  "))).toHaveLength(2);
    expect(ids(filterRows(rows, "-triton"))).toEqual(["chat/tiny-chat"]);
    expect(ids(filterRows(rows, "-"))).toHaveLength(2);
    expect(filterRows(rows, "nothing like it")).toEqual([]);
  });
  it("keeps to the scope of the address", () => {
    expect(inScope(rows[0]!, { service: "vision" })).toBe(true);
    expect(inScope(rows[0]!, { service: "chat" })).toBe(false);
    expect(inScope(rows[0]!, { instance: "demo/vision-0", gpu: "GPU-0", version: "1" })).toBe(true);
    expect(inScope(rows[0]!, { version: "2" })).toBe(false);
    expect(inScope(rows[0]!, {})).toBe(true);
  });
});

describe("sums", () => {
  it("weighs errors by rate and leaves out what is missing or stale", () => {
    const s = totals([
      row("a", "1", { request_rate: { value: 90 }, error_ratio: { value: 0 }, waiting: { value: 2 } }),
      row("a", "2", { request_rate: { value: 10 }, error_ratio: { value: 0.5 } }),
      row("a", "3", { request_rate: { value: 1000 }, error_ratio: { value: 1 }, stale: true }),
      row("a", "4"),
    ]);
    expect(s).toEqual({ rows: 4, rate: 100, errorRatio: 0.05, waiting: 2, stale: 1 });
    expect(totals([row("a", "1")])).toEqual({ rows: 1, rate: null, errorRatio: null, waiting: null, stale: 0 });
  });
  it("bands errors", () => {
    expect([0, 0.0099, 0.01, 0.05].map(errorBand)).toEqual(["ok", "ok", "warn", "bad"]);
  });
});

describe("address", () => {
  const search = (s: Record<string, string | undefined>) => Object.fromEntries(Object.entries(s).filter(([, v]) => v !== undefined)) as Record<string, string>;
  it("round-trips every state", () => {
    fc.assert(
      fc.property(fc.record({ q: fc.string(), sel: fc.string(), sort: fc.record({ column: fc.constantFrom("model", ...columns.map((c) => c.id)), descending: fc.boolean() }) }), (state) => {
        expect(parseState(nowCodec, search(formatState(nowCodec, state)))).toEqual(state);
      }),
    );
  });
  it("leaves defaults out and forgives nonsense", () => {
    expect(search(formatState(nowCodec, { q: "", sel: "", sort: defaultSort }))).toEqual({});
    expect(parseState(nowCodec, { sort: "-nonsense" }).sort).toEqual(defaultSort);
    expect(isSortColumn("p99")).toBe(true);
  });
  it("still opens the links of the first release", () => {
    expect(parseState(nowCodec, { q: "vision", sort: "-p99", sel: "vision/resnet_mini" })).toEqual({ q: "vision", sort: { column: "p99", descending: true }, sel: "vision/resnet_mini" });
  });
});
