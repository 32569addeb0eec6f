import type { now as en } from "../en/now";

export const now: Record<keyof typeof en, string> = {
  "now.title": "当前",
};
