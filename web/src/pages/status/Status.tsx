// Is what I see complete and fresh?
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ApiError } from "@/api/client";
import { fetchConfig } from "@/api/sightline";
import type { StatusAnswer } from "@/api/types";
import { useStatus } from "@/api/useApi";
import { useT } from "@/i18n";
import { Panel, Segmented } from "@/kit/basics";
import { CopyButton } from "@/kit/CopyButton";
import { ErrorState, NothingConnected, QueryView, Skeleton } from "@/kit/states";
import { useUrlState } from "@/state/useUrl";
import { ConditionsPanel, IngestPanel, PartsPanel, RulesPanel, ServerPanel, StoragePanel } from "./Panels";
import { pipeline } from "./pipeline";
import { PipelineGraph } from "./PipelineGraph";
import { Targets } from "./Targets";
import { connected } from "./targets";
import { statusUrl } from "./url";

export function Status() {
  const t = useT();
  const [state, set] = useUrlState(statusUrl);
  const status = useStatus();
  return (
    <div className="flex flex-col gap-3 p-3">
      <div className="flex h-7 items-center gap-3">
        <h1 className="text-lg font-semibold">{t("status.title")}</h1>
        <Segmented
          label={t("status.view")}
          value={state.view}
          onChange={(view) => set({ view }, "push")}
          options={[
            { id: "overview", label: t("status.view.overview") },
            { id: "config", label: t("status.view.config") },
          ]}
        />
      </div>
      {state.view === "config" ? <Config /> : <QueryView result={status}>{(s) => <Overview status={s} />}</QueryView>}
    </div>
  );
}

function Overview(p: { status: StatusAnswer }) {
  const t = useT();
  const graph = useMemo(() => pipeline(p.status), [p.status]);
  const nothing = !connected(p.status);
  return (
    <div className="flex flex-col gap-3">
      <Panel title={t("status.pipe.title")} className="overflow-x-auto">
        <PipelineGraph pipeline={graph} />
      </Panel>
      {nothing && p.status.ready ? (
        <Panel title={t("status.targets")}>
          <NothingConnected />
        </Panel>
      ) : (
        <Targets targets={p.status.targets ?? []} sources={(p.status.ingest?.sources ?? []).length} />
      )}
      <div className="grid grid-cols-1 items-start gap-3 lg:grid-cols-2 xl:grid-cols-4">
        <ConditionsPanel status={p.status} />
        <StoragePanel status={p.status} />
        <PartsPanel status={p.status} />
        <ServerPanel status={p.status} />
      </div>
      <div className="grid grid-cols-1 gap-3 xl:grid-cols-2">
        <RulesPanel status={p.status} />
        <IngestPanel status={p.status} />
      </div>
    </div>
  );
}

function Config() {
  const t = useT();
  const { data, error, refetch } = useQuery<string, ApiError>({ queryKey: ["config"], queryFn: ({ signal }) => fetchConfig(signal) });
  if (error) return <ErrorState error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton />;
  return (
    <Panel title={t("status.view.config")} note={t("status.config.note")} actions={<CopyButton text={data} />}>
      <pre className="overflow-auto font-mono text-xs">{data}</pre>
    </Panel>
  );
}
