// Let me ask my own question.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { Button as AriaButton, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { ApiError } from "@/api/client";
import { fetchSignals } from "@/api/sightline";
import { signalMeaning, useLang, useT } from "@/i18n";
import { Button, Panel, Segmented } from "@/kit/basics";
import { Skeleton } from "@/kit/states";
import { readPreference, writePreference } from "@/state/preferences";
import { useUrlState } from "@/state/useUrl";
import { errorPlace, groupSignals, parseHistory, remember, type ErrorPlace } from "./result";
import { exploreUrl } from "./url";

const Editor = lazy(() => import("./Editor"));
const ChartResult = lazy(() => import("./Results").then((m) => ({ default: m.ChartResult })));
const TableResult = lazy(() => import("./Results").then((m) => ({ default: m.TableResult })));

export function Explore() {
  const t = useT();
  const [state, set] = useUrlState(exploreUrl);
  const [draft, setDraft] = useState(state.q);
  const [history, setHistory] = useState(() => parseHistory(readPreference("explore.history")));
  const client = useQueryClient();
  const error = useQueryError(state.q);

  // back and forward bring an older committed query: the draft follows it
  useEffect(() => setDraft(state.q), [state.q]);

  const run = (text: string) => {
    const expr = text.trim();
    if (expr === "") return set({ q: "" }, "push");
    const kept = remember(history, expr);
    setHistory(kept);
    writePreference("explore.history", JSON.stringify(kept));
    // the same question again is a wish to ask again
    if (expr === state.q) void client.invalidateQueries({ predicate: (q) => String(q.queryKey[0]).startsWith("explore-") });
    else set({ q: expr }, "push");
  };
  const pick = (expr: string) => {
    setDraft(expr);
    run(expr);
  };

  return (
    <div className="flex flex-col gap-3 p-3">
      <div className="flex items-start gap-2">
        <Suspense fallback={<div className="h-8 flex-1 rounded-md border border-line-strong bg-sunken" />}>
          <Editor value={draft} error={error} label={t("explore.editor")} hint={t("explore.hint")} onChange={setDraft} onRun={run} />
        </Suspense>
        <History history={history} pick={pick} />
        <Button primary onPress={() => run(draft)} className="h-8" title={t("explore.run.title")}>
          {t("explore.run")}
        </Button>
      </div>
      <div className="flex h-7 items-center gap-3">
        <Segmented
          label={t("explore.view")}
          value={state.view}
          onChange={(view) => set({ view })}
          options={[
            { id: "chart", label: t("explore.view.chart") },
            { id: "table", label: t("explore.view.table") },
          ]}
        />
        {draft.trim() !== state.q && <span className="text-2xs text-faint">{t("explore.draft")}</span>}
      </div>
      {state.q === "" ? (
        <Start pick={pick} />
      ) : (
        <Panel flush>
          <Suspense fallback={<Skeleton rows={8} />}>{state.view === "chart" ? <ChartResult expr={state.q} /> : <TableResult expr={state.q} />}</Suspense>
        </Panel>
      )}
    </div>
  );
}

/** Where the server says the committed query is wrong, from the cache of the result's query. */
function useQueryError(expr: string): ErrorPlace | null {
  const client = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const read = () => {
      const failed = client
        .getQueryCache()
        .findAll({ predicate: (q) => String(q.queryKey[0]).startsWith("explore-") && q.queryKey[1] === expr })
        .find((q) => q.state.error !== null);
      setError(failed?.state.error ?? null);
    };
    read();
    return client.getQueryCache().subscribe((e) => {
      if (e.type === "updated" && String(e.query.queryKey[0]).startsWith("explore-")) read();
    });
  }, [client, expr]);
  return useMemo(() => (error instanceof ApiError ? errorPlace(error.message, expr) : null), [error, expr]);
}

function History(p: { history: readonly string[]; pick: (expr: string) => void }) {
  const t = useT();
  return (
    <MenuTrigger>
      <AriaButton isDisabled={p.history.length === 0} className="h-8 rounded-md border border-line-strong bg-raised px-2.5 text-xs whitespace-nowrap hover:bg-hover disabled:opacity-50">
        {t("explore.history")}
      </AriaButton>
      <Popover placement="bottom end" className="max-w-[60vw] rounded-lg border border-line-strong bg-raised shadow-pop">
        <Menu aria-label={t("explore.history")} className="max-h-[60vh] min-w-72 overflow-auto p-1" onAction={(i) => p.pick(p.history[Number(i)] ?? "")}>
          {p.history.map((h, i) => (
            <MenuItem key={h} id={String(i)} textValue={h} className="flex min-h-7 cursor-default items-center rounded-sm px-2 font-mono text-xs data-[focused]:bg-selected">
              <span className="truncate">{h}</span>
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

/** Nothing asked yet: what there is to ask about. */
function Start(p: { pick: (expr: string) => void }) {
  const t = useT();
  const signals = useQuery({ queryKey: ["explore-start"], queryFn: ({ signal }) => fetchSignals({}, signal), staleTime: 30_000 }).data?.data.signals ?? [];
  const lang = useLang();
  const present = signals.filter((s) => s.present).map((s) => ({ signal: s.signal, meaning: signalMeaning(lang, s.signal, s.meaning) }));
  return (
    <Panel title={t("explore.start")} note={t("explore.start.note")}>
      {present.length === 0 ? (
        <p className="text-muted">{t("explore.start.none")}</p>
      ) : (
        <ul className="columns-1 gap-6 xl:columns-2">
          {groupSignals(present).map((g) => (
            <li key={g.name} title={g.meaning} className="flex h-7 break-inside-avoid items-center gap-2 border-b border-line">
              <span className="truncate font-mono text-xs">{g.name}</span>
              <span className="min-w-0 flex-1 truncate text-2xs text-faint">{g.meaning}</span>
              {g.operations.map((o) => (
                <button key={o.signal} type="button" onClick={() => p.pick(o.signal)} aria-label={o.signal} className="h-5 rounded-sm bg-sunken px-1.5 font-mono text-2xs text-muted hover:bg-selected hover:text-text">
                  {o.operation}
                </button>
              ))}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
