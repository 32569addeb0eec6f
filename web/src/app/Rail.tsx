import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useStatus } from "@/api/useApi";
import { useT } from "@/i18n";
import { cx } from "@/kit/basics";
import { readPreference, writePreference } from "@/state/preferences";
import { useCarriedSearch } from "@/state/useUrl";
import { Icon } from "./icons";
import { Preferences } from "./Preferences";
import { pages, type PageRecord } from "./pages";

export function Rail() {
  const t = useT();
  const [folded, setFolded] = useState(() => readPreference("rail") === "folded");
  const version = useStatus().data?.data.version;
  const fold = () => {
    writePreference("rail", folded ? null : "folded");
    setFolded(!folded);
  };
  return (
    <nav aria-label={t("shell.nav")} className={cx("flex shrink-0 flex-col border-r border-line bg-raised", folded ? "w-11" : "w-36")}>
      <button type="button" onClick={fold} title={folded ? t("shell.rail.unfold") : t("shell.rail.fold")} aria-label={folded ? t("shell.rail.unfold") : t("shell.rail.fold")} className="flex h-11 items-center gap-2 border-b border-line px-3 font-semibold">
        <svg viewBox="0 0 16 16" aria-hidden className="size-5 shrink-0 text-accent" fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinejoin="round" strokeLinecap="round">
          <circle cx="8" cy="8" r="6.8" />
          <path d="M1.8 9h3l1.6-4.2 2.6 6.6L10.7 7h3.6" />
        </svg>
        {!folded && t("shell.product")}
      </button>
      <ul className="flex flex-1 flex-col gap-0.5 p-1.5">
        {pages
          .filter((p) => !p.below)
          .map((p) => (
            <Entry key={p.id} page={p} folded={folded} />
          ))}
        <li aria-hidden className="mx-1 my-1 border-t border-line" />
        {pages
          .filter((p) => p.below)
          .map((p) => (
            <Entry key={p.id} page={p} folded={folded} />
          ))}
      </ul>
      <Preferences folded={folded} />
      {!folded && version && <span className="truncate border-t border-line px-3 py-2 font-mono text-2xs text-faint">{version}</span>}
    </nav>
  );
}

function Entry(p: { page: PageRecord; folded: boolean }) {
  const t = useT();
  const carried = useCarriedSearch();
  const params: { model?: string } = useParams({ strict: false });
  const words = t(p.page.words);
  // a model is one level below Now
  const within = p.page.id === "now" && params.model !== undefined;
  const active = "bg-selected font-medium text-text";
  return (
    <li>
      <Link
        to={p.page.path}
        search={carried as never}
        title={p.folded ? words : undefined}
        aria-label={p.folded ? words : undefined}
        className={cx("flex h-8 items-center gap-2 rounded-md px-2 no-underline hover:bg-hover", within ? active : "text-muted")}
        activeProps={{ className: active }}
        activeOptions={{ exact: true, includeSearch: false }}
      >
        <Icon name={p.page.icon} />
        {!p.folded && <span className="truncate">{words}</span>}
      </Link>
    </li>
  );
}
