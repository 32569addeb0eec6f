import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { score, search } from "./match";

const names = ["Now", "Hardware", "Explore", "Status", "vision/resnet_mini", "chat/tiny-chat", "Theme: dark", "Theme: light"].map((words) => ({ id: words, words }));

describe("palette search", () => {
  it("finds letters in order, whole words and starts first", () => {
    expect(search("status", names)[0]?.words).toBe("Status");
    expect(search("rn", names)[0]?.words).toBe("vision/resnet_mini");
    expect(search("th li", names)[0]?.words).toBe("Theme: light");
    expect(search("zzz", names)).toEqual([]);
    expect(score("ba", "ab")).toBeNull();
  });

  it("keeps the order for an empty box and obeys the limit", () => {
    expect(search("", names).map((n) => n.words)).toEqual(names.map((n) => n.words));
    expect(search("t", names, 2)).toHaveLength(2);
  });

  it("finds by other names, but likes the shown ones better", () => {
    const list = [
      { id: "a", words: "demo-node-1 · 0", also: "GPU-51b0" },
      { id: "b", words: "GPU-51b0 report" },
    ];
    expect(search("gpu51", list).map((x) => x.id)).toEqual(["b", "a"]);
  });

  it("only ever returns what it was given", () => {
    fc.assert(fc.property(fc.string(), (q) => search(q, names).every((n) => names.includes(n))));
  });
});
