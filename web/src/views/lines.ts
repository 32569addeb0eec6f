/**
 * From the answer of the series endpoint to what one chart draws. Pure: picks the chart's signals out of the answers,
 * names the lines, hands out colours, says what is absent and why, and what stands in for what.
 */
import type { Reason, SeriesAnswer, SignalAnswer } from "@/api/types";
import { fit, gapsOf, joinGaps, pointsOf, quieted, timesOf, type Gap, type Num } from "./align";
import { assignSlots } from "./colour";
import { gpuName } from "./gpu";
import { remainder } from "./stack";
import type { Chart, Group, Line } from "./chart";

/** An answer of the series endpoint; a stand-in may carry the reason why it stands in. */
export interface Answer extends SeriesAnswer {
  signals: (SignalAnswer & { reason?: Reason | null })[];
}

/** An answer with the split that was asked for: the same signal may have been asked twice. */
export interface Asked {
  readonly by: Group | undefined;
  readonly answer: Answer | undefined;
}

/** A line as drawn: who it is, its values on the chart's axis, its look. */
export interface Drawn {
  readonly key: string;
  /** Line id of the chart's record; the page translates it. Empty when `name` says all. */
  readonly line: string;
  /** Entity part of the name: a version, an instance, a GPU, an error kind. Empty for the model as a whole. */
  readonly name: string;
  /** Said on hover: the UUID of a GPU, all labels of an instance. */
  readonly title?: string;
  readonly slot: number;
  readonly dashed: boolean;
  readonly stepped: boolean;
  readonly values: readonly Num[];
  readonly href?: string;
}

export interface Missing {
  readonly line: string;
  readonly signal: string;
  readonly reason: Reason;
}

export interface Substitute {
  readonly line: string;
  readonly op: string;
  readonly reason?: Reason;
}

/** Everything that a chart shows. `lines` empty and `missing` non-empty is the absent state. */
export interface ChartData {
  readonly xs: readonly number[];
  readonly step: number;
  readonly unit: string;
  readonly lines: readonly Drawn[];
  readonly stacked: boolean;
  readonly missing: readonly Missing[];
  readonly substitutes: readonly Substitute[];
  readonly sources: readonly string[];
  readonly methods: readonly string[];
  readonly level?: string;
  readonly worstInstance: boolean;
  readonly simulated: boolean;
  readonly gaps: readonly Gap[];
  /** Kinds that are zero throughout: named, not drawn. */
  readonly zeros: readonly string[];
}

/** The label that tells the lines of one signal apart. */
function entityOf(labels: Readonly<Record<string, string>>, label: string | undefined): { name: string; title?: string } {
  if (label === undefined) return { name: "" };
  if (label === "gpu") {
    const name = gpuName(labels);
    const uuid = labels["gpu"];
    return uuid ? { name, title: uuid } : { name };
  }
  const v = labels[label] ?? "";
  if (label === "instance") {
    const at = [labels["node"], labels["version"] ? `v${labels["version"]}` : ""].filter(Boolean).join(" · ");
    return at ? { name: v, title: at } : { name: v };
  }
  if (label === "version" && v !== "") return { name: `v${v}` };
  return { name: v };
}

const empty: Omit<ChartData, "missing"> = {
  xs: [], step: 0, unit: "", lines: [], stacked: false, substitutes: [], sources: [], methods: [], worstInstance: false, simulated: false, gaps: [], zeros: [],
};

/** Fixed slots of the error kinds, so that a kind has one colour everywhere. */
const kindSlots: Readonly<Record<string, number>> = {
  oom: 4,
  invalid_input: 6,
  context_length_exceeded: 10,
  model_not_found: 7,
  model_load_failed: 12,
  overloaded: 2,
  timeout: 5,
  cancelled: 20,
  unavailable: 9,
  internal: 8,
};

/**
 * The name of a series on its chart: what the page is split by, then what the signal itself tells apart (error kind,
 * cache, card). A card keeps its own name where the split's label says nothing about it.
 */
function nameOf(labels: Readonly<Record<string, string>>, chart: Chart, by: Group | undefined): { name: string; title?: string } {
  const own = entityOf(labels, chart.sum && by !== undefined ? undefined : chart.label);
  if (by === undefined || by === chart.label) return by === undefined ? own : entityOf(labels, by);
  const split = entityOf(labels, by);
  if (chart.label === "gpu" && by === "node") return own;
  if (chart.label === "gpu" && split.name !== "" && labels["gpu_index"]) {
    return { name: `${split.name} · GPU ${labels["gpu_index"]}`, title: [own.name, own.title].filter(Boolean).join("\n") };
  }
  const name = [split.name, own.name].filter(Boolean).join(" · ");
  const title = own.title ?? split.title;
  return title ? { name, title } : { name };
}

interface Raw {
  line: Line;
  labels: Readonly<Record<string, string>>;
  values: Num[];
  name: string;
  title?: string;
}

/**
 * A card's series under several label sets (its node or its owner was learnt later) are one line: the set that says most
 * names it, and its values win where both have one.
 */
function oneCard(raw: readonly Raw[]): Raw[] {
  const out = new Map<string, Raw>();
  const said = (r: Raw) => Object.keys(r.labels).length;
  raw.forEach((r, i) => {
    const uuid = r.labels["gpu"];
    const { gpu: _gpu, kind, reason, code, cache, direction, version } = r.labels;
    const key = uuid === undefined || r.line.signal.split(":")[0] !== "gpu" ? `#${i}` : [r.line.id, uuid, kind, reason, code, cache, direction, version].join("\u0001");
    const at = out.get(key);
    if (!at) {
      out.set(key, r);
      return;
    }
    const [best, other] = said(r) > said(at) ? [r, at] : [at, r];
    out.set(key, { ...best, values: best.values.map((v, k) => v ?? other.values[k] ?? null) });
  });
  return [...out.values()];
}

/** Rates of one name added up; missing only where every part is. */
function summed(raw: readonly Raw[]): Raw[] {
  const out = new Map<string, Raw>();
  for (const r of raw) {
    const key = `${r.line.id}/${r.name}`;
    const at = out.get(key);
    if (!at) out.set(key, { ...r, values: [...r.values] });
    else at.values = at.values.map((v, i) => (v === null ? (r.values[i] ?? null) : v + (r.values[i] ?? 0)));
  }
  return [...out.values()];
}

/** A limit that is the same for every entity, or the only one, is one line without a name. */
function mergedLimits(raw: readonly Raw[]): Raw[] {
  const out: Raw[] = [];
  const done = new Set<string>();
  for (const r of raw) {
    if (!r.line.limit) {
      out.push(r);
      continue;
    }
    if (done.has(r.line.id)) continue;
    const all = raw.filter((x) => x.line.id === r.line.id);
    const of = (x: Raw) => x.values.find((v) => v !== null);
    const same = all.length === 1 || all.every((x) => of(x) === of(r) && x.values.every((v) => v === null || v === of(r)));
    if (same) {
      done.add(r.line.id);
      const values = r.values.map((v, i) => v ?? all.find((x) => x.values[i] != null)?.values[i] ?? null);
      out.push({ line: r.line, labels: {}, values, name: "" });
    } else out.push(r);
  }
  return out;
}

/**
 * A colour for every entity that any split of these answers can show, for handing them out once per page. Versions are
 * never on a chart with instances: each kind has the whole palette.
 */
export function entitySlots(answers: readonly Asked[], kept?: ReadonlyMap<string, number>): Map<string, number> {
  const out = new Map<string, number>();
  for (const label of ["version", "instance", "node", "gpu", "cache"]) {
    const names = answers.flatMap(({ answer: a }) => (a?.signals ?? []).flatMap((s) => s.series.map((x) => entityOf(x.labels, label).name)));
    for (const [name, slot] of assignSlots(names.filter((n) => n !== ""), kept)) out.set(name, slot);
  }
  return out;
}

/** What the chart shows of these answers, split by `group` where asked. Null while nothing has been answered. */
export function chartData(chart: Chart, answers: readonly Asked[], group: Group | undefined, pick: string | undefined, kept?: ReadonlyMap<string, number>): ChartData | null {
  const by = chart.by ?? group;
  // split, it would only repeat the chart of requests
  if (chart.kind === "outcome" && by !== undefined) return null;
  const find = (signal: string): { a: Answer; s: Answer["signals"][number] } | undefined => {
    for (const { by: asked, answer: a } of answers) {
      if (asked !== by) continue;
      const s = a?.signals.find((x) => x.signal === signal);
      if (a && s) return { a, s };
    }
    return undefined;
  };
  const many = chart.lines.filter((l) => !l.limit).length > 1;
  const chosen = pick !== undefined && chart.lines.some((l) => l.id === pick && !l.limit) ? pick : (chart.pick ?? chart.lines[0]?.id);
  const wanted: readonly Line[] = by !== undefined && many ? chart.lines.filter((l) => l.id === chosen || l.limit) : chart.lines;

  const found = wanted.map((line) => ({ line, at: find(line.signal) }));
  const first = found.find((f) => f.at)?.at;
  if (!first) return null;
  const grid = first.a;
  const n = pointsOf(grid);
  const xs = timesOf(grid);

  const missing: Missing[] = [];
  const substitutes: Substitute[] = [];
  const sources = new Set<string>();
  const methods = new Set<string>();
  let simulated = false;
  let worstInstance = false;
  let unit = "";
  let level: string | undefined;
  let raw: Raw[] = [];
  const substituted = new Set<string>();

  for (const { line, at } of found) {
    if (!at) continue;
    const s = at.s;
    const series = s.series.filter((x) => x.values.some((v) => v !== null));
    if (series.length === 0) {
      const reason = s.absent ?? s.reason;
      if (reason) missing.push({ line: line.id, signal: line.signal, reason });
      continue;
    }
    unit ||= s.unit;
    if (s.substitute) {
      const why = s.reason ?? s.absent;
      substitutes.push({ line: line.id, op: s.substitute.op || (s.method ?? ""), ...(why ? { reason: why } : {}) });
      // A percentile that is really the mean repeats the chart's own mean: one line is enough, the header says why.
      const op = s.substitute.op;
      if (op) {
        if (by === undefined && wanted.some((l) => l.id === op && l.id !== line.id && find(l.signal)?.s.series.length)) continue;
        if (substituted.has(op)) continue;
        substituted.add(op);
      }
    }
    if (s.source) sources.add(s.source);
    if (s.method) methods.add(s.method);
    if (s.simulated) simulated = true;
    if (s.worst_instance) worstInstance = true;
    level ??= s.level;
    for (const x of series) {
      const { name, title } = nameOf(x.labels, chart, by);
      raw.push({ line, labels: x.labels, values: fit(x.values, n), name, ...(title ? { title } : {}) });
    }
  }

  raw = oneCard(raw);
  raw = chart.sum ? summed(raw) : raw;
  raw = mergedLimits(raw);
  const drawn: Drawn[] = [];
  const names = raw.filter((r) => r.name !== "" && r.line.slot === undefined).map((r) => r.name);
  const splitNames = raw.filter((r) => r.name !== "").map((r) => r.name);
  const slots = assignSlots(by !== undefined ? splitNames : names, kept);
  const seen = new Map<string, number>();
  for (const r of raw) {
    let key = `${r.line.id}/${r.name}`;
    const again = seen.get(key) ?? 0;
    seen.set(key, again + 1);
    if (again > 0) key += `#${again}`;
    const kind = r.labels["kind"];
    const slot = r.name === "" ? (r.line.slot ?? 1) : chart.label === "kind" && by === undefined && kind ? (kindSlots[kind] ?? 2) : (slots.get(r.name) ?? r.line.slot ?? 1);
    drawn.push({
      key, line: r.line.id, name: r.name, slot, dashed: r.line.limit === true, stepped: r.line.stepped === true, values: r.values,
      ...(r.title ? { title: r.title } : {}),
    });
  }

  let lines: Drawn[] = drawn;
  let stacked = false;
  let zeros: string[] = [];
  if (chart.kind === "phases" && by === undefined) {
    stacked = drawn.length > 1;
    const total = find("model:request_latency_seconds:mean")?.s.series[0];
    if (total && drawn.length > 0) {
      const rest = remainder(fit(total.values, n), drawn.map((d) => d.values));
      if (rest.some((v) => v !== null)) {
        lines = [...drawn, { key: "rest/", line: "rest", name: "", slot: 9, dashed: false, stepped: false, values: rest }];
        stacked = true;
      }
    }
  } else if (chart.kind === "outcome" && by === undefined) {
    const requests = drawn.find((d) => d.line === "requests");
    const ratio = find("model:errors:ratio")?.s.series[0];
    if (requests && ratio) {
      const share = fit(ratio.values, n);
      const part = (f: (r: number, e: number) => number): Num[] => requests.values.map((r, i) => (r === null || share[i] == null ? null : f(r, share[i])));
      lines = [
        { ...requests, key: "succeeded/", line: "succeeded", slot: 3, values: part((r, e) => r * (1 - e)) },
        { ...requests, key: "failed/", line: "failed", slot: 8, values: part((r, e) => r * e) },
      ];
      stacked = true;
    }
  } else if (chart.kind === "stack" && (by === undefined || chart.by !== undefined)) {
    if (chart.label === "kind" && by === undefined) {
      lines = drawn.filter((d) => d.values.some((v) => v !== null && v !== 0));
      zeros = drawn.filter((d) => !lines.includes(d)).map((d) => d.name || d.line);
    }
    stacked = lines.length > 1;
  }
  const told = quieted(grid.gaps ?? [], grid.start, grid.step_seconds);
  // where the server says why, its word is enough
  const silent = gapsOf(xs, drawn.filter((d) => !d.dashed).map((d) => d.values), grid.step_seconds);
  const unexplained = silent.filter((g) => !told.some((r) => r.from < g.to && g.from < r.to));
  if (lines.filter((l) => !l.dashed).length === 0) {
    return { ...empty, xs, step: grid.step_seconds, missing: missing.filter((m) => !wanted.find((l) => l.id === m.line)?.limit), zeros };
  }
  return {
    xs,
    step: grid.step_seconds,
    unit,
    lines, stacked, missing, substitutes, sources: [...sources], methods: [...methods],
    worstInstance, simulated, zeros, gaps: joinGaps([...told, ...unexplained]), ...(level ? { level } : {}),
  };
}
