import { describe, expect, it } from "vitest";
import { codeWords, isKey, pickLang, signalMeaning, specificWords, t } from ".";
import { en } from "./en";
import { zh } from "./zh";

const holes = (s: string) => [...s.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();

/** Words that are the same in both languages. */
const sameAllowed = /^(Sightline|UTC|GPU|Go|URL|Token|token|P\d+|DCGM|NVML|eBPF|XID|[A-Z]{2,5}( [Pp]\d+)?(, m?s)?|[\d\s·/%°µ.,:;()–—，：、（）-]*)$/;

describe("the catalogue", () => {
  it("has the same keys in both languages", () => {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  });

  it("has no empty words and the same placeholders", () => {
    for (const [k, words] of Object.entries(en)) {
      const other = zh[k as keyof typeof zh];
      expect(words.trim(), k).not.toBe("");
      expect(other.trim(), k).not.toBe("");
      expect(holes(other), k).toEqual(holes(words));
    }
  });

  it("is translated, not copied", () => {
    const copied = Object.entries(en).filter(([k, words]) => zh[k as keyof typeof zh] === words && !sameAllowed.test(words.replace(/\{\w+\}/g, "").trim()));
    expect(copied.map(([k]) => k)).toEqual([]);
  });

  it("has Chinese words in the Chinese half", () => {
    const latin = Object.entries(zh).filter(([k, words]) => !/[一-鿿]/.test(words) && !sameAllowed.test(words.replace(/\{\w+\}/g, "").trim()) && words !== en[k as keyof typeof en]);
    expect(latin.map(([k, v]) => `${k}: ${v}`)).toEqual([]);
  });
});

describe("language", () => {
  it("link over stored over browser over English", () => {
    expect(pickLang("?lang=zh", "en", ["en-GB"])).toBe("zh");
    expect(pickLang("?lang=tlh", "zh", ["en-GB"])).toBe("zh");
    expect(pickLang("", null, ["fr-FR", "zh-TW", "en"])).toBe("zh");
    expect(pickLang("", null, ["fr-FR"])).toBe("en");
    expect(pickLang("", "junk", [])).toBe("en");
  });
});

describe("words", () => {
  it("fill their holes", () => {
    expect(t("shell.time.last", { duration: "90m" })).toBe("Last 90m");
    expect(t("kit.state.filtered.without", { filter: "{count}", count: 3 })).toBe("Without {count} there are 3.");
  });

  it("follow their number", () => {
    expect(t("hardware.count", { gpus: 1, nodes: 2 })).toBe("1 GPU on 2 nodes");
    expect(t("hardware.count", { gpus: 2, nodes: 1 })).toBe("2 GPUs on 1 node");
    expect(t("explore.points", { count: "1" })).toBe("1 point");
  });

  it("of a code are ours when known, else the server's", () => {
    expect(codeWords(t, "triton_no_summaries", "text", "x")).toBe(en["code.triton_no_summaries.text"]);
    expect(codeWords(t, "never_heard_of", "text", "the server's words")).toBe("the server's words");
    expect(codeWords(t, undefined, "remedy", undefined)).toBeUndefined();
    expect(isKey("constructor")).toBe(false);
  });
});

describe("signals", () => {
  it("mean in English what the server says, elsewhere what the catalogue says", () => {
    expect(signalMeaning("en", "model:requests:rate", "sent")).toBe("sent");
    expect(signalMeaning("zh", "model:requests:rate", "sent")).toBe(zh["signal.requests"]);
    expect(signalMeaning("zh", "service:errors:ratio", "sent")).toBe(zh["signal.errors.ratio"]);
    expect(signalMeaning("zh", "host:memory_used_bytes:last", "sent")).toBe(zh["signal.host.memory_used_bytes"]);
    expect(signalMeaning("zh", "gpu:memory_used_bytes:last", "sent")).toBe(zh["signal.memory_used_bytes"]);
    expect(signalMeaning("zh", "model:something_new:rate", "sent")).toBe("sent");
  });
});

describe("the server's own sentences", () => {
  const sent = "source 10.0.0.9 has reached its limit of 50000 series";
  it("are kept: as they are in English, below the translation elsewhere", () => {
    expect(specificWords("en", "series_limit", "text", sent)).toEqual({ words: sent });
    expect(specificWords("zh", "series_limit", "text", sent)).toEqual({ words: zh["code.series_limit.text"], original: sent });
    expect(specificWords("zh", "never_heard_of", "text", sent)).toEqual({ words: sent });
  });

  it("give way to the catalogue when there are none", () => {
    expect(specificWords("en", "series_limit", "remedy", "")).toEqual({ words: en["code.series_limit.remedy"] });
    expect(specificWords("en", undefined, "remedy", undefined)).toBeUndefined();
  });
});
