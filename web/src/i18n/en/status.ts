export const status = {
  "status.title": "Status",
} as const;
