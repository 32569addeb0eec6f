import { Link } from "@tanstack/react-router";
import { Button as AriaButton, Dialog, DialogTrigger, Popover } from "react-aria-components";
import type { Condition, Severity } from "@/api/types";
import { useStatus } from "@/api/useApi";
import { useT } from "@/i18n";
import { cx, StateMark } from "@/kit/basics";
import { ConditionList } from "@/kit/ConditionList";
import { useCarriedSearch } from "@/state/useUrl";
import { Icon } from "../icons";

const rank: Record<Severity, number> = { error: 0, warning: 1, info: 2 };

/** The worst severity of a list; null when it is empty. */
export function worst(conditions: readonly Condition[]): Severity | null {
  return conditions.reduce<Severity | null>((w, c) => (w === null || rank[c.severity] < rank[w] ? c.severity : w), null);
}

export function HealthBell() {
  const t = useT();
  const status = useStatus();
  const carried = useCarriedSearch();
  const conditions = status.data?.data.conditions ?? [];
  const severity = worst(conditions);
  const unknown = !status.data;
  const label = unknown ? t("shell.health.unknown") : conditions.length > 0 ? t("shell.health.count", { count: conditions.length }) : t("shell.health.fine");
  return (
    <DialogTrigger>
      <AriaButton
        data-testid="bell"
        aria-label={`${t("shell.health.title")}: ${label}`}
        className={cx("inline-flex h-7 items-center gap-1 rounded-md border border-line-strong bg-raised px-2 text-xs hover:bg-hover", severity === "error" ? "text-bad" : severity === "warning" ? "text-warn" : "text-muted")}
      >
        <Icon name="bell" className="size-3.5" />
        {conditions.length > 0 && <span className="font-medium">{conditions.length}</span>}
      </AriaButton>
      <Popover placement="bottom end" className="w-[440px] rounded-lg border border-line-strong bg-raised shadow-pop">
        <Dialog aria-label={t("shell.health.title")} className="flex max-h-[70vh] flex-col">
          {({ close }) => (
            <>
              <header className="flex h-9 shrink-0 items-center justify-between border-b border-line px-3">
                <h2 className="font-semibold">{t("shell.health.title")}</h2>
                <Link to="/status" search={carried as never} onClick={close} className="text-xs text-accent hover:underline">
                  {t("shell.health.open")}
                </Link>
              </header>
              {conditions.length === 0 ? (
                <p className="p-3">
                  <StateMark tone={unknown ? "neutral" : "good"}>{label}</StateMark>
                </p>
              ) : (
                <ConditionList conditions={conditions} />
              )}
            </>
          )}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
