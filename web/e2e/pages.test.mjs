// Every page in both themes and both languages: live numbers, no complaint in
// the browser's console, and a screenshot to look at.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { firstModel, open, shots, start, until } from "./browser.mjs";

let world;
let model;
before(async () => {
  world = await start();
  model = await firstModel(world);
});
after(() => world?.close());

const number = /\d/;

/** Per page: where it is, and the texts that are numbers of the running system. */
const pages = [
  { name: "now", path: () => "/", live: async (page) => page.locator('[role="table"] [role="row"] [role="cell"]').allInnerTexts() },
  { name: "model", path: () => `/models/${encodeURIComponent(model.service)}/${encodeURIComponent(model.model)}`, live: async (page) => page.locator("main table td").allInnerTexts(), charts: true },
  { name: "hardware", path: () => "/hardware", live: async (page) => [await page.locator("main").innerText()] },
  { name: "explore", path: () => "/explore?q=model:requests:rate", live: async (page) => page.locator("main table td").allInnerTexts(), charts: true },
  { name: "explore-table", path: () => "/explore?q=model:requests:rate&view=table", live: async (page) => page.locator('[role="table"] [role="cell"]').allInnerTexts() },
  { name: "status", path: () => "/status", live: async (page) => page.locator('[role="table"] [role="cell"]').allInnerTexts() },
];

for (const theme of ["dark", "light"])
  for (const lang of ["en", "zh"])
    describe(`${theme} ${lang}`, { concurrency: 3 }, () => {
      for (const p of pages)
        test(p.name, async () => {
          const { page, context, problems } = await open(world, p.path(), { theme, lang });
          try {
            const before = await until(async () => {
              const texts = await p.live(page);
              return texts.some((x) => number.test(x)) && texts;
            }, `numbers on ${p.name}`);
            assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
            assert.equal(await page.evaluate(() => document.documentElement.lang), lang === "zh" ? "zh-CN" : "en");
            const chinese = /[\u4e00-\u9fff]/.test(await page.locator("nav").first().innerText());
            assert.equal(chinese, lang === "zh", "the rail speaks the language");
            if (p.charts) await page.locator("canvas").first().waitFor();
            // live: within a few beats some number is another one
            await until(async () => JSON.stringify(await p.live(page)) !== JSON.stringify(before), `other numbers on ${p.name}`, 30_000);
            await page.screenshot({ path: join(shots, `${p.name}-${theme}-${lang}.png`) });
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(wide <= 0, `the page is ${wide} px too wide`);
            assert.deepEqual(problems, []);
          } finally {
            await context.close();
          }
        });
    });

test("the frame stands within a second", async () => {
  // the best of three: the budget is the console's, not that of whatever else the machine does
  const paints = [];
  for (let i = 0; i < 3; i++) {
    const { page, context } = await open(world, "/");
    try {
      paints.push(await until(() => page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime), "a first paint"));
    } finally {
      await context.close();
    }
  }
  assert.ok(Math.min(...paints) < 1000, `first paints after ${paints.map(Math.round).join(", ")} ms`);
});

test("a narrow window still shows the page", async () => {
  for (const p of pages) {
    const { page, context, problems } = await open(world, p.path(), { viewport: { width: 1024, height: 700 } });
    try {
      await until(async () => (await p.live(page)).some((x) => number.test(x)), `numbers on ${p.name}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${p.name} is ${wide} px too wide`);
      await page.screenshot({ path: join(shots, `${p.name}-narrow.png`) });
      assert.deepEqual(problems, []);
    } finally {
      await context.close();
    }
  }
});
