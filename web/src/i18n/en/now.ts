export const now = {
  "now.title": "Now",
} as const;
