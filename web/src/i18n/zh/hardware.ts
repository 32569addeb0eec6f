import type { hardware as en } from "../en/hardware";

export const hardware: Record<keyof typeof en, string> = {
  "hardware.title": "硬件",
};
