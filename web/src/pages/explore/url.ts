import { choiceParam, sortParam, textParam } from "@/state/url";

export const views = ["chart", "table"] as const;
export type View = (typeof views)[number];

export interface ExploreState {
  /** The committed expression. */
  q: string;
  view: View;
  sort: { by: string; descending: boolean };
}

export const exploreUrl = {
  q: textParam("q"),
  view: choiceParam("view", views, "chart"),
  sort: sortParam({ by: "value", descending: true }),
};
