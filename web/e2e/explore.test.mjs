// Explore's editor under real keys: Enter asks, whatever a popup offers.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { open, shots, start, until } from "./browser.mjs";

let world;
before(async () => {
  world = await start();
});
after(() => world?.close());

const query = (page) => new URL(page.url()).searchParams.get("q");
const popup = (page) => page.locator(".cm-tooltip-autocomplete");

async function typed(text, body, refused = false) {
  const { page, context, problems } = await open(world, "/explore");
  try {
    await page.locator(".cm-content").click();
    await page.keyboard.type(text, { delay: 30 });
    await body(page);
    assert.deepEqual(refused ? problems.filter((x) => !x.includes("400")) : problems, []);
  } finally {
    await context.close();
  }
}

for (const text of ["sum(up)", "up"])
  for (const pause of [0, 1500])
    test(`${text} and Enter ${pause > 0 ? "after a pause " : ""}asks just that`, () =>
      typed(text, async (page) => {
        await page.waitForTimeout(pause);
        await page.keyboard.press("Enter");
        await until(() => query(page) === text, `the query ${text} in the address`);
        await page.locator("canvas").first().waitFor();
        await until(async () => /\d/.test((await page.locator("main table td").allInnerTexts()).join()), "numbers of the result");
        assert.equal(await page.locator(".cm-line").innerText(), text);
        assert.equal(await popup(page).count(), 0, "no popup is left");
      }));

test("a whole expression has no popup, an error is not covered", () =>
  typed("sum(up)", async (page) => {
    await page.waitForTimeout(1000);
    assert.equal(await popup(page).count(), 0, "nothing unasked after a whole expression");
    await page.keyboard.type(" +");
    await page.keyboard.press("Enter");
    await page.locator('main [data-state="error"]').waitFor();
    await page.waitForTimeout(500);
    assert.equal(await popup(page).count(), 0, "the error card is free");
    await page.screenshot({ path: join(shots, "explore-error.png") });
  }, true));

test("Tab takes what is offered; Enter does so after an arrow key; Shift+Enter makes a line", async () => {
  await typed("model:requests:ra", async (page) => {
    await popup(page).waitFor();
    await page.screenshot({ path: join(shots, "explore-popup.png") });
    await page.keyboard.press("Tab");
    await until(async () => (await page.locator(".cm-line").innerText()).startsWith("model:requests:rate"), "the completed name");
    assert.equal(query(page), null, "not asked yet");
    await page.keyboard.press("Shift+Enter");
    assert.equal(await page.locator(".cm-line").count(), 2);
  });
  await typed("model:requests:ra", async (page) => {
    await popup(page).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await until(async () => (await page.locator(".cm-line").innerText()).startsWith("model:requests:rate"), "the chosen name");
    assert.equal(query(page), null, "not asked yet");
    await page.keyboard.press("Enter");
    await until(() => query(page) === "model:requests:rate", "asked");
  });
});
