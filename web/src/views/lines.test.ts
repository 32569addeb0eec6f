import { describe, expect, it } from "vitest";
import { chartById } from "@/pages/model/charts";
import type { Chart } from "./chart";
import { absent, asked, one, signal } from "./fixtures";
import { gpuName, withCards } from "./gpu";
import { chartData, entitySlots } from "./lines";

const chart = (id: string): Chart => {
  const c = chartById(id);
  if (!c) throw new Error(`no chart ${id}`);
  return c;
};
const latency = (op: string, v: number, more = {}) => signal(`model:request_latency_seconds:${op}`, [[one, [v, v, null, v]]], more);
const noSummaries = { code: "triton_no_summaries", text: "Triton exports means only", remedy: "switch them on" };

describe("chartData", () => {
  it("is nothing before an answer came", () => {
    expect(chartData(chart("rate"), [], undefined, undefined)).toBeNull();
    expect(chartData(chart("rate"), [{ by: undefined, answer: undefined }], undefined, undefined)).toBeNull();
  });

  it("draws every percentile that exists and says who measured it", () => {
    const d = chartData(chart("latency"), [asked([latency("mean", 1), latency("p50", 1, { method: "histogram" }), latency("p90", 2), latency("p95", 3), latency("p99", 4)])], undefined, undefined);
    expect(d?.lines.map((l) => l.line)).toEqual(["mean", "p50", "p90", "p95", "p99"]);
    expect(d?.sources).toEqual(["server"]);
    expect(d?.methods).toEqual(["counter", "histogram"]);
    expect(d?.missing).toEqual([]);
  });

  it("shows a mean once where it stands for the percentiles, with the reason", () => {
    const sub = { method: "mean", substitute: { op: "mean" }, reason: noSummaries };
    const d = chartData(chart("latency"), [asked([latency("mean", 1), latency("p50", 1, sub), latency("p90", 1, sub), latency("p95", 1, sub), latency("p99", 1, sub)])], undefined, undefined);
    expect(d?.lines.map((l) => l.line)).toEqual(["mean"]);
    expect(d?.substitutes.map((s) => s.line)).toEqual(["p50", "p90", "p95", "p99"]);
    expect(d?.substitutes[0]).toEqual({ line: "p50", op: "mean", reason: noSummaries });
  });

  it("keeps a stand-in line when split, where the mean itself is not drawn", () => {
    const sub = signal("model:request_latency_seconds:p99", [[{ ...one, instance: "demo/vision-0" }, [1, 1, 1, 1]]], { substitute: { op: "mean" }, reason: noSummaries });
    const d = chartData(chart("latency"), [asked([sub], "instance")], "instance", undefined);
    expect(d?.lines.map((l) => l.name)).toEqual(["demo/vision-0"]);
    expect(d?.substitutes).toHaveLength(1);
  });

  it("says why a chart is empty instead of drawing a box", () => {
    const d = chartData(chart("kv"), [asked([absent("model:kv_cache_used:ratio", "triton_no_kv_cache", "scrape the backend")])], undefined, undefined);
    expect(d?.lines).toEqual([]);
    expect(d?.missing[0]?.reason).toEqual({ code: "triton_no_kv_cache", text: "text of triton_no_kv_cache", remedy: "scrape the backend" });
  });

  it("does not count a limit alone as data", () => {
    const d = chartData(chart("batch"), [asked([absent("model:batch_size:mean", "x"), signal("model:batch_limit:last", [[one, [8, 8, 8, 8]]])])], undefined, undefined);
    expect(d?.lines).toEqual([]);
    expect(d?.missing.map((m) => m.line)).toEqual(["batch_size"]);
  });

  it("draws what there is and names what is missing beside it", () => {
    const d = chartData(chart("running"), [asked([signal("model:inflight:last", [[one, [1, 2, 3, 4]]]), absent("model:running:last", "triton_no_running"), signal("model:waiting:last", [[one, [0, 0, 0, 0]]])])], undefined, undefined);
    expect(d?.lines.map((l) => l.line)).toEqual(["inflight", "waiting"]);
    expect(d?.missing.map((m) => m.line)).toEqual(["running"]);
  });

  it("stacks the phases and leaves the rest of the request on top", () => {
    const s = (n: string, v: (number | null)[]) => signal(`model:${n}:mean`, [[one, v]]);
    const d = chartData(chart("phases"), [asked([s("queue_latency_seconds", [3, 3, null, 3]), s("compute_input_seconds", [1, 1, 1, 1]), s("compute_latency_seconds", [4, 4, 4, 4]), absent("model:compute_output_seconds:mean", "vllm_no_output_phase"), s("request_latency_seconds", [10, 10, 10, 7])])], undefined, undefined);
    expect(d?.stacked).toBe(true);
    expect(d?.lines.map((l) => [l.line, l.values])).toEqual([
      ["queue", [3, 3, null, 3]],
      ["compute_input", [1, 1, 1, 1]],
      ["compute", [4, 4, 4, 4]],
      // a missing part has no remainder, and parts beyond the total are not hidden as zero
      ["rest", [2, 2, null, null]],
    ]);
  });

  it("splits the requests into those that went well and those that failed", () => {
    const d = chartData(chart("outcome"), [asked([signal("model:requests:rate", [[one, [10, 10, null, 10]]]), signal("model:errors:ratio", [[one, [0, 0.1, 0.1, null]]])])], undefined, undefined);
    expect(d?.lines.map((l) => [l.line, l.values])).toEqual([
      ["succeeded", [10, 9, null, null]],
      ["failed", [0, 1, null, null]],
    ]);
  });

  it("takes the answer of its own split, not the page's", () => {
    const whole = asked([signal("model:requests:rate", [[one, [3, 3, 3, 3]]])]);
    const split = asked([signal("model:requests:rate", [[{ ...one, version: "1" }, [1, 1, 1, 1]], [{ ...one, version: "2" }, [2, 2, 2, 2]]])], "version");
    const d = chartData(chart("rate_version"), [whole, split], undefined, undefined);
    expect(d?.lines.map((l) => l.name)).toEqual(["v1", "v2"]);
    expect(chartData(chart("rate"), [split, whole], undefined, undefined)?.lines.map((l) => l.values[0])).toEqual([3]);
  });

  it("names kinds of errors that never happened instead of drawing them", () => {
    const e = (kind: string, v: (number | null)[]): [Record<string, string>, (number | null)[]] => [{ ...one, kind }, v];
    const some = chartData(chart("errors"), [asked([signal("model:errors:rate", [e("oom", [0, 0, null, 0]), e("timeout", [0, 1, 0, 0])])])], undefined, undefined);
    expect(some?.lines.map((l) => l.name)).toEqual(["timeout"]);
    expect(some?.zeros).toEqual(["oom"]);
    const none = chartData(chart("errors"), [asked([signal("model:errors:rate", [e("oom", [0, 0, 0, 0])])])], undefined, undefined);
    expect([none?.lines, none?.zeros]).toEqual([[], ["oom"]]);
  });

  it("adds the kinds of errors of one version, missing only where all are", () => {
    const e = (version: string, kind: string, v: (number | null)[]): [Record<string, string>, (number | null)[]] => [{ ...one, version, kind }, v];
    const d = chartData(chart("errors_version"), [asked([signal("model:errors:rate", [e("1", "timeout", [1, null, null, 1]), e("1", "oom", [2, 2, null, 2])])], "version")], undefined, undefined);
    expect(d?.lines.map((l) => [l.name, l.values])).toEqual([["v1", [3, 2, null, 3]]]);
  });

  it("names a GPU by node and card, with the UUID for hover", () => {
    const g = (i: string) => ({ node: "demo-node-1", gpu: `GPU-${i}`, gpu_index: i });
    const d = chartData(chart("gpu_memory"), [asked([signal("gpu:memory_used_bytes:last", [[g("0"), [1, 1, 1, 1]], [g("1"), [2, 2, 2, 2]]], { simulated: true }), signal("gpu:memory_total_bytes:last", [[g("0"), [9, 9, 9, 9]], [g("1"), [9, 9, 9, 9]]])])], undefined, undefined);
    expect(d?.lines.map((l) => [l.name, l.title])).toEqual([
      ["demo-node-1 · GPU 0", "GPU-0"],
      ["demo-node-1 · GPU 1", "GPU-1"],
      // one limit for all is one line
      ["", undefined],
    ]);
    expect(d?.simulated).toBe(true);
    expect(gpuName({ gpu: "GPU-x" })).toBe("GPU-x");
  });

  it("names a card that only a UUID tells by what is known of it", () => {
    const split = asked([signal("model:requests:rate", [[{ ...one, gpu: "GPU-0" }, [1, 1, 1, 1]], [{ ...one, gpu: "GPU-1" }, [1, 1, 1, 1]], [{ ...one, gpu: "GPU-2" }, [1, 1, 1, 1]]]), signal("gpu:busy:ratio", [[{ node: "n1", gpu: "GPU-1", gpu_index: "1" }, [1, 1, 1, 1]]])], "gpu");
    const answer = split.answer && withCards(split.answer, new Map([["GPU-0", { node: "n1", gpu_index: "0" }]]));
    const lines = chartData(chart("rate"), [{ by: "gpu", answer }], "gpu", undefined)?.lines;
    expect(lines?.map((l) => [l.name, l.title])).toEqual([["n1 · GPU 0", "GPU-0"], ["n1 · GPU 1", "GPU-1"], ["GPU-2", "GPU-2"]]);
    const same = asked([signal("model:requests:rate", [[one, [1, 1, 1, 1]]])]).answer;
    expect(same && withCards(same, new Map())).toBe(same);
  });

  it("names a card under a split by what the split adds", () => {
    const labels = { node: "n1", gpu: "GPU-0", gpu_index: "0" };
    const under = (by: "version" | "instance" | "node" | "gpu", more = {}) => chartData(chart("gpu_busy"), [asked([signal("gpu:busy:ratio", [[{ ...labels, ...more }, [1, 1, 1, 1]]])], by)], by, undefined)?.lines[0];
    expect(under("version")?.name).toBe("n1 · GPU 0");
    expect(under("instance", { instance: "demo/a" })?.name).toBe("demo/a · GPU 0");
    expect(under("node")?.name).toBe("n1 · GPU 0");
    expect(under("gpu")).toMatchObject({ name: "n1 · GPU 0", title: "GPU-0" });
  });

  it("draws a card once, also when its node was learnt later", () => {
    const early = { gpu: "GPU-0" };
    const full = { gpu: "GPU-0", gpu_index: "0", node: "n1", instance: "demo/a" };
    const d = chartData(chart("gpu_busy"), [asked([signal("gpu:busy:ratio", [[early, [0.1, 0.2, null, null]], [full, [null, 0.3, null, 0.4]]])])], undefined, undefined);
    expect(d?.lines.map((l) => [l.name, l.values])).toEqual([["n1 · GPU 0", [0.1, 0.3, null, 0.4]]]);
  });

  it("does not warn of the time before anything ran", () => {
    const gaps = [
      { from: 998, to: 1004, reason: "not_running" },
      { from: 1008, to: 1012, reason: "not_running" },
    ];
    const d = chartData(chart("rate"), [asked([signal("model:requests:rate", [[one, [null, 1, null, 1]]])], undefined, { gaps })], undefined, undefined);
    expect(d?.gaps.map((g) => g.quiet === true)).toEqual([true, false]);
  });

  it("gives an entity one colour on every chart of the page", () => {
    const two = (name: string) => signal(name, [[{ ...one, instance: "a" }, [1, 1, 1, 1]], [{ ...one, instance: "b" }, [1, 1, 1, 1]]]);
    const all = [asked([two("model:requests:rate"), two("model:request_latency_seconds:p99")], "instance")];
    expect([...entitySlots(all).keys()]).toEqual(["a", "b"]);
    const rate = chartData(chart("rate"), all, "instance", undefined);
    const p99 = chartData(chart("latency"), all, "instance", "p99");
    expect(rate?.lines.map((l) => l.slot)).toEqual(p99?.lines.map((l) => l.slot));
    expect(new Set(rate?.lines.map((l) => l.slot)).size).toBe(2);
  });

  it("keeps the server's reason for a gap and adds silent ones", () => {
    const d = chartData(chart("rate"), [asked([signal("model:requests:rate", [[one, [1, null, null, 1]]])], undefined, { gaps: [{ from: 1004, to: 1008, reason: "scrape_failed" }] })], undefined, undefined);
    expect(d?.gaps).toEqual([{ from: 1004, to: 1008, reason: "scrape_failed" }]);
    const silent = chartData(chart("rate"), [asked([signal("model:requests:rate", [[one, [1, null, 1, 1]]])])], undefined, undefined);
    expect(silent?.gaps).toEqual([{ from: 1002.5, to: 1007.5 }]);
  });
});
