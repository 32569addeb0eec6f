import type { views as en } from "../en/views";

export const views: Record<keyof typeof en, string> = {
  "views.title": "图表",
};
