// The browser, and the server that the tests look at: BASE_URL, or the built
// console over the development mock when BASE_URL is not set.
import { spawn } from "node:child_process";
import { mkdirSync, existsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");
export const shots = join(root, "test-results");
mkdirSync(shots, { recursive: true });

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

async function freePort() {
  return new Promise((resolve, reject) => {
    const s = createServer();
    s.once("error", reject);
    s.listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => resolve(port));
    });
  });
}

async function answers(url) {
  const end = Date.now() + 30_000;
  for (;;) {
    try {
      const r = await fetch(`${url}/healthz`);
      if (r.ok) return;
    } catch {
      // not listening yet
    }
    if (Date.now() > end) throw new Error(`${url} does not answer`);
    await new Promise((r) => setTimeout(r, 100));
  }
}

/** Starts what is needed; close() ends it. */
export async function start() {
  let base = process.env.BASE_URL?.replace(/\/$/, "");
  let child = null;
  const mock = !base;
  if (mock) {
    if (!existsSync(join(root, "dist", "index.html"))) throw new Error("dist/index.html is missing: run `npm run build` first, or set BASE_URL");
    const port = await freePort();
    base = `http://127.0.0.1:${port}`;
    child = spawn(process.execPath, [join(root, "node_modules/vite/bin/vite.js"), "preview", "--host", "127.0.0.1", "--port", String(port), "--strictPort"], { cwd: root, stdio: "ignore" });
  }
  await answers(base);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
  return {
    base,
    mock,
    browser,
    async close() {
      await browser.close();
      child?.kill();
    },
  };
}

/** A page in a fresh context; problems collects what a reader must never see. */
export async function open(world, path, o = {}) {
  const context = await world.browser.newContext({
    viewport: o.viewport ?? { width: 1440, height: 900 },
    colorScheme: o.theme ?? "dark",
    locale: o.lang === "zh" ? "zh-CN" : "en-GB",
    timezoneId: "Asia/Shanghai",
    permissions: o.permissions ?? [],
    ...(o.scenario ? { extraHTTPHeaders: { "x-mock": o.scenario } } : {}),
  });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") problems.push(`${m.type()}: ${m.text()}`);
  });
  page.on("pageerror", (e) => problems.push(`uncaught: ${e.message}`));
  await page.goto(world.base + path);
  await page.locator("nav").first().waitFor();
  return { page, context, problems };
}

/** Waits until read() gives something true; says what it saw last. */
export async function until(read, what, ms = 20_000) {
  const end = Date.now() + ms;
  let last;
  for (;;) {
    try {
      last = await read();
      if (last) return last;
    } catch (e) {
      last = e;
    }
    if (Date.now() > end) throw new Error(`${what}: still ${last instanceof Error ? last.message : JSON.stringify(last)}`);
    await new Promise((r) => setTimeout(r, 100));
  }
}

export async function firstModel(world) {
  const rows = await until(
    async () => {
      const r = await fetch(`${world.base}/api/v1/sightline/now?points=2`, { headers: process.env.TOKEN ? { Authorization: `Bearer ${process.env.TOKEN}` } : {} });
      const body = await r.json();
      return body.data?.rows?.length > 0 && body.data.rows;
    },
    "a first model on /api/v1/sightline/now",
    60_000,
  );
  return rows.find((r) => typeof r.request_rate?.value === "number") ?? rows[0];
}
