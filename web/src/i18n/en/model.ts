export const model = {
  "model.title": "Model",
} as const;
