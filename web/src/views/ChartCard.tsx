// One chart of the Model page: who measured it and how in its header, then the
// plot, or the reason why there is none.
import { memo, useMemo, useRef, useState } from "react";
import { Button as AriaButton, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import type { Reason } from "@/api/types";
import { useT, type Translate } from "@/i18n";
import { Chip, cx, Simulated } from "@/kit/basics";
import { copyText } from "@/kit/CopyButton";
import { dateTimeText, type Window, type Zone } from "@/state/time";
import { statsOf } from "./stats";
import { TimeSeries, unitOf, type TimeSeriesLine } from "./TimeSeries";
import { withUnit } from "./units";
import { useNear } from "./useNear";
import { chartWord, lineWord, reasonText, remedyText, word } from "./words";
import type { Chart } from "./chart";
import type { ChartData } from "./lines";

interface Props {
  chart: Chart;
  data: ChartData;
  window: Window;
  zone: Zone;
  split: boolean;
  picked: string | undefined;
  marked: boolean;
  /** Narrow: no legend, the last value in the header instead. */
  compact?: boolean;
  onPick: (chart: string, line: string) => void;
  onZoom: (from: number, to: number) => void;
  onZoomOut: () => void;
  exploreHref: (chart: Chart) => string;
  linkFor: (chart: string) => string;
}

/** Lines that only stand for what is missing or replaced, said once each below the plot. */
export function notes(t: Translate, data: ChartData): string[] {
  const by = new Map<string, { lines: string[]; reason: Reason }>();
  for (const m of data.missing) {
    const at = by.get(m.reason.code) ?? { lines: [], reason: m.reason };
    at.lines.push(lineWord(t, m.line));
    by.set(m.reason.code, at);
  }
  for (const s of data.substitutes) {
    if (!s.reason) continue;
    const at = by.get(s.reason.code) ?? { lines: [], reason: s.reason };
    at.lines.push(lineWord(t, s.line));
    by.set(s.reason.code, at);
  }
  return [...by.values()].map(({ lines, reason }) => {
    const remedy = remedyText(t, reason);
    return t("views.absent.lines", { lines: lines.join(", "), text: `${reasonText(t, reason)}${remedy ? ` ${t("views.absent.remedy")} ${remedy}` : ""}` });
  });
}

function CardBody(p: Props & { near: boolean }) {
  const { chart, data, zone } = p;
  const t = useT();
  const [asTable, setAsTable] = useState(false);
  const title = chartWord(t, chart);
  const lines = useMemo<TimeSeriesLine[]>(
    () => data.lines.map((l) => ({ ...l, name: l.name === "" ? lineWord(t, l.line) : l.dashed ? `${l.name} · ${lineWord(t, l.line)}` : l.name })),
    [data.lines, t],
  );
  const several = chart.lines.filter((l) => !l.limit);
  const source = data.sources.map((s) => word(t, `views.source.${s}`, s)).join(" + ");
  const method = data.methods.map((m) => word(t, `views.method.${m}`, m)).join(" + ");
  const below = notes(t, data);
  const solid = lines.filter((l) => !l.dashed);
  const headValue = solid.length === 1 && solid[0] ? withUnit(unitOf(data.unit, lines), statsOf(solid[0].values).last) : "";
  const substitute = data.substitutes[0];

  return (
    <>
      <header className="group flex h-6 items-center gap-2">
        <h3 className="truncate font-medium">{title}</h3>
        {p.compact && <span className="font-medium whitespace-nowrap">{headValue}</span>}
        {source && (
          <span className="truncate text-2xs text-faint" title={t("views.source.title", { source, method: method || "—" })}>
            {method ? t("views.source", { source, method }) : source}
          </span>
        )}
        {substitute && (
          <Chip tone="warn" title={below.join("\n")}>
            {t("views.substitute", { op: lineWord(t, substitute.op), lines: data.substitutes.map((s) => lineWord(t, s.line)).join(", ") })}
          </Chip>
        )}
        {data.worstInstance && <Chip title={t("views.worst.title")}>{t("views.worst")}</Chip>}
        {data.simulated && !p.compact && <Simulated />}
        <span className="flex-1" />
        {p.split && several.length > 1 && (
          <span role="radiogroup" aria-label={t("views.pick")} className="flex text-2xs">
            {several.map((l) => (
              <button
                key={l.id}
                type="button"
                role="radio"
                aria-checked={l.id === p.picked}
                onClick={() => p.onPick(chart.id, l.id)}
                className={cx("h-[18px] rounded-sm px-1.5", l.id === p.picked ? "bg-selected font-medium text-text" : "text-muted hover:bg-hover")}
              >
                {lineWord(t, l.id)}
              </button>
            ))}
          </span>
        )}
        <MenuTrigger>
          <AriaButton aria-label={t("views.menu", { chart: title })} className="flex h-6 w-6 items-center justify-center rounded-md text-muted hover:bg-hover">
            <span aria-hidden>⋯</span>
          </AriaButton>
          <Popover placement="bottom end" className="min-w-44 rounded-md border border-line-strong bg-raised p-1 text-xs shadow-pop">
            <Menu
              className="outline-none"
              onAction={(key) => {
                if (key === "copy") void copyText(p.linkFor(chart.id));
                else if (key === "table") setAsTable((v) => !v);
              }}
            >
              <MenuItem href={p.exploreHref(chart)} className={menuItem}>
                {t("views.menu.explore")}
              </MenuItem>
              <MenuItem id="copy" className={menuItem}>
                {t("views.menu.copy")}
              </MenuItem>
              <MenuItem id="table" className={menuItem}>
                {t(asTable ? "views.menu.chart" : "views.menu.table")}
              </MenuItem>
            </Menu>
          </Popover>
        </MenuTrigger>
      </header>
      <TimeSeries
        label={title}
        xs={data.xs}
        lines={lines}
        unit={data.unit}
        from={p.window.from}
        to={p.window.to}
        step={data.step}
        zone={zone}
        stacked={data.stacked}
        gaps={data.gaps}
        height={plotHeight(chart, p.compact)}
        legend={p.compact ? (solid.length > 1 ? "below" : "none") : "side"}
        onZoom={p.onZoom}
        onZoomOut={p.onZoomOut}
        asTable={asTable}
        active={p.near}
      />
      {data.zeros.length > 0 && <p className="mt-0.5 pl-14 text-2xs text-faint">{t("views.zeros", { names: data.zeros.join(", ") })}</p>}
      {below.map((n) => (
        <p key={n} data-state="partial-lines" className="mt-0.5 pl-14 text-2xs text-muted">
          {n}
        </p>
      ))}
    </>
  );
}

/** Height of the plot of a chart. */
export function plotHeight(chart: Chart, compact = false): number {
  return compact ? 88 : (chart.height ?? 120);
}

// A chart far from the window is neither drawn nor rendered again: a page of
// twenty charts answers a click as fast as one of five.
const Body = memo(CardBody, (a, b) => (!a.near && !b.near) || (Object.keys(b) as (keyof typeof b)[]).every((k) => a[k] === b[k]));

export const ChartCard = memo(function ChartCard(p: Props) {
  const t = useT();
  const ref = useRef<HTMLElement>(null);
  const near = useNear(ref);
  const seen = useRef(false);
  seen.current ||= near;
  return (
    <section ref={ref} id={`chart-${p.chart.id}`} aria-label={chartWord(t, p.chart)} data-chart={p.chart.id} className={cx("relative scroll-mt-24 px-4 pt-2 pb-2.5", p.marked && "rounded-md outline-1 outline-accent")}>
      {seen.current ? (
        <Body {...p} near={near} />
      ) : (
        <div style={{ minHeight: plotHeight(p.chart, p.compact) + 24 }}>
          <h3 className="flex h-6 items-center font-medium">{chartWord(t, p.chart)}</h3>
        </div>
      )}
    </section>
  );
});

const menuItem = "block cursor-default rounded-sm px-2 py-1 text-text no-underline outline-none data-[focused]:bg-hover";

/** A chart without a line: what is missing, why, and what would give it, on one row. */
export function AbsentRow(p: { chart: Chart; data: ChartData; window: Window; zone: Zone; marked: boolean; compact?: boolean }) {
  const t = useT();
  const reasons = new Map(p.data.missing.map((m) => [m.reason.code, m.reason]));
  const title = chartWord(t, p.chart);
  return (
    <div id={`chart-${p.chart.id}`} data-chart={p.chart.id} data-state="signal-absent" className={cx("grid scroll-mt-24 gap-x-4 px-4 py-1.5", !p.compact && "grid-cols-[11rem_minmax(0,1fr)]", p.marked && "rounded-md outline-1 outline-accent")}>
      <h3 className="truncate text-muted">{title}</h3>
      <div className="min-w-0 text-xs">
        {p.data.zeros.length > 0 ? (
          <p className="text-faint">{t("views.zeros", { names: p.data.zeros.join(", ") })}</p>
        ) : reasons.size === 0 ? (
          <p className="text-faint" title={t("views.nothing.body", { from: dateTimeText(p.window.from, p.zone), to: dateTimeText(p.window.to, p.zone) })}>
            {t("views.nothing")}
          </p>
        ) : (
          [...reasons.values()].map((r) => {
            const remedy = remedyText(t, r);
            return (
              <p key={r.code} className="text-muted">
                {reasonText(t, r)}{" "}
                {remedy && (
                  <span className="text-text">
                    <span className="text-faint">{t("views.absent.remedy")}</span> {remedy}
                  </span>
                )}
              </p>
            );
          })
        )}
      </div>
    </div>
  );
}
