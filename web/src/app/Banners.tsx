import { useStarting, useStatus } from "@/api/useApi";
import { currentLang, pickLang, setLang, useLang, useT } from "@/i18n";
import { cx } from "@/kit/basics";
import { skewLimit, useLive } from "@/state/live";
import { readPreference } from "@/state/preferences";
import { usePatchSearch, useRawSearch, useTime } from "@/state/useUrl";
import type { ReactNode } from "react";

function Banner(p: { tone: "warn" | "info" | "bad"; children: ReactNode; name: string }) {
  return (
    <div role="status" data-banner={p.name} className={cx("flex min-h-7 items-center gap-3 border-b border-line px-3 text-xs", p.tone === "warn" ? "bg-warn-soft text-warn" : p.tone === "bad" ? "bg-bad-soft text-bad" : "bg-info-soft text-info")}>
      {p.children}
    </div>
  );
}

/** Whether what is seen can be trusted: server gone, starting, clocks apart; and what a link decided. */
export function Banners() {
  const t = useT();
  const status = useStatus();
  const { skew } = useLive();
  const starting = useStarting()?.find((p) => p.state === "starting");
  const unreachable = status.error?.transient === true && status.error.status === 0;
  return (
    <>
      {unreachable && (
        <Banner tone="bad" name="unreachable">
          {t("shell.banner.unreachable")}
        </Banner>
      )}
      {starting && !unreachable && (
        <Banner tone="info" name="starting">
          {t("shell.banner.starting", { part: starting.name, text: starting.text || t("kit.part.starting") })}
        </Banner>
      )}
      {skew !== null && Math.abs(skew) > skewLimit && (
        <Banner tone="warn" name="skew">
          {t("shell.banner.skew", { seconds: Math.round(Math.abs(skew)) })}
        </Banner>
      )}
      <SetByLink />
    </>
  );
}

/** A link may choose the language or the zone; keeping it is the reader's decision. */
function SetByLink() {
  const t = useT();
  useLang();
  const search = useRawSearch();
  const patch = usePatchSearch();
  const { zone, setZone } = useTime();
  const own = pickLang("", readPreference("lang"), navigator.languages);
  const storedZone = readPreference("tz") === "utc" ? "utc" : "local";
  const link = "underline hover:no-underline";
  return (
    <>
      {search.lang !== undefined && own !== currentLang() && (
        <Banner tone="info" name="lang-link">
          {t("shell.banner.langLink")}
          <button type="button" className={link} onClick={() => (setLang(currentLang()), patch({ lang: undefined }))}>
            {t("shell.banner.keep")}
          </button>
          <button type="button" className={link} onClick={() => (setLang(own), patch({ lang: undefined }))}>
            {t("shell.banner.drop")}
          </button>
        </Banner>
      )}
      {search.tz !== undefined && zone !== storedZone && (
        <Banner tone="info" name="tz-link">
          {t("shell.banner.tzLink")}
          <button type="button" className={link} onClick={() => setZone(zone)}>
            {t("shell.banner.keep")}
          </button>
          <button type="button" className={link} onClick={() => patch({ tz: undefined })}>
            {t("shell.banner.drop")}
          </button>
        </Banner>
      )}
    </>
  );
}
