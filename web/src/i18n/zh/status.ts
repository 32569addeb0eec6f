import type { status as en } from "../en/status";

export const status: Record<keyof typeof en, string> = {
  "status.title": "状态",
};
