import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Gpu } from "@/api/types";
import { formatState, parseState } from "@/state/url";
import { arrange, cellModel, neighbour, scoped, share, viewed, views } from "./cells";
import { en } from "@/i18n/en";
import { gpuAsks, gpuCharts } from "./charts";
import { hardwareCodec } from "./url";

const none = { value: null };
const gpu = (id: string, index: string, more: Partial<Gpu> = {}): Gpu => ({
  gpu: id,
  gpu_index: index,
  instances: [`demo/${id}`],
  models: ["resnet_mini"],
  busy: { value: 0.5 },
  memory_used_bytes: { value: 8 },
  memory_total_bytes: { value: 16 },
  power_watts: { value: 150 },
  power_limit_watts: { value: 300 },
  temperature_celsius: { value: 60 },
  sm_clock_hertz: { value: 1.2e9 },
  sm_clock_max_hertz: { value: 1.6e9 },
  clock_limited: none,
  xid: { value: 0 },
  ...more,
});
const nodes = [
  { node: "node-10", gpus: [gpu("d", "0")] },
  { node: "node-2", gpus: [gpu("c", "10"), gpu("b", "2"), gpu("a", "0")] },
];

describe("cells", () => {
  it("show each view in its own unit", () => {
    expect(views.map((v) => viewed(gpu("a", "0"), v).value)).toEqual([0.5, 0.5, 60, 0.5, 0.75]);
  });
  it("keep missing apart from cold", () => {
    const m = cellModel(gpu("a", "0", { busy: { value: null, reason: { code: "dcgm_field_off", text: "off" } } }), "busy");
    expect(m.heat).toBeNull();
    expect(m.why?.code).toBe("dcgm_field_off");
    expect(cellModel(gpu("a", "0", { busy: { value: 0 } }), "busy").heat).toBe(0);
    expect(share({ value: 5 }, { value: null })).toBeNull();
    expect(share({ value: 5 }, { value: 0 })).toBeNull();
    expect(share(undefined, undefined)).toBeNull();
  });
  it("mark what is wrong, and nothing that is only unknown", () => {
    expect(cellModel(gpu("a", "0"), "busy").marks).toEqual([]);
    expect(cellModel(gpu("a", "0", { xid: { value: 0.1 }, clock_limited: { value: 0.4 }, temperature_celsius: { value: 91 }, memory_used_bytes: { value: 16 } }), "busy").marks).toEqual(["xid", "limited", "hot", "full"]);
    expect(cellModel(gpu("a", "0", { xid: none, temperature_celsius: none, memory_used_bytes: none }), "busy").marks).toEqual([]);
  });
});

describe("arrangement", () => {
  it("is by node and card number, as people count", () => {
    expect(arrange(nodes, "").map((n) => [n.node, n.gpus.map((g) => g.gpu_index)])).toEqual([
      ["node-2", ["0", "2", "10"]],
      ["node-10", ["0"]],
    ]);
  });
  it("filters by any word and drops empty nodes", () => {
    expect(arrange(nodes, "node-10 resnet").map((n) => n.node)).toEqual(["node-10"]);
    expect(arrange(nodes, "gpu 2")[0]?.gpus.map((g) => g.gpu)).toContain("b");
    expect(arrange(nodes, "nothing")).toEqual([]);
  });
  it("keeps to the scope", () => {
    expect(scoped(nodes, { node: "node-10" }).map((n) => n.node)).toEqual(["node-10"]);
    expect(scoped(nodes, { instance: "demo/b" })[0]?.gpus.map((g) => g.gpu)).toEqual(["b"]);
    expect(scoped(nodes, { model: "other" })).toEqual([]);
  });
  it("moves by arrow keys and stops at the edges", () => {
    const a = arrange(nodes, "");
    expect(neighbour(a, "a", "ArrowRight")).toBe("b");
    expect(neighbour(a, "c", "ArrowRight")).toBe("d");
    expect(neighbour(a, "c", "ArrowDown")).toBe("d");
    expect(neighbour(a, "a", "ArrowLeft")).toBeUndefined();
    expect(neighbour(a, "d", "ArrowDown")).toBeUndefined();
    expect(neighbour(a, "unknown", "ArrowDown")).toBe("a");
  });
});

describe("charts of a card", () => {
  it("have words and are all asked for in one request", () => {
    expect(gpuAsks).toHaveLength(1);
    for (const c of gpuCharts) {
      expect(Object.keys(en)).toContain(`views.chart.${c.id}`);
      for (const l of c.lines) {
        expect(Object.keys(en)).toContain(`views.line.${l.id}`);
        expect(gpuAsks[0]?.signals).toContain(l.signal);
      }
    }
  });
});

describe("address", () => {
  const search = (s: Record<string, string | undefined>) => Object.fromEntries(Object.entries(s).filter(([, v]) => v !== undefined)) as Record<string, string>;
  it("round-trips every state", () => {
    fc.assert(
      fc.property(fc.record({ view: fc.constantFrom(...views), sel: fc.string(), q: fc.string() }), (s) => {
        expect(parseState(hardwareCodec, search(formatState(hardwareCodec, s)))).toEqual(s);
      }),
    );
  });
  it("forgives nonsense and still opens the links of the first release", () => {
    expect(parseState(hardwareCodec, { view: "smell" }).view).toBe("busy");
    expect(parseState(hardwareCodec, { view: "temperature", sel: "GPU-1" })).toEqual({ view: "temperature", sel: "GPU-1", q: "" });
  });
});
