import type { shell as en } from "../en/shell";

export const shell: Record<keyof typeof en, string> = {
  "shell.nav": "页面",
  "shell.missing": "此地址没有页面。",
};
