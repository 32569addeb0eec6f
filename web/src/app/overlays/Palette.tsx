import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { fetchHardware, fetchNow } from "@/api/sightline";
import { currentLang, languages, setLang, useT, type PlainKey } from "@/i18n";
import { cx, Keys } from "@/kit/basics";
import { runAction, shortcuts } from "@/state/shortcuts";
import { useCarriedSearch, usePatchSearch, useTime } from "@/state/useUrl";
import { cardLabels, gpuName } from "@/views/gpu";
import { setTheme } from "@/theme/theme";
import { Icon, type IconName } from "../icons";
import { pages } from "../pages";
import { search, type Candidate } from "./match";
import { Sheet } from "./Sheet";

interface Entry extends Candidate {
  group: PlainKey;
  icon: IconName;
  keys?: string;
  note?: string;
  run: () => void;
}

/** One box for everything: pages, models, GPUs, actions. */
export default function Palette(p: { close: () => void }) {
  const t = useT();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const entries = useEntries();
  const found = useMemo(() => search(text, entries), [text, entries]);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.querySelector(`[data-at="${chosen}"]`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const run = (e: Entry | undefined) => {
    if (!e) return;
    p.close();
    e.run();
  };
  return (
    <Sheet label={t("shell.palette.title")} close={p.close}>
      <div className="flex items-center gap-2 border-b border-line px-3">
        <Icon name="search" className="size-4 text-faint" />
        <input
          autoFocus
          data-testid="palette"
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
          aria-label={t("shell.palette.title")}
          value={text}
          spellCheck={false}
          placeholder={t("shell.palette.placeholder")}
          onChange={(e) => {
            setText(e.target.value);
            setAt(0);
          }}
          onKeyDown={(e) => {
            // letters of a Chinese input method are still being chosen
            if (e.nativeEvent.isComposing) return;
            if (e.key === "ArrowDown" || (e.ctrlKey && e.key === "n")) setAt(Math.min(chosen + 1, found.length - 1));
            else if (e.key === "ArrowUp" || (e.ctrlKey && e.key === "p")) setAt(Math.max(chosen - 1, 0));
            else if (e.key === "Enter") run(found[chosen]);
            else return;
            e.preventDefault();
          }}
          className="h-11 min-w-0 flex-1 bg-transparent text-lg outline-none placeholder:text-faint focus-visible:outline-none"
        />
      </div>
      <div ref={list} id={`${id}-list`} role="listbox" aria-label={t("shell.palette.title")} className="min-h-0 flex-1 overflow-auto p-1.5">
        {found.length === 0 && <p className="px-2 py-3 text-muted">{t("shell.palette.none", { text })}</p>}
        {found.map((e, i) => (
          <div key={e.id}>
            {text === "" && e.group !== found[i - 1]?.group && <div className="px-2 pt-2 pb-1 text-2xs text-faint">{t(e.group)}</div>}
            <div
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === chosen}
              data-at={i}
              onMouseMove={() => setAt(i)}
              onClick={() => run(e)}
              className={cx("flex h-8 cursor-default items-center gap-2 rounded-md px-2", i === chosen && "bg-selected")}
            >
              <Icon name={e.icon} className="size-3.5 shrink-0 text-muted" />
              <span className="truncate">{e.words}</span>
              {e.note && <span className="min-w-0 truncate font-mono text-2xs text-faint">{e.note}</span>}
              <span className="flex-1" />
              {e.keys ? <Keys keys={e.keys} /> : text !== "" && <span className="text-2xs text-faint">{t(e.group)}</span>}
            </div>
          </div>
        ))}
      </div>
    </Sheet>
  );
}

function useEntries(): Entry[] {
  const t = useT();
  const navigate = useNavigate();
  const patch = usePatchSearch();
  const carried = useCarriedSearch();
  const { setZone } = useTime();
  const models = useQuery({ queryKey: ["scope-choices"], queryFn: ({ signal }) => fetchNow({ points: 2 }, signal), staleTime: 30_000 }).data?.data.rows;
  const nodes = useQuery({ queryKey: ["palette-gpus"], queryFn: ({ signal }) => fetchHardware({}, signal), staleTime: 30_000 }).data?.data.nodes;
  return useMemo(() => {
    const keysOf = (id: string) => shortcuts.find((s) => s.id === id)?.keys;
    const go = (to: string, extra: Record<string, string> = {}, params: Record<string, string> = {}) => void navigate({ to, params, search: { ...carried, ...extra } } as never);
    const out: Entry[] = pages.map((p) => ({ id: p.id, group: "shell.palette.pages", words: t(p.words), also: p.id, icon: p.icon, run: () => go(p.path), ...(keysOf(p.go) ? { keys: keysOf(p.go) as string } : {}) }));
    for (const r of models ?? [])
      out.push({
        id: `model ${r.id}`,
        group: "shell.palette.models",
        words: `${r.service}/${r.model}`,
        also: `${(r.dialects ?? []).join(" ")} ${(r.instances ?? []).join(" ")}`,
        note: (r.dialects ?? []).join(" "),
        icon: "model",
        run: () => go("/models/$service/$model", {}, { service: r.service, model: r.model }),
      });
    for (const n of nodes ?? [])
      for (const g of n.gpus ?? [])
        out.push({ id: `gpu ${g.gpu}`, group: "shell.palette.gpus", words: gpuName(cardLabels(n.node, g)), also: g.gpu, note: g.gpu, icon: "hardware", run: () => go("/hardware", { sel: g.gpu }) });
    const action = (id: string, words: string, icon: IconName, run: () => void, also?: string) => out.push({ id, group: "shell.palette.actions", words, icon, run, ...(also ? { also } : {}), ...(keysOf(id) ? { keys: keysOf(id) as string } : {}) });
    action("copyLink", t("shell.action.copyLink"), "link", () => runAction("copyLink"), "copy link share permalink");
    action("theme.dark", t("shell.action.themeDark"), "theme", () => setTheme("dark"), "theme dark");
    action("theme.light", t("shell.action.themeLight"), "theme", () => setTheme("light"), "theme light");
    action("theme.system", t("shell.action.themeSystem"), "theme", () => setTheme("system"), "theme system");
    for (const l of languages)
      if (l.id !== currentLang())
        action(`lang.${l.id}`, t("shell.action.lang", { name: l.name }), "language", () => {
          setLang(l.id);
          patch({ lang: undefined });
        }, `language ${l.id}`);
    action("utc", t("shell.action.utc"), "clock", () => setZone("utc"), "utc");
    action("local", t("shell.action.local"), "clock", () => setZone("local"), "local");
    for (const id of ["time.out", "time.in", "time.absolute", "time.live"] as const) {
      const s = shortcuts.find((x) => x.id === id);
      if (s) action(id, t(s.words), "clock", () => runAction(id));
    }
    action("help", t("shell.keys.title"), "keys", () => runAction("help"), "help keyboard shortcuts");
    return out;
  }, [t, navigate, patch, carried, setZone, models, nodes]);
}
