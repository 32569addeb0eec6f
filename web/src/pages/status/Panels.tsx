import { useMemo, type ReactNode } from "react";
import { momentSeconds, type IngestSource, type RuleGroup, type StatusAnswer } from "@/api/types";
import { useT } from "@/i18n";
import { Chip, cx, Panel, StateMark } from "@/kit/basics";
import { ConditionList } from "@/kit/ConditionList";
import { ago, bytes, count, duration, milliseconds, missing, rate } from "@/kit/format";
import { PartList } from "@/kit/states";
import { Table, type Column } from "@/kit/Table";
import { useLive } from "@/state/live";
import { dateTimeText } from "@/state/time";
import { useTime } from "@/state/useUrl";

function Facts(p: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
      {p.rows.map(([k, v]) => (
        <div key={k} className="contents">
          <dt className="text-faint">{k}</dt>
          <dd className="min-w-0 text-right wrap-anywhere">{v}</dd>
        </div>
      ))}
    </dl>
  );
}

export function ServerPanel(p: { status: StatusAnswer }) {
  const t = useT();
  const s = p.status;
  return (
    <Panel title={t("status.server")} actions={<StateMark tone={s.ready ? "good" : "warn"}>{s.ready ? t("status.ready") : t("status.notReady")}</StateMark>}>
      <Facts
        rows={[
          [t("status.version"), <span className="font-mono text-xs">{s.version || missing}</span>],
          [t("status.go"), <span className="font-mono text-xs">{s.go_version || missing}</span>],
          [t("status.role"), s.role || missing],
          [t("status.uptime"), duration(s.uptime_seconds === undefined ? null : Math.round(s.uptime_seconds))],
        ]}
      />
    </Panel>
  );
}

export function PartsPanel(p: { status: StatusAnswer }) {
  const t = useT();
  return (
    <Panel title={t("status.parts")}>
      <PartList parts={p.status.parts ?? []} />
    </Panel>
  );
}

export function ConditionsPanel(p: { status: StatusAnswer }) {
  const t = useT();
  const list = p.status.conditions ?? [];
  return (
    <Panel flush title={t("status.conditions")} note={list.length > 0 ? count(list.length) : undefined}>
      {list.length === 0 ? (
        <p className="p-3">
          <StateMark tone="good">{t("status.conditions.none")}</StateMark>
        </p>
      ) : (
        <div className="max-h-72 overflow-auto">
          <ConditionList conditions={list} />
        </div>
      )}
    </Panel>
  );
}

export function StoragePanel(p: { status: StatusAnswer }) {
  const t = useT();
  const { zone } = useTime();
  const s = p.status.storage;
  if (!s) return null;
  const when = (m: Parameters<typeof momentSeconds>[0]) => {
    const at = momentSeconds(m);
    return at === null ? missing : dateTimeText(at, zone);
  };
  const quarantined = s.quarantined ?? [];
  return (
    <Panel title={t("status.storage")} actions={s.read_only ? <Chip tone="bad">{t("status.storage.readonly")}</Chip> : undefined}>
      <Facts
        rows={[
          [t("status.storage.dir"), <span className="font-mono text-xs">{s.dir}</span>],
          [t("status.storage.series"), count(s.series)],
          [t("status.storage.rate"), rate(s.samples_per_second)],
          [t("status.storage.bytes"), bytes(s.bytes)],
          [t("status.storage.wal"), bytes(s.wal_bytes)],
          [t("status.storage.oldest"), when(s.oldest)],
          [t("status.storage.newest"), when(s.newest)],
          [t("status.storage.retention"), s.retention_seconds > 0 ? duration(s.retention_seconds) : missing],
          ...(quarantined.length > 0
            ? ([[t("status.storage.quarantined"), <span className="text-bad">{quarantined.map((q) => (typeof q === "string" ? q : JSON.stringify(q))).join(", ")}</span>]] as const)
            : []),
        ]}
      />
    </Panel>
  );
}

export function RulesPanel(p: { status: StatusAnswer }) {
  const t = useT();
  const { now } = useLive();
  const rules = p.status.rules;
  const columns = useMemo<Column<RuleGroup>[]>(
    () => [
      { id: "name", header: t("status.rules.group"), width: "minmax(120px,1fr)", title: (g) => g.name, cell: (g) => <span className="font-mono text-xs">{g.name}</span> },
      { id: "rules", header: t("status.rules.count"), width: "56px", right: true, cell: (g) => count(g.rules) },
      { id: "last", header: t("status.rules.last"), width: "88px", right: true, cell: (g) => ago(momentSeconds(g.last_evaluation), now) },
      { id: "took", header: t("status.rules.took"), width: "72px", right: true, cell: (g) => milliseconds(g.last_duration_seconds) },
      { id: "failed", header: t("status.rules.failed"), width: "56px", right: true, cell: (g) => <span className={cx((g.failed ?? 0) > 0 && "text-bad")}>{count(g.failed)}</span> },
      { id: "error", header: t("status.rules.error"), width: "minmax(140px,1.4fr)", title: (g) => g.last_error ?? undefined, cell: (g) => (g.last_error ? <span className="text-bad">{g.last_error}</span> : null) },
    ],
    [t, now],
  );
  return (
    <Panel flush title={t("status.rules")} note={rules?.interval_seconds ? t("status.rules.note", { interval: duration(rules.interval_seconds) }) : undefined}>
      <Table label={t("status.rules")} rows={rules?.groups ?? []} columns={columns} rowId={(g) => g.name} maxHeight={260} minWidth={560} empty={t("status.rules.none")} />
    </Panel>
  );
}

export function IngestPanel(p: { status: StatusAnswer }) {
  const t = useT();
  const ingest = p.status.ingest;
  const columns = useMemo<Column<IngestSource>[]>(
    () => [
      { id: "name", header: t("status.ingest.source"), width: "minmax(140px,1fr)", title: (s) => s.name, cell: (s) => <span className="font-mono text-xs">{s.name}</span> },
      { id: "series", header: t("status.ingest.series"), width: "80px", right: true, cell: (s) => count(s.series) },
      { id: "limit", header: t("status.ingest.limit"), width: "80px", right: true, cell: (s) => count(s.limit) },
      { id: "refused", header: t("status.ingest.refused"), width: "72px", right: true, cell: (s) => <span className={cx(s.refused > 0 && "text-bad")}>{count(s.refused)}</span> },
      { id: "label", header: t("status.ingest.label"), width: "110px", cell: (s) => <span className="pl-3 font-mono text-xs text-warn">{s.refused > 0 ? s.label : ""}</span> },
    ],
    [t],
  );
  const dropped = Object.entries(ingest?.dropped ?? {}).filter(([, n]) => n > 0);
  return (
    <Panel
      flush
      title={t("status.ingest")}
      note={
        <span>
          {t("status.ingest.dropped")}: {dropped.length === 0 ? t("status.ingest.dropped.none") : dropped.map(([k, n]) => `${k} ${count(n)}`).join(", ")}
        </span>
      }
    >
      <Table label={t("status.ingest")} rows={ingest?.sources ?? []} columns={columns} rowId={(s) => s.name} maxHeight={260} minWidth={480} empty={t("status.ingest.none")} />
    </Panel>
  );
}
