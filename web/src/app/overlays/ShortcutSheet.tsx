import { useT } from "@/i18n";
import { Keys } from "@/kit/basics";
import { actionAvailable, groups, shortcuts } from "@/state/shortcuts";
import { Sheet } from "./Sheet";

/** The keys that do something here, from the same records as the handler. */
export default function ShortcutSheet(p: { close: () => void }) {
  const t = useT();
  return (
    <Sheet label={t("shell.keys.title")} close={p.close} className="w-[640px] max-w-[92vw]">
      <header className="border-b border-line px-4 py-3">
        <h2 className="font-semibold">{t("shell.keys.title")}</h2>
        <p className="text-xs text-muted">{t("shell.keys.note")}</p>
      </header>
      <div className="columns-2 gap-8 overflow-auto p-4">
        {groups.map((g) => {
          const rows = shortcuts.filter((s) => s.group === g.id && actionAvailable(s.id));
          if (rows.length === 0) return null;
          return (
            <section key={g.id} className="mb-4 break-inside-avoid">
              <h3 className="mb-1 text-xs font-semibold text-muted">{t(g.words)}</h3>
              <dl>
                {rows.map((s) => (
                  <div key={s.id} className="flex h-7 items-center justify-between gap-4 border-b border-line last:border-b-0">
                    <dt>{t(s.words)}</dt>
                    <dd>
                      <Keys keys={s.keys} />
                    </dd>
                  </div>
                ))}
                {g.id === "everywhere" && (
                  <div className="flex h-7 items-center justify-between gap-4">
                    <dt>{t("shell.keys.escape")}</dt>
                    <dd>
                      <Keys keys="Escape" />
                    </dd>
                  </div>
                )}
              </dl>
            </section>
          );
        })}
      </div>
    </Sheet>
  );
}
