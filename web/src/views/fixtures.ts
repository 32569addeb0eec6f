// Answers for tests: a small grid with two instances on two cards.
import type { Answer, Asked } from "./lines";
import type { Group } from "./chart";

export const xs = [1000, 1005, 1010, 1015];

type Signal = Answer["signals"][number];

export function signal(name: string, series: [Record<string, string>, (number | null)[]][], more: Partial<Signal> = {}): Signal {
  return { signal: name, level: name.split(":")[0] ?? "", unit: "seconds", source: "server", method: "counter", series: series.map(([labels, values]) => ({ labels, values })), ...more };
}

export function absent(name: string, code: string, remedy?: string): Signal {
  return { signal: name, unit: "", series: [], absent: { code, text: `text of ${code}`, ...(remedy ? { remedy } : {}) } };
}

export function asked(signals: Signal[], by?: Group, more: Partial<Answer> = {}): Asked {
  return { by, answer: { start: 1000, end: 1015, step_seconds: 5, signals, gaps: [], ...more } };
}

export const one = { service: "vision", model: "resnet_mini" };
