// Pure part of the target table: search, order and summary.
import type { StatusAnswer, Target } from "@/api/types";

const healthRank: Record<Target["health"], number> = { down: 0, unknown: 1, up: 2 };

/** Down first: trouble is what the page is opened for. */
export function healthOrder(t: Target): number {
  return healthRank[t.health] ?? 1;
}

/** Whether anything sends data here: a target of this server or of an agent, or any source at all. */
export function connected(s: Pick<StatusAnswer, "targets" | "ingest">): boolean {
  return (s.targets ?? []).length > 0 || (s.ingest?.sources ?? []).length > 0;
}

/** Every word of the filter must occur in what identifies the target, its dialects or its error. */
export function filterTargets(targets: readonly Target[], filter: string): readonly Target[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return targets;
  return targets.filter((t) => {
    const text = [t.service, t.instance, t.node, t.url, t.job, t.health, t.remote && "remote", t.error?.code, t.error?.text, ...(t.dialects ?? []).flatMap((d) => [d.name, d.title])].filter(Boolean).join(" ").toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

export interface TargetSums {
  up: number;
  down: number;
  unknown: number;
  samplesPerSecond: number | null;
  series: number | null;
  refused: number;
}

export function sumTargets(targets: readonly Target[]): TargetSums {
  const out: TargetSums = { up: 0, down: 0, unknown: 0, samplesPerSecond: null, series: null, refused: 0 };
  for (const t of targets) {
    out[t.health === "up" || t.health === "down" ? t.health : "unknown"]++;
    if (t.health === "up" && typeof t.samples === "number" && t.interval_seconds) out.samplesPerSecond = (out.samplesPerSecond ?? 0) + t.samples / t.interval_seconds;
    if (typeof t.series === "number") out.series = (out.series ?? 0) + t.series;
    out.refused += t.series_refused ?? 0;
  }
  return out;
}
