import { useMemo } from "react";
import { queryInstant, queryRange, seriesName, type PromData } from "@/api/prom";
import type { Answer } from "@/api/client";
import { useMomentQuery, useRangeQuery } from "@/api/useApi";
import { useT } from "@/i18n";
import { CopyButton } from "@/kit/CopyButton";
import { digits, duration, missing, withUnit } from "@/kit/format";
import { QueryView } from "@/kit/states";
import { Table, type Column } from "@/kit/Table";
import { zoomOut } from "@/state/time";
import { serverNow } from "@/state/live";
import { useTime, useUrlState } from "@/state/useUrl";
import { assignSlots } from "@/views/colour";
import { TimeSeries } from "@/views/TimeSeries";
import { labelColumns, toGrid, toRows, unitOfExpr, type Row } from "./result";
import { exploreUrl } from "./url";

interface Timed extends Answer<PromData> {
  took: number;
  from: number;
  to: number;
  step: number;
}

async function timed(w: { from: number; to: number; step: number }, run: () => Promise<Answer<PromData>>): Promise<Timed> {
  const start = performance.now();
  const answer = await run();
  return { ...answer, took: (performance.now() - start) / 1000, ...w };
}

function Warnings(p: { list: readonly string[] }) {
  if (p.list.length === 0) return null;
  return (
    <ul className="border-b border-line bg-warn-soft px-3 py-1 text-xs text-warn">
      {p.list.map((w) => (
        <li key={w}>{w}</li>
      ))}
    </ul>
  );
}

export function ChartResult(p: { expr: string }) {
  const t = useT();
  const result = useRangeQuery<PromData>(["explore-range", p.expr], (w, signal) => timed(w, () => queryRange(p.expr, w, signal)));
  return <QueryView result={result} compact errorTitle={t("explore.refused")}>{(data, answer) => (data.resultType === "matrix" ? <Chart expr={p.expr} answer={answer as Timed} /> : <p className="p-3 text-muted">{t("explore.notARange")}</p>)}</QueryView>;
}

function Chart(p: { expr: string; answer: Timed }) {
  const t = useT();
  const { zone, zoomTo, range, setRange } = useTime();
  const { answer } = p;
  const data = answer.data;
  const grid = useMemo(() => toGrid(data.resultType === "matrix" ? data.result : [], answer.from, answer.to, answer.step), [data, answer]);
  const lines = useMemo(() => {
    const slots = assignSlots(grid.lines.map((l) => l.key));
    const shared = grid.lines[0]?.labels["__name__"];
    const sameName = grid.lines.every((l) => l.labels["__name__"] === shared);
    return grid.lines.map((l) => {
      const { __name__: _, ...rest } = l.labels;
      // a name that all lines share says nothing in the legend
      const name = sameName && Object.keys(rest).length > 0 ? seriesName(rest) : l.key;
      return { key: l.key, slot: slots.get(l.key) ?? 1, name, title: l.key, values: l.values };
    });
  }, [grid]);
  const series = data.resultType === "matrix" ? data.result.length : 0;
  return (
    <div>
      <Warnings list={answer.warnings} />
      <div className="flex h-7 items-center gap-3 px-3 text-2xs text-muted" data-testid="explore-cost">
        <span>{t("explore.series", { count: series })}</span>
        <span>{t("explore.points", { count: grid.points })}</span>
        <span>{t("explore.step", { step: duration(answer.step) })}</span>
        <span>{t("explore.took", { time: duration(answer.took) })}</span>
        {grid.hidden > 0 && <span className="text-warn">{t("explore.hidden", { count: grid.hidden })}</span>}
        {grid.histograms > 0 && <span className="text-warn">{t("explore.histograms", { count: grid.histograms })}</span>}
      </div>
      {lines.length === 0 ? (
        <p className="p-3 text-muted">{t("explore.nothingRange")}</p>
      ) : (
        <div className="px-2 pb-2">
          <TimeSeries
            label={p.expr}
            xs={grid.xs}
            lines={lines}
            unit={unitOfExpr(p.expr)}
            from={answer.from}
            to={answer.to}
            step={answer.step}
            zone={zone}
            height={360}
            legend="below"
            sync="explore"
            onZoom={zoomTo}
            onZoomOut={() => setRange(zoomOut(range, serverNow()))}
          />
        </div>
      )}
    </div>
  );
}

export function TableResult(p: { expr: string }) {
  const t = useT();
  const result = useMomentQuery<PromData>(["explore-instant", p.expr], (at, signal) => timed({ from: at, to: at, step: 0 }, () => queryInstant(p.expr, at, signal)));
  return <QueryView result={result} compact errorTitle={t("explore.refused")}>{(_, answer) => <Rows expr={p.expr} answer={answer as Timed} />}</QueryView>;
}

function Rows(p: { expr: string; answer: Timed }) {
  const t = useT();
  const [state, set] = useUrlState(exploreUrl);
  const rows = useMemo(() => toRows(p.answer.data), [p.answer.data]);
  const unit = unitOfExpr(p.expr);
  const columns = useMemo<Column<Row>[]>(() => {
    const labels = labelColumns(rows);
    return [
      ...labels.map(
        (k): Column<Row> => ({
          id: k,
          header: k === "__name__" ? t("explore.name") : k,
          width: k === "__name__" ? "minmax(160px,1.4fr)" : "minmax(110px,1fr)",
          sort: (r) => r.labels[k],
          title: (r) => r.labels[k],
          cell: (r) => <span className="font-mono text-xs">{r.labels[k] ?? ""}</span>,
        }),
      ),
      {
        id: "value",
        header: t("explore.value"),
        width: labels.length === 0 ? "minmax(160px,1fr)" : "minmax(130px,180px)",
        right: true,
        sort: (r) => r.value,
        title: (r) => r.text,
        // the exact number is in the title and in the copy
        cell: (r) => (r.value === null ? r.text || missing : unit === "" ? digits(r.value, 6) : withUnit(r.value, unit)),
      },
    ];
  }, [rows, t, unit]);
  return (
    <div>
      <Warnings list={p.answer.warnings} />
      <div className="flex h-8 items-center gap-3 px-3 text-2xs text-muted" data-testid="explore-cost">
        <span>{t("explore.rows", { count: rows.length })}</span>
        <span>{t("explore.took", { time: duration(p.answer.took) })}</span>
        <span className="flex-1" />
        <CopyButton label={t("explore.copyTable")} text={() => [columns.map((c) => c.id).join("\t"), ...rows.map((r) => columns.map((c) => (c.id === "value" ? r.text : (r.labels[c.id] ?? ""))).join("\t"))].join("\n")} />
      </div>
      <Table keyboard label={t("explore.table")} rows={rows} columns={columns} rowId={(r) => r.id} sort={state.sort} onSort={(sort) => set({ sort })} maxHeight={620} minWidth={Math.max(480, columns.length * 130)} empty={t("explore.nothingInstant")} />
    </div>
  );
}
