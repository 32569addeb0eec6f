// Runs bench/redraw.html in Chromium and prints the times as JSON; exits 1 when
// the median is over the budget of 50 ms.
import { chromium } from "playwright-core";
import { createServer } from "vite";

const server = await createServer({ root: new URL("..", import.meta.url).pathname, server: { port: 0 }, logLevel: "error" });
await server.listen();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1000, height: 400 } });
  await page.goto(`${server.resolvedUrls.local[0]}bench/redraw.html`);
  await page.waitForFunction("window.redraw");
  const runs = (await page.evaluate("window.redraw(21)")).sort((a, b) => a - b);
  const median = runs[Math.floor(runs.length / 2)];
  console.log(JSON.stringify({ lines: 500, points: 1000, runs: runs.length, least_ms: runs[0], median_ms: median, greatest_ms: runs.at(-1), budget_ms: 50 }));
  process.exitCode = median < 50 ? 0 : 1;
} finally {
  await browser.close();
  await server.close();
}
