import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { absoluteRange, dateTimeText, durationText, isoUTC, parseDuration, parseInstant, parseRange, presets, rangeSeconds, rangeText, refreshSeconds, resolveRange, sameRange, shift, stepFor, zoneName, zoomIn, zoomOut, type TimeRange } from "./time";

// 2026-03-04 (a Wednesday) 10:30:00 UTC, 18:30 in Shanghai
const now = Date.UTC(2026, 2, 4, 10, 30) / 1000;
const utc = { now, zone: "utc" as const };
const local = { now, zone: "local" as const };
const at = (...p: Parameters<typeof Date.UTC>) => Date.UTC(...p) / 1000;

describe("durations", () => {
  it("reads what people type", () => {
    expect(parseDuration("90m")).toBe(5400);
    expect(parseDuration("1h30m")).toBe(5400);
    expect(parseDuration("1.5h")).toBe(5400);
    expect(parseDuration("2D")).toBe(172_800);
    expect(parseDuration("1w")).toBe(604_800);
    for (const bad of ["", "m", "90", "90 x", "-5m", "0m", "1h30", "99999y", "1e3s"]) expect(parseDuration(bad), bad).toBeNull();
  });

  it("reads back what it writes", () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 300 * 86400 }), (s) => parseDuration(durationText(s)) === s));
  });
});

describe("instants", () => {
  it.each([
    ["now", utc, now],
    ["now-2h", utc, now - 7200],
    ["-15m", utc, now - 900],
    ["2 h ago", utc, now - 7200],
    ["14:00", utc, at(2026, 2, 3, 14)], // not come yet today
    ["09:15", utc, at(2026, 2, 4, 9, 15)],
    ["today", utc, at(2026, 2, 4)],
    ["yesterday", utc, at(2026, 2, 3)],
    ["yesterday 14:00", utc, at(2026, 2, 3, 14)],
    ["Yesterday 14:00:30", utc, at(2026, 2, 3, 14, 0, 30)],
    ["monday 9:30", utc, at(2026, 2, 2, 9, 30)],
    ["昨天 14:00", utc, at(2026, 2, 3, 14)],
    ["yesterday 14:00", local, at(2026, 2, 3, 6)], // Shanghai is eight hours ahead
    ["14:00", local, at(2026, 2, 4, 6)],
    ["2026-03-01", utc, at(2026, 2, 1)],
    ["2026-03-01 09:00", utc, at(2026, 2, 1, 9)],
    ["2026-03-01T09:00:05", utc, at(2026, 2, 1, 9, 0, 5)],
    ["2026-03-01T09:00:00Z", local, at(2026, 2, 1, 9)],
    ["2026-03-01T09:00:00+02:00", local, at(2026, 2, 1, 7)],
    ["2026-03-01T09:00:00-0530", utc, at(2026, 2, 1, 14, 30)],
    ["2026-03-01 09:00", local, at(2026, 2, 1, 1)],
    ["1772600000", utc, 1_772_600_000],
    ["1772600000000", utc, 1_772_600_000],
  ])("%s", (text, clock, want) => {
    expect(parseInstant(text, clock)).toBe(want);
  });

  it.each(["", "soon", "25:00", "12:60", "yesterday 24:00", "2026-13-01", "2026-02-00", "12", "now-", "tomorrowish 10:00", "2026-03-01T09:00:00+"])("refuses %j", (text) => {
    expect(parseInstant(text, utc)).toBeNull();
  });

  it("never throws", () => {
    fc.assert(fc.property(fc.string(), (s) => (parseInstant(s, utc), parseRange(s, local), parseDuration(s), true)));
  });
});

describe("typed ranges", () => {
  it.each<[string, TimeRange]>([
    ["90m", { kind: "relative", seconds: 5400 }],
    ["last 90m", { kind: "relative", seconds: 5400 }],
    ["yesterday 14:00", { kind: "absolute", from: at(2026, 2, 3, 14), to: now }],
    ["yesterday 14:00 to 15:00", { kind: "absolute", from: at(2026, 2, 3, 14), to: at(2026, 2, 3, 15) }],
    ["昨天 14:00 到 15:00", { kind: "absolute", from: at(2026, 2, 3, 14), to: at(2026, 2, 3, 15) }],
    ["2026-03-01 09:00 – 2026-03-01 10:00", { kind: "absolute", from: at(2026, 2, 1, 9), to: at(2026, 2, 1, 10) }],
    ["2026-03-01..2026-03-02", { kind: "absolute", from: at(2026, 2, 1), to: at(2026, 2, 2) }],
    ["1772600000 to 1772603600", { kind: "absolute", from: 1_772_600_000, to: 1_772_603_600 }],
    ["2h ago to 1h ago", { kind: "absolute", from: now - 7200, to: now - 3600 }],
  ])("%s", (text, want) => {
    expect(parseRange(text, utc)).toEqual(want);
  });

  it.each(["", "nonsense", "15:00 to 14:00 yesterday", "2026-03-02 to 2026-03-01", "2030-01-01"])("refuses %j", (text) => {
    expect(parseRange(text, utc)).toBeNull();
  });

  it("reads the text of a copied range back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_600_000_000, max: 1_772_000_000 }), fc.integer({ min: 15, max: 86_400 * 30 }), (from, length) => {
        expect(parseRange(`${isoUTC(from)} to ${isoUTC(from + length)}`, local)).toEqual({ kind: "absolute", from, to: from + length });
      }),
    );
  });
});

describe("ranges", () => {
  it("moves with the clock only when relative", () => {
    expect(resolveRange({ kind: "relative", seconds: 3600 }, now)).toEqual({ from: now - 3600, to: now, step: 15 });
    const fixed: TimeRange = { kind: "absolute", from: 1000, to: 4600 };
    expect(resolveRange(fixed, now)).toEqual(resolveRange(fixed, now + 999));
  });

  it("keeps points under the limit with a round step", () => {
    expect(presets.map((p) => stepFor(p))).toEqual([5, 5, 10, 15, 60, 120, 300, 300, 600, 3600, 7200]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 * 86400 }), (s) => {
        expect(s / stepFor(s)).toBeLessThanOrEqual(300);
        expect(stepFor(s) % 5).toBe(0);
      }),
    );
  });

  it("refreshes no faster than data can come", () => {
    expect([300, 3600, 6 * 3600, 86400, 7 * 86400].map(refreshSeconds)).toEqual([5, 5, 15, 30, 60]);
  });

  it("zooms about the middle and never past now", () => {
    expect(zoomOut({ kind: "relative", seconds: 3600 }, now)).toEqual({ kind: "relative", seconds: 7200 });
    expect(zoomOut({ kind: "absolute", from: now - 7200, to: now - 3600 }, now)).toEqual({ kind: "absolute", from: now - 9000 + 1800 - 1800, to: now - 1800 });
    const atNow = zoomOut({ kind: "absolute", from: now - 3600, to: now }, now);
    expect(atNow).toEqual({ kind: "absolute", from: now - 7200, to: now });
    expect(zoomIn({ kind: "absolute", from: 0, to: 3600 }, now)).toEqual({ kind: "absolute", from: 900, to: 2700 });
    expect(rangeSeconds(zoomIn({ kind: "relative", seconds: 20 }, now))).toBe(15);
  });

  it("shifts by half a length", () => {
    expect(shift({ kind: "relative", seconds: 3600 }, now, -1)).toEqual({ kind: "absolute", from: now - 5400, to: now - 1800 });
    expect(shift({ kind: "absolute", from: now - 3600, to: now }, now, 1)).toEqual({ kind: "absolute", from: now - 3600, to: now });
  });

  it("orders and widens what a brush gives", () => {
    expect(absoluteRange(200, 100)).toEqual({ kind: "absolute", from: 100, to: 200 });
    expect(absoluteRange(100, 101)).toEqual({ kind: "absolute", from: 100, to: 115 });
    expect(sameRange(absoluteRange(1, 100), { kind: "relative", seconds: 99 })).toBe(false);
  });
});

describe("words", () => {
  it("has a 24-hour clock in the zone shown", () => {
    expect(dateTimeText(at(2026, 2, 4, 22, 5, 9), "utc")).toBe("2026-03-04 22:05:09");
    expect(dateTimeText(at(2026, 2, 4, 22, 5, 9), "local")).toBe("2026-03-05 06:05:09");
    expect(zoneName("utc", now)).toBe("UTC");
    expect(zoneName("local", now)).toBe("UTC+8");
  });

  it("leaves out what the two ends share", () => {
    expect(rangeText(at(2026, 2, 4, 9), at(2026, 2, 4, 10, 30), "utc")).toBe("2026-03-04 09:00 – 10:30");
    expect(rangeText(at(2026, 2, 4, 9), at(2026, 2, 5, 10, 30, 1), "utc")).toBe("2026-03-04 09:00 – 2026-03-05 10:30:01");
  });
});
