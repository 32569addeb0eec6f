import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { liveState, noteAnswer, serverNow, setPaused, tick } from "./live";

const base = Date.UTC(2026, 2, 4, 10, 0, 0);

beforeEach(() => {
  vi.useFakeTimers({ now: base });
});
afterEach(() => {
  setPaused(false);
  vi.useRealTimers();
});

describe("the shared clock", () => {
  it("rests while paused and catches up after", () => {
    tick();
    expect(liveState().now).toBe(base / 1000);
    setPaused(true);
    vi.advanceTimersByTime(10_000);
    expect(tick()).toBe(false);
    expect(liveState().now).toBe(base / 1000);
    setPaused(false);
    expect(liveState().now).toBe(base / 1000 + 10);
  });

  it("follows the server's clock", () => {
    noteAnswer(new Date(base + 90_000).toUTCString(), base, base);
    expect(liveState().skew).toBeCloseTo(90.5, 1);
    expect(serverNow()).toBeCloseTo(base / 1000 + 90.5, 1);
  });

  it("takes less than two seconds for the header's rounding", () => {
    noteAnswer(new Date(base).toUTCString(), base, base + 200);
    expect(serverNow()).toBe(base / 1000);
  });

  it("keeps what it knew when an answer has no date", () => {
    noteAnswer(new Date(base + 60_000).toUTCString(), base, base);
    const skew = liveState().skew;
    noteAnswer(null, base, base + 5);
    noteAnswer("not a date", base, base + 5);
    expect(liveState().skew).toBe(skew);
    expect(liveState().lastAnswer).toBe((base + 5) / 1000);
    noteAnswer(new Date(base).toUTCString(), base, base);
  });
});
