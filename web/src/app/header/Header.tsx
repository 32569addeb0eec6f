import { useT } from "@/i18n";
import { Keys } from "@/kit/basics";
import { duration } from "@/kit/format";
import { runAction } from "@/state/shortcuts";
import { useTime } from "@/state/useUrl";
import { Icon } from "../icons";
import { HealthBell } from "./HealthBell";
import { LiveControl } from "./LiveControl";
import { ScopeChips } from "./ScopeChips";
import { TimePicker } from "./TimePicker";

export function Header() {
  const t = useT();
  const { window } = useTime();
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-b border-line bg-raised px-3">
      <ScopeChips />
      <span className="flex-1" />
      <button type="button" onClick={() => runAction("palette")} className="hidden h-7 items-center gap-2 rounded-md border border-line bg-sunken px-2 text-xs text-faint hover:text-muted lg:inline-flex">
        <Icon name="search" className="size-3.5" />
        {t("shell.palette.open")}
        <Keys keys="mod+k" />
      </button>
      <span className="text-2xs whitespace-nowrap text-faint" title={t("shell.time.step.title")} data-testid="step">
        {t("shell.time.step", { step: duration(window.step) })}
      </span>
      <TimePicker />
      <LiveControl />
      <HealthBell />
    </header>
  );
}
