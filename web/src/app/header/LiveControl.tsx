import { useIsFetching } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useT } from "@/i18n";
import { cx } from "@/kit/basics";
import { ago } from "@/kit/format";
import { setPaused, useLive } from "@/state/live";
import { defaultRange, rangeSeconds, refreshSeconds } from "@/state/time";
import { useTime } from "@/state/useUrl";
import { Icon } from "../icons";

/** Live, paused or fixed; with the age of what is on screen. */
export function LiveControl() {
  const t = useT();
  const { range, setRange } = useTime();
  const { paused, lastAnswer } = useLive();
  const fixed = range.kind === "absolute";
  const press = () => (fixed ? setRange(defaultRange) : setPaused(!paused));
  const state = fixed ? "fixed" : paused ? "paused" : "live";
  return (
    <span className="inline-flex items-center gap-2">
      <button
        type="button"
        data-testid="live"
        data-live={state}
        onClick={press}
        title={fixed ? t("shell.live.toLive") : paused ? t("shell.live.resume") : t("shell.live.pause")}
        className={cx("inline-flex h-7 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2 text-xs hover:bg-hover", state === "live" ? "text-good" : state === "paused" ? "text-warn" : "text-muted")}
      >
        <Icon name={state === "live" ? "pause" : "play"} className="size-3 shrink-0" />
        {t(`shell.live.${state}`)}
      </button>
      <Freshness lastAnswer={lastAnswer} every={state === "live" ? refreshSeconds(rangeSeconds(range)) : null} />
    </span>
  );
}

function Freshness(p: { lastAnswer: number | null; every: number | null }) {
  const t = useT();
  const loading = useIsFetching() > 0;
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const id = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(id);
  }, []);
  const age = p.lastAnswer === null ? null : Math.max(0, Math.round(now - p.lastAnswer));
  const words = age === null ? t("shell.live.loading") : t("shell.live.age", { age: ago(p.lastAnswer, Math.max(now, p.lastAnswer ?? 0)) });
  // the status is asked for every 5 s: three beats without an answer are a silence
  if (age !== null && age > 15)
    return (
      <span role="status" data-testid="stale" className="text-2xs whitespace-nowrap text-bad">
        {words}
      </span>
    );
  return (
    <span role="img" aria-label={words} title={p.every === null ? words : `${words} · ${t("shell.live.every", { seconds: p.every })}`} className="grid size-3 place-items-center">
      <span className={cx("size-1.5 rounded-full", loading ? "bg-accent" : "bg-line-strong")} />
    </span>
  );
}
