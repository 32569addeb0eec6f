export const shell = {
  "shell.nav": "Pages",
  "shell.missing": "There is no page at this address.",
} as const;
