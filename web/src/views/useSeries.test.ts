import { describe, expect, it } from "vitest";
import { asked } from "./fixtures";
import { onGrid, tailFrom, tailSteps, wholeEvery } from "./useSeries";

const kept = (start: number, end: number, whole: number) => ({ data: { ...asked([]).answer!, start, end, step_seconds: 5 }, whole });

describe("windows on the grid", () => {
  it("start and end on whole steps", () => {
    expect(onGrid({ from: 1003, to: 2004, step: 15 })).toEqual({ from: 990, to: 1995, step: 15 });
  });
});

describe("tail", () => {
  const w = { from: 1000, to: 1300, step: 5 };
  it("is the newest steps, read again because they are still being written", () => {
    expect(tailFrom(kept(990, 1290, 1290), w, 1300)).toBe(1290 - tailSteps * 5);
  });
  it("is the whole window when nothing fitting is kept, or too long ago", () => {
    expect(tailFrom(undefined, w, 1300)).toBeNull();
    expect(tailFrom(kept(1200, 1290, 1290), w, 1300)).toBeNull();
    expect(tailFrom(kept(100, 900, 1290), w, 1300)).toBeNull();
    expect(tailFrom(kept(990, 1290, 1300 - wholeEvery - 1), w, 1300)).toBeNull();
  });
});
