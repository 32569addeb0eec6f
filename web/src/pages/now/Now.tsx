// Now: is anything wrong for anyone? One row per model of a service, every
// number a link to the chart that proves it.
import { useRouter } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useMemo, useRef, type MouseEvent as ReactMouseEvent } from "react";
import type { NowRow } from "@/api/types";
import { momentSeconds } from "@/api/types";
import { useStatus } from "@/api/useApi";
import { useT, type Key, type Translate } from "@/i18n";
import { Chip, cx, FilterBox, Simulated, StateMark } from "@/kit/basics";
import { ago, count, digits, percent } from "@/kit/format";
import { gpuName, useCards } from "@/views/gpu";
import { FilteredOut, NothingConnected, OutsideRetention, QueryView, Skeleton } from "@/kit/states";
import { durationText } from "@/state/time";
import { scopeKeys } from "@/state/scope";
import { takesText } from "@/state/shortcuts";
import { stringifySearch } from "@/state/url";
import { useAction } from "@/state/useAction";
import { useCarriedSearch, usePatchSearch, useScope, useTime, useUrlState } from "@/state/useUrl";
import { lineWord, reasonText, remedyText, word } from "@/views/words";
import { cellOf, columns, scaleUnit, simulatedRow, valueText, type Cell, type Column } from "@/views/figures";
import { modelPath } from "@/views/links";
import { Fill } from "@/views/Fill";
import { Hints } from "@/views/Hints";
import { Sparkline } from "@/views/Sparkline";
import { useNow } from "@/views/useNow";
import { errorBand, filterRows, inScope, sortRows, totals, type Sort } from "./rows";
import { nowCodec } from "./url";

const rowHeight = 32;
const grid = "grid grid-cols-[minmax(17rem,1fr)_repeat(4,minmax(4.25rem,5rem))_5.75rem_6.25rem_4.5rem_repeat(2,5.75rem)_minmax(7rem,10rem)] items-center";

export function Now() {
  const result = useNow();
  const { window } = useTime();
  const status = useStatus();
  const oldest = momentSeconds(status.data?.data.storage?.oldest);
  if (oldest !== null && window.to < oldest) return <OutsideRetention oldest={oldest} />;
  return (
    <Fill>
      <QueryView result={result} skeleton={<Skeleton rows={10} />}>
        {(data) => (data.rows.length === 0 ? <NothingConnected /> : <Rows rows={data.rows} at={data.at} window={result.window} />)}
      </QueryView>
    </Fill>
  );
}

function Rows({ rows, at, window: seconds }: { rows: readonly NowRow[]; at: number; window: number }) {
  const t = useT();
  const router = useRouter();
  const carried = useCarriedSearch();
  const [url, setUrl] = useUrlState(nowCodec);
  const { scope, setScope } = useScope();
  const scoped = useMemo(() => rows.filter((r) => inScope(r, scope)), [rows, scope]);
  const shown = useMemo(() => sortRows(filterRows(scoped, url.q), url.sort), [scoped, url.q, url.sort]);
  const patch = usePatchSearch();
  const cards = useCards(scope.gpu !== undefined);
  const filters = [
    ...(url.q === "" ? [] : [{ label: t("kit.filter.words", { q: url.q }), countWithout: scoped.length, remove: () => setUrl({ q: "" }) }]),
    ...scopeKeys.flatMap((k) => {
      const value = scope[k];
      if (value === undefined) return [];
      const countWithout = filterRows(rows.filter((r) => inScope(r, { ...scope, [k]: undefined })), url.q).length;
      return [{ label: t("kit.filter.scope", { what: t(`shell.scope.${k}`), value: k === "gpu" ? gpuName({ ...cards.get(value), gpu: value }) : value }), countWithout, remove: () => setScope({ [k]: undefined }) }];
    }),
  ];
  const sums = useMemo(() => totals(shown), [shown]);
  const window = durationText(seconds);

  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: shown.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 8, getItemKey: (i) => shown[i]?.id ?? i });
  const searches = useMemo(() => new Map(["", ...columns.map((c) => c.chart)].map((chart) => [chart, stringifySearch(chart === "" ? carried : { ...carried, chart })])), [carried]);
  const hrefOf = useCallback((row: NowRow, chart: string) => modelPath(row.service, row.model) + (searches.get(chart) ?? ""), [searches]);

  const index = shown.findIndex((r) => r.id === url.sel);
  const move = (to: number) => {
    const next = Math.min(shown.length - 1, Math.max(0, to));
    const row = shown[next];
    if (!row) return;
    setUrl({ sel: row.id });
    virtual.scrollToIndex(next);
  };
  useAction("row.next", () => move(index + 1));
  useAction("row.previous", () => move(index < 0 ? 0 : index - 1));
  useAction(
    "row.open",
    () => {
      const row = shown[index];
      if (row) router.history.push(hrefOf(row, ""));
    },
    index >= 0,
  );
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key === "Escape" && !e.defaultPrevented && !takesText(e.target) && !document.querySelector("[role=dialog]") && url.sel !== "") setUrl({ sel: "" });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [setUrl, url.sel]);

  // A plain click on a link of the table stays inside the console.
  const onClick = useCallback(
    (e: ReactMouseEvent) => {
      const a = (e.target as HTMLElement).closest("a");
      if (!a || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
      e.preventDefault();
      router.history.push(a.getAttribute("href") ?? "/");
    },
    [router],
  );

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <header className="flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1 px-4 py-1.5">
        <h1 className="text-lg font-semibold">{t("now.title")}</h1>
        <FilterBox value={url.q} onChange={(q) => setUrl({ q })} placeholder="now.filter" width="w-72" />
        <span className="text-xs text-muted" role="status">
          {shown.length < rows.length ? t("now.rows", { shown: shown.length, all: rows.length }) : rows.length === 1 ? t("now.models.one") : t("now.models", { n: rows.length })}
        </span>
        <span className="flex-1" />
        <dl className="flex flex-wrap items-baseline gap-x-4 text-xs text-muted">
          <Total label={t("now.total.rate")} value={sums.rate !== null && sums.rate >= 1000 ? count(sums.rate) : digits(sums.rate)} />
          <Total label={t("now.total.errors")} value={percent(sums.errorRatio)} />
          <Total label={t("now.total.waiting")} value={count(sums.waiting)} />
          {sums.stale > 0 && <StateMark tone="warn">{t("now.total.stale", { n: sums.stale })}</StateMark>}
        </dl>
      </header>
      <Hints>
        <div ref={scroller} className="min-h-0 flex-1 overflow-auto border-t border-line" onClick={onClick}>
          <div role="table" aria-label={t("now.title")} aria-rowcount={shown.length + 1} className="min-w-[72rem]">
            <div role="rowgroup" className="sticky top-0 z-10 border-b border-line bg-raised">
              <div role="row" aria-rowindex={1} className={cx(grid, "h-8 px-4 text-2xs text-muted")}>
                <Head id="model" sort={url.sort} onSort={(sort) => setUrl({ sort })} left />
                {columns.map((c) => (
                  <Head key={c.id} id={c.id} unit={scaleUnit(c.scale)} sort={url.sort} onSort={(sort) => setUrl({ sort })} />
                ))}
                <span role="columnheader" className="truncate pl-4">
                  {t("now.column.spark", { window })}
                </span>
              </div>
            </div>
            {shown.length === 0 ? (
              <FilteredOut filters={filters} clear={() => patch({ q: undefined, scope: undefined })} />
            ) : (
              <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
                {virtual.getVirtualItems().map((item) => {
                  const row = shown[item.index];
                  return row ? (
                    <RowView key={row.id} row={row} index={item.index} top={item.start} at={at} window={window} selected={row.id === url.sel} hrefOf={hrefOf} />
                  ) : null;
                })}
              </div>
            )}
          </div>
        </div>
      </Hints>
    </div>
  );
}

function Total(p: { label: string; value: string }) {
  return (
    <div className="flex items-baseline gap-1.5">
      <dd className="text-sm font-medium text-text">{p.value}</dd>
      <dt>{p.label}</dt>
    </div>
  );
}

function columnWord(t: Translate, id: string): string {
  return word(t, `now.column.${id}`, id);
}

function Head(p: { id: string; unit?: string; sort: Sort; left?: boolean; onSort: (s: Sort) => void }) {
  const t = useT();
  const active = p.sort.column === p.id;
  const label = columnWord(t, p.id);
  const arrow = <span aria-hidden>{p.sort.descending ? "↓" : "↑"}</span>;
  return (
    <span role="columnheader" aria-sort={active ? (p.sort.descending ? "descending" : "ascending") : "none"} className={cx("min-w-0", p.left ? "" : "text-right")}>
      <button
        type="button"
        title={[word(t, `now.column.${p.id}.title`, ""), t("now.sort", { column: label })].filter(Boolean).join("\n")}
        // numbers first ask for the greatest, names for the first
        onClick={() => p.onSort({ column: p.id, descending: active ? !p.sort.descending : p.id !== "model" })}
        className={cx("inline-flex max-w-full items-baseline gap-1 whitespace-nowrap hover:text-text", active && "font-semibold text-text")}
      >
        {active && !p.left && arrow}
        <span className="truncate">{label}</span>
        {p.unit && <span className="font-normal text-faint">{p.unit}</span>}
        {active && p.left && arrow}
      </button>
    </span>
  );
}

interface RowProps {
  row: NowRow;
  index: number;
  top: number;
  at: number;
  window: string;
  selected: boolean;
  hrefOf: (row: NowRow, chart: string) => string;
}

const RowView = memo(function RowView({ row, index, top, at, window, selected, hrefOf }: RowProps) {
  const t = useT();
  const rate = row.request_rate?.value ?? null;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-row={row.id}
      className={cx(grid, "absolute inset-x-0 h-8 border-b border-line px-4 hover:bg-hover", selected && "bg-selected shadow-[inset_2px_0_0_var(--accent)]", row.stale && "text-faint")}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="rowheader" className="flex min-w-0 items-center gap-2 overflow-hidden pr-3">
        <a href={hrefOf(row, "")} aria-label={t("now.open", { model: `${row.service} / ${row.model}` })} title={`${row.service} / ${row.model}\n${row.instances.join("\n")}`} className="min-w-0 truncate no-underline hover:underline">
          <span className="text-muted">{row.service} / </span>
          <span className={row.stale ? "" : "font-medium"}>{row.model}</span>
        </a>
        {/* the marks give way before the name does */}
        <span className="flex h-[18px] min-w-0 shrink-[999] flex-wrap items-center gap-x-2 gap-y-4 overflow-hidden">
          {row.stale && <span className="shrink-0 text-2xs text-warn">▲ {t("now.stale", { age: ago(row.last_sample, at) })}</span>}
          {!row.stale && row.warming && (
            <span className="shrink-0 text-2xs text-warn" data-hint={t("code.window_filling.text")}>
              ◔ {t("now.warming")}
            </span>
          )}
          {simulatedRow(row) && <Simulated />}
          {row.dialects.map((d) => (
            <Chip key={d}>{d}</Chip>
          ))}
        </span>
      </span>
      {columns.map((c) => (
        <NumberCell key={c.id} column={c} cell={cellOf(row[c.field])} row={row} href={hrefOf(row, c.chart)} t={t} />
      ))}
      <span role="cell" className="min-w-0 pl-4">
        {row.spark && (
          <a href={hrefOf(row, "rate")} className="block">
            <Sparkline values={row.spark.values} width={144} slot={row.stale ? 20 : 1} label={t("now.spark", { model: row.model, window, value: digits(rate) })} />
          </a>
        )}
      </span>
    </div>
  );
});

/** What is said of a number on hover and focus: why it is missing or replaced, and who measured it. */
function hint(t: Translate, column: Column, cell: Cell, row: NowRow): string {
  const v = row[column.field];
  const label = columnWord(t, column.id);
  const out: string[] = [];
  if (cell.tag) out.push(t("now.substitute", { op: lineWord(t, cell.tag), column: label }));
  if (cell.why) {
    out.push(reasonText(t, cell.why));
    const remedy = remedyText(t, cell.why);
    if (remedy) out.push(t("now.remedy", { remedy }));
  } else if (cell.kind === "missing") out.push(t("now.noReason"));
  if (cell.worstInstance) out.push(t("now.worst"));
  if (cell.kind === "value" && v?.source) out.push(t("now.source", { source: word(t, `views.source.${v.source}`, v.source), method: word(t, `views.method.${v.method ?? ""}`, v.method ?? "") }));
  if (column.id === "errors" && cell.kind === "value") {
    const band = errorBand(cell.value);
    if (band !== "ok") out.push(t(`now.band.${band}` as Key & "now.band.warn"));
  }
  return out.join("\n");
}

function NumberCell({ column, cell, row, href, t }: { column: Column; cell: Cell; row: NowRow; href: string; t: Translate }) {
  const band = column.id === "errors" && cell.kind === "value" ? errorBand(cell.value) : "ok";
  const text = valueText(column, cell);
  const why = hint(t, column, cell, row);
  return (
    <span role="cell" className="relative h-full min-w-0">
      {column.bar && cell.kind === "value" && (
        <span aria-hidden className="absolute right-0 bottom-1 left-4 h-[3px] rounded-sm bg-sunken">
          <span className="block h-full rounded-sm bg-accent opacity-60" style={{ width: `${Math.min(100, Math.max(0, cell.value * 100))}%` }} />
        </span>
      )}
      <a
        href={href}
        data-hint={why || undefined}
        aria-label={`${columnWord(t, column.id)}: ${cell.kind === "missing" ? t("now.missing") : `${text} ${scaleUnit(column.scale)}`}. ${why}`}
        className={cx(
          "flex h-full items-center justify-end gap-1 no-underline hover:underline",
          cell.kind === "missing" && "text-faint",
          !row.stale && band === "bad" && "font-semibold text-bad",
          !row.stale && band === "warn" && "text-warn",
        )}
      >
        {band !== "ok" && (
          <span aria-hidden className="text-2xs">
            {band === "bad" ? "■" : "▲"}
          </span>
        )}
        {cell.tag && <span className="rounded-sm bg-warn-soft px-1 text-2xs text-warn">{lineWord(t, cell.tag)}</span>}
        <span className={column.bar ? "pb-0.5" : ""}>{text}</span>
      </a>
    </span>
  );
}
