// What the shell promises: keyboard, time, links, preferences.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { firstModel, open, shots, start, until } from "./browser.mjs";

let world;
let model;
let modelPath;
before(async () => {
  world = await start();
  model = await firstModel(world);
  modelPath = `/models/${encodeURIComponent(model.service)}/${encodeURIComponent(model.model)}`;
});
after(() => world?.close());

const path = (page) => new URL(page.url()).pathname;
const query = (page) => new URL(page.url()).searchParams;
const focusPage = (page) => page.evaluate(() => (document.activeElement instanceof HTMLElement ? document.activeElement.blur() : undefined));

async function run(address, body, options = {}) {
  const opened = await open(world, address, options);
  try {
    await body(opened.page, opened);
    if (!options.mayComplain) assert.deepEqual(opened.problems, []);
  } finally {
    await opened.context.close();
  }
}

test("a link of Now leads to the model, and back", () =>
  run("/?from=30m", async (page) => {
    await page.locator('main a[href*="/models/"]').first().click();
    await until(() => path(page).startsWith("/models/"), "the model's address");
    assert.equal(query(page).get("from"), "30m", "the time range comes along");
    await page.locator("canvas").first().waitFor();
    await page.goBack();
    await until(() => path(page) === "/", "Now again");
  }));

test("a brush over a chart zooms, the address says so, and back undoes it", () =>
  run(modelPath, async (page) => {
    const over = page.locator(".u-over").first();
    await over.waitFor();
    const box = await until(() => over.boundingBox(), "a drawn chart");
    await page.mouse.move(box.x + box.width * 0.3, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 8 });
    await page.mouse.up();
    await until(() => query(page).has("to"), "an absolute range in the address");
    const length = (Date.parse(query(page).get("to")) - Date.parse(query(page).get("from"))) / 1000;
    assert.ok(Math.abs(length - 270) < 20, `30 % of a quarter of an hour, got ${length} s`);
    assert.equal(await page.getByTestId("live").getAttribute("data-live"), "fixed");
    await page.screenshot({ path: join(shots, "zoomed.png") });
    await page.goBack();
    await until(() => !query(page).has("to"), "the relative range again");
    assert.equal(await page.getByTestId("live").getAttribute("data-live"), "live");
  }));

test("the palette opens by keyboard, finds a model and goes there", () =>
  run("/status", async (page) => {
    await page.keyboard.press("Control+k");
    await page.getByTestId("palette").waitFor();
    await until(async () => (await page.getByRole("option").allInnerTexts()).some((x) => x.includes(`${model.service}/${model.model}`)), "the model in the palette");
    await page.screenshot({ path: join(shots, "palette.png") });
    await page.keyboard.type(model.model);
    await page.keyboard.press("Enter");
    await until(() => path(page) === modelPath, "the model's address");
  }));

test("the palette changes theme and language, and the choice stays", () =>
  run("/status", async (page) => {
    const act = async (text) => {
      await page.keyboard.press("Control+k");
      await page.getByTestId("palette").fill(text);
      await page.keyboard.press("Enter");
    };
    await act("theme light");
    await until(() => page.evaluate(() => document.documentElement.dataset.theme === "light"), "the light theme");
    await act("language zh");
    await until(() => page.evaluate(() => document.documentElement.lang === "zh-CN"), "Chinese");
    await page.reload();
    await page.locator("nav").first().waitFor();
    assert.deepEqual(await page.evaluate(() => [document.documentElement.dataset.theme, document.documentElement.lang]), ["light", "zh-CN"]);
  }));

test("the preferences in the rail change theme, language and time zone, and the choice stays", () =>
  run("/status", async (page) => {
    await page.getByTestId("preferences").click();
    const box = page.getByRole("dialog");
    await box.getByRole("radio", { name: "Light" }).click();
    await until(() => page.evaluate(() => document.documentElement.dataset.theme === "light"), "the light theme");
    await box.getByRole("radio", { name: "UTC", exact: true }).click();
    await until(async () => (await page.getByTestId("time-range").innerText()).includes("UTC") && !(await page.getByTestId("time-range").innerText()).includes("UTC+8"), "UTC in the header");
    await box.getByRole("radio", { name: "简体中文" }).click();
    await until(() => page.evaluate(() => document.documentElement.lang === "zh-CN"), "Chinese");
    await page.screenshot({ path: join(shots, "preferences.png") });
    await page.reload();
    await page.locator("nav").first().waitFor();
    assert.deepEqual(await page.evaluate(() => [document.documentElement.dataset.theme, document.documentElement.lang]), ["light", "zh-CN"]);
  }));

test("chords go to pages, rest in text boxes, and the sheet lists them", () =>
  run("/", async (page) => {
    await focusPage(page);
    for (const [key, to] of [["s", "/status"], ["h", "/hardware"], ["x", "/explore"]]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await until(() => path(page) === to, to);
    }
    // Explore's editor has the focus now: keys are text there until Escape
    await page.locator(".cm-content").waitFor();
    await page.locator(".cm-content").click();
    await page.keyboard.type("gn");
    assert.equal(path(page), "/explore");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("n");
    await until(() => path(page) === "/", "Now");
    await page.locator("[data-filter]").first().waitFor(); // the address changes before the page is there
    await page.keyboard.press("/");
    await until(() => page.evaluate(() => document.activeElement?.hasAttribute("data-filter") === true), "the focus in the filter");
    await page.keyboard.type("?");
    assert.equal(await page.getByRole("dialog").count(), 0, "a question mark in a box is text");
    await focusPage(page);
    await page.keyboard.press("?");
    const sheet = page.getByRole("dialog");
    await sheet.waitFor();
    assert.match(await sheet.innerText(), /Zoom out/);
    await page.screenshot({ path: join(shots, "shortcuts.png") });
    await page.keyboard.press("Escape");
    await until(async () => (await page.getByRole("dialog").count()) === 0, "the sheet closed");
  }));

test("time keys shift, freeze and return to live", () =>
  run("/", async (page) => {
    await focusPage(page);
    const chord = async (key) => {
      await page.keyboard.press("t");
      await page.keyboard.press(key);
    };
    await chord("o");
    await until(() => query(page).get("from") === "30m", "half an hour");
    await chord("ArrowLeft");
    await until(() => query(page).has("to"), "an absolute range");
    await chord("l");
    await until(() => !query(page).has("to"), "live again");
    await chord("a");
    await until(() => query(page).has("to"), "made absolute");
    await page.screenshot({ path: join(shots, "absolute.png") });
  }));

test("typed ranges are understood, or refused with examples", () =>
  run("/", async (page) => {
    await page.getByTestId("time-range").click();
    const box = page.getByTestId("time-typed");
    await box.fill("half past never");
    assert.match(await page.getByRole("dialog").innerText(), /Not understood/);
    await box.fill("90m");
    await page.screenshot({ path: join(shots, "time-picker.png") });
    await page.keyboard.press("Enter");
    await until(() => query(page).get("from") === "1h30m", "90 minutes in the address");
    await page.getByTestId("time-range").click();
    await page.getByTestId("time-typed").fill("yesterday 14:00 to 15:00");
    await page.keyboard.press("Enter");
    await until(() => /T06:00:00Z$/.test(query(page).get("from") ?? ""), "yesterday 14:00 in Shanghai");
  }));

test("pausing stops the questions", () =>
  run("/", async (page) => {
    let asked = 0;
    page.on("request", (r) => {
      if (r.url().includes("/sightline/now")) asked++;
    });
    await until(() => asked >= 2, "two live questions", 25_000);
    await page.getByTestId("live").click();
    assert.equal(await page.getByTestId("live").getAttribute("data-live"), "paused");
    await page.waitForLoadState("networkidle").catch(() => undefined);
    const before = asked;
    await new Promise((r) => setTimeout(r, 7000));
    assert.equal(asked, before);
  }));

test("opening a link writes no preference; keeping does", () =>
  run("/status?lang=zh&tz=utc", async (page) => {
    await page.locator('[data-banner="lang-link"]').waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    await page.locator('[data-banner="lang-link"] button').first().click();
    await until(() => page.evaluate(() => localStorage.getItem("sightline.lang") === "zh"), "the choice stored");
    assert.equal(query(page).has("lang"), false);
  }));

test("a copied link is frozen to absolute time", () =>
  run(
    "/?from=30m",
    async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByTestId("palette").fill("copy link");
      await page.keyboard.press("Enter");
      const link = await until(async () => {
        const text = await page.evaluate(() => navigator.clipboard.readText());
        return text.includes("to=") && text;
      }, "a link on the clipboard");
      const u = new URL(link);
      const length = (Date.parse(u.searchParams.get("to")) - Date.parse(u.searchParams.get("from"))) / 1000;
      assert.equal(length, 1800);
      assert.equal(query(page).get("from"), "30m", "the address bar stays relative");
      await page.goto(link);
      await until(async () => (await page.getByTestId("live").getAttribute("data-live")) === "fixed", "the frozen range");
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));

test("Explore completes names, runs on Enter, remembers, and marks errors", () =>
  run(
    "/explore",
    async (page) => {
      const editor = page.locator(".cm-content");
      await editor.click();
      await page.keyboard.type("model:req");
      await page.locator(".cm-tooltip-autocomplete").waitFor();
      await until(async () => (await page.locator(".cm-tooltip-autocomplete li").allInnerTexts()).some((x) => x.includes("model:requests:rate")), "the metric in the completion");
      await page.screenshot({ path: join(shots, "explore-completion.png") });
      await page.keyboard.type("uests:rate");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Enter");
      await until(() => query(page).get("q") === "model:requests:rate", "the query in the address");
      await page.locator("canvas").first().waitFor();
      await editor.click();
      await page.keyboard.press("Control+a");
      await page.keyboard.type("sum(");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Delete");
      await page.keyboard.press("Control+Enter");
      await page.locator('[data-state="error"]').waitFor();
      assert.match(await page.locator('[data-state="error"]').innerText(), /parse error/);
      await page.locator(".cm-lintRange-error").first().waitFor();
      await page.screenshot({ path: join(shots, "explore-error.png") });
      await page.getByRole("button", { name: "History" }).click();
      await page.getByRole("menuitem", { name: "model:requests:rate" }).click();
      await until(() => query(page).get("q") === "model:requests:rate", "the query from the history");
      await page.getByRole("radio", { name: "Table" }).click();
      await until(async () => (await page.locator('[role="table"] [role="row"]').count()) > 1, "rows");
    },
    { mayComplain: true }, // the refused query is a 400, which browsers log
  ));

test("the bell lists conditions and leads to Status", () =>
  run("/", async (page) => {
    await page.getByTestId("bell").click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.screenshot({ path: join(shots, "bell.png") });
    await dialog.getByRole("link").click();
    await until(() => path(page) === "/status", "Status");
  }));
