// Hardware: is the machine the cause? Every card of every node on one screen.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { fetchHardware } from "@/api/sightline";
import { momentSeconds, type HardwareAnswer, type HardwareNode } from "@/api/types";
import { useMomentQuery, useStatus } from "@/api/useApi";
import { useT, type Translate } from "@/i18n";
import { Button, Chip, FilterBox, Segmented, Simulated } from "@/kit/basics";
import { bytes, missing, percent } from "@/kit/format";
import { FilteredOut, NothingConnected, OutsideRetention, QueryView, Skeleton } from "@/kit/states";
import type { ScopeKey } from "@/state/scope";
import { usePatchSearch, useScope, useTime, useUrlState } from "@/state/useUrl";
import { Fill } from "@/views/Fill";
import { cardLabels, cardsOfNodes, gpuName } from "@/views/gpu";
import { GpuGrid, type GridCell, type GridRow } from "@/views/GpuGrid";
import { heatLevels } from "@/views/look";
import { reasonText, remedyText } from "@/views/words";
import { arrange, cellModel, neighbour, scoped, viewed, views, type CellModel, type Mark, type View } from "./cells";
import { GpuPanel } from "./GpuPanel";
import { GpuTable } from "./GpuTable";
import { hardwareCodec } from "./url";

export function Hardware() {
  const { window } = useTime();
  const result = useMomentQuery(["hardware"], (at, signal) => fetchHardware({ at: Math.floor(at) }, signal));
  const status = useStatus();
  const oldest = momentSeconds(status.data?.data.storage?.oldest);
  if (oldest !== null && window.to < oldest) return <OutsideRetention oldest={oldest} />;
  return (
    <Fill>
      <QueryView result={result} skeleton={<Skeleton rows={8} />}>
        {(data) => <Page data={data} />}
      </QueryView>
    </Fill>
  );
}

const markSign: Record<Mark, string> = { xid: "XID", limited: "▼", hot: "▲", full: "■" };
const markBad: Record<Mark, boolean> = { xid: true, limited: false, hot: false, full: true };

export function markWord(t: Translate, m: Mark): string {
  return t(`hardware.mark.${m}`);
}

function gridCell(t: Translate, node: string, m: CellModel, view: View): GridCell {
  const g = m.gpu;
  const value = m.value === null ? missing : (m.unit === "ratio" ? m.value * 100 : m.value).toFixed(m.value === 0 ? 0 : 1);
  const unit = m.value === null ? "" : m.unit === "ratio" ? "%" : "°C";
  const temperature = m.temperature === null ? "" : `${Math.round(m.temperature)}°`;
  const watts = g.power_watts?.value;
  const power = watts == null ? "" : `${Math.round(watts)}${g.power_limit_watts?.value == null ? "" : `/${Math.round(g.power_limit_watts.value)}`} W`;
  const lines = [
    gpuName(cardLabels(node, g)),
    g.gpu,
    `${t(`hardware.view.${view}`)}: ${value === missing ? t("hardware.noData") : `${value} ${unit}`}`,
    `${t("hardware.view.memory")}: ${bytes(g.memory_used_bytes?.value)} / ${bytes(g.memory_total_bytes?.value)} (${percent(m.memory)})`,
    ...(power ? [`${t("hardware.view.power")}: ${power}`] : []),
    ...(temperature ? [`${t("hardware.view.temperature")}: ${temperature}`] : []),
    ...m.marks.map((x) => markWord(t, x)),
    ...(m.why ? [reasonText(t, m.why), remedyText(t, m.why) ?? ""] : []),
    ...(g.simulated ? [t("kit.simulated")] : []),
  ];
  return {
    id: g.gpu,
    name: g.gpu_index ?? "",
    value,
    unit,
    heat: m.heat,
    bar: m.memory,
    foot: [temperature, power].filter(Boolean).join("  "),
    marks: m.marks.map((id) => ({ id, sign: markSign[id], word: markWord(t, id), bad: markBad[id] })),
    title: lines.filter(Boolean).join("\n"),
    dim: (g as { stale?: boolean }).stale === true,
  };
}

function Page({ data }: { data: HardwareAnswer }) {
  const t = useT();
  const [url, setUrl] = useUrlState(hardwareCodec);
  const { scope } = useScope();
  const patch = usePatchSearch();
  const clear = () => patch({ q: undefined, scope: undefined });
  const [asTable, setAsTable] = useState(false);
  const nodes = useMemo(() => arrange(scoped(data.nodes, scope), url.q), [data.nodes, scope, url.q]);
  const rows = useMemo(
    () =>
      nodes.map((n): GridRow => {
        const kinds = [...new Set(n.gpus.map((g) => g.gpu_model).filter(Boolean))];
        return { id: n.node, name: n.node, note: `${n.gpus.length} × ${kinds.join(", ") || "GPU"}`, cells: n.gpus.map((g) => gridCell(t, n.node, cellModel(g, url.view), url.view)) };
      }),
    [nodes, url.view, t],
  );
  const all = useMemo(() => nodes.flatMap((n) => n.gpus), [nodes]);
  const total = data.nodes.reduce((n, x) => n + x.gpus.length, 0);
  const marks = useMemo(() => countMarks(nodes), [nodes]);
  const at = useMemo(() => locate(data.nodes, url.sel), [data.nodes, url.sel]);

  const order = useRef(nodes);
  order.current = nodes;
  const onSelect = useCallback((id: string) => setUrl({ sel: id }), [setUrl]);
  const onMove = useCallback((key: Parameters<typeof neighbour>[2], from: string) => neighbour(order.current, from, key), []);
  const close = useCallback(() => setUrl({ sel: "" }), [setUrl]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key === "Escape" && !e.defaultPrevented && !(e.target as HTMLElement).closest("input, textarea, [role=menu], [role=dialog]")) close();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [close]);

  if (total === 0) return <NothingConnected />;
  const v = all[0] ? viewed(all[0], url.view) : undefined;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-1.5">
        <h1 className="text-lg font-semibold">{t("hardware.title")}</h1>
        <FilterBox value={url.q} onChange={(q) => setUrl({ q })} placeholder="hardware.filter" width="w-52" />
        <span className="text-xs whitespace-nowrap text-muted" role="status">
          {all.length < total ? t("hardware.shown", { shown: all.length, all: total }) : t("hardware.count", { gpus: total, nodes: data.nodes.length })}
        </span>
        {/* the signs of the cells with their number; in words on hover, so that the bar keeps to one line */}
        <span className="flex items-center gap-1.5">
          {all.some((g) => g.simulated) && <Simulated />}
          {marks.map(([m, n]) => (
            <Chip key={m} tone={markBad[m] ? "bad" : "warn"} title={t("hardware.marks", { n, what: markWord(t, m) })}>
              <span aria-hidden>
                {markSign[m]} {n}
              </span>
              <span className="sr-only">{t("hardware.marks", { n, what: markWord(t, m) })}</span>
            </Chip>
          ))}
        </span>
        <span className="flex-1" />
        <Segmented label={t("hardware.colour")} value={url.view} options={views.map((id) => ({ id, label: t(`hardware.view.${id}`), title: t(`hardware.view.${id}.title`) }))} onChange={(view) => setUrl({ view })} />
        {v && <Scale min={v.unit === "ratio" ? "0" : String(v.min)} max={v.unit === "ratio" ? "100 %" : `${v.max} °C`} label={t("hardware.scale")} />}
        <Button onPress={() => setAsTable((x) => !x)}>{t(asTable ? "hardware.asGrid" : "hardware.asTable")}</Button>
      </header>
      <div className="flex min-h-0 flex-1">
        <div className="relative min-w-0 flex-1 overflow-auto">
          {all.length === 0 ? (
            <FilteredOut
              filters={[
                ...(url.q === "" ? [] : [{ label: t("kit.filter.words", { q: url.q }), countWithout: scoped(data.nodes, scope).reduce((n, x) => n + x.gpus.length, 0), remove: () => setUrl({ q: "" }) }]),
                ...(Object.keys(scope).length === 0 ? [] : [{ label: Object.entries(scope).map(([k, v]) => t("kit.filter.scope", { what: t(`shell.scope.${k as ScopeKey}`), value: k === "gpu" ? nameOfGpu(data.nodes, v) : v })).join(", "), countWithout: arrange(data.nodes, url.q).reduce((n, x) => n + x.gpus.length, 0), remove: () => patch({ scope: undefined }) }]),
              ]}
              clear={clear}
            />
          ) : (
            <>
              {!asTable && <GpuGrid label={t("hardware.grid")} rows={rows} selected={url.sel} onSelect={onSelect} onMove={onMove} />}
              <GpuTable nodes={nodes} visible={asTable} selected={url.sel} onSelect={onSelect} />
            </>
          )}
        </div>
        {at && <GpuPanel key={at.gpu.gpu} node={at.node} gpu={at.gpu} onClose={close} />}
      </div>
    </div>
  );
}

function countMarks(nodes: readonly HardwareNode[]): [Mark, number][] {
  const out = new Map<Mark, number>();
  for (const n of nodes) for (const g of n.gpus) for (const m of cellModel(g, "busy").marks) out.set(m, (out.get(m) ?? 0) + 1);
  return [...out];
}

function nameOfGpu(nodes: readonly HardwareNode[], gpu: string): string {
  return gpuName({ ...cardsOfNodes(nodes).get(gpu), gpu });
}

function locate(nodes: readonly HardwareNode[], gpu: string) {
  for (const n of nodes) for (const g of n.gpus) if (g.gpu === gpu) return { node: n.node, gpu: g };
  return undefined;
}

function Scale(p: { min: string; max: string; label: string }) {
  return (
    <span role="img" aria-label={`${p.label}: ${p.min} – ${p.max}`} className="flex items-center gap-1.5 text-2xs text-faint">
      {p.min}
      <span className="flex overflow-hidden rounded-sm">
        {Array.from({ length: heatLevels }, (_, i) => (
          <span key={i} className="h-2.5 w-3" style={{ background: `var(--heat-${i})` }} />
        ))}
      </span>
      {p.max}
    </span>
  );
}

