import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { tick, useLive } from "@/state/live";
import { refreshSeconds, rangeSeconds } from "@/state/time";
import { useTime } from "@/state/useUrl";

/** Moves the shared clock and asks live queries again; rests while paused, while the tab is hidden and on absolute ranges. */
export function Ticker() {
  const client = useQueryClient();
  const { range } = useTime();
  const { paused } = useLive();
  const every = range.kind === "relative" && !paused ? refreshSeconds(rangeSeconds(range)) : 0;
  useEffect(() => {
    if (every === 0) return;
    const beat = () => {
      if (document.hidden || !tick()) return;
      void client.invalidateQueries({ predicate: (q) => q.meta?.live === true }, { cancelRefetch: false });
    };
    const shown = () => {
      if (!document.hidden) beat();
    };
    const id = setInterval(beat, every * 1000);
    document.addEventListener("visibilitychange", shown);
    return () => {
      clearInterval(id);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [client, every]);
  return null;
}
