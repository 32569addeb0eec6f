/** The GPU grid as data: what each cell says for the chosen signal. Pure. */
import type { Gpu, HardwareNode as Node, Reason, Value } from "@/api/types";
import type { Scope } from "@/state/scope";
import type { Num } from "@/views/align";
import { heatLevels } from "@/views/look";
import { heatLevel } from "@/views/scales";

/** The signals that can colour the grid. */
export type View = "busy" | "memory" | "temperature" | "power" | "clock";
export const views: readonly View[] = ["busy", "memory", "temperature", "power", "clock"];

const num = (v: Value | undefined): Num => (v && typeof v.value === "number" && Number.isFinite(v.value) ? v.value : null);

/** Part over whole, null where either is missing or the whole is not positive. */
export function share(part: Value | undefined, whole: Value | undefined): Num {
  const p = num(part);
  const w = num(whole);
  return p === null || w === null || w <= 0 ? null : p / w;
}

/** The number of a GPU under a view, in the view's own unit, and the range of its heat scale. */
export function viewed(g: Gpu, view: View): { readonly value: Num; readonly unit: "ratio" | "celsius"; readonly min: number; readonly max: number; readonly of: Value | undefined } {
  switch (view) {
    case "busy":
      return { value: num(g.busy), unit: "ratio", min: 0, max: 1, of: g.busy };
    case "memory":
      return { value: share(g.memory_used_bytes, g.memory_total_bytes), unit: "ratio", min: 0, max: 1, of: g.memory_used_bytes };
    case "temperature":
      return { value: num(g.temperature_celsius), unit: "celsius", min: 25, max: 95, of: g.temperature_celsius };
    case "power":
      return { value: share(g.power_watts, g.power_limit_watts), unit: "ratio", min: 0, max: 1, of: g.power_watts };
    case "clock":
      return { value: share(g.sm_clock_hertz, g.sm_clock_max_hertz), unit: "ratio", min: 0, max: 1, of: g.sm_clock_hertz };
  }
}

/** A mark on a cell: what is wrong with the card. Each has a shape and a word besides its colour. */
export type Mark = "xid" | "limited" | "hot" | "full";

export interface CellModel {
  readonly gpu: Gpu;
  readonly value: Num;
  readonly unit: "ratio" | "celsius";
  /** 0-based level on the heat scale; null is drawn as "no data", not as cold. */
  readonly heat: number | null;
  readonly memory: Num;
  readonly power: Num;
  readonly temperature: Num;
  readonly limited: Num;
  readonly marks: readonly Mark[];
  readonly why?: Reason;
}

export function cellModel(g: Gpu, view: View): CellModel {
  const v = viewed(g, view);
  const memory = share(g.memory_used_bytes, g.memory_total_bytes);
  const power = share(g.power_watts, g.power_limit_watts);
  const limited = num(g.clock_limited);
  const temperature = num(g.temperature_celsius);
  const xid = num(g.xid);
  const marks: Mark[] = [];
  if (xid !== null && xid > 0) marks.push("xid");
  if (limited !== null && limited > 0.01) marks.push("limited");
  if (temperature !== null && temperature >= 85) marks.push("hot");
  if (memory !== null && memory >= 0.97) marks.push("full");
  return {
    gpu: g, value: v.value, unit: v.unit, heat: heatLevel(v.value, v.min, v.max, heatLevels), memory, power, temperature, limited, marks,
    ...(v.value === null && v.of?.reason ? { why: v.of.reason } : {}),
  };
}

const natural = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Nodes by name, cards by number; a filter keeps cards whose node, model, instance, UUID or kind contains every word. */
export function arrange(nodes: readonly Node[], q: string): Node[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return [...nodes]
    .sort((a, b) => natural.compare(a.node, b.node))
    .map((n) => ({
      node: n.node,
      gpus: [...n.gpus]
        .filter((g) => {
          if (words.length === 0) return true;
          const hay = [n.node, g.gpu, `gpu ${g.gpu_index ?? ""}`, g.gpu_model ?? "", ...(g.instances ?? []), ...(g.models ?? [])].join("\u0001").toLowerCase();
          return words.every((w) => hay.includes(w));
        })
        .sort((a, b) => natural.compare(a.gpu_index ?? "", b.gpu_index ?? "") || natural.compare(a.gpu, b.gpu)),
    }))
    .filter((n) => n.gpus.length > 0);
}

/** Cards of the address' scope; nodes without one are left out. */
export function scoped(nodes: readonly Node[], scope: Scope): Node[] {
  return nodes
    .filter((n) => scope.node === undefined || n.node === scope.node)
    .map((n) => ({
      node: n.node,
      gpus: n.gpus.filter((g) => (scope.gpu === undefined || g.gpu === scope.gpu) && (scope.instance === undefined || g.instances.includes(scope.instance)) && (scope.model === undefined || g.models.includes(scope.model))),
    }))
    .filter((n) => n.gpus.length > 0);
}

/** The neighbour of a card on the grid for arrow keys: left and right in reading order, up and down by one node. */
export function neighbour(nodes: readonly Node[], gpu: string, key: "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown"): string | undefined {
  const row = nodes.findIndex((n) => n.gpus.some((g) => g.gpu === gpu));
  if (row < 0) return nodes[0]?.gpus[0]?.gpu;
  const col = nodes[row]?.gpus.findIndex((g) => g.gpu === gpu) ?? 0;
  if (key === "ArrowUp" || key === "ArrowDown") {
    const next = nodes[row + (key === "ArrowDown" ? 1 : -1)];
    return next?.gpus[Math.min(col, next.gpus.length - 1)]?.gpu;
  }
  const flat = nodes.flatMap((n) => n.gpus.map((g) => g.gpu));
  return flat[flat.indexOf(gpu) + (key === "ArrowRight" ? 1 : -1)];
}
