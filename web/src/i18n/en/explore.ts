export const explore = {
  "explore.title": "Explore",
} as const;
