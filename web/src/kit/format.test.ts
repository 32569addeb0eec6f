import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ago, bytes, count, digits, duration, hertz, milliseconds, missing, percent, percentDigits, rate, si, withUnit } from "./format";

describe("missing", () => {
  it("is a dash and never a zero", () => {
    for (const f of [digits, si, count, duration, milliseconds, percent, percentDigits, bytes, rate, hertz])
      for (const v of [null, undefined, NaN, Infinity, -Infinity]) expect(f(v), f.name).toBe(missing);
    expect(ago(null, 100)).toBe(missing);
    expect(withUnit(undefined, "seconds")).toBe(missing);
  });

  it("differs from zero", () => {
    expect([digits(0), si(0), count(0), duration(0), milliseconds(0), percent(0), bytes(0), rate(0)]).toEqual(["0", "0", "0", "0 s", "0", "0 %", "0 B", "0/s"]);
  });
});

describe("numbers", () => {
  it.each<[number, string]>([
    [0.000_012_34, "0.0000123"],
    [0.0123, "0.0123"],
    [1, "1"],
    [1.2345, "1.23"],
    [12.345, "12.3"],
    [99.95, "100"],
    [123.45, "123"],
    [12_345, "12345"],
    [-1.5, "-1.5"],
  ])("digits %d", (v, want) => expect(digits(v)).toBe(want));

  it.each<[number, string]>([
    [999, "999"],
    [999.6, "1k"],
    [1000, "1k"],
    [12_345, "12.3k"],
    [999_600, "1M"],
    [4_500_000, "4.5M"],
    [2.5e9, "2.5G"],
    [-12_345, "-12.3k"],
  ])("si %d", (v, want) => expect(si(v)).toBe(want));

  it("groups counts with a thin space", () => {
    expect(count(1_234_567)).toBe("1 234 567");
    expect(count(999.6)).toBe("1 000");
  });

  it("never uses an exponent", () => {
    fc.assert(fc.property(fc.double({ min: 1e-9, max: 1e15, noNaN: true }), (v) => !/e/i.test(digits(v)) && !/e/.test(si(v))));
  });
});

describe("durations", () => {
  it.each<[number, string]>([
    [4e-8, "40 ns"],
    [0.000_85, "850 µs"],
    [0.012_34, "12.3 ms"],
    [0.9996, "1 s"],
    [1.234, "1.23 s"],
    [59.9, "59.9 s"],
    [99.96, "1m 40s"],
    [125, "2m 5s"],
    [3600, "1h"],
    [3660, "1h 1m"],
    [86400 * 4 + 7200, "4d 2h"],
    [-0.5, "-500 ms"],
  ])("%d s", (v, want) => expect(duration(v)).toBe(want));

  it("counts ago from zero", () => {
    expect(ago(100, 104.4)).toBe("4 s");
    expect(ago(200, 100)).toBe("0 s");
  });
});

describe("ratios", () => {
  it.each<[number, string]>([
    [0.5, "50"],
    [0.1234, "12.3"],
    [0.001_23, "0.12"],
    [0.000_001, "<0.001"],
    [1, "100"],
    [0.9999, "99.99"],
    [0.999_99, ">99.99"],
    [1.25, "125"],
  ])("%d", (v, want) => expect(percentDigits(v)).toBe(want));

  it("does not claim all or nothing for what is neither", () => {
    fc.assert(
      fc.property(fc.double({ min: Number.MIN_VALUE, max: 1, noNaN: true, maxExcluded: true }), (v) => {
        expect(percentDigits(v)).not.toBe("0");
        expect(percentDigits(v)).not.toBe("100");
      }),
    );
  });
});

describe("units of the catalogue", () => {
  it.each<[number, string, string]>([
    [0.0123, "seconds", "12.3 ms"],
    [13 * 2 ** 30, "bytes", "13 GiB"],
    [1023, "bytes", "1023 B"],
    [0.42, "ratio", "42 %"],
    [1234, "per_second", "1.23k/s"],
    [2 ** 20, "bytes_per_second", "1 MiB/s"],
    [1.41e9, "hertz", "1.41 GHz"],
    [999, "hertz", "999 Hz"],
    [61.4, "celsius", "61.4 °C"],
    [212.6, "watts", "213 W"],
    [7, "", "7"],
    [7, "frobs", "7"],
  ])("%d %s", (v, unit, want) => expect(withUnit(v, unit)).toBe(want));
});
