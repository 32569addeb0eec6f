// What the reader may choose for every page: theme, language, time zone.
import { Button as AriaButton, Dialog, DialogTrigger, Popover } from "react-aria-components";
import type { ReactNode } from "react";
import { languages, setLang, useLang, useT } from "@/i18n";
import { cx, Segmented } from "@/kit/basics";
import { zoneName } from "@/state/time";
import { usePatchSearch, useTime } from "@/state/useUrl";
import { setTheme, useThemeChoice } from "@/theme/theme";
import { Icon } from "./icons";

export function Preferences(p: { folded: boolean }) {
  const t = useT();
  const words = t("shell.preferences");
  return (
    <DialogTrigger>
      <AriaButton
        data-testid="preferences"
        aria-label={words}
        className={cx("mx-1.5 mb-1 flex h-8 items-center gap-2 rounded-md px-2 text-muted hover:bg-hover data-[pressed]:bg-hover", p.folded && "justify-center")}
      >
        <Icon name="preferences" />
        {!p.folded && <span className="truncate">{words}</span>}
      </AriaButton>
      <Popover placement="right bottom" className="rounded-lg border border-line-strong bg-raised shadow-pop">
        <Dialog aria-label={words} className="p-3">
          <Choices />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Choices() {
  const t = useT();
  const lang = useLang();
  const theme = useThemeChoice();
  const patch = usePatchSearch();
  const { zone, setZone, window } = useTime();
  return (
    <div className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-2.5 text-xs">
      <Row words={t("shell.preferences.theme")}>
        <Segmented label={t("shell.preferences.theme")} value={theme} onChange={setTheme} options={(["system", "light", "dark"] as const).map((id) => ({ id, label: t(`shell.preferences.theme.${id}`) }))} />
      </Row>
      <Row words={t("shell.preferences.lang")}>
        <Segmented
          label={t("shell.preferences.lang")}
          value={lang}
          onChange={(id) => {
            setLang(id);
            patch({ lang: undefined });
          }}
          options={languages.map((l) => ({ id: l.id, label: l.name }))}
        />
      </Row>
      <Row words={t("shell.time.zone")}>
        <Segmented
          label={t("shell.time.zone")}
          value={zone}
          onChange={setZone}
          options={[
            { id: "local", label: t("shell.time.local", { zone: zoneName("local", window.to) }) },
            { id: "utc", label: t("shell.time.utc") },
          ]}
        />
      </Row>
    </div>
  );
}

function Row(p: { words: string; children: ReactNode }) {
  return (
    <>
      <span className="text-muted">{p.words}</span>
      <span>{p.children}</span>
    </>
  );
}
