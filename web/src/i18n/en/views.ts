export const views = {
  "views.title": "Chart",
} as const;
