// The laboratory of the page: what it shows is what `wst lab run` prints, word for word.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { before, test } from "node:test";
import { browser, Page, scratch, SHELL, web, WST } from "./helpers.mjs";

let context;
before(async (t) => {
  context = await browser(t);
});

/** A page with the laboratory open, and what it has loaded so far. */
async function laboratory(t) {
  const page = await Page.open(context, await web(t, SHELL, { cwd: scratch(t) }));
  const loaded = [];
  page.page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  assert.deepEqual(loaded, []);
  await page.page.locator("#lab").click();
  await page.page.waitForSelector("#lab-protocol option", { state: "attached" });
  assert.deepEqual([...new Set(loaded)].sort(), ["/lab-worker.js", "/lab.js", "/lab.wasm"]);
  return page;
}

async function fill(page, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const field = page.page.locator(`#lab-${name}`);
    if (await field.evaluate((element) => element.tagName === "SELECT")) await field.selectOption(value);
    else await field.fill(value);
  }
}

/** Runs what the form has; what is shown at the end, and the command that is said to print the same. */
async function run(page) {
  await page.page.locator("#lab-form button").first().click();
  await page.page.waitForFunction(() => document.getElementById("lab-stop").disabled, undefined, { timeout: 60_000 });
  const text = (id) => page.page.locator(`#lab-${id}`).textContent();
  const [summary, account, command, status] = await Promise.all(["summary", "text", "command", "status"].map(text));
  return { summary, account, command, status };
}

/** What a command of the page prints. */
async function printed(command) {
  const [word, ...words] = [...command.slice(2).matchAll(/'((?:[^']|'\\'')*)'|\S+/g)].map(([whole, quoted]) => quoted ?? whole);
  assert.equal(word, "wst");
  // Its exit code says whether the transfer ended well.
  return promisify(execFile)(WST, words).catch((error) => error).then(({ stdout }) => stdout);
}

const RUNS = [
  { name: "a scenario as it is", fields: { preset: "scenario wet-string" } },
  { name: "ZMODEM on a line with noise", fields: { preset: "line 2", protocol: "zmodem", bytes: "20000", seed: "7" } },
  { name: "a text by Kermit, which compresses", fields: { preset: "line 0", content: "file.made=text", bytes: "30000" } },
  { name: "UUCP g", fields: { preset: "line 1", protocol: "uucp-g", bytes: "9000" } },
  { name: "XMODEM over USB adapters", fields: { preset: "line 3", protocol: "xmodem-crc", bytes: "6000" } },
  { name: "NETBLT over a path", fields: { preset: "line 7", bytes: "60000" } },
  { name: "NCP over the ARPANET", fields: { preset: "line 8", bytes: "9000" } },
];
test("each run says what wst lab run prints, and where its time went", async (t) => {
  const page = await laboratory(t);
  assert.ok(await page.page.locator("#lab-note").isHidden(), "the module compresses");
  for (const { name, fields } of RUNS) {
    await fill(page, fields);
    const shown = await run(page);
    const wanted = await printed(shown.command);
    assert.equal(`${shown.summary}\n${shown.account}`, wanted, `${name}: ${shown.command}: ${shown.status}`);
    assert.match(shown.summary, /bytes in [0-9.]+ s: .*\n.*packets retransmitted; trace [0-9a-f]{16}/, name);
    assert.equal(shown.status, "", name);
    const frame = page.page.frameLocator("#lab-frame");
    assert.ok((await frame.locator("#budget svg rect").count()) > 0, `${name}: the budget is drawn`);
  }
  await page.close();
});

test("packets are drawn over time, and a page of this kind has no scripts", async (t) => {
  const page = await laboratory(t);
  await fill(page, { preset: "scenario wet-string", protocol: "zmodem", bytes: "20000" });
  await run(page);
  const frame = page.page.frameLocator("#lab-frame");
  const shapes = await frame.locator("#sequence svg polyline").count();
  // A packet each, what is acknowledged, the axes.
  assert.ok(shapes > 20, `${shapes} shapes`);
  assert.equal(await page.page.locator("#lab-frame").getAttribute("sandbox"), "allow-same-origin");
  await page.close();
});

test("a wrong line is named, a long run can be stopped, and the terminal is still there", async (t) => {
  const page = await laboratory(t);
  await fill(page, { line: "9600,dealy=1s" });
  const wrong = await run(page);
  assert.match(wrong.status, /dealy/);
  await fill(page, { preset: "scenario wet-string", protocol: "xmodem", content: "file.made=random", bytes: "4000000" });
  await page.page.locator("#lab-form button").first().click();
  // The page answers while the worker runs.
  await page.page.locator("#lab-stop").click();
  assert.equal(await page.page.locator("#lab-status").textContent(), "stopped");
  await page.page.locator("#lab").click();
  assert.ok(await page.page.locator("#terminal").isVisible());
  await page.close();
});
