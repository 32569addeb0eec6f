import type { model as en } from "../en/model";

export const model: Record<keyof typeof en, string> = {
  "model.title": "模型",
};
