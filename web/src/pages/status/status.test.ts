import { describe, expect, it } from "vitest";
import type { StatusAnswer, Target } from "@/api/types";
import { momentSeconds } from "@/api/types";
import { sortRows, type Column } from "@/kit/Table";
import { pipeline } from "./pipeline";
import { connected, filterTargets, healthOrder, sumTargets } from "./targets";

function target(id: string, more: Partial<Target> = {}): Target {
  return { id, service: "vision", instance: `demo/${id}`, url: `http://127.0.0.1/${id}`, health: "up", interval_seconds: 5, samples: 100, series: 100, series_refused: 0, dialects: [], ...more };
}

const bare: StatusAnswer = { version: "1", go_version: "go", started: 1, uptime_seconds: 1, role: "serve", ready: true };

describe("targets", () => {
  it("are found by every word", () => {
    const list = [target("a", { dialects: [{ name: "triton", title: "NVIDIA Triton" }] }), target("b", { health: "down", error: { code: "timeout", text: "deadline exceeded" } })];
    expect(filterTargets(list, "nvidia vision").map((t) => t.id)).toEqual(["a"]);
    expect(filterTargets(list, "deadline").map((t) => t.id)).toEqual(["b"]);
    expect(filterTargets(list, " ")).toBe(list);
    expect(filterTargets(list, "nvidia timeout")).toEqual([]);
  });

  it("are summed without making zeros of what is unknown", () => {
    expect(sumTargets([])).toEqual({ up: 0, down: 0, unknown: 0, samplesPerSecond: null, series: null, refused: 0 });
    expect(sumTargets([target("a"), target("b", { health: "down", samples: null, series: null }), target("c", { health: "unknown", series_refused: 3 })])).toEqual({ up: 1, down: 1, unknown: 1, samplesPerSecond: 20, series: 200, refused: 3 });
  });

  it("of agents count as connected and stand apart in the way of data", () => {
    expect(connected({ targets: [], ingest: { sources: [] } })).toBe(false);
    expect(connected({ targets: null })).toBe(false);
    expect(connected({ targets: [], ingest: { sources: [{ name: "agent", series: 1, limit: 2, refused: 0 }] } })).toBe(true);
    const far = target("r", { remote: true, last_scrape: null, interval_seconds: null });
    expect(connected({ targets: [far] })).toBe(true);
    const at = (id: string) => pipeline({ ...bare, targets: [target("a"), far] }).nodes.find((n) => n.id === id)?.value;
    expect([at("targets"), at("remote")]).toEqual(["1 / 1", "1"]);
    expect(filterTargets([target("a"), far], "remote").map((x) => x.id)).toEqual(["r"]);
  });

  it("stand with trouble on top", () => {
    const col: Column<Target> = { id: "h", header: "h", width: "1px", cell: () => null, sort: healthOrder };
    const rows = sortRows([target("a"), target("b", { health: "down" }), target("c", { health: "unknown" })], [col], { by: "h", descending: false });
    expect(rows.map((r) => r.id)).toEqual(["b", "c", "a"]);
  });
});

describe("sorting", () => {
  const col: Column<{ v: number | null; n: string }> = { id: "v", header: "v", width: "1px", cell: () => null, sort: (r) => r.v };
  const name: Column<{ v: number | null; n: string }> = { id: "n", header: "n", width: "1px", cell: () => null, sort: (r) => r.n };
  const rows = [{ v: 2, n: "x10" }, { v: null, n: "x9" }, { v: 1, n: "x1" }, { v: 2, n: "x2" }];

  it("puts missing last either way and keeps ties in order", () => {
    expect(sortRows(rows, [col], { by: "v", descending: false }).map((r) => r.n)).toEqual(["x1", "x10", "x2", "x9"]);
    expect(sortRows(rows, [col], { by: "v", descending: true }).map((r) => r.n)).toEqual(["x10", "x2", "x1", "x9"]);
  });

  it("reads numbers in names and ignores unknown columns", () => {
    expect(sortRows(rows, [name], { by: "n", descending: false }).map((r) => r.n)).toEqual(["x1", "x2", "x9", "x10"]);
    expect(sortRows(rows, [name], { by: "nope", descending: false })).toBe(rows);
  });
});

describe("the way of data", () => {
  it("draws an answer with nothing in it", () => {
    const p = pipeline(bare);
    expect(p.nodes.map((n) => n.id)).toEqual(["targets", "remote", "guard", "store", "rules", "query"]);
    expect(p.edges.filter((e) => e.flows)).toEqual([]);
  });

  it("colours what drops, fails or is down", () => {
    const p = pipeline({
      ...bare,
      targets: [target("a"), target("b", { health: "down" })],
      rules: { interval_seconds: 5, groups: [{ name: "g", rules: 3, failed: 1 }] },
      ingest: { sources: [], dropped: { too_old: 2 } },
      storage: { dir: "d", series: 5, samples_per_second: 10, bytes: 1, wal_bytes: 1, retention_seconds: 1, read_only: true },
    });
    expect(Object.fromEntries(p.nodes.map((n) => [n.id, n.tone]))).toMatchObject({ targets: "bad", guard: "warn", rules: "warn", store: "bad" });
    expect(p.edges.find((e) => e.from === "guard")).toMatchObject({ label: "10/s", flows: true });
  });
});

describe("moments", () => {
  it("are seconds or RFC 3339; nothing and year one are none", () => {
    expect(momentSeconds(12.5)).toBe(12.5);
    expect(momentSeconds("2026-03-04T10:00:00Z")).toBe(1_772_618_400);
    for (const none of [null, undefined, "", 0, "0001-01-01T00:00:00Z", "junk"]) expect(momentSeconds(none)).toBeNull();
  });
});
