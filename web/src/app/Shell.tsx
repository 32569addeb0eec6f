import { Link, Outlet } from "@tanstack/react-router";
import { useT } from "@/i18n";
import { useCarriedSearch } from "@/state/useUrl";
import { pages } from "./routes";
import { Ticker } from "./Ticker";

export function Shell() {
  const t = useT();
  const carried = useCarriedSearch(true);
  return (
    <div className="flex h-full">
      <Ticker />
      <nav aria-label={t("shell.nav")} className="flex w-40 shrink-0 flex-col border-r border-line bg-raised p-2">
        {pages.map((p) => (
          <Link key={p.id} to={p.path} search={carried as never} className="flex h-8 items-center rounded-md px-2 hover:bg-hover" activeProps={{ className: "bg-selected font-medium" }} activeOptions={{ exact: true, includeSearch: false }}>
            {t(p.words as "now.title")}
          </Link>
        ))}
      </nav>
      <main className="min-w-0 flex-1 overflow-auto">
        <Outlet />
      </main>
    </div>
  );
}
