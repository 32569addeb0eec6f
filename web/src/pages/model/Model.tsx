// Model: everything about one model on one time axis. Charts stand under each
// other with equal margins, so that a moment is one vertical line through all.
import { getRouteApi, Link, useRouter } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, type ReactNode } from "react";
import { useStatus } from "@/api/useApi";
import { momentSeconds } from "@/api/types";
import { useT, type Key } from "@/i18n";
import { cx, Segmented } from "@/kit/basics";
import { duration } from "@/kit/format";
import { ErrorState, OutsideRetention } from "@/kit/states";
import { liveState } from "@/state/live";
import { zoomOut } from "@/state/time";
import { frozenAddress, useCarriedSearch, useRawSearch, useScope, useTime, useUrlState } from "@/state/useUrl";
import { AbsentRow, ChartCard, plotHeight } from "@/views/ChartCard";
import { groups, type Chart, type Group } from "@/views/chart";
import { useCards, withCards } from "@/views/gpu";
import { chartData, entitySlots, type ChartData } from "@/views/lines";
import { signalQuery } from "@/views/links";
import { useNowRow } from "@/views/useNow";
import { useSeries } from "@/views/useSeries";
import { chartWord } from "@/views/words";
import { asks, charts, sections, waitsFor, type ModelChart, type Section } from "./charts";
import { Facts, Headline } from "./Headline";
import { usePresent } from "./usePresent";
import { modelCodec } from "./url";

const route = getRouteApi("/models/$service/$model");

export function Model() {
  const { service, model } = route.useParams();
  // another model is another page: nothing of the old one may linger
  return <ModelPage key={`${service}/${model}`} service={service} model={model} />;
}

function useScrollTo(chart: string, ready: boolean): void {
  const done = useRef("");
  useEffect(() => {
    if (!ready || chart === "" || done.current === chart) return;
    done.current = chart;
    document.getElementById(`chart-${chart}`)?.scrollIntoView({ block: "center" });
  }, [chart, ready]);
}

function ModelPage({ service, model }: { service: string; model: string }) {
  const t = useT();
  const { window, zone, range, setRange, zoomTo } = useTime();
  const [url, setUrl] = useUrlState(modelCodec);
  const search = useRawSearch();
  const carried = useCarriedSearch();
  const router = useRouter();
  const group: Group | undefined = url.group === "" ? undefined : url.group;

  const list = useMemo(() => asks(group), [group]);
  const { scope } = useScope();
  const { version, instance, node, gpu } = scope;
  // the scope of the link narrows the page to some of the model's parts
  const match = useMemo(() => ({ service, model, ...(version ? { version } : {}), ...(instance ? { instance } : {}), ...(node ? { node } : {}), ...(gpu ? { gpu } : {}) }), [service, model, version, instance, node, gpu]);
  const series = useSeries(list, match);
  const { row, answered } = useNowRow(service, model);
  const status = useStatus();
  const cards = useCards(group === "gpu");
  const answers = useMemo(() => list.map((a, i) => ({ by: a.by, answer: series.answers[i] && withCards(series.answers[i], cards) })), [list, series.answers, cards]);
  const top = useRef<HTMLDivElement>(null);

  // Names keep their colour on all charts of the page and when others come or go.
  const kept = useRef<ReadonlyMap<string, number>>(new Map());
  const slots = useMemo(() => {
    const next = entitySlots(answers, kept.current);
    kept.current = new Map([...kept.current, ...next]);
    return next;
  }, [answers]);

  const shown = useMemo(
    () =>
      charts.flatMap((chart): Item[] => {
        const data = chartData(chart, answers, group, url.pick[chart.id], slots);
        if (data) return [{ chart, data }];
        return !series.error && waitsFor(chart, group, list, series.answers) ? [{ chart, data }] : [];
      }),
    [answers, group, url.pick, slots, list, series.answers, series.error],
  );
  const present = usePresent(service, model);
  const answeredAll = series.answers.every((a) => a !== undefined);
  useScrollTo(url.chart, answeredAll);

  const live = useRef({ range, search, zone, pick: url.pick });
  live.current = { range, search, zone, pick: url.pick };
  const onZoomOut = useCallback(() => setRange(zoomOut(live.current.range, liveState().now)), [setRange]);
  const onPick = useCallback((chart: string, line: string) => setUrl({ pick: { ...live.current.pick, [chart]: line } }), [setUrl]);
  const goTo = useCallback(
    (chart: string) => {
      setUrl({ chart });
      document.getElementById(`chart-${chart}`)?.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    },
    [setUrl],
  );
  const linkFor = useCallback((chart: string) => frozenAddress(location.href, { ...live.current.search, chart }, live.current.zone), []);
  const exploreHref = useCallback(
    (chart: Chart) => {
      const signal = chart.lines.find((l) => l.id === (live.current.pick[chart.id] ?? chart.pick))?.signal ?? chart.lines[0]?.signal ?? "";
      const q = signalQuery(signal, signal.startsWith("gpu:") ? {} : { service, model });
      return router.buildLocation({ to: "/explore", search: { ...carried, q } as never }).href;
    },
    [router, carried, service, model],
  );

  const oldest = momentSeconds(status.data?.data.storage?.oldest);
  if (oldest !== null && window.to < oldest) return <OutsideRetention oldest={oldest} />;
  const step = series.answers[0]?.step_seconds ?? window.step;
  const nothing = answeredAll && shown.every((s) => s.data === null || s.data.lines.length === 0);
  const unknown = nothing && answered && !row;

  return (
    <div className="min-w-0 pb-16">
      <header ref={top} className="sticky top-0 z-30 border-b border-line bg-surface">
        <div className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 px-4 pt-1.5">
          <h1 className="flex min-w-0 items-baseline gap-1.5 text-lg font-semibold">
            <Link to="/" search={{ ...carried, q: service } as never} className="truncate font-normal text-muted no-underline hover:text-text">
              {service}
            </Link>
            <span aria-hidden className="text-faint">/</span>
            <span className="truncate">{model}</span>
          </h1>
          {row && <Facts row={row} zone={zone} />}
          <span className="flex-1" />
          {step !== window.step && (
            <span className="text-xs text-faint" title={t("model.step.title", { step: duration(step) })}>
              {t("model.step", { step: duration(step) })}
            </span>
          )}
          <span className="flex items-center gap-2">
            <span className="text-xs text-muted">{t("model.split")}</span>
            <Segmented
              label={t("model.split")}
              value={group ?? "none"}
              options={(["none", ...groups] as const).map((id) => ({ id, label: t(`model.split.${id}`) }))}
              onChange={(id) => setUrl({ group: id === "none" ? "" : id }, "push")}
            />
          </span>
        </div>
        {!unknown && <SectionNav sections={sections.filter((s) => shown.some((x) => x.chart.section === s))} />}
      </header>

      {(row || !answered) && (
        // the row's place is kept until the first answer: nothing below may jump
        <div className="min-h-[50px] pt-2">{row && <Headline row={row} goTo={goTo} />}</div>
      )}
      {series.error && (
        <div className="px-4 pt-2">
          <ErrorState error={series.error} retry={series.retry} compact />
        </div>
      )}
      {unknown ? (
        <div data-state="unknown-model" className="mx-auto flex max-w-2xl flex-col gap-2 px-6 py-10">
          <h2 className="text-lg font-semibold">{t("model.unknown.title")}</h2>
          <p className="text-muted">{t("model.unknown.body", { service, model })}</p>
          <Link to="/" search={carried as never} className="text-accent underline">
            {t("model.unknown.link")}
          </Link>
        </div>
      ) : (
        <div aria-busy={series.old} className={cx("transition-opacity", series.old && "opacity-50 delay-200")}>
          {sections.map((section) => (
            <SectionView
              key={section}
              section={section}
              items={shown.filter((s) => s.chart.section === section)}
              present={present}
              render={(chart, data) => (
                <ChartCard
                  key={chart.id}
                  chart={chart}
                  data={data}
                  window={window}
                  zone={zone}
                  split={(chart.by ?? group) !== undefined}
                  picked={url.pick[chart.id] ?? chart.pick ?? chart.lines[0]?.id}
                  marked={url.chart === chart.id}
                  onPick={onPick}
                  onZoom={zoomTo}
                  onZoomOut={onZoomOut}
                  exploreHref={exploreHref}
                  linkFor={linkFor}
                />
              )}
              absent={(chart, data) => <AbsentRow key={chart.id} chart={chart} data={data} window={window} zone={zone} marked={url.chart === chart.id} />}
            />
          ))}
          {shown.length > 0 && <p className="px-4 pt-4 pl-[4.5rem] text-2xs text-faint">{t("model.zoomHint")}</p>}
        </div>
      )}
    </div>
  );
}

interface Item {
  chart: ModelChart;
  /** Null while nothing has been answered: its place is kept. */
  data: ChartData | null;
}

function SectionView(p: { section: Section; items: readonly Item[]; present: (c: ModelChart) => boolean; render: (chart: ModelChart, data: ChartData) => ReactNode; absent: (chart: ModelChart, data: ChartData) => ReactNode }) {
  const t = useT();
  if (p.items.length === 0) return null;
  const waits = (i: Item) => i.data === null && p.present(i.chart);
  const drawn = p.items.filter((i) => waits(i) || (i.data !== null && i.data.lines.length > 0));
  const absent = p.items.filter((i) => !drawn.includes(i));
  return (
    <section id={`section-${p.section}`} aria-label={t(`model.section.${p.section}`)} aria-busy={p.items.some((i) => i.data === null)} className="mx-4 mt-3 scroll-mt-24 rounded-md border border-line bg-raised">
      <h2 className="px-4 pt-2 text-2xs font-semibold tracking-wider text-faint uppercase">{t(`model.section.${p.section}`)}</h2>
      <div className="divide-y divide-line">{drawn.map((i) => (i.data ? p.render(i.chart, i.data) : <ChartPlace key={i.chart.id} chart={i.chart} />))}</div>
      {absent.length > 0 && (
        <div className={cx("py-1.5", drawn.length > 0 && "border-t border-line")}>
          {absent.map((i) => (i.data ? p.absent(i.chart, i.data) : <RowPlace key={i.chart.id} chart={i.chart} />))}
        </div>
      )}
    </section>
  );
}

/** The place of a chart whose answer has not come: as high as the chart will be. */
function ChartPlace({ chart }: { chart: ModelChart }) {
  const t = useT();
  return (
    <div data-state="loading" className="px-4 pt-2 pb-2.5">
      <h3 className="flex h-6 items-center font-medium text-faint">{chartWord(t, chart)}</h3>
      <div className="grid animate-pulse grid-cols-1 gap-4 pl-14 lg:grid-cols-[minmax(0,1fr)_27rem]" style={{ height: plotHeight(chart) }}>
        <div className="rounded-sm bg-sunken" />
      </div>
    </div>
  );
}

/** The place of a signal that is not reported. */
function RowPlace({ chart }: { chart: ModelChart }) {
  const t = useT();
  return (
    <div data-state="loading" className="px-4 py-1.5">
      <h3 className="truncate text-faint">{chartWord(t, chart)}</h3>
    </div>
  );
}

function SectionNav(p: { sections: readonly Section[] }) {
  const t = useT();
  return (
    <nav aria-label={t("model.sections")} className="flex flex-wrap gap-x-1 px-3 pb-1 text-xs">
      {p.sections.map((s) => (
        <button key={s} type="button" onClick={() => document.getElementById(`section-${s}`)?.scrollIntoView({ block: "start" })} className="rounded-sm px-1.5 py-0.5 text-muted hover:bg-hover hover:text-text">
          {(t as (k: Key) => string)(`model.section.${s}`)}
        </button>
      ))}
    </nav>
  );
}
