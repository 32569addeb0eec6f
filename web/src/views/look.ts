// What a canvas needs of the theme: tokens read once per theme and handed to
// every chart, so that a switch is one read and one redraw each.
import { inkOn } from "./contrast";
import { seriesColours, subscribeTheme, token } from "@/theme/theme";

export interface Look {
  readonly series: readonly string[];
  readonly heat: readonly string[];
  readonly grid: string;
  readonly axis: string;
  readonly cursor: string;
  readonly gap: string;
  readonly line: string;
  readonly surface: string;
  readonly text: string;
  readonly font: string;
}

/** Background and text of a heat level; null is "no data", which is not cold. */
export function heatStyle(level: number | null): { background: string; color: string } {
  const ground = level === null ? undefined : look().heat[level];
  if (ground === undefined) return { background: "var(--sunken)", color: "var(--faint)" };
  return { background: ground, color: inkOn(ground, [look().text, look().surface]) };
}

/** Levels of the heat scale: --heat-0 … --heat-6. */
export const heatLevels = 7;

let current: Look | null = null;

function read(): Look {
  const series: string[] = [];
  for (let i = 1; i <= seriesColours; i++) series.push(token(`--series-${i}`));
  const heat: string[] = [];
  for (let i = 0; i < heatLevels; i++) heat.push(token(`--heat-${i}`));
  return {
    series,
    heat,
    grid: token("--grid"),
    axis: token("--axis"),
    cursor: token("--cursor"),
    gap: token("--gap"),
    line: token("--line"),
    surface: token("--raised"),
    text: token("--text"),
    font: getComputedStyle(document.body).fontFamily || "sans-serif",
  };
}

subscribeTheme(() => {
  current = null;
});

/** The look of the theme on screen. */
export function look(): Look {
  current ??= read();
  return current;
}

/** Colour of a 1-based series slot. */
export function slotColour(slot: number): string {
  return look().series[(slot - 1) % seriesColours] ?? look().text;
}

/** The same as a CSS value, for elements: follows the theme by itself. */
export function slotVar(slot: number): string {
  return `var(--series-${((slot - 1) % seriesColours) + 1})`;
}
