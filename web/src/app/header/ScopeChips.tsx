import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Button as AriaButton, Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from "react-aria-components";
import { fetchNow } from "@/api/sightline";
import { useT } from "@/i18n";
import { scopeKeys, type ScopeKey } from "@/state/scope";
import { useCarriedSearch, useScope } from "@/state/useUrl";
import { gpuName, useCards } from "@/views/gpu";
import { Icon } from "../icons";

const chip = "inline-flex h-7 min-w-0 shrink items-center gap-1 rounded-md border border-line-strong bg-raised px-2 text-xs whitespace-nowrap";
const offered = ["service", "model", "instance"] as const;

/** What the page looks at: the model of the address, and the scope of the link. */
export function ScopeChips() {
  const t = useT();
  const { scope, setScope } = useScope();
  const params: { service?: string; model?: string } = useParams({ strict: false });
  const carried = useCarriedSearch();
  const cards = useCards(scope.gpu !== undefined);
  const parts = scopeKeys.flatMap((k) => (scope[k] ? [[k, scope[k]] as const] : []));
  return (
    <div className="flex min-w-0 items-center gap-1.5">
      {params.model !== undefined && (
        <Link to="/" search={carried as never} className={`${chip} hover:bg-hover`} title={t("now.title")}>
          <span className="text-faint">{t("shell.scope.model")}</span>
          <span className="truncate font-medium">
            {params.service}/{params.model}
          </span>
        </Link>
      )}
      {parts.map(([k, v]) => (
        <span key={k} className={chip} data-testid={`scope-${k}`}>
          <span className="text-faint">{t(`shell.scope.${k}`)}</span>
          <span className="truncate font-medium" title={v}>
            {k === "gpu" ? gpuName({ ...cards.get(v), gpu: v }) : v}
          </span>
          <button type="button" aria-label={t("shell.scope.remove", { label: t(`shell.scope.${k}`) })} onClick={() => setScope({ [k]: undefined })} className="-mr-1 rounded-sm p-0.5 text-faint hover:bg-hover hover:text-text">
            <Icon name="close" className="size-3" />
          </button>
        </span>
      ))}
      <AddScope taken={new Set(parts.map(([k]) => k))} add={(k, v) => setScope({ [k]: v })} />
    </div>
  );
}

function AddScope(p: { taken: ReadonlySet<ScopeKey>; add: (k: ScopeKey, v: string) => void }) {
  const t = useT();
  return (
    <MenuTrigger>
      <AriaButton aria-label={t("shell.scope.add.title")} className="inline-flex h-7 items-center gap-1 rounded-md px-1.5 text-xs text-muted hover:bg-hover">
        <Icon name="plus" className="size-3" />
        {t("shell.scope.add")}
      </AriaButton>
      <Popover placement="bottom start" className="rounded-lg border border-line-strong bg-raised shadow-pop">
        <Choices {...p} />
      </Popover>
    </MenuTrigger>
  );
}

function Choices(p: { taken: ReadonlySet<ScopeKey>; add: (k: ScopeKey, v: string) => void }) {
  const t = useT();
  const rows = useQuery({ queryKey: ["scope-choices"], queryFn: ({ signal }) => fetchNow({ points: 2 }, signal), staleTime: 30_000 }).data?.data.rows ?? [];
  const values: Record<(typeof offered)[number], string[]> = {
    service: [...new Set(rows.map((r) => r.service))].sort(),
    model: [...new Set(rows.map((r) => r.model))].sort(),
    instance: [...new Set(rows.flatMap((r) => r.instances ?? []))].sort(),
  };
  const sections = offered.filter((k) => !p.taken.has(k) && values[k].length > 0);
  if (sections.length === 0) return <p className="px-3 py-2 text-xs text-muted">{t("shell.scope.none")}</p>;
  return (
    <Menu
      aria-label={t("shell.scope.add.title")}
      className="max-h-[60vh] min-w-44 overflow-auto p-1"
      onAction={(id) => {
        const text = String(id);
        const at = text.indexOf(" ");
        p.add(text.slice(0, at) as ScopeKey, text.slice(at + 1));
      }}
    >
      {sections.map((k) => (
        <MenuSection key={k} className="pb-1">
          <Header className="px-2 py-1 text-2xs text-faint">{t(`shell.scope.${k}`)}</Header>
          {values[k].map((v) => (
            <MenuItem key={v} id={`${k} ${v}`} textValue={v} className="flex h-7 cursor-default items-center rounded-sm px-2 text-xs data-[focused]:bg-selected">
              {v}
            </MenuItem>
          ))}
        </MenuSection>
      ))}
    </Menu>
  );
}
