// Address of the Model page: group splits, pick chooses the line of a split
// chart (latency:p50,phases:queue), chart is the one to scroll to.
import type { Codec, Param } from "@/state/url";
import { groups, type Chart, type Group } from "@/views/chart";
import { chartById } from "./charts";

export interface ModelState {
  group: Group | "";
  pick: Readonly<Record<string, string>>;
  chart: string;
}

function picked(chart: Chart | undefined, line: string): boolean {
  return chart !== undefined && chart.lines.some((l) => l.id === line && !l.limit);
}

const group: Param<Group | ""> = {
  key: "group",
  fallback: "",
  parse: (t) => groups.find((g) => g === t),
  format: (v) => v,
};

const pick: Param<Readonly<Record<string, string>>> = {
  key: "pick",
  fallback: {},
  parse: (t) => {
    const out: Record<string, string> = {};
    for (const part of t.split(",")) {
      const [id, line] = part.split(":");
      if (id && line && picked(chartById(id), line)) out[id] = line;
    }
    return out;
  },
  // in the order of their ids, defaults left out: equal states give equal links
  format: (v) =>
    Object.keys(v)
      .sort()
      .filter((id) => picked(chartById(id), v[id] ?? "") && chartById(id)?.pick !== v[id])
      .map((id) => `${id}:${v[id]}`)
      .join(","),
};

const chart: Param<string> = {
  key: "chart",
  fallback: "",
  parse: (t) => chartById(t)?.id,
  format: (v) => v,
};

export const modelCodec: Codec<ModelState> = { group, pick, chart };
