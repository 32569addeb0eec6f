import { describe, expect, it } from "vitest";
import { pages } from "@/app/pages";
import { isKey } from "@/i18n";
import { actionAvailable, chordMs, groups, Matcher, registerAction, runAction, shortcuts, type Stroke } from "./shortcuts";

function stroke(key: string, more: Partial<Stroke> = {}): Stroke {
  return { key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more };
}

/** Strokes that a person makes for a record's keys. */
function strokesOf(keys: string): Stroke[] {
  return keys.split(" ").map((k) => (k.startsWith("mod+") ? stroke(k.slice(4), { ctrlKey: true }) : stroke(k, { shiftKey: k === "?" })));
}

describe("the table", () => {
  it("has unique ids and keys, known groups and words in the catalogue", () => {
    expect(new Set(shortcuts.map((s) => s.id)).size).toBe(shortcuts.length);
    expect(new Set(shortcuts.map((s) => s.keys)).size).toBe(shortcuts.length);
    for (const s of shortcuts) {
      expect(isKey(s.words), s.words).toBe(true);
      expect(groups.map((g) => g.id)).toContain(s.group);
    }
  });

  it("has no key that also opens a chord: it could never be told apart", () => {
    const opens = new Set(shortcuts.filter((s) => s.keys.includes(" ")).map((s) => s.keys.split(" ")[0]));
    for (const s of shortcuts.filter((x) => !x.keys.includes(" "))) expect(opens.has(s.keys), s.keys).toBe(false);
  });

  it("has a way to each page of the rail", () => {
    for (const p of pages) expect(shortcuts.some((s) => s.id === p.go), p.id).toBe(true);
  });
});

describe("the handler", () => {
  it.each(shortcuts.map((s) => [s.id, s.keys] as const))("%s on %s", (id, keys) => {
    const m = new Matcher();
    const hits = strokesOf(keys).map((s, i) => m.next(s, i * 100));
    expect(hits.at(-1)).toBe(id);
    if (hits.length === 2) expect(hits[0]).toBe("chord");
  });

  it("takes ⌘ for Ctrl", () => {
    expect(new Matcher().next(stroke("k", { metaKey: true }), 0)).toBe("palette");
  });

  it("leaves the browser's own keys alone", () => {
    const m = new Matcher();
    expect(m.next(stroke("j", { ctrlKey: true }), 0)).toBeNull();
    expect(m.next(stroke("ArrowLeft", { altKey: true }), 0)).toBeNull();
    expect(m.next(stroke("t", { ctrlKey: true }), 0)).toBeNull();
  });

  it("forgets a chord that was not finished in time", () => {
    const m = new Matcher();
    expect(m.next(stroke("g"), 0)).toBe("chord");
    expect(m.next(stroke("h"), chordMs + 1)).toBeNull();
  });

  it("takes a key after a broken chord as a fresh one", () => {
    const m = new Matcher();
    m.next(stroke("g"), 0);
    expect(m.next(stroke("j"), 10)).toBe("row.next");
    m.next(stroke("g"), 20);
    expect(m.next(stroke("t"), 30)).toBe("chord");
    expect(m.next(stroke("o"), 40)).toBe("time.out");
  });
});

describe("effects", () => {
  it("run the latest and come back to the one before", () => {
    const seen: string[] = [];
    const first = registerAction("row.open", () => seen.push("first"));
    const second = registerAction("row.open", () => seen.push("second"));
    expect(runAction("row.open")).toBe(true);
    second();
    runAction("row.open");
    first();
    expect(runAction("row.open")).toBe(false);
    expect(actionAvailable("row.open")).toBe(false);
    expect(seen).toEqual(["second", "first"]);
  });
});
