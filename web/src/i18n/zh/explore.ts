import type { explore as en } from "../en/explore";

export const explore: Record<keyof typeof en, string> = {
  "explore.title": "探索",
};
