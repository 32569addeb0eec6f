import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { momentSeconds, type Target } from "@/api/types";
import { specificWords, useLang, useT, type Lang, type Translate } from "@/i18n";
import { Button, Chip, cx, FilterBox, Panel, Simulated, StateMark, type Tone } from "@/kit/basics";
import { ago, count, duration, milliseconds, percentDigits, si } from "@/kit/format";
import { FilteredOut } from "@/kit/states";
import { Table, type Column } from "@/kit/Table";
import { useLive } from "@/state/live";
import { useCarriedSearch, useUrlState } from "@/state/useUrl";
import { filterTargets, healthOrder, sumTargets } from "./targets";
import { statusUrl } from "./url";

const tone: Record<Target["health"], Tone> = { up: "good", down: "bad", unknown: "neutral" };

function dialectTitle(t: Translate, target: Target): string {
  const list = target.dialects ?? [];
  if (list.length === 0) return t("status.dialect.none.title");
  return list.map((d) => t("status.dialect.matched", { title: d.title ?? d.name, versions: d.versions ?? "", matched: (d.matched ?? []).join(", ") })).join("\n");
}

function limitShare(x: Target): number | null {
  return typeof x.series === "number" && x.series_limit ? x.series / x.series_limit : null;
}

function columns(t: Translate, lang: Lang, now: number): Column<Target>[] {
  return [
    { id: "health", header: t("status.col.health"), width: "104px", sort: healthOrder, cell: (x) => <StateMark tone={tone[x.health] ?? "neutral"}>{t(`status.health.${x.health}`)}</StateMark> },
    { id: "service", header: t("status.col.service"), width: "minmax(100px,0.7fr)", sort: (x) => x.service, cell: (x) => (
        <span className="inline-flex items-center gap-1.5">
          {x.service}
          {x.remote && <Chip title={t("status.remote.title")}>{t("status.remote")}</Chip>}
        </span>
      ) },
    { id: "instance", header: t("status.col.instance"), width: "minmax(130px,1fr)", sort: (x) => x.instance, title: (x) => x.instance, cell: (x) => <span className="font-mono text-xs">{x.instance}</span> },
    {
      id: "dialects",
      header: t("status.col.dialects"),
      width: "minmax(240px,1.1fr)",
      sort: (x) => (x.dialects ?? []).map((d) => d.name).join(),
      title: (x) => dialectTitle(t, x),
      cell: (x) => (
        <span className="inline-flex items-center gap-1">
          {/* first: it is the mark that must not be cut off */}
          {x.simulated && <Simulated />}
          {(x.dialects ?? []).length > 0 ? (x.dialects ?? []).map((d) => <Chip key={d.name}>{d.title ?? d.name}</Chip>) : x.health === "up" ? <span className="text-faint">{t("status.dialect.none")}</span> : null}
        </span>
      ),
    },
    {
      id: "address",
      header: t("status.col.address"),
      width: "minmax(180px,1.8fr)",
      sort: (x) => x.url,
      title: (x) => [x.url, x.error && `${x.error.text} (${x.error.code})`].filter(Boolean).join("\n"),
      cell: (x) => (
        <>
          <span className="block truncate font-mono text-xs text-muted">{x.scrape_address || x.url}</span>
          {x.error && (
            <span className="block truncate text-2xs text-bad" data-testid="target-error">
              <code className="font-mono">{x.error.code}</code> {specificWords(lang, x.error.code, "text", x.error.text)?.words}
            </span>
          )}
        </>
      ),
    },
    { id: "last", header: t("status.col.last"), width: "112px", right: true, sort: (x) => momentSeconds(x.last_scrape), cell: (x) => ago(momentSeconds(x.last_scrape), now) },
    { id: "duration", header: t("status.col.duration"), width: "72px", right: true, sort: (x) => x.last_duration_seconds, cell: (x) => milliseconds(x.last_duration_seconds) },
    { id: "samples", header: t("status.col.samples"), width: "76px", right: true, sort: (x) => x.samples, cell: (x) => count(x.samples) },
    { id: "series", header: t("status.col.series"), width: "72px", right: true, sort: (x) => x.series, cell: (x) => count(x.series) },
    {
      id: "limit",
      header: t("status.col.limit"),
      width: "80px",
      right: true,
      sort: limitShare,
      cell: (x) => <span className={cx((limitShare(x) ?? 0) > 0.9 && "text-warn")}>{percentDigits(limitShare(x))}</span>,
    },
    { id: "refused", header: t("status.col.refused"), width: "72px", right: true, sort: (x) => x.series_refused, cell: (x) => <span className={cx((x.series_refused ?? 0) > 0 && "text-bad")}>{count(x.series_refused)}</span> },
  ];
}

export function Targets(p: { targets: readonly Target[]; sources: number }) {
  const t = useT();
  const { now } = useLive();
  const lang = useLang();
  const [state, set] = useUrlState(statusUrl);
  const rows = useMemo(() => filterTargets(p.targets, state.q), [p.targets, state.q]);
  const cols = useMemo(() => columns(t, lang, now), [t, lang, now]);
  const sums = sumTargets(p.targets);
  const selected = p.targets.find((x) => x.id === state.sel);
  return (
    <Panel
      flush
      title={t("status.targets")}
      note={t("status.targets.sum", { up: sums.up, down: sums.down, series: si(sums.series) })}
      actions={<FilterBox value={state.q} onChange={(q) => set({ q })} placeholder="status.targets.filter" />}
    >
      {p.targets.length > 0 && rows.length === 0 ? (
        <FilteredOut filters={[{ label: t("kit.filter.words", { q: state.q }), countWithout: p.targets.length, remove: () => set({ q: "" }) }]} clear={() => set({ q: "" })} />
      ) : (
        <Table
          keyboard
          label={t("status.targets")}
          rows={rows}
          columns={cols}
          rowId={(x) => x.id}
          sort={state.sort}
          onSort={(sort) => set({ sort })}
          selected={state.sel}
          onOpen={(x) => set({ sel: x.id === state.sel ? "" : x.id }, "push")}
          empty={p.sources > 0 ? t("status.targets.remoteOnly", { n: p.sources }) : t("status.targets.none")}
          rowHeight={rows.some((x) => x.error) ? 40 : 30}
          maxHeight={420}
          minWidth={1230}
        />
      )}
      {selected && <TargetDetail target={selected} close={() => set({ sel: "" })} />}
    </Panel>
  );
}

function TargetDetail(p: { target: Target; close: () => void }) {
  const t = useT();
  const carried = useCarriedSearch();
  const x = p.target;
  const lang = useLang();
  const said = x.error ? specificWords(lang, x.error.code, "text", x.error.text) : undefined;
  const rows: [string, string | undefined][] = [
    [t("status.detail.error"), x.error ? [said?.words, said?.original, x.error.code].filter(Boolean).join("\n") : undefined],
    [t("status.detail.hint"), x.error?.hint ? specificWords(lang, x.error.code, "remedy", x.error.hint)?.words : undefined],
    [t("status.detail.url"), x.url],
    [t("status.detail.node"), x.node],
    [t("status.detail.interval"), x.interval_seconds ? duration(x.interval_seconds) : undefined],
    [t("status.detail.dialects"), dialectTitle(t, x)],
  ];
  return (
    <div className="border-t border-line bg-surface px-3 py-2" data-testid="target-detail">
      <div className="mb-1 flex items-center gap-3">
        <h3 className="font-mono text-xs font-semibold">{x.instance}</h3>
        <Link to="/explore" search={{ ...carried, q: `{instance="${x.instance.replace(/(["\\])/g, "\\$1")}"}`, view: "table" } as never} className="text-xs text-accent hover:underline">
          {t("status.detail.explore")}
        </Link>
        <span className="flex-1" />
        <Button onPress={p.close}>{t("status.detail.close")}</Button>
      </div>
      <dl className="grid grid-cols-[120px_1fr] gap-x-3 gap-y-0.5">
        {rows.map(([k, v]) =>
          v ? (
            <div key={k} className="contents">
              <dt className="text-faint">{k}</dt>
              <dd className="min-w-0 break-words whitespace-pre-line">{v}</dd>
            </div>
          ) : null,
        )}
      </dl>
    </div>
  );
}
