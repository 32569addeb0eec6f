// House rules of the console: they hold for every file, so they are tests.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { describe, expect, it } from "vitest";
import { isKey } from "@/i18n";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const src = join(root, "src");

function walk(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

const files = walk(src).map((path) => ({ path, name: relative(src, path), text: readFileSync(path, "utf8") }));
const sources = files.filter((f) => /\.tsx?$/.test(f.name));
const product = sources.filter((f) => !/\.test\.tsx?$/.test(f.name));

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|[^:"'`])\/\/.*$/gm, "$1");
}

describe("colours", () => {
  const literal = /#[0-9a-f]{3,8}\b|\b(?:rgba?(?=\(\s*\d)|hsla?|oklch|oklab|lab|lch|hwb)\(|\b(?:bg|text|border|fill|stroke|outline|ring|from|to|via|divide|accent|caret|decoration|shadow)-(?:red|orange|amber|yellow|lime|green|emerald|teal|cyan|sky|blue|indigo|violet|purple|fuchsia|pink|rose|slate|gray|grey|zinc|neutral|stone|white|black)(?:-\d+)?\b/gi;

  it("are literal only in theme/", () => {
    const found = files
      .filter((f) => /\.(tsx?|css)$/.test(f.name) && !/\.test\.tsx?$/.test(f.name) && !f.name.startsWith("theme/"))
      .flatMap((f) => [...withoutComments(f.text).matchAll(literal)].map((m) => `${f.name}: ${m[0]}`));
    expect(found).toEqual([]);
  });

  it("have the same tokens in both themes", () => {
    const css = readFileSync(join(src, "theme/tokens.css"), "utf8");
    const block = (theme: string) => {
      const at = css.indexOf(`:root[data-theme="${theme}"] {`);
      const body = css.slice(at, css.indexOf("\n}", at));
      return [...body.matchAll(/(--[\w-]+):/g)].map((m) => m[1]).sort();
    };
    expect(block("dark").length).toBeGreaterThan(40);
    expect(block("dark")).toEqual(block("light"));
  });

  it("can be read: text on each surface has a contrast of 4.5 in both themes", () => {
    const css = readFileSync(join(src, "theme/tokens.css"), "utf8");
    for (const theme of ["dark", "light"]) {
      const at = css.indexOf(`:root[data-theme="${theme}"] {`);
      const body = css.slice(at, css.indexOf("\n}", at));
      const token = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(body)?.[1] ?? "";
      for (const [ink, ground] of [["text", "surface"], ["text", "raised"], ["text", "sunken"], ["text", "selected"], ["muted", "surface"], ["muted", "raised"], ["muted", "sunken"], ["faint", "raised"], ["good", "good-soft"], ["warn", "warn-soft"], ["bad", "bad-soft"], ["info", "info-soft"], ["bad", "raised"], ["warn", "raised"], ["good", "raised"], ["on-accent", "accent"]] as const)
        expect(contrast(token(ink), token(ground)), `${theme}: ${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });
});

/** WCAG 2 contrast ratio of two #rrggbb colours. */
function contrast(a: string, b: string): number {
  const light = (hex: string) => {
    const [r = 0, g = 0, bl = 0] = [1, 3, 5].map((i) => {
      const c = parseInt(hex.slice(i, i + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

interface Node {
  type: string;
  [key: string]: unknown;
}

function visit(node: unknown, see: (n: Node) => void): void {
  if (Array.isArray(node)) {
    for (const n of node) visit(n, see);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const n = node as Node;
  if (typeof n.type === "string") see(n);
  for (const [k, v] of Object.entries(n)) if (k !== "parent") visit(v, see);
}

/** Attributes that a person reads or hears. */
const spoken = new Set(["title", "aria-label", "aria-description", "placeholder", "alt", "label", "textValue"]);
const letters = /\p{L}{2,}/u;

/** Words written into JSX instead of the catalogue. */
export function wordsInJsx(name: string, text: string): string[] {
  const found: string[] = [];
  visit(parseSync(name, text).program, (n) => {
    if (n.type === "JSXText" && letters.test(String(n.value))) found.push(String(n.value).trim());
    if (n.type === "JSXExpressionContainer") {
      const e = n.expression as Node;
      const parentIsText = e.type === "Literal" && typeof e.value === "string" && letters.test(e.value);
      // {"words"} between tags; attribute values are looked at below
      if (parentIsText && (n as { attribute?: boolean }).attribute !== true) found.push(String(e.value));
    }
    if (n.type === "JSXAttribute") {
      const attribute = n as unknown as { name: { name: string }; value: Node | null };
      const value = attribute.value;
      if (value?.type === "JSXExpressionContainer") (value as { attribute?: boolean }).attribute = true;
      const literal = value?.type === "Literal" ? value : value?.type === "JSXExpressionContainer" && (value.expression as Node).type === "Literal" ? (value.expression as Node) : null;
      if (spoken.has(attribute.name.name) && literal && letters.test(String(literal.value))) found.push(`${attribute.name.name}="${String(literal.value)}"`);
    }
  });
  return found;
}

describe("words", () => {
  it("are found by this test when they are in JSX", () => {
    expect(wordsInJsx("a.tsx", `const a = <p title="Hello" className="flex">{x} World {"again"}</p>;`)).toEqual([`title="Hello"`, "World", "again"]);
    expect(wordsInJsx("a.tsx", `const a = <p className={"flex"} title={t("k")}>{t("k")} · % {"x"}</p>;`)).toEqual([]);
  });

  it("come from the catalogue", () => {
    const found = product.filter((f) => f.name.endsWith(".tsx")).flatMap((f) => wordsInJsx(f.name, f.text).filter((w) => !isKey(/^\w+="(.*)"$/.exec(w)?.[1] ?? "")).map((w) => `${f.name}: ${w}`));
    expect(found).toEqual([]);
  });
});

describe("layout", () => {
  // lower must not import higher; pages never import pages
  const rank: Record<string, number> = { theme: 0, i18n: 0, state: 0, api: 1, kit: 2, views: 3, pages: 4, app: 5 };

  it("has arrows that point one way", () => {
    const wrong: string[] = [];
    for (const f of product) {
      const [part = "", page] = f.name.split("/");
      for (const m of f.text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
        const spec = m[1] ?? "";
        const path = spec.startsWith("@/") ? spec.slice(2) : spec.startsWith(".") ? relative(src, resolve(dirname(f.path), spec)) : null;
        if (path === null) continue;
        const [to = "", toPage] = path.split("/");
        if ((rank[to] ?? 9) > (rank[part] ?? 9)) wrong.push(`${f.name} → ${path}`);
        if (part === "pages" && to === "pages" && page !== toPage) wrong.push(`${f.name} → ${path}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("has no file over 500 lines", () => {
    expect(sources.filter((f) => f.text.split("\n").length > 500).map((f) => f.name)).toEqual([]);
  });

  it("never injects raw HTML and never logs", () => {
    expect(product.filter((f) => /dangerouslySetInnerHTML|\.innerHTML\s*=|insertAdjacentHTML|\beval\(|console\.(log|debug|info)/.test(withoutComments(f.text))).map((f) => f.name)).toEqual([]);
  });
});

describe("the page's frame", () => {
  const html = readFileSync(join(root, "index.html"), "utf8");

  it("has no inline script or style, which the server's policy refuses", () => {
    expect([...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>/g)]).toEqual([]);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  });

  it("asks no other host for anything", () => {
    const out = files.filter((f) => !f.name.endsWith(".test.ts")).flatMap((f) => [...withoutComments(f.text).matchAll(/https?:\/\/[\w.-]+/g)].map((m) => `${f.name}: ${m[0]}`));
    // the example of a target in the empty state
    expect(out.filter((o) => !o.endsWith("http://HOST"))).toEqual([]);
    expect(html).not.toMatch(/https?:/);
  });
});

describe("the lock file", () => {
  it("carries no addresses", () => {
    const lock = readFileSync(join(root, "package-lock.json"), "utf8");
    expect(lock).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
  });
});
