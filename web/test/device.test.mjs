// Device profiles in the page: a scripted console is reached, gets a file by its own command, and is asked for its digest.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { browser, digestOf, Page, randomFile, scratch, web } from "./helpers.mjs";

const CONSOLE = new URL("console.py", import.meta.url).pathname;

let context;
before(async (t) => {
  context = await browser(t);
});

/** A page on a console, and where that puts its files. */
async function desk(t, kind) {
  const far = scratch(t);
  mkdirSync(join(far, "got"));
  const loaded = [];
  const page = await Page.open(context, await web(t, `exec-pty:python3 ${CONSOLE} ${kind}`, { cwd: far }), { prompt: false });
  page.page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  // Until then its terminal would take a Ctrl-C for its own.
  await page.until("the console", (lines) => lines.some((line) => /autoboot|MAC Address/.test(line)));
  return { far, page, loaded };
}

/** Sends a file by the dialog; the words of the status line at the end. */
async function send(page, path, { profile, protocol, vars = {} }) {
  const dialog = page.page.locator("#device-dialog");
  await page.page.locator("#device").click();
  await page.page.waitForFunction(() => document.getElementById("device-dialog").open);
  await dialog.locator("#device-profile").selectOption(profile);
  if (protocol !== undefined) await dialog.locator("#device-protocol").selectOption(protocol);
  for (const [name, value] of Object.entries(vars)) await dialog.locator(`input[name=${name}]`).fill(value);
  const [chooser] = await Promise.all([page.page.waitForEvent("filechooser"), dialog.locator("#device-send").click()]);
  await chooser.setFiles([path]);
}

const status = (page) => page.page.locator("#status").textContent();
async function says(page, pattern) {
  await page.page.waitForFunction((source) => new RegExp(source).test(document.getElementById("status").textContent), pattern.source);
}

test("a board with U-Boot gets 1 MB by loady, and its checksum is compared", async (t) => {
  const { far, page, loaded } = await desk(t, "uboot");
  assert.ok(!loaded.includes("/device.wasm"));
  const file = randomFile(scratch(t), "kernel.bin", 1_000_001);
  await send(page, file, { profile: "uboot", vars: { address: "0x82000000" } });
  assert.match(await page.ended(), /^Done: 1.00 MB/);
  await says(page, /^crc32 [0-9a-f]{8}$/);
  assert.equal(digestOf(join(far, "got", "kernel.bin")), digestOf(file));
  const lines = await page.until("the prompt", (lines) => lines.at(-1) === "=> ");
  // What was typed, and the answers, stand in the terminal.
  assert.ok(lines.includes("=> loady 0x82000000"), lines.join("\n"));
  // A C that came before the transfer had begun may stand in front of it.
  assert.ok(lines.some((line) => /^C?## Total Size      = 0x000f4241 = 1000001 Bytes$/.test(line)), lines.join("\n"));
  assert.ok(loaded.includes("/device.wasm"));
  // The terminal is the user's again.
  await page.type("crc32 0\n");
  await page.until("an answer", (lines) => lines.some((line) => line.startsWith("CRC32 for 0")));
  await page.close();
});

test("a checksum that differs is a failure", async (t) => {
  const { page } = await desk(t, "uboot lies");
  await send(page, randomFile(scratch(t), "kernel.bin", 3000), { profile: "uboot" });
  await page.ended();
  await says(page, /^uboot: what arrived differs: expected ==> /);
  await page.close();
});

test("a switch gets its commands before the file, by XMODEM", async (t) => {
  const { far, page } = await desk(t, "catalyst");
  const file = randomFile(scratch(t), "c2950.bin", 65_536);
  await send(page, file, { profile: "catalyst" });
  assert.match(await page.ended(), /^Done: 65.5 kB/);
  const lines = await page.until("the prompt", (lines) => lines.at(-1) === "switch: " && lines.some((line) => line.includes("successfully")));
  for (const typed of ["flash_init", "load_helper", "copy xmodem: flash:c2950.bin"]) {
    assert.ok(lines.includes(`switch: ${typed}`), `${typed} in\n${lines.join("\n")}`);
  }
  const [got] = readdirSync(join(far, "got"));
  truncateSync(join(far, "got", got), 65_536);
  assert.equal(digestOf(join(far, "got", got)), digestOf(file));
  await page.close();
});

test("without the device nothing is typed for long: the user is told, and Ctrl-C ends it", async (t) => {
  const { page } = await desk(t, "catalyst");
  // A profile of another device: its prompt never comes.
  await send(page, randomFile(scratch(t), "a.bin", 100), { profile: "rommon" });
  await says(page, /^no prompt of the ROM monitor/);
  await page.page.locator(".xterm-helper-textarea").press("Control+c");
  await says(page, /^rommon: aborted/);
  assert.equal(await status(page), "rommon: aborted");
  await page.close();
});
