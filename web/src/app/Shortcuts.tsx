import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { copyText } from "@/kit/CopyButton";
import { liveState, serverNow, setPaused } from "@/state/live";
import { Matcher, runAction, takesText } from "@/state/shortcuts";
import { defaultRange, isoUTC, parseRange, resolveRange, shift, zoomIn, zoomOut } from "@/state/time";
import { useAction } from "@/state/useAction";
import { frozenAddress, useCarriedSearch, useRawSearch, useTime } from "@/state/useUrl";
import { pages } from "./pages";

/** The one key handler, and the effects that exist on every page. */
export function Shortcuts(p: { openPalette: () => void; openHelp: () => void }) {
  const navigate = useNavigate();
  const search = useRawSearch();
  const carried = useCarriedSearch();
  const { range, setRange, zone } = useTime();

  useEffect(() => {
    const matcher = new Matcher();
    const onKey = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.isComposing) return;
      const mod = e.ctrlKey || e.metaKey;
      // a key in a text box, or on a control that has its own meaning for it, is not ours
      if (!mod && (takesText(e.target) || document.querySelector("[role=dialog]"))) return;
      if (e.key === "Enter" && e.target instanceof Element && e.target.closest("button, a, [role=menuitem], [role=option]")) return;
      const hit = matcher.next(e, e.timeStamp);
      if (hit === null) return;
      if (hit === "chord" || runAction(hit)) e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  const go = (id: string) => {
    const page = pages.find((x) => x.id === id);
    if (page) void navigate({ to: page.path, search: carried } as never);
  };
  useAction("palette", p.openPalette);
  useAction("help", p.openHelp);
  useAction("filter", () => document.querySelector<HTMLElement>("[data-filter]")?.focus());
  useAction("go.now", () => go("now"));
  useAction("go.hardware", () => go("hardware"));
  useAction("go.explore", () => go("explore"));
  useAction("go.status", () => go("status"));
  useAction("time.out", () => setRange(zoomOut(range, serverNow())));
  useAction("time.in", () => setRange(zoomIn(range, serverNow())));
  useAction("time.back", () => setRange(shift(range, serverNow(), -1)));
  useAction("time.forward", () => setRange(shift(range, serverNow(), 1)));
  useAction("time.absolute", () => {
    const w = resolveRange(range, liveState().now);
    setRange({ kind: "absolute", from: w.from, to: w.to });
  });
  useAction("time.copy", () => {
    const w = resolveRange(range, liveState().now);
    void copyText(`${isoUTC(w.from)} to ${isoUTC(w.to)}`);
  });
  useAction("time.paste", () => {
    void navigator.clipboard?.readText().then(
      (text) => {
        const read = parseRange(text, { now: serverNow(), zone });
        if (read) setRange(read);
      },
      () => undefined, // the browser refused: nothing to paste
    );
  });
  useAction("time.live", () => (range.kind === "absolute" ? setRange(defaultRange) : setPaused(!liveState().paused)));
  useAction("copyLink", () => void copyText(frozenAddress(location.href, search, zone)));
  return null;
}
