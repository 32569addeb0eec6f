// Fails when what the first page loads is over the budget: gzip of the script
// of index.html and everything it loads before anything is drawn.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const budget = 300 * 1024;
const dist = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");

let html;
try {
  html = readFileSync(join(dist, "index.html"), "utf8");
} catch {
  console.error("size: dist/index.html is missing: run `npm run build` first");
  process.exit(1);
}
const first = [...html.matchAll(/(?:src|href)="(\/[^"]+\.js)"/g)].map((m) => m[1]);
// a chunk may import others that the page did not name; the landing page's chunk counts too
const seen = new Set();
const queue = [...first, ...readdirSync(join(dist, "assets")).filter((f) => /^Now-.*\.js$/.test(f)).map((f) => `/assets/${f}`)];
while (queue.length > 0) {
  const file = queue.pop();
  if (seen.has(file)) continue;
  seen.add(file);
  const text = readFileSync(join(dist, file), "utf8");
  for (const m of text.matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)) queue.push(`/assets/${m[1]}`);
}
let total = 0;
for (const file of [...seen].sort()) {
  const bytes = gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;
  total += bytes;
  console.log(`${(bytes / 1024).toFixed(1).padStart(8)} KB  ${file}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(8)} KB  initial script, gzip (budget ${budget / 1024} KB)`);
if (!first.length || total > budget) {
  console.error(first.length ? "size: over the budget" : "size: index.html loads no script");
  process.exit(1);
}
