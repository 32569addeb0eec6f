import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exploreUrl } from "@/pages/explore/url";
import { statusUrl } from "@/pages/status/url";
import { formatScope, parseScope, scopeKeys, type Scope } from "./scope";
import { defaultRange, type TimeRange } from "./time";
import { choiceParam, formatShared, formatState, formatTimeRange, listParam, parseSearch, parseShared, parseState, parseTimeRange, sortParam, stringifySearch, textParam, type Search } from "./url";

const text = fc.string({ unit: "grapheme" });
const dictionary = fc.dictionary(
  text.filter((k) => k !== "" && k !== "__proto__" && k.isWellFormed()),
  text.filter((v) => v.isWellFormed()),
);
const ranges: fc.Arbitrary<TimeRange> = fc.oneof(
  fc.integer({ min: 1, max: 400 * 86400 }).map((seconds): TimeRange => ({ kind: "relative", seconds })),
  fc.tuple(fc.integer({ min: 1_000_000_000, max: 2_000_000_000 }), fc.integer({ min: 15, max: 1e7 })).map(([from, n]): TimeRange => ({ kind: "absolute", from, to: from + n })),
);
const scopes: fc.Arbitrary<Scope> = fc.dictionary(fc.constantFrom(...scopeKeys), text.filter((v) => v !== "" && v.isWellFormed())).map((d) => ({ ...d }));

describe("search text", () => {
  it("round-trips every map of strings", () => {
    fc.assert(fc.property(dictionary, (d) => void expect(parseSearch(stringifySearch(d))).toEqual({ ...d })));
  });

  it("never throws on any address", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (s) => {
        const search = parseSearch(s);
        parseShared(search);
        parseState(exploreUrl, search);
        parseState(statusUrl, search);
        return true;
      }),
    );
  });

  it("stays readable", () => {
    expect(stringifySearch({ q: 'sum by (service) (rate(x{a="b"}[5m]))', scope: "service:vision,model:a/b" })).toBe("?q=sum+by+(service)+(rate(x{a%3D%22b%22}%5B5m%5D))&scope=service:vision,model:a/b");
    expect(stringifySearch({})).toBe("");
  });

  it("takes the browser's own encodings", () => {
    expect(parseSearch("?q=a%20b+c&x&=y&bad=%E0%A4%A&__proto__=z")).toEqual({ q: "a b c", x: "", bad: "%E0%A4%A" });
  });
});

describe("time in the address", () => {
  it("round-trips every range", () => {
    fc.assert(
      fc.property(ranges, (r) => {
        const s = formatTimeRange(r);
        expect(parseTimeRange(s.from, s.to)).toEqual(r);
      }),
    );
  });

  it("leaves the default out", () => {
    expect(formatTimeRange(defaultRange)).toEqual({});
    expect(parseTimeRange(undefined, undefined)).toEqual(defaultRange);
  });

  it("keeps relative time relative", () => {
    expect(formatTimeRange({ kind: "relative", seconds: 2700 })).toEqual({ from: "45m" });
  });

  it.each<[string, string | undefined, TimeRange]>([
    ["now-6h", "now", { kind: "relative", seconds: 21_600 }],
    ["now-6h", undefined, { kind: "relative", seconds: 21_600 }],
    ["-30m", undefined, { kind: "relative", seconds: 1800 }],
    ["1772600000", "1772603600", { kind: "absolute", from: 1_772_600_000, to: 1_772_603_600 }],
    ["1772600000000", "1772603600000", { kind: "absolute", from: 1_772_600_000, to: 1_772_603_600 }],
    ["2026-03-04T10:00:00Z", "2026-03-04T11:00:00Z", { kind: "absolute", from: 1_772_618_400, to: 1_772_622_000 }],
  ])("still opens from=%s to=%s", (from, to, want) => {
    expect(parseTimeRange(from, to)).toEqual(want);
  });

  it.each([["junk", undefined], ["2026-03-04T11:00:00Z", "2026-03-04T10:00:00Z"], ["2026-03-04T11:00:00Z", "junk"], ["", "now"]])("falls back on from=%s to=%s", (from, to) => {
    expect(parseTimeRange(from, to)).toEqual(defaultRange);
  });
});

describe("scope in the address", () => {
  it("round-trips, whatever the names contain", () => {
    fc.assert(fc.property(scopes, (s) => void expect(parseScope(formatScope(s))).toEqual({ ...s })));
  });

  it("is left out when empty and ignores what it does not know", () => {
    expect(formatScope({})).toBeUndefined();
    expect(parseScope("service:vision,planet:mars,model:,:x,,instance:demo/vision-0")).toEqual({ service: "vision", instance: "demo/vision-0" });
  });
});

describe("shared state", () => {
  it("round-trips", () => {
    fc.assert(
      fc.property(ranges, scopes, fc.constantFrom("utc", "local", undefined), (range, scope, tz) => {
        const state = { range, scope: { ...scope }, ...(tz ? { tz } : {}) } as const;
        expect(parseShared(parseSearch(stringifySearch(formatShared(state))))).toEqual(state);
      }),
    );
  });
});

const codec = {
  q: textParam("q"),
  view: choiceParam("view", ["chart", "table"], "chart"),
  sel: listParam("sel"),
  sort: sortParam({ by: "name", descending: false }),
};

describe("page state", () => {
  it("round-trips and leaves defaults out", () => {
    const names = fc.stringMatching(/^[a-z_]{1,12}$/);
    fc.assert(
      fc.property(text.filter((s) => s.isWellFormed()), fc.constantFrom("chart" as const, "table" as const), fc.array(text.filter((s) => s !== "" && s.isWellFormed())), fc.record({ by: names, descending: fc.boolean() }), (q, view, sel, sort) => {
        const state = { q, view, sel, sort };
        const patch = formatState(codec, state);
        const search = Object.fromEntries(Object.entries(patch).filter((e): e is [string, string] => e[1] !== undefined));
        expect(parseState(codec, parseSearch(stringifySearch(search)))).toEqual(state);
        if (q === "") expect(search).not.toHaveProperty("q");
        if (view === "chart") expect(search).not.toHaveProperty("view");
      }),
    );
  });

  it("falls back on what it does not understand", () => {
    const search: Search = { view: "hologram", sort: "-" };
    expect(parseState(codec, search)).toEqual({ q: "", view: "chart", sel: [], sort: { by: "name", descending: false } });
  });
});

// Addresses that were handed out once must still open.
describe("links of earlier days", () => {
  it.each<[string, string, object]>([
    ["explore", "?q=model:requests:rate&view=table&from=6h", { q: "model:requests:rate", view: "table" }],
    ["explore", "?q=sum+by+(service)+(up)&sort=-value", { q: "sum by (service) (up)", sort: { by: "value", descending: true } }],
    ["status", "?q=triton&sel=t4&sort=-series&view=config", { q: "triton", sel: "t4", view: "config", sort: { by: "series", descending: true } }],
  ])("%s %s", (page, address, want) => {
    expect(page === "explore" ? parseState(exploreUrl, parseSearch(address)) : parseState(statusUrl, parseSearch(address))).toMatchObject(want);
  });
});
