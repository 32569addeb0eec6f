import { describe, expect, it } from "vitest";
import { asksForWords } from "./complete";
import { errorPlace, groupSignals, historyLimit, labelColumns, parseHistory, remember, toGrid, toRows, unitOfExpr } from "./result";

describe("range answers", () => {
  it("go on the grid of the question; a missing step is null", () => {
    const g = toGrid([{ metric: { a: "1" }, values: [[100, "1"], [110, "3"]] }], 100, 115, 5);
    expect(g.xs).toEqual([100, 105, 110, 115]);
    expect(g.lines[0]?.values).toEqual([1, null, 3, null]);
    expect(g.points).toBe(2);
  });

  it("take NaN and infinities for missing", () => {
    expect(toGrid([{ metric: {}, values: [[0, "NaN"], [5, "+Inf"], [10, "0"]] }], 0, 10, 5).lines[0]?.values).toEqual([null, null, 0]);
  });

  it("say what is not drawn", () => {
    const many = Array.from({ length: 5 }, (_, i) => ({ metric: { i: String(i) }, values: [[0, "1"]] as [number, string][] }));
    expect(toGrid(many, 0, 5, 5, 3)).toMatchObject({ hidden: 2 });
    expect(toGrid([{ metric: {}, histograms: [[0, { count: "1", sum: "2" }]] }], 0, 5, 5)).toMatchObject({ histograms: 1, lines: [] });
  });
});

describe("instant answers", () => {
  it("become rows of any kind", () => {
    expect(toRows({ resultType: "scalar", result: [1, "4.5"] })).toMatchObject([{ value: 4.5, text: "4.5" }]);
    expect(toRows({ resultType: "string", result: [1, "hi"] })).toMatchObject([{ value: null, text: "hi" }]);
    expect(toRows({ resultType: "vector", result: [{ metric: { a: "b" }, value: [1, "NaN"] }] })).toMatchObject([{ value: null, text: "NaN" }]);
    expect(toRows({ resultType: "vector", result: [{ metric: {}, histogram: [1, { count: "3", sum: "9" }] }] })).toMatchObject([{ value: null, text: "count 3, sum 9" }]);
    expect(toRows({ resultType: "matrix", result: [{ metric: {}, values: [[1, "1"], [2, "7"]] }] })).toMatchObject([{ value: 7 }]);
  });

  it("put the labels that differ first", () => {
    const rows = toRows({ resultType: "vector", result: [{ metric: { __name__: "x", a: "same", b: "1" }, value: [0, "1"] }, { metric: { __name__: "x", a: "same", b: "2" }, value: [0, "1"] }] });
    expect(labelColumns(rows)).toEqual(["__name__", "b", "a"]);
  });
});

describe("errors of the server", () => {
  it("are marked where it says", () => {
    expect(errorPlace('invalid parameter "query": 1:5: parse error: unexpected identifier "foo"', "sum foo")).toEqual({ from: 4, to: 7, message: 'unexpected identifier "foo"' });
  });

  it("at the end mark the last letter", () => {
    expect(errorPlace("1:5: parse error: unclosed left parenthesis", "sum(")).toMatchObject({ from: 3, to: 4 });
  });

  it("count lines from one", () => {
    expect(errorPlace("2:1: parse error: unexpected x", "sum(\nfoo")).toMatchObject({ from: 5, to: 8 });
  });

  it("without a place mark nothing", () => {
    expect(errorPlace("query timed out", "up")).toBeNull();
    expect(errorPlace("9:9: parse error: x", "up")).toBeNull();
    expect(errorPlace("unknown position: parse error: no expression found in input", "")).toBeNull();
  });
});

describe("units", () => {
  it.each([
    ["model:request_latency_seconds:p99", "seconds"],
    ['model:requests:rate{service="vision"}', "per_second"],
    ["sum by (instance) (model:requests:rate)", "per_second"],
    ["sum(model:requests:rate) by (instance)", "per_second"],
    ["topk(5, gpu:busy:ratio)", "ratio"],
    ["gpu:memory_used_bytes:last", "bytes"],
    ["histogram_quantile(0.99, sum by (le) (rate(x_seconds_bucket[5m])))", "seconds"],
    ["count(model:request_latency_seconds:p99)", ""],
    ["gpu:busy:ratio * 100", ""],
    ["rate(x_bytes[5m])", ""],
    ["", ""],
  ])("%s", (expr, unit) => expect(unitOfExpr(expr)).toBe(unit));
});

describe("history", () => {
  it("keeps the newest once", () => {
    expect(remember(["b", "a"], " a ")).toEqual(["a", "b"]);
    expect(remember(["a"], "  ")).toEqual(["a"]);
    expect(remember(Array.from({ length: 50 }, (_, i) => String(i)), "new")).toHaveLength(historyLimit);
  });

  it("survives whatever is stored", () => {
    for (const bad of [null, "", "{", "7", '{"a":1}', "[1,null]"]) expect(parseHistory(bad)).toEqual([]);
    expect(parseHistory('["up",3,"down"]')).toEqual(["up", "down"]);
  });
});

describe("signals to start from", () => {
  it("are listed once for service, model and instance", () => {
    const list = ["service:x:rate", "model:x:rate", "instance:x:rate", "instance:y:last", "node:z:mean"].map((signal) => ({ signal, meaning: "" }));
    expect(groupSignals(list).map((g) => g.name)).toEqual(["model:x", "instance:y", "node:z"]);
  });

  it("are grouped by their name", () => {
    expect(groupSignals([{ signal: "model:x_seconds:p50", meaning: "m" }, { signal: "model:x_seconds:p99", meaning: "m" }, { signal: "gpu:busy:ratio", meaning: "b" }])).toEqual([
      { name: "model:x_seconds", meaning: "m", operations: [{ operation: "p50", signal: "model:x_seconds:p50" }, { operation: "p99", signal: "model:x_seconds:p99" }] },
      { name: "gpu:busy", meaning: "b", operations: [{ operation: "ratio", signal: "gpu:busy:ratio" }] },
    ]);
  });
});

describe("completion", () => {
  it("is offered while a word is written or waited for", () => {
    for (const text of ["u", "sum(", "sum(up", 'up{job="', "up{", "up{job=", "sum by (a,", "model:"]) expect(asksForWords(text, false), text).toBe(true);
  });
  it("is not offered after a whole expression, unless asked for", () => {
    for (const text of ["", "sum(up)", "up ", "up{}", "rate(up[5m])", "sum(up) "]) expect(asksForWords(text, false), text).toBe(false);
    expect(asksForWords("sum(up)", true)).toBe(true);
  });
});
