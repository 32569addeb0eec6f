// Charts and the pages made of them, in a browser: cursor, brush, splits, live
// tails, keyboard, links from numbers to their evidence.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { firstModel, open, shots, start, until } from "./browser.mjs";

let world;
let model;
let path;
before(async () => {
  world = await start();
  model = await firstModel(world);
  path = `/models/${encodeURIComponent(model.service)}/${encodeURIComponent(model.model)}`;
});
after(() => world?.close());

/** Opens a page, runs, and insists that the browser's console stayed silent. */
async function on(where, options, run) {
  const { page, context, problems } = await open(world, where, options);
  try {
    await run(page);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

const plot = (page, id) => page.locator(`[data-chart="${id}"] .u-over`);
const legend = (page, id, row = 0, cell = 1) => page.locator(`[data-chart="${id}"] tbody tr`).nth(row).locator("td").nth(cell);
const digit = /\d/;

async function drag(page, box, a, b) {
  await page.mouse.move(box.x + box.width * a, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((a + b) / 2), box.y + box.height / 2, { steps: 4 });
  await page.mouse.move(box.x + box.width * b, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
}

describe("Model", () => {
  test("one cursor over all charts, values in every legend", () =>
    on(path, {}, async (page) => {
      await plot(page, "rate").waitFor();
      await plot(page, "latency").waitFor();
      const box = await plot(page, "rate").boundingBox();
      await page.mouse.move(box.x + box.width * 0.9, box.y + box.height / 2);
      const heads = await until(async () => {
        const list = await Promise.all(["rate", "latency"].map((id) => page.locator(`[data-chart="${id}"] thead th`).nth(1).innerText()));
        return list.every((x) => /^\d\d:\d\d:\d\d$/.test(x)) && list;
      }, "the time under the cursor in both legends");
      assert.equal(heads[0], heads[1]);
      // the readout stands at the chart under the hand only
      assert.equal(await page.locator('[data-chart="rate"] .shadow-pop:not([hidden])').count(), 1);
      assert.equal(await page.locator('[data-chart="latency"] .shadow-pop:not([hidden])').count(), 0);
    }));

  test("brush zooms through the address, double click zooms out", () =>
    on(path, {}, async (page) => {
      await plot(page, "rate").waitFor();
      const before = page.url();
      await drag(page, await plot(page, "rate").boundingBox(), 0.79, 0.99); // the newest part: a server that just started has nothing before
      await until(() => /[?&]from=\d{4}-.*[&]to=\d{4}-/.test(page.url()), "from and to in the address");
      const u = new URL(page.url());
      const span = () => (Date.parse(new URL(page.url()).searchParams.get("to")) - Date.parse(new URL(page.url()).searchParams.get("from"))) / 1000;
      const zoomed = span();
      assert.ok(zoomed > 150 && zoomed < 210, `a fifth of a quarter of an hour, not ${zoomed} s: ${u}`);
      await plot(page, "rate").dblclick();
      await until(() => span() > zoomed * 1.8, "twice the window");
      await page.goBack();
      await page.goBack();
      await until(() => page.url() === before, "the history leads back");
    }));

  test("splits every chart in one click, a GPU by node and card with its UUID on hover", () =>
    on(path, {}, async (page) => {
      await plot(page, "rate").waitFor();
      await page.getByRole("radio", { name: "Instance" }).click();
      await until(async () => (await legend(page, "rate", 0, 0).innerText()) === model.instances[0], "instances in the legend");
      assert.match(page.url(), /group=instance/);
      // a chart of several lines shows one of them, by choice
      await page.locator('[data-chart="latency"]').getByRole("radio", { name: "mean" }).click();
      await until(() => page.url().includes("pick=latency:mean"), "the choice in the address");
      await page.getByRole("radio", { name: "GPU", exact: true }).click();
      await page.locator('[data-chart="gpu_busy"]').scrollIntoViewIfNeeded();
      await until(async () => / · GPU \d/.test(await legend(page, "gpu_busy", 0, 0).innerText()), "GPU names");
      const title = await page.locator('[data-chart="gpu_busy"] tbody button').first().getAttribute("title");
      assert.match(title, /GPU-/);
    }));

  test("keeps the places of charts until their answers come", () =>
    on("/", {}, async (page) => {
      await page.route("**/api/v1/sightline/series**", async (route) => {
        // what stands first comes last
        await new Promise((done) => setTimeout(done, /queue_latency/.test(route.request().url()) ? 3500 : 1500));
        await route.continue();
      });
      await page.locator('main a[href*="/models/"]').first().click();
      await page.locator('#section-versions [data-state="loading"]').first().waitFor();
      await page.waitForTimeout(600);
      const tops = () => page.evaluate(() => [...document.querySelectorAll("main section[id^=section-]")].map((s) => Math.round(s.getBoundingClientRect().top)));
      const before = await tops();
      await until(async () => (await page.locator('main [data-state="loading"]').count()) === 0, "all answers");
      const after = await tops();
      assert.equal(after.length, before.length);
      // a reason of two lines may take one line more than was kept for it
      after.forEach((y, i) => assert.ok(Math.abs(y - before[i]) <= 40, `section ${i} moved from ${before[i]} to ${y}`));
    }));

  test("an absent signal says why instead of showing an empty box", () =>
    on(path, {}, async (page) => {
      await plot(page, "rate").waitFor();
      const rows = page.locator('[data-state="signal-absent"]');
      await rows.first().waitFor();
      for (const text of await rows.allInnerTexts()) assert.ok(text.split("\n").join(" ").length > 20, text);
      assert.equal(await rows.locator("canvas").count(), 0);
    }));

  test("live: the newest steps only, the same canvas", () =>
    on(`${path}?from=15m`, {}, async (page) => {
      await plot(page, "rate").waitFor();
      await page.evaluate(() => document.querySelectorAll("canvas").forEach((c, i) => (c.dataset.mark = String(i))));
      const marked = await page.locator("canvas[data-mark]").count();
      const seen = [];
      page.on("request", (r) => {
        if (r.url().includes("/sightline/series")) seen.push(new URL(r.url()).searchParams);
      });
      await until(() => seen.length >= 4, "a tick's requests", 15_000);
      for (const p of seen) assert.ok(Number(p.get("to")) - Number(p.get("from")) <= 120, `asked for ${Number(p.get("to")) - Number(p.get("from"))} s`);
      assert.equal(await page.locator("canvas[data-mark]").count(), marked);
      assert.equal(await page.locator("canvas").count(), marked);
    }));

  test("the menu leads to Explore with the chart's signal, and shows the table", () =>
    on(path, {}, async (page) => {
      await plot(page, "rate").waitFor();
      const menu = page.locator('[data-chart="rate"] header button').last();
      await menu.click();
      await page.getByRole("menuitem", { name: "Show as table" }).click();
      await until(async () => digit.test(await page.locator('[data-chart="rate"] table caption').first().evaluate((c) => c.parentElement.rows[1].innerText)), "numbers in the table");
      await menu.click();
      await page.getByRole("menuitem", { name: "Open in Explore" }).click();
      await until(() => page.url().includes("/explore?") && decodeURIComponent(page.url()).includes("model:requests:rate{"), "the query in the address");
    }));

  test("keyboard: arrows walk the points", () =>
    on(path, {}, async (page) => {
      await plot(page, "rate").waitFor();
      await page.locator('[data-chart="rate"] .ts-plot').focus();
      const at = () => page.locator('[data-chart="rate"] thead th').nth(1).innerText();
      await page.keyboard.press("ArrowLeft");
      const first = await until(async () => /^\d\d:/.test(await at()) && (await at()), "a time");
      await page.keyboard.press("ArrowLeft");
      await until(async () => (await at()) < first, "an earlier time");
    }));

  test("a theme switch redraws the canvas without a new one", () =>
    on(path, {}, async (page) => {
      await plot(page, "rate").waitFor();
      const ink = () => page.locator('[data-chart="rate"] canvas').evaluate((c) => c.toDataURL());
      await page.locator('[data-chart="rate"] canvas').evaluate((c) => (c.dataset.mark = "1"));
      await page.mouse.move(0, 0);
      const dark = await ink();
      await page.emulateMedia({ colorScheme: "light" });
      await until(async () => (await ink()) !== dark, "another picture");
      assert.equal(await page.locator('[data-chart="rate"] canvas[data-mark]').count(), 1);
    }));
});

describe("Now", () => {
  test("every number leads to the chart that proves it", () =>
    on("/", {}, async (page) => {
      const row = page.locator(`[data-row="${model.id}"]`);
      await row.waitFor();
      await row.locator('[role="cell"] a').nth(1 + 1).click();
      await until(() => page.url().includes(path) && page.url().includes("chart=latency"), "the Model page at its latency chart");
      await until(async () => {
        const box = await page.locator('[data-chart="latency"]').boundingBox();
        return box && box.y >= 0 && box.y < 900;
      }, "the chart in view");
    }));

  test("a missing number says why, on hover and on focus", { skip: process.env.BASE_URL ? "needs the mock's fleet" : false }, () =>
    on("/?q=resnet", {}, async (page) => {
      const cell = page.locator("[data-row] a", { hasText: "—" }).first();
      const box = page.locator("[data-hint-box]");
      await cell.hover();
      await until(async () => (await box.isVisible()) && /does not stream/.test(await box.innerText()), "the reason on hover");
      await page.keyboard.press("Escape");
      await until(async () => !(await box.isVisible()), "the reason put away");
      await page.mouse.move(0, 0);
      await page.locator("[data-filter]").focus();
      for (let i = 0; i < 40 && !(await box.isVisible()); i++) {
        await page.keyboard.press("Tab");
        if (await cell.evaluate((c) => c === document.activeElement)) break;
      }
      await until(async () => (await box.isVisible()) && (await box.innerText()).length > 5, "the reason on focus");
    }));

  test("filter, sort, j, k and Enter", () =>
    on("/", {}, async (page) => {
      const rows = page.locator("[data-row]");
      await rows.first().waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("no such model");
      await page.locator('[data-state="filtered-out"]').waitFor();
      await page.keyboard.press("Escape");
      await rows.first().waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("columnheader", { name: "Requests" }).first().getByRole("button").click();
      await until(() => page.url().includes("sort=-rate"), "the order in the address");
      await page.locator("body").click({ position: { x: 5, y: 880 } });
      await page.keyboard.press("j");
      await until(() => page.url().includes("sel="), "the selection in the address");
      const first = await page.locator('[data-row][aria-selected="true"]').getAttribute("data-row");
      assert.equal(first, await rows.first().getAttribute("data-row"));
      await page.keyboard.press("Enter");
      await until(() => page.url().includes("/models/"), "the Model page");
    }));

  test("200 models and more: only what is seen is in the page", { skip: process.env.BASE_URL ? "needs the mock's fleet" : false }, () =>
    on("/", { scenario: "many" }, async (page) => {
      await page.locator("[data-row]").first().waitFor();
      assert.ok((await page.locator("[data-row]").count()) < 80);
      assert.equal(await page.locator('[role="table"]').getAttribute("aria-rowcount"), "201");
      await page.screenshot({ path: join(shots, "now-many.png") });
    }));
});

describe("Hardware", () => {
  test("a card opens its panel; arrows, Escape and the table work", () =>
    on("/hardware", {}, async (page) => {
      const cells = page.locator("[data-cell]");
      await cells.first().waitFor();
      await cells.first().click();
      await page.locator('[data-panel="gpu"] .u-over').first().waitFor();
      assert.match(page.url(), /sel=/);
      const before = page.url();
      if ((await cells.count()) > 1) {
        await page.keyboard.press("ArrowRight");
        await until(() => page.url() !== before, "the next card in the address");
      }
      await page.screenshot({ path: join(shots, "hardware-panel.png") });
      await page.keyboard.press("Escape");
      await until(() => !page.url().includes("sel="), "the panel closed");
      await page.getByRole("radio", { name: "Temperature" }).click();
      await until(() => page.url().includes("view=temperature"), "the view in the address");
      await page.getByRole("button", { name: "Table" }).click();
      await until(async () => digit.test(await page.locator('[data-twin="hardware"] tbody').innerText()), "the table");
    }));
});
