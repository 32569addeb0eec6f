import { useState } from "react";
import { Button as AriaButton, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { useT } from "@/i18n";
import { cx } from "@/kit/basics";
import { serverNow } from "@/state/live";
import { dateTimeText, durationText, parseRange, presets, rangeText, resolveRange, sameRange, zoneName, type TimeRange, type Zone } from "@/state/time";
import { useTime } from "@/state/useUrl";
import { Icon } from "../icons";

/** The range as the header shows it. */
export function RangeWords(p: { range: TimeRange; zone: Zone }) {
  const t = useT();
  return <>{p.range.kind === "relative" ? t("shell.time.last", { duration: durationText(p.range.seconds) }) : rangeText(p.range.from, p.range.to, p.zone)}</>;
}

export function TimePicker() {
  const t = useT();
  const { range, zone, window } = useTime();
  const [open, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <AriaButton
        data-testid="time-range"
        aria-label={t("shell.time.title")}
        className="inline-flex h-7 min-w-0 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2 text-xs whitespace-nowrap hover:bg-hover"
      >
        <Icon name="clock" className="size-3.5 shrink-0 text-muted" />
        <span className="truncate">
          <RangeWords range={range} zone={zone} />
        </span>
        <span className="text-faint">{zoneName(zone, window.to)}</span>
        <Icon name="chevron" className="size-3 shrink-0 text-faint" />
      </AriaButton>
      <Popover placement="bottom end" className="w-[420px] rounded-lg border border-line-strong bg-raised shadow-pop">
        <Dialog aria-label={t("shell.time.title")} className="p-3">
          <Panel close={() => setOpen(false)} />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Panel(p: { close: () => void }) {
  const t = useT();
  const { range, zone, setRange, setZone, window } = useTime();
  const [text, setText] = useState("");
  const read = text.trim() === "" ? null : parseRange(text, { now: serverNow(), zone });
  const bad = text.trim() !== "" && read === null;
  const resolved = resolveRange(range, window.to);
  const pick = (r: TimeRange) => {
    setRange(r);
    p.close();
  };
  return (
    <div className="flex flex-col gap-3">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (read) pick(read);
        }}
      >
        <label className="flex flex-col gap-1 text-xs text-muted">
          {t("shell.time.typed")}
          <span className="flex gap-2">
            <input
              autoFocus
              data-testid="time-typed"
              value={text}
              onChange={(e) => setText(e.target.value)}
              placeholder={t("shell.time.placeholder")}
              aria-invalid={bad}
              aria-describedby="time-typed-note"
              spellCheck={false}
              className={cx("h-7 min-w-0 flex-1 rounded-md border bg-sunken px-2 text-text placeholder:text-faint", bad ? "border-bad" : "border-line-strong")}
            />
            <button type="submit" disabled={!read} className="h-7 rounded-md border border-accent bg-accent px-3 font-medium text-on-accent disabled:opacity-40">
              {t("shell.time.apply")}
            </button>
          </span>
        </label>
        <p id="time-typed-note" className={cx("mt-1 text-2xs", bad ? "text-bad" : "text-faint")}>
          {bad
            ? t("shell.time.bad", { examples: t("shell.time.examples") })
            : read
              ? t("shell.time.reads", { range: read.kind === "relative" ? t("shell.time.last", { duration: durationText(read.seconds) }) : rangeText(read.from, read.to, zone) })
              : t("shell.time.examples")}
        </p>
      </form>
      <div>
        <h3 className="mb-1 text-xs text-muted">{t("shell.time.presets")}</h3>
        <div className="grid grid-cols-6 gap-1">
          {presets.map((seconds) => {
            const preset: TimeRange = { kind: "relative", seconds };
            const on = sameRange(preset, range);
            return (
              <button key={seconds} type="button" aria-pressed={on} onClick={() => pick(preset)} className={cx("h-7 rounded-md border text-xs", on ? "border-accent bg-selected font-medium" : "border-line bg-surface hover:bg-hover")}>
                {durationText(seconds)}
              </button>
            );
          })}
        </div>
      </div>
      <div className="flex items-center justify-between border-t border-line pt-3">
        <span className="text-2xs text-muted">
          {dateTimeText(resolved.from, zone)}
          <br />
          {dateTimeText(resolved.to, zone)}
        </span>
        <div role="radiogroup" aria-label={t("shell.time.zone")} className="inline-flex h-7 overflow-hidden rounded-md border border-line-strong">
          {(["local", "utc"] as const).map((z) => (
            <button key={z} type="button" role="radio" aria-checked={zone === z} data-testid={`zone-${z}`} onClick={() => setZone(z)} className={cx("px-2.5 text-xs", zone === z ? "bg-selected font-medium" : "text-muted hover:bg-hover")}>
              {z === "utc" ? t("shell.time.utc") : t("shell.time.local", { zone: zoneName("local", window.to) })}
            </button>
          ))}
        </div>
      </div>
    </div>
  );
}
