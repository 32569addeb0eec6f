// The answer behind the Now page and the head of the Model page: one question,
// one cache entry, so both show the same numbers.
import { fetchNow } from "@/api/sightline";
import type { NowAnswer, NowRow } from "@/api/types";
import { useMomentQuery, type Result } from "@/api/useApi";
import { rangeSeconds } from "@/state/time";
import { useTime } from "@/state/useUrl";

/** Points of a sparkline: half its width in pixels. */
export const sparkPoints = 60;

/** All rows at the end of the page's window; sparklines cover the window, a day at most. */
export function useNow(): Result<NowAnswer> & { window: number } {
  const { range } = useTime();
  const window = Math.min(86400, Math.max(300, Math.round(rangeSeconds(range))));
  const result = useMomentQuery(["now"], (at, signal) => fetchNow({ at: Math.floor(at), window, points: sparkPoints }, signal));
  return { ...result, window };
}

/** The row of one model; undefined while unknown. */
export function useNowRow(service: string, model: string): { row: NowRow | undefined; answered: boolean } {
  const { data } = useNow();
  return { row: data?.data.rows.find((r) => r.service === service && r.model === model), answered: data !== undefined };
}
