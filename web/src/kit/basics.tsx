// Small parts that every page uses.
import type { ReactNode } from "react";
import { useT, type PlainKey } from "@/i18n";

export function cx(...parts: (string | false | null | undefined)[]): string {
  return parts.filter(Boolean).join(" ");
}

/** A titled block. `actions` sit at the right of the title. */
export function Panel(p: { title?: ReactNode; note?: ReactNode; actions?: ReactNode; children: ReactNode; className?: string; flush?: boolean }) {
  return (
    <section className={cx("flex min-w-0 flex-col rounded-md border border-line bg-raised", p.className)}>
      {(p.title || p.actions) && (
        <header className="flex h-8 shrink-0 items-center gap-2 border-b border-line px-3">
          {p.title && <h2 className="truncate font-semibold">{p.title}</h2>}
          {p.note && <span className="truncate text-xs text-muted">{p.note}</span>}
          <span className="flex-1" />
          {p.actions}
        </header>
      )}
      <div className={cx("min-h-0 min-w-0 flex-1", !p.flush && "p-3")}>{p.children}</div>
    </section>
  );
}

export type Tone = "good" | "warn" | "bad" | "info" | "neutral";

const toneText: Record<Tone, string> = { good: "text-good", warn: "text-warn", bad: "text-bad", info: "text-info", neutral: "text-muted" };
const toneChip: Record<Tone, string> = {
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  info: "bg-info-soft text-info",
  neutral: "bg-sunken text-muted",
};
// Status has a shape besides its colour.
const toneShape: Record<Tone, string> = { good: "●", warn: "▲", bad: "■", info: "◆", neutral: "○" };

/** State as shape, colour and word. */
export function StateMark(p: { tone: Tone; children?: ReactNode; title?: string }) {
  return (
    <span className={cx("inline-flex items-center gap-1.5 whitespace-nowrap", toneText[p.tone])} title={p.title}>
      <span aria-hidden className="text-2xs">
        {toneShape[p.tone]}
      </span>
      {p.children}
    </span>
  );
}

export function Chip(p: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span className={cx("inline-flex h-[18px] items-center rounded-sm px-1.5 text-2xs whitespace-nowrap", toneChip[p.tone ?? "neutral"])} title={p.title}>
      {p.children}
    </span>
  );
}

/** The visible mark of whatever is simulated. */
export function Simulated() {
  const t = useT();
  return (
    <Chip tone="info" title={t("kit.simulated.title")}>
      {t("kit.simulated")}
    </Chip>
  );
}

export function Button(p: { children: ReactNode; onPress: () => void; primary?: boolean; disabled?: boolean; title?: string; label?: string; className?: string }) {
  return (
    <button
      type="button"
      disabled={p.disabled}
      onClick={p.onPress}
      title={p.title}
      aria-label={p.label}
      className={cx(
        "inline-flex h-7 items-center gap-1.5 rounded-md border px-2.5 text-xs whitespace-nowrap disabled:opacity-50",
        p.primary ? "border-accent bg-accent font-medium text-on-accent" : "border-line-strong bg-raised text-text hover:bg-hover",
        p.className,
      )}
    >
      {p.children}
    </button>
  );
}

/** One of a few choices, side by side. */
export function Segmented<C extends string>(p: { value: C; options: readonly { id: C; label: string; title?: string }[]; onChange: (id: C) => void; label: string }) {
  return (
    <div role="radiogroup" aria-label={p.label} className="inline-flex h-7 items-stretch overflow-hidden rounded-md border border-line-strong">
      {p.options.map((o) => (
        <button
          key={o.id}
          type="button"
          role="radio"
          aria-checked={o.id === p.value}
          title={o.title}
          onClick={() => p.onChange(o.id)}
          className={cx("border-l border-line px-2.5 text-xs first:border-l-0", o.id === p.value ? "bg-selected font-medium text-text" : "bg-raised text-muted hover:bg-hover")}
        >
          {o.label}
        </button>
      ))}
    </div>
  );
}

/** Keys of a shortcut: "g n" is a chord, "mod" is ⌘ or Ctrl. */
export function Keys(p: { keys: string }) {
  const mac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
  return (
    <span className="inline-flex gap-1">
      {p.keys.split(" ").map((k, i) => (
        <kbd key={i} className="rounded-sm border border-line-strong bg-sunken px-1.5 font-mono text-2xs text-muted">
          {k
            .split("+")
            .map((part) => (part === "mod" ? (mac ? "⌘" : "Ctrl") : part === "ArrowLeft" ? "←" : part === "ArrowRight" ? "→" : part === "Escape" ? "Esc" : part.length === 1 && k.includes("+") ? part.toUpperCase() : part))
            .join(" ")}
        </kbd>
      ))}
    </span>
  );
}

/** A page's filter box; the "/" key focuses it. */
export function FilterBox(p: { value: string; onChange: (v: string) => void; placeholder: PlainKey; width?: string }) {
  const t = useT();
  const words = t(p.placeholder);
  return (
    <input
      type="search"
      data-filter
      value={p.value}
      placeholder={words}
      aria-label={words}
      onChange={(e) => p.onChange(e.target.value)}
      onKeyDown={(e) => {
        if (e.key === "Escape") {
          if (p.value !== "") p.onChange("");
          else e.currentTarget.blur();
          e.stopPropagation();
        }
      }}
      className={cx("h-6 rounded-md border border-line-strong bg-sunken px-2 text-xs text-text placeholder:text-faint", p.width ?? "w-64")}
    />
  );
}
