// Labels of the time axis: 24-hour clock, the date where a day begins.
import { dateParts, type Zone } from "@/state/time";

/** Label of a tick `incr` seconds from its neighbour; the first tick of an axis of days says its year. */
export function timeTick(at: number, incr: number, zone: Zone, first: boolean): string {
  const { date, time } = dateParts(at, zone);
  const midnight = time === "00:00:00";
  if (incr >= 86400 || midnight) return first && incr >= 86400 ? date : date.slice(5);
  return incr < 60 ? time : time.slice(0, 5);
}
