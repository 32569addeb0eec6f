// The way of data as a small graph with live rates: pure layout and numbers,
// drawn by PipelineGraph.
import type { PlainKey } from "@/i18n";
import type { StatusAnswer } from "@/api/types";
import { momentSeconds } from "@/api/types";
import { bytes, count, duration, rate, si } from "@/kit/format";
import { sumTargets } from "./targets";

export interface PipeNode {
  id: string;
  words: PlainKey;
  /** Column from the left, lane from the top. */
  column: number;
  lane: number;
  value: string;
  tone: "good" | "warn" | "bad" | "neutral";
}

export interface PipeEdge {
  from: string;
  to: string;
  label: string;
  /** Whether data moves now. */
  flows: boolean;
}

export interface Pipeline {
  nodes: PipeNode[];
  edges: PipeEdge[];
}

function partTone(s: StatusAnswer, name: string): PipeNode["tone"] {
  const part = (s.parts ?? []).find((p) => p.name === name);
  if (!part) return "neutral";
  return part.state === "ready" ? "good" : part.state === "stopped" ? "bad" : "warn";
}

export function pipeline(s: StatusAnswer): Pipeline {
  const targets = s.targets ?? [];
  const sums = sumTargets(targets);
  const own = targets.filter((x) => x.remote !== true);
  const ours = sumTargets(own);
  const groups = s.rules?.groups ?? [];
  const rules = groups.reduce((n, g) => n + g.rules, 0);
  const failed = groups.reduce((n, g) => n + (g.failed ?? 0), 0);
  const interval = s.rules?.interval_seconds ?? null;
  // a remote target that is listed is known to be one; else whatever sends and is no target of ours
  const remotes = targets.length > own.length ? targets.length - own.length : Math.max(0, (s.ingest?.sources ?? []).length - own.length);
  const dropped = Object.values(s.ingest?.dropped ?? {}).reduce((a, b) => a + b, 0);
  const oldest = momentSeconds(s.storage?.oldest);
  const newest = momentSeconds(s.storage?.newest);
  const kept = oldest !== null && newest !== null ? newest - oldest : null;
  const nodes: PipeNode[] = [
    { id: "targets", words: "status.pipe.targets", column: 0, lane: 0, value: `${ours.up} / ${own.length}`, tone: ours.down > 0 ? "bad" : own.length === 0 ? "neutral" : "good" },
    { id: "remote", words: "status.pipe.remote", column: 0, lane: 1, value: count(remotes), tone: targets.some((x) => x.remote && x.health === "down") ? "bad" : "neutral" },
    { id: "guard", words: "status.pipe.guard", column: 1, lane: 0.5, value: `${count(sums.refused + dropped)}`, tone: sums.refused + dropped > 0 ? "warn" : "good" },
    { id: "store", words: "status.pipe.store", column: 2, lane: 0.5, value: s.storage ? `${si(s.storage.series)} · ${bytes(s.storage.bytes)}` : "", tone: s.storage?.read_only ? "bad" : partTone(s, "storage") },
    { id: "rules", words: "status.pipe.rules", column: 3, lane: 0, value: count(rules), tone: failed > 0 ? "warn" : rules > 0 ? "good" : "neutral" },
    { id: "query", words: "status.pipe.query", column: 3, lane: 1, value: duration(kept), tone: s.storage ? "good" : "neutral" },
  ];
  const edges: PipeEdge[] = [
    { from: "targets", to: "guard", label: rate(ours.samplesPerSecond), flows: (ours.samplesPerSecond ?? 0) > 0 },
    { from: "remote", to: "guard", label: "", flows: remotes > 0 },
    { from: "guard", to: "store", label: rate(s.storage?.samples_per_second), flows: (s.storage?.samples_per_second ?? 0) > 0 },
    { from: "store", to: "rules", label: interval === null ? "" : duration(interval), flows: rules > 0 },
    { from: "store", to: "query", label: "", flows: s.storage !== null && s.storage !== undefined },
  ];
  return { nodes, edges };
}
