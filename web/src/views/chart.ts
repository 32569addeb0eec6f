// What a chart is: a record that names canonical signals only, read by the
// page, the address codec and the tests. Words live in the catalogue under
// views.chart.<id> and views.line.<id>.
import type { SplitBy } from "@/api/types";

export type Group = SplitBy;
export const groups: readonly Group[] = ["version", "instance", "node", "gpu"];

/** One line (or one family of lines) of a chart. */
export interface Line {
  /** Canonical signal, as the series endpoint names it. */
  readonly signal: string;
  /** Short id of the line: names it in legends (catalogue `views.line.<id>`) and in `pick`. */
  readonly id: string;
  /** Fixed colour slot of the theme's series colours; without it the colour comes from the entity. */
  readonly slot?: number;
  /** A limit or a configured value: drawn dashed, not filled, never the reason for an empty chart. */
  readonly limit?: boolean;
  /** Values hold until the next one: drawn as steps. */
  readonly stepped?: boolean;
}

export interface Chart {
  readonly id: string;
  readonly section: string;
  readonly kind: "lines" | "stack" | "phases" | "outcome";
  readonly lines: readonly Line[];
  /** The line shown when the chart is split and has several; the first one unless said. */
  readonly pick?: string;
  /** The label that names the lines where one signal has several series by nature (kind, cache, gpu). */
  readonly label?: string;
  /** Series of one name are added up: rates over the kinds of one version. */
  readonly sum?: boolean;
  /** Always split this way, whatever the page's split is. */
  readonly by?: Group;
  /** Shown only where one of its signals is present: an engine that has no tokens needs no empty token chart. */
  readonly optional?: boolean;
  /** Height of the plot in pixels; 120 unless said. */
  readonly height?: number;
}

/** One request to the series endpoint. */
export interface Ask {
  readonly signals: readonly string[];
  readonly by?: Group;
}
