import type { ReactNode } from "react";

/** Gives a QueryView the height of the page, for content with a scroller of its own. */
export function Fill({ children }: { children: ReactNode }) {
  return <div className="h-full [&>[aria-busy]]:flex [&>[aria-busy]]:h-full [&>[aria-busy]]:flex-col">{children}</div>;
}
