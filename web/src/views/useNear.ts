import { useEffect, useState, type RefObject } from "react";

/** Pixels beyond the window within which a chart is kept drawn. */
export const nearMargin = 500;

/** Whether an element is in the window or close to it. True where the browser cannot say. */
export function useNear(ref: RefObject<HTMLElement | null>): boolean {
  const [near, setNear] = useState(typeof IntersectionObserver !== "function");
  useEffect(() => {
    const el = ref.current;
    if (!el || typeof IntersectionObserver !== "function") return;
    const o = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? true), { rootMargin: `${nearMargin}px 0px` });
    o.observe(el);
    return () => o.disconnect();
  }, [ref]);
  return near;
}
