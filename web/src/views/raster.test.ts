import { describe, expect, it } from "vitest";
import { packed, rasterise, type RasterLine } from "./raster";

function draw(width: number, height: number, columns: number[], lines: RasterLine[], min = 0, max = height - 1): string[] {
  const pixels = new Uint32Array(width * height);
  rasterise(pixels, { width, height, columns, min, max }, lines);
  return Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, x) => (pixels[y * width + x] ? String(pixels[y * width + x]) : ".")).join(""));
}

describe("rasterise", () => {
  it("joins neighbours by vertical runs", () => {
    expect(draw(3, 4, [0, 1, 2], [{ values: [0, 3, 1], colour: 1 }])).toEqual([".11", ".11", ".11", "11."]);
  });
  it("slopes between distant points", () => {
    expect(draw(4, 4, [0, 3], [{ values: [0, 3], colour: 1 }])).toEqual(["...1", "..11", ".11.", "11.."]);
  });
  it("holds the value of a step until the next", () => {
    expect(draw(4, 3, [0, 3], [{ values: [0, 2], colour: 1, stepped: true }])).toEqual(["...1", "...1", "1111"]);
  });
  it("leaves gaps open and still shows a lone point", () => {
    expect(draw(9, 1, [0, 1, 4, 7, 8], [{ values: [null, null, 1, null, null], colour: 1 }], 0, 2)).toEqual(["...111..."]);
    expect(draw(9, 1, [0, 2, 4, 6, 8], [{ values: [1, 1, null, 1, 1], colour: 1 }], 0, 2)).toEqual(["111...111"]);
  });
  it("cuts off what is outside and survives an empty range", () => {
    expect(draw(2, 2, [0, 1], [{ values: [-50, 900], colour: 1 }])).toEqual([".1", ".1"]);
    expect(draw(2, 2, [-5, 40], [{ values: [0, 1], colour: 1 }])).toHaveLength(2);
    expect(draw(2, 2, [0, 1], [{ values: [0, 1], colour: 1 }], 3, 3)).toEqual(["..", ".."]);
  });
  it("draws later lines over earlier ones", () => {
    expect(draw(2, 1, [0, 1], [{ values: [1, 1], colour: 1 }, { values: [1, null], colour: 2 }], 0, 2)).toEqual(["22"]);
  });
});

describe("packed", () => {
  it("is in the order of canvas memory", () => {
    expect(packed("#112233").toString(16)).toBe("ff332211");
    expect(packed("#112233", 0.5).toString(16)).toBe("80332211");
    expect(packed("red").toString(16)).toBe("ff000000");
  });
});
