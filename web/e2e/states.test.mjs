// The states that are not data. They need scenarios of the mock, so they rest
// when BASE_URL points at a server.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { open, shots, start, until } from "./browser.mjs";

const skip = process.env.BASE_URL ? "BASE_URL is a server; these scenarios exist in the mock only" : false;
let world;
before(async () => {
  if (!skip) world = await start();
});
after(() => world?.close());

async function run(path, scenario, body, theme = "dark") {
  const opened = await open(world, path, { scenario, theme });
  try {
    await body(opened.page, opened);
  } finally {
    await opened.context.close();
  }
}

test("nothing connected: the command with this address, and a live waiting line", { skip }, () =>
  run("/", "empty", async (page) => {
    const state = page.locator('[data-state="nothing-connected"]');
    await state.waitFor();
    assert.match(await state.innerText(), new RegExp(`sightline up --target http://HOST:8002/metrics --listen ${new URL(world.base).host}`));
    const line = await state.getByRole("status").innerText();
    await until(async () => (await state.getByRole("status").innerText()) !== line, "the line moves");
    await page.screenshot({ path: join(shots, "state-nothing.png") });
  }));

test("starting: which parts already work", { skip }, () =>
  run("/", "starting", async (page) => {
    await page.locator('[data-state="starting"]').waitFor();
    await until(async () => /storage[\s\S]*starting[\s\S]*scrape[\s\S]*ready/.test(await page.locator('[data-state="starting"]').innerText()), "the parts");
    await page.locator('[data-banner="starting"]').waitFor();
    await page.screenshot({ path: join(shots, "state-starting.png") });
  }));

test("error: what was asked, what failed, code, hint, retry, copy", { skip }, () =>
  run("/", "broken", async (page) => {
    const state = page.locator('[data-state="error"]');
    await state.waitFor();
    const text = await state.innerText();
    for (const part of [/GET \/api\/v1\/sightline\/now/, /too many samples/, /query_too_large/, /shorter range/, /Retry/, /Copy/]) assert.match(text, part);
    await page.screenshot({ path: join(shots, "state-error.png") });
  }));

test("filters exclude all: how many without each, one press removes", { skip }, () =>
  run("/status?q=nowhere", "demo", async (page) => {
    const state = page.locator('[data-state="filtered-out"]');
    await state.waitFor();
    assert.match(await state.innerText(), /Without the filter “nowhere” there are 7\./);
    await page.screenshot({ path: join(shots, "state-filtered.png") });
    await state.getByRole("button").first().click();
    await until(() => !new URL(page.url()).searchParams.has("q"), "the filter gone");
  }));

test("a server that only takes in what is sent offers the agent; a remote target has a tag, a down one its address and reason", { skip }, async () => {
  await run("/status", "empty", async (page) => {
    const state = page.locator('[data-state="nothing-connected"]');
    await state.waitFor();
    assert.ok((await state.innerText()).includes(`sightline-agent --server ${new URL(world.base).origin} --target [SERVICE=]URL`));
  });
  await run("/status", "demo", async (page) => {
    const far = page.locator('[data-row="t6"]');
    await far.waitFor();
    assert.match(await far.innerText(), /remote/);
    const down = await page.locator('[data-row="t4"]').innerText();
    assert.match(down, /10\.0\.0\.9:8002[\s\S]*connection_refused/);
    assert.equal(await page.locator('[data-state="nothing-connected"]').count(), 0);
  });
});

test("outside retention: the oldest moment, and a way there", { skip }, () =>
  run("/?from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z", "demo", async (page) => {
    const state = page.locator('[data-state="outside-retention"]');
    await state.waitFor();
    await page.screenshot({ path: join(shots, "state-retention.png") });
    await state.getByRole("button").click();
    await until(() => new URL(page.url()).searchParams.get("from")?.startsWith("2020") === false, "a range inside");
  }));

test("partial: the gap is drawn, never as zero", { skip }, () =>
  run("/models/vision/resnet_mini", "demo", async (page) => {
    await page.locator("canvas").first().waitFor();
    const gaps = await page.evaluate(async () => (await (await fetch("/api/v1/sightline/series?signal=model:requests:rate&service=vision&model=resnet_mini")).json()).data.gaps);
    assert.ok(gaps.length > 0);
    await page.screenshot({ path: join(shots, "state-partial.png") });
  }));

test("a missing token asks for one, and the page comes", { skip }, () =>
  run("/", "token", async (page) => {
    const form = page.locator('[data-state="login"]');
    await form.waitFor();
    await page.screenshot({ path: join(shots, "state-login.png") });
    await form.locator("input").fill("wrong");
    await form.getByRole("button").click();
    await form.getByRole("alert").waitFor();
    await form.locator("input").fill("open sesame");
    await form.getByRole("button").click();
    await until(async () => (await page.locator('[role="table"] [role="row"]').count()) > 1, "rows after signing in");
    assert.equal(await form.count(), 0);
  }));

test("a server that goes away leaves the data and says so", { skip }, () =>
  run("/", "demo", async (page, { context }) => {
    await until(async () => (await page.locator('[role="table"] [role="row"]').count()) > 1, "rows");
    await context.route("**/api/**", (r) => r.abort());
    await page.locator('[data-banner="unreachable"]').waitFor({ timeout: 30_000 });
    await page.getByTestId("stale").waitFor({ timeout: 30_000 });
    assert.ok((await page.locator('[role="table"] [role="row"]').count()) > 1, "the old rows stay");
    await page.screenshot({ path: join(shots, "state-unreachable.png") });
    await context.unroute("**/api/**");
    await until(async () => (await page.locator('[data-banner="unreachable"]').count()) === 0, "the banner gone", 30_000);
  }));

test("clocks that differ by more than 30 s are named", { skip }, () =>
  run("/status", "demo", async (page, { context }) => {
    await context.route("**/api/v1/sightline/status", async (r) => {
      const response = await r.fetch();
      await r.fulfill({ response, headers: { ...response.headers(), date: new Date(Date.now() + 95_000).toUTCString() } });
    });
    await page.locator('[data-banner="skew"]').waitFor({ timeout: 15_000 });
    assert.match(await page.locator('[data-banner="skew"]').innerText(), /9[456] s/);
    await page.screenshot({ path: join(shots, "state-skew.png") });
  }));

test("a thousand targets scroll without a hitch, in few rows", { skip }, () =>
  run("/status", "many", async (page) => {
    const table = page.locator('[role="table"]').first();
    await until(async () => (await table.getAttribute("aria-rowcount")) === "1000", "a thousand rows");
    assert.ok((await table.locator('[role="row"]').count()) < 80, "only what is seen is drawn");
    // the median: one slow frame may be the machine's, most of them are ours
    const median = await table.evaluate(async (el) => {
      const took = [];
      for (let i = 0; i < 60; i++) {
        const at = performance.now();
        el.scrollTop += 400;
        await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
        took.push(performance.now() - at);
      }
      return took.sort((a, b) => a - b)[30];
    });
    assert.ok(median < 100, `a scroll step took ${median} ms`);
    await page.locator("input[data-filter]").fill("svc-07 down");
    await page.screenshot({ path: join(shots, "status-thousand.png") });
  }));
