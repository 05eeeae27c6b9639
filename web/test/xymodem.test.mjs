// XMODEM and YMODEM in the page, by its buttons: 1 MB to and from programs that are not ours, and to and from ours.

import assert from "node:assert/strict";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { browser, digestOf, Page, randomFile, scratch, SHELL, web } from "./helpers.mjs";

// A whole number of blocks of XMODEM, which would fill up the last one; and more.
const [WHOLE, ODD] = [1 << 20, 1_000_001];

let context;
before(async (t) => {
  context = await browser(t);
});

async function session(t) {
  const far = scratch(t);
  return { far, page: await Page.open(context, await web(t, SHELL, { cwd: far })) };
}

/**
 * lrzsz at its end discards what its terminal has not passed on yet, the last ACK among it (tcflush of io_mode); so it
 * gets pipes. It begins when the page is there already: it asks seldom.
 */
const piped = (command) => `stty raw -echo; sleep 1; cat | ${command} | cat; stty sane`;

const TO = [
  ["lrzsz's rx", "xmodem-crc", piped("rx -q -c got.bin"), WHOLE],
  ["lrzsz's rb", "ymodem", piped("rb -q"), ODD],
  ["wst", "xmodem-1k", "sleep 1; wst receive -q -P xmodem-1k --as got.bin -", WHOLE],
  ["wst", "ymodem-g", "sleep 1; wst receive -q -P ymodem-g -", ODD],
];
for (const [name, protocol, command, len] of TO) {
  test(`${name} receives by ${protocol} from the page`, async (t) => {
    const { far, page } = await session(t);
    const sent = randomFile(scratch(t), "got.bin", len);
    await page.page.locator("#protocol").selectOption(protocol);
    await page.run(command);
    const [chooser] = await Promise.all([page.page.waitForEvent("filechooser"), page.page.locator("#send").click()]);
    await chooser.setFiles([sent]);
    assert.match(await page.ended(), /^Done: 1.0\d MB/);
    // The file is there before the sender is told.
    assert.deepEqual(readdirSync(far), ["got.bin"]);
    assert.equal(digestOf(join(far, "got.bin")), digestOf(sent));
    await page.close();
  });
}

const FROM = [
  ["lrzsz's sb", "ymodem", "sb -q a.bin", ODD],
  ["wst", "xmodem-1k", "wst send -q -P xmodem-1k a.bin -", WHOLE],
];
for (const [name, protocol, command, len] of FROM) {
  test(`${name} sends by ${protocol} to the page`, async (t) => {
    const { far, page } = await session(t);
    const file = randomFile(far, "a.bin", len);
    await page.run(command);
    await page.until("the command", (lines) => lines.some((line) => line.includes(command)));
    await page.page.locator("#protocol").selectOption(protocol);
    const [download] = await Promise.all([
      page.page.waitForEvent("download", { timeout: 60_000 }), page.page.locator("#receive").click(),
    ]);
    const got = await download.path();
    assert.match(await page.ended(), /^Done: 1.0\d MB/);
    assert.equal(download.suggestedFilename(), protocol.startsWith("x") ? "received.bin" : "a.bin");
    // XMODEM tells no length: the last block may be filled up.
    truncateSync(got, len);
    assert.equal(digestOf(got), digestOf(file));
    await page.close();
  });
}
