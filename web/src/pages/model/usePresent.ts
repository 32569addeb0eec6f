// Which charts of a model will have a line, known from the list of signals long
// before the series come: so that their places can be kept.
import { useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { fetchSignals } from "@/api/sightline";
import type { ModelChart } from "./charts";

/** Says of a chart whether the model reports one of its signals; yes while that is unknown. */
export function usePresent(service: string, model: string): (chart: ModelChart) => boolean {
  const list = useQuery({ queryKey: ["signals", service, model], queryFn: ({ signal }) => fetchSignals({ service, model }, signal), staleTime: 60_000 }).data?.data.signals;
  return useCallback((chart) => hasLine(chart, list), [list]);
}

export function hasLine(chart: ModelChart, list: readonly { signal: string; present: boolean }[] | undefined): boolean {
  if (!list || list.length === 0) return true;
  return chart.lines.some((l) => !l.limit && list.some((s) => s.signal === l.signal && s.present));
}
