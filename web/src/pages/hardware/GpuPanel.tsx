// One card: what it is, whom it serves, and its signals over the page's window.
import { Link, useRouter } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import type { Gpu } from "@/api/types";
import { useT } from "@/i18n";
import { Button, Chip, Simulated, StateMark } from "@/kit/basics";
import { CopyButton } from "@/kit/CopyButton";
import { ErrorState, Skeleton } from "@/kit/states";
import { liveState } from "@/state/live";
import { zoomOut } from "@/state/time";
import { frozenAddress, useCarriedSearch, useRawSearch, useTime } from "@/state/useUrl";
import { AbsentRow, ChartCard } from "@/views/ChartCard";
import type { Chart } from "@/views/chart";
import { cardLabels, gpuName } from "@/views/gpu";
import { chartData } from "@/views/lines";
import { signalQuery } from "@/views/links";
import { useNow } from "@/views/useNow";
import { useSeries } from "@/views/useSeries";
import { cellModel } from "./cells";
import { gpuAsks, gpuCharts } from "./charts";

interface Props {
  node: string;
  gpu: Gpu;
  onClose: () => void;
}

const ignorePick = () => undefined;

export function GpuPanel({ node, gpu, onClose }: Props) {
  const t = useT();
  const { window, zone, range, setRange, zoomTo } = useTime();
  const carried = useCarriedSearch();
  const search = useRawSearch();
  const router = useRouter();
  const match = useMemo(() => ({ gpu: gpu.gpu }), [gpu.gpu]);
  const series = useSeries(gpuAsks, match);
  const now = useNow();
  const served = (now.data?.data.rows ?? []).filter((r) => r.gpus.includes(gpu.gpu));
  const shown = useMemo(() => {
    const answers = series.answers.map((answer) => ({ by: undefined, answer }));
    return gpuCharts.flatMap((chart) => {
      const data = chartData(chart, answers, undefined, undefined);
      return data ? [{ chart, data }] : [];
    });
  }, [series.answers]);

  const live = useRef({ range, search, zone });
  live.current = { range, search, zone };
  const onZoomOut = useCallback(() => setRange(zoomOut(live.current.range, liveState().now)), [setRange]);
  const linkFor = useCallback(() => frozenAddress(location.href, live.current.search, live.current.zone), []);
  const exploreHref = useCallback((chart: Chart) => router.buildLocation({ to: "/explore", search: { ...carried, q: signalQuery(chart.lines[0]?.signal ?? "", { gpu: gpu.gpu }) } as never }).href, [router, carried, gpu.gpu]);
  const marks = cellModel(gpu, "busy").marks;

  return (
    <aside aria-label={t("hardware.panel", { node, index: gpu.gpu_index ?? "" })} data-panel="gpu" className="w-[30rem] max-w-[50vw] shrink-0 overflow-y-auto border-l border-line bg-raised">
      <header className="sticky top-0 z-10 flex flex-col gap-1 border-b border-line bg-raised px-4 py-2">
        <div className="flex items-center gap-2">
          <h2 className="min-w-0 truncate text-lg font-semibold" title={gpu.gpu}>
            {gpuName(cardLabels(node, gpu))}
          </h2>
          {gpu.simulated && <Simulated />}
          <span className="flex-1" />
          <Button onPress={onClose} label={t("hardware.close")}>
            <span aria-hidden>✕</span>
          </Button>
        </div>
        <p className="truncate text-xs text-muted">{gpu.gpu_model}</p>
        <p className="flex items-center gap-2">
          <code className="min-w-0 truncate font-mono text-2xs text-muted" title={gpu.gpu}>
            {gpu.gpu}
          </code>
          <CopyButton text={gpu.gpu} />
        </p>
        {marks.map((m) => (
          <StateMark key={m} tone={m === "xid" || m === "full" ? "bad" : "warn"}>
            {t(`hardware.mark.${m}`)}
          </StateMark>
        ))}
      </header>
      <section className="border-b border-line px-4 py-2">
        <h3 className="text-2xs font-semibold tracking-wider text-faint uppercase">{t("hardware.serves")}</h3>
        {served.length === 0 && gpu.models.length === 0 ? (
          <p className="text-xs text-faint">{t("hardware.servesNothing")}</p>
        ) : (
          <ul className="flex flex-col">
            {served.map((r) => (
              <li key={r.id}>
                <Link to="/models/$service/$model" params={{ service: r.service, model: r.model }} search={{ ...carried, chart: "gpu_busy" } as never} className="hover:underline">
                  <span className="text-muted">{r.service} / </span>
                  {r.model}
                </Link>
              </li>
            ))}
            {served.length === 0 && gpu.models.map((m) => <li key={m}>{m}</li>)}
          </ul>
        )}
        {gpu.instances.length > 0 && (
          <p className="mt-1 flex flex-wrap gap-1">
            {gpu.instances.map((i) => (
              <Chip key={i}>{i}</Chip>
            ))}
          </p>
        )}
      </section>
      {series.error && <ErrorState error={series.error} retry={series.retry} compact />}
      {series.pending && !series.error && <Skeleton rows={8} />}
      <div className="divide-y divide-line">
        {shown.map(({ chart, data }) =>
          data.lines.length > 0 ? (
            <ChartCard
              key={chart.id}
              chart={chart}
              data={data}
              window={window}
              zone={zone}
              split={false}
              picked={undefined}
              marked={false}
              compact
              onPick={ignorePick}
              onZoom={zoomTo}
              onZoomOut={onZoomOut}
              exploreHref={exploreHref}
              linkFor={linkFor}
            />
          ) : (
            <AbsentRow key={chart.id} chart={chart} data={data} window={window} zone={zone} marked={false} compact />
          ),
        )}
      </div>
    </aside>
  );
}
