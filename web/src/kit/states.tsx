// The seven states that are not data: each is a different screen and says what
// to do next. Plus QueryView, which picks between them and the data.
import { Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";
import { ApiError, type Answer } from "@/api/client";
import type { Gap, Part, PartState, Reason } from "@/api/types";
import type { Result } from "@/api/useApi";
import { useStarting, useStatus } from "@/api/useApi";
import { codeWords, useSpecific, useT, type Specific } from "@/i18n";
import { dateTimeText, type Window, type Zone } from "@/state/time";
import { useCarriedSearch, useTime } from "@/state/useUrl";
import { Button, cx, StateMark, type Tone } from "./basics";
import { CopyButton } from "./CopyButton";

function Frame(p: { title: ReactNode; tone?: Tone; children?: ReactNode; compact?: boolean | undefined; role?: "alert" | "status"; name: string }) {
  return (
    <div data-state={p.name} role={p.role} className={cx("flex flex-col items-start gap-2", p.compact ? "p-3" : "mx-auto w-full max-w-2xl px-6 py-10")}>
      <h3 className={cx("font-semibold", p.compact ? "text-sm" : "text-lg")}>{p.tone ? <StateMark tone={p.tone}>{p.title}</StateMark> : p.title}</h3>
      {p.children}
    </div>
  );
}

/** Nothing connected yet: the command to run and a live waiting line. */
export function NothingConnected() {
  const t = useT();
  const status = useStatus();
  const carried = useCarriedSearch();
  const [since] = useState(() => Date.now());
  const [waited, setWaited] = useState(0);
  useEffect(() => {
    const id = setInterval(() => setWaited(Math.round((Date.now() - since) / 1000)), 1000);
    return () => clearInterval(id);
  }, [since]);
  const targets = status.data?.data.targets ?? [];
  const down = targets.filter((x) => x.health === "down").length;
  const role = status.data?.data.role;
  const up = `sightline up --target http://HOST:8002/metrics --listen ${location.host}`;
  // a server that only takes in what is sent wants an agent, not a target of its own
  const commands = role === "serve" ? [`sightline-agent --server ${location.origin} --target [SERVICE=]URL`, up] : [up];
  return (
    <Frame name="nothing-connected" title={t("kit.state.nothing.title")}>
      {commands.map((command) => (
        <div key={command} className="flex w-full flex-col gap-2">
          <p className="text-muted">{command !== up ? t("kit.state.nothing.agent") : commands.length > 1 ? t("kit.state.nothing.orUp") : t("kit.state.nothing.body")}</p>
          <div className="flex w-full items-center gap-2 rounded-md border border-line bg-sunken px-3 py-2">
            <code className="min-w-0 flex-1 font-mono text-xs break-all">{command}</code>
            <CopyButton text={command} />
          </div>
        </div>
      ))}
      <p className="text-muted" role="status">
        {down > 0
          ? t("kit.state.nothing.down", { down, total: targets.length })
          : targets.length > 0
            ? t("kit.state.nothing.targets", { total: targets.length })
            : t("kit.state.nothing.waiting", { seconds: waited })}
      </p>
      {targets.length > 0 && (
        <Link to="/status" search={carried as never} className="text-accent underline">
          {t("kit.state.nothing.status")}
        </Link>
      )}
    </Frame>
  );
}

/** A signal that is not reported: reason, remedy, and what is shown instead. */
export function SignalAbsent(p: { reason: Reason; instead?: string; compact?: boolean }) {
  const t = useT();
  const remedy = codeWords(t, p.reason.code, "remedy", p.reason.remedy);
  return (
    <Frame name="signal-absent" title={t("kit.state.absent.title")} compact={p.compact ?? true}>
      <p className="text-muted">{codeWords(t, p.reason.code, "text", p.reason.text)}</p>
      {remedy && (
        <p className="text-muted">
          <span className="text-faint">{t("kit.state.absent.remedy")}: </span>
          <span className="text-text">{remedy}</span>
        </p>
      )}
      {p.instead && <p className="text-muted">{t("kit.state.absent.instead", { what: p.instead })}</p>}
    </Frame>
  );
}

export interface ActiveFilter {
  label: string;
  /** How many there would be without this filter. */
  countWithout: number;
  remove: () => void;
}

export function FilteredOut(p: { filters: readonly ActiveFilter[]; clear: () => void }) {
  const t = useT();
  return (
    <Frame name="filtered-out" title={t("kit.state.filtered.title")}>
      <ul className="flex flex-col gap-1.5">
        {p.filters.map((f) => (
          <li key={f.label} className="flex items-center gap-3 text-muted">
            {t("kit.state.filtered.without", { filter: f.label, count: f.countWithout })}
            <Button onPress={f.remove}>{t("kit.state.filtered.remove")}</Button>
          </li>
        ))}
      </ul>
      <Button primary onPress={p.clear}>
        {t("kit.state.filtered.clear")}
      </Button>
    </Frame>
  );
}

/** The window lies before the oldest sample. */
export function OutsideRetention(p: { oldest: number }) {
  const t = useT();
  const { zone, setRange, window } = useTime();
  return (
    <Frame name="outside-retention" title={t("kit.state.retention.title")}>
      <p className="text-muted">{t("kit.state.retention.body", { oldest: dateTimeText(p.oldest, zone) })}</p>
      <Button primary onPress={() => setRange({ kind: "absolute", from: Math.ceil(p.oldest), to: Math.ceil(p.oldest) + Math.max(60, window.to - window.from) })}>
        {t("kit.state.retention.go")}
      </Button>
    </Frame>
  );
}

const partTone: Record<PartState, Tone> = { starting: "info", ready: "good", degraded: "warn", stopped: "bad" };

export function PartList(p: { parts: readonly Part[] }) {
  const t = useT();
  return (
    <ul className="flex flex-col">
      {p.parts.map((x) => (
        <li key={x.name} className="flex min-h-7 items-center gap-3">
          <span className="w-32 truncate font-mono text-xs">{x.name}</span>
          <StateMark tone={partTone[x.state] ?? "neutral"}>{t(`kit.part.${x.state}`)}</StateMark>
          {x.text && <span className="min-w-0 truncate text-muted" title={x.text}>{x.text}</span>}
        </li>
      ))}
    </ul>
  );
}

/** The server is starting: which parts already work. */
export function StartingUp(p: { parts: readonly Part[] }) {
  const t = useT();
  return (
    <Frame name="starting" title={t("kit.state.starting.title")} tone="info" role="status">
      <p className="text-muted">{t("kit.state.starting.body")}</p>
      <PartList parts={p.parts} />
    </Frame>
  );
}

/** A thin ribbon under a chart: where the window has holes. Never drawn as zero. */
export function GapRibbon(p: { gaps: readonly Gap[]; window: Pick<Window, "from" | "to">; zone: Zone; left?: number; right?: number }) {
  const t = useT();
  const span = p.window.to - p.window.from;
  if (p.gaps.length === 0 || span <= 0) return null;
  return (
    <div className="relative h-1.5" data-state="partial" style={{ marginLeft: p.left ?? 0, marginRight: p.right ?? 0 }} role="img" aria-label={t("kit.state.partial.title")}>
      {p.gaps.map((g) => {
        const a = Math.max(0, (g.from - p.window.from) / span);
        const b = Math.min(1, (g.to - p.window.from) / span);
        return b <= 0 || a >= 1 ? null : (
          <span
            key={`${g.from}-${g.to}-${g.reason}`}
            className="absolute inset-y-0 min-w-0.5 rounded-sm bg-warn opacity-80"
            style={{ left: `${a * 100}%`, width: `${(b - a) * 100}%` }}
            title={t("kit.state.partial.gap", { from: dateTimeText(g.from, p.zone), to: dateTimeText(g.to, p.zone), reason: codeWords(t, g.reason, "text", g.reason) ?? g.reason })}
          />
        );
      })}
    </div>
  );
}

function supportText(e: Error): string {
  const lines = [`message: ${e.message}`];
  if (e instanceof ApiError) lines.unshift(`request: ${e.request}`, `status: ${e.status}`, `code: ${e.code}`);
  lines.push(`page: ${location.href}`, `time: ${new Date().toISOString()}`);
  return lines.join("\n");
}

/** Our words, and below them the server's own sentence where ours lack its particulars. */
export function Sentence(p: { of: Specific }) {
  return (
    <>
      {p.of.words}
      {p.of.original && <span className="block text-xs text-muted">{p.of.original}</span>}
    </>
  );
}

/** What was asked, what failed, code, retry, copy. */
export function ErrorState(p: { error: Error; retry?: () => void; compact?: boolean | undefined; title?: string | undefined }) {
  const t = useT();
  const api = p.error instanceof ApiError ? p.error : null;
  const specific = useSpecific();
  const failed = specific(api?.code, "text", p.error.message);
  const hint = specific(api?.code, "remedy", api?.hint);
  const rows: [string, ReactNode][] = [];
  if (api) rows.push([t("kit.state.error.asked"), <code className="font-mono text-xs break-all">{api.request}</code>]);
  rows.push([t("kit.state.error.failed"), <Sentence of={failed ?? { words: p.error.message }} />]);
  if (api) rows.push([t("kit.state.error.code"), <code className="font-mono text-xs">{api.status > 0 ? `${api.code} (${api.status})` : api.code}</code>]);
  if (hint) rows.push([t("kit.state.error.hint"), <Sentence of={hint} />]);
  return (
    <Frame name="error" role="alert" tone="bad" title={p.title ?? t("kit.state.error.title")} compact={p.compact}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1">
        {rows.map(([k, v]) => (
          <div key={k} className="contents">
            <dt className="text-faint">{k}</dt>
            <dd className="min-w-0 break-words">{v}</dd>
          </div>
        ))}
      </dl>
      <div className="flex gap-2">
        {p.retry && <Button onPress={p.retry}>{t("kit.retry")}</Button>}
        <CopyButton text={() => supportText(p.error)} label={t("kit.copyForSupport")} />
      </div>
    </Frame>
  );
}

/** True once `ms` have passed since mounting. */
export function useAfter(ms: number): boolean {
  const [passed, setPassed] = useState(false);
  useEffect(() => {
    const id = setTimeout(() => setPassed(true), ms);
    return () => clearTimeout(id);
  }, [ms]);
  return passed;
}

/** Nothing for 200 ms, then a skeleton of the layout to come. */
export function Skeleton(p: { rows?: number; children?: ReactNode }) {
  const t = useT();
  const shown = useAfter(200);
  if (!shown) return null;
  return (
    <div role="status" aria-label={t("kit.loading")} data-state="loading" className="animate-pulse p-3">
      {p.children ?? Array.from({ length: p.rows ?? 6 }, (_, i) => <div key={i} className="mb-2 h-5 rounded-sm bg-sunken" style={{ width: `${92 - ((i * 17) % 35)}%` }} />)}
    </div>
  );
}

/** Data, or the state that stands in its place. Old data stays, dimmed, while
 *  data for a new question loads; a failed refresh keeps the old data and says so. */
export function QueryView<T>(p: { result: Result<T>; children: (data: T, answer: Answer<T>) => ReactNode; skeleton?: ReactNode; compact?: boolean; errorTitle?: string }) {
  const t = useT();
  const { data, error, isPlaceholderData, refetch } = p.result;
  if (!data) {
    if (error) return <ErrorView error={error} retry={() => void refetch()} compact={p.compact} title={p.errorTitle} />;
    return p.skeleton ?? <Skeleton />;
  }
  return (
    <div className={cx("min-w-0", isPlaceholderData && "opacity-50 transition-opacity delay-200")} aria-busy={isPlaceholderData}>
      {/* a server that does not answer at all has a banner of its own */}
      {error && error.status !== 0 && (
        <div role="alert" className="mb-2 flex items-center gap-2 rounded-md bg-warn-soft px-3 py-1 text-xs text-warn">
          {t("kit.state.stale", { error: codeWords(t, error.code, "text", error.message) ?? error.message })}
          <button type="button" className="underline" onClick={() => void refetch()}>
            {t("kit.retry")}
          </button>
        </div>
      )}
      {p.children(data.data, data)}
    </div>
  );
}

/** An error, or the starting screen when the server says that it is not ready yet. */
function ErrorView(p: { error: ApiError; retry: () => void; compact: boolean | undefined; title: string | undefined }) {
  const starting = useStarting();
  if (p.error.status === 503 && (p.error.code === "starting" || starting)) return <StartingUp parts={starting ?? []} />;
  return <ErrorState error={p.error} retry={p.retry} compact={p.compact} title={p.title} />;
}
