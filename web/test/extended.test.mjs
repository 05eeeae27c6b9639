// What two Wetstrings do between them by Kermit: one is `wst`, one the page, whose larger module is loaded for it.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { browser, digestOf, noisy, Page, PROMPT, randomFile, scratch, SHELL, web } from "./helpers.mjs";

let context;
before(async (t) => {
  context = await browser(t);
});

/** Sends a file by Kermit to what the command starts; the events of the page. */
async function send(page, path, command, settings = {}) {
  await page.page.evaluate((settings) => {
    globalThis.events = [];
    const { options } = globalThis.wetstring.addon;
    options.settings = settings;
    options.onevent = (event) => event.event === "progress" || globalThis.events.push(event);
  }, settings);
  await page.run(command);
  await page.choose("Choose files", [path]);
  assert.match(await page.ended(), /^Done: .*, compared/);
  // A receiver of ours may have asked with a C, should this have taken long.
  await page.until("the prompt", (lines) => lines.at(-1).replace(/^C+/, "") === PROMPT);
  return page.page.evaluate("events");
}

test("bursts of noise are corrected instead of asked for again", async (t) => {
  const far = scratch(t);
  const page = await noisy(t, context, "1000000,burst=8@20ms", far);
  const sent = randomFile(scratch(t), "up.bin", 250_000);
  const events = await send(page, sent, "wst receive -q -P kermit --set kermit.bundle=on -", { "kermit.bundle": "on" });
  assert.match(events.find(({ event }) => event === "negotiated").text, /error correction/);
  assert.ok(events.some(({ event, verified }) => event === "file-done" && verified));
  assert.equal(digestOf(join(far, "up.bin")), digestOf(sent));
  const { wire_out_bytes, retransmissions } = events.at(-1).stats;
  // A burst every 2000 characters: without correction each damages a packet, or two, and is heard of.
  const bursts = wire_out_bytes / 2000;
  assert.ok(retransmissions > 0, "the noise was heard");
  assert.ok(retransmissions < bursts / 2, `${retransmissions} packets again, with ${bursts} bursts`);
  await page.close();
});

test("of a file that is there in an older version the difference is sent", async (t) => {
  const [far, here] = [scratch(t), scratch(t)];
  const sent = randomFile(here, "firmware.bin", 2_000_000);
  copyFileSync(sent, join(far, "firmware.bin"));
  const bytes = readFileSync(sent);
  for (const at of [100_000, 900_000, 1_700_000]) randomBytes(5000).copy(bytes, at);
  writeFileSync(sent, bytes);
  const page = await Page.open(context, await web(t, SHELL, { cwd: far }));
  const command = "wst receive -q -P kermit --set kermit.bundle=on --collision replace -";
  const events = await send(page, sent, command, { "kermit.bundle": "on" });
  const { stats } = events.at(-1);
  assert.equal(digestOf(join(far, "firmware.bin")), digestOf(sent));
  assert.ok(stats.wire_out_bytes < bytes.length / 4, `${stats.wire_out_bytes} bytes for ${bytes.length}`);
  await page.close();
});

test("text is compressed, and what arrives is compared as a whole", async (t) => {
  const far = scratch(t);
  const page = await Page.open(context, await web(t, SHELL, { cwd: far }));
  const loaded = [];
  page.page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  const sent = join(scratch(t), "book.txt");
  writeFileSync(sent, readFileSync(new URL("../../docs/GLOSSARY.md", import.meta.url)).toString().repeat(20));
  assert.deepEqual(loaded, []);
  const on = { "kermit.bundle": "on", "kermit.compress": "on" };
  const sets = "--set kermit.bundle=on --set kermit.compress=on";
  const events = await send(page, sent, `wst receive -q -P kermit ${sets} -`, on);
  assert.deepEqual(loaded, ["/kermit.wasm"]);
  assert.equal(digestOf(join(far, "book.txt")), digestOf(sent));
  const [{ wire_out_bytes, file_bytes }, text] = [events.at(-1).stats, events.find(({ event }) => event === "negotiated").text];
  assert.match(text, /compression/);
  assert.ok(wire_out_bytes < file_bytes / 4, `${wire_out_bytes} of ${file_bytes}`);
  // And back.
  await page.run(`wst send -q -P kermit ${sets} book.txt -`);
  const got = await page.download();
  assert.equal(digestOf(got.path), digestOf(sent));
  assert.match(await page.ended(), /^Done: .*, compared/);
  await page.close();
});
