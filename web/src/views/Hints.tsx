// Explanations on hover and on keyboard focus alike: any element below that has
// data-hint shows it in one shared box. Escape puts it away.
import { useCallback, useEffect, useRef, type FocusEvent, type PointerEvent, type ReactNode } from "react";

/** Where a box of this size goes for an anchor: below it, above where there is no room, never outside. */
export function placeHint(anchor: { left: number; right: number; top: number; bottom: number }, box: { width: number; height: number }, view: { width: number; height: number }): { left: number; top: number } {
  const below = anchor.bottom + 4;
  const top = below + box.height <= view.height - 4 ? below : Math.max(4, anchor.top - 4 - box.height);
  const left = Math.min(Math.max(4, anchor.right - box.width), Math.max(4, view.width - 4 - box.width));
  return { left, top };
}

export function Hints({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const shown = useRef<Element | null>(null);

  const show = useCallback((target: EventTarget | null) => {
    const el = target instanceof Element ? target.closest("[data-hint]") : null;
    const text = el?.getAttribute("data-hint") ?? "";
    const b = box.current;
    if (!b || el === shown.current) return;
    shown.current = el;
    b.hidden = el === null || text === "";
    if (b.hidden || !el) return;
    b.textContent = text;
    const at = placeHint(el.getBoundingClientRect(), { width: b.offsetWidth, height: b.offsetHeight }, { width: innerWidth, height: innerHeight });
    b.style.left = `${at.left}px`;
    b.style.top = `${at.top}px`;
  }, []);
  const hide = useCallback(() => show(null), [show]);

  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key === "Escape") hide();
    };
    addEventListener("keydown", onKey);
    addEventListener("scroll", hide, true);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener("scroll", hide, true);
    };
  }, [hide]);

  return (
    <div
      className="contents"
      onPointerOver={(e: PointerEvent) => show(e.target)}
      onPointerLeave={hide}
      onFocus={(e: FocusEvent) => {
        // a click focuses too; its hint is already there from the pointer
        if (e.target.matches(":focus-visible")) show(e.target);
      }}
      onBlur={hide}
    >
      {children}
      {/* readers by ear have the same words in the element's label */}
      <div ref={box} hidden aria-hidden data-hint-box className="pointer-events-none fixed z-40 max-w-96 rounded-md border border-line-strong bg-raised px-2 py-1 text-xs whitespace-pre-line shadow-pop" />
    </div>
  );
}
