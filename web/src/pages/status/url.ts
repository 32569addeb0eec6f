import { choiceParam, sortParam, textParam } from "@/state/url";

export const views = ["overview", "config"] as const;
export type View = (typeof views)[number];

export interface StatusState {
  q: string;
  view: View;
  sel: string;
  sort: { by: string; descending: boolean };
}

export const statusUrl = {
  q: textParam("q"),
  view: choiceParam("view", views, "overview"),
  sel: textParam("sel"),
  sort: sortParam({ by: "health", descending: false }),
};
