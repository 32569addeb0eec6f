// How a card is called everywhere: by its node and number. What only a UUID names is looked up.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { fetchHardware } from "@/api/sightline";
import type { Gpu, HardwareNode, SeriesAnswer } from "@/api/types";

type Labels = Readonly<Record<string, string>>;

/** node + card number, as people say it; the UUID goes to the title. */
export function gpuName(labels: Labels): string {
  const node = labels["node"];
  const index = labels["gpu_index"];
  if (node && index !== undefined && index !== "") return `${node} · GPU ${index}`;
  if (index !== undefined && index !== "") return `GPU ${index}`;
  return labels["gpu"] ?? "";
}

/** The labels of a card of the hardware answer. */
export function cardLabels(node: string, g: Pick<Gpu, "gpu" | "gpu_index">): Labels {
  return { node, gpu: g.gpu, ...(g.gpu_index ? { gpu_index: g.gpu_index } : {}) };
}

/** Node and number by UUID. */
export type Cards = ReadonlyMap<string, Labels>;

export function cardsOfNodes(nodes: readonly HardwareNode[]): Cards {
  return new Map(nodes.flatMap((n) => (n.gpus ?? []).map((g) => [g.gpu, cardLabels(n.node, g)] as const)));
}

/** The answer with node and number on every series that a UUID names: a model's own series know the UUID only. */
export function withCards<A extends SeriesAnswer>(answer: A, cards: Cards): A {
  const known = new Map(cards);
  for (const s of answer.signals) for (const x of s.series) {
    const { gpu, node, gpu_index } = x.labels;
    if (gpu && node && gpu_index && !known.has(gpu)) known.set(gpu, { node, gpu_index });
  }
  const lacking = (labels: Labels) => labels["gpu"] !== undefined && !(labels["node"] && labels["gpu_index"]) && known.has(labels["gpu"]);
  if (!answer.signals.some((s) => s.series.some((x) => lacking(x.labels)))) return answer;
  return {
    ...answer,
    signals: answer.signals.map((s) => ({ ...s, series: s.series.map((x) => (lacking(x.labels) ? { ...x, labels: { ...known.get(x.labels["gpu"] ?? ""), ...x.labels } } : x)) })),
  };
}

const none: Cards = new Map();

/** The cards that the server knows now. */
export function useCards(wanted = true): Cards {
  const nodes = useQuery({ queryKey: ["cards"], queryFn: ({ signal }) => fetchHardware({}, signal), staleTime: 30_000, enabled: wanted }).data?.data.nodes;
  return useMemo(() => (nodes ? cardsOfNodes(nodes) : none), [nodes]);
}
