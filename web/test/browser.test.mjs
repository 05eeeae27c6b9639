// Transfers in a terminal in a real browser, with programs that are not ours at the other side.

import assert from "node:assert/strict";
import { existsSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { browser, digestOf, noisy, Page, PROMPT, randomFile, scratch, SHELL, web } from "./helpers.mjs";

const MB = 1_000_000;

let context;
before(async (t) => {
  context = await browser(t);
});

/** A shell in a directory with a file, and a page on it. */
async function session(t, len = 20 * MB) {
  const far = scratch(t);
  const file = randomFile(far, "big file.bin", len);
  const url = await web(t, SHELL, { cwd: far });
  const page = await Page.open(context, url);
  return { far, file, page, url };
}

const SENDERS = {
  "lrzsz's sz": "sz -q 'big file.bin'",
  "C-Kermit": "kermit -Y -i -q -s 'big file.bin'",
  "wst by ZMODEM": "wst send -q -P zmodem 'big file.bin' -",
  "wst by Kermit": "wst send -q -P kermit 'big file.bin' -",
};
for (const [name, command] of Object.entries(SENDERS)) {
  test(`${name} sends 20 MB`, async (t) => {
    const { far, file, page } = await session(t);
    const before = readdirSync(far);
    await page.run(command);
    const got = await page.download();
    assert.equal(digestOf(got.path), digestOf(file));
    assert.equal(got.name, "big file.bin");
    assert.match(await page.ended(), /^Done: 20.0 MB/);
    const lines = await page.prompt();
    // Nothing of the protocol shows: the command, perhaps a word of its program, the prompt.
    const command_at = lines.findLastIndex((line) => line.startsWith(PROMPT) && line.length > PROMPT.length);
    const shown = lines.slice(command_at + 1, -1).filter((line) => line !== "");
    assert.deepEqual(shown.filter((line) => !/^(rz|KERMIT READY TO SEND\.\.\.)$/.test(line)), []);
    assert.deepEqual(readdirSync(far), before);
    await page.close();
  });
}

const RECEIVERS = {
  "lrzsz's rz": "rz -q",
  "C-Kermit": "kermit -Y -i -q -r",
  "wst by ZMODEM": "wst receive -q -P zmodem -",
  "wst by Kermit": "wst receive -q -P kermit -",
};
for (const [name, command] of Object.entries(RECEIVERS)) {
  test(`${name} receives 20 MB`, async (t) => {
    const { far, page } = await session(t, 10);
    const here = scratch(t);
    const sent = randomFile(here, "from here.bin", 20 * MB);
    await page.run(command);
    await page.choose("Choose files", [sent]);
    assert.match(await page.ended(), /^Done: 20.0 MB/);
    // A receiver of ours may have asked with a C, should this have taken long.
    await page.until("the prompt", (lines) => lines.at(-1).replace(/^C+/, "") === PROMPT);
    assert.equal(digestOf(join(far, "from here.bin")), digestOf(sent));
    await page.close();
  });
}

test("files that are dropped reach the shell by themselves", async (t) => {
  const { far, page } = await session(t, 10);
  await page.page.evaluate(() => {
    const files = new DataTransfer();
    files.items.add(new File(["one\n"], "one.txt"));
    files.items.add(new File(["two, longer\n"], "two.txt"));
    const drop = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
    document.querySelector(".xterm").dispatchEvent(drop);
  });
  await page.press("At the shell");
  assert.match(await page.ended(), /^Done: 4 bytes; 12 bytes/);
  // lrzsz's own words have no line end.
  await page.until("the prompt", (lines) => lines.at(-1) === `rz waiting to receive.${PROMPT}`);
  assert.deepEqual(readdirSync(far).sort(), ["big file.bin", "one.txt", "two.txt"]);
  await page.close();
});

test("a file streams into a directory, and nothing is there before it is allowed and complete", async (t) => {
  const { page, file } = await session(t);
  await page.page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    globalThis.names = async () => {
      const names = [];
      for await (const name of root.keys()) names.push(name);
      return names;
    };
    // In the place of the dialog that only a person can answer.
    globalThis.showDirectoryPicker = async () => root;
  });
  for (const name of ["big file.bin", "big file (1).bin"]) {
    const before = await page.page.evaluate("names()");
    await page.run("sz -q 'big file.bin'");
    await page.page.locator(".wetstring-button", { hasText: "Into a directory" }).waitFor();
    assert.deepEqual(await page.page.evaluate("names()"), before);
    await page.press("Into a directory");
    assert.match(await page.ended(), /^Done/);
    await page.prompt();
    const digest = await page.page.evaluate(async (name) => {
      const root = await navigator.storage.getDirectory();
      const file = await (await root.getFileHandle(name)).getFile();
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
      return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    }, name);
    assert.equal(digest, digestOf(file), name);
  }
  await page.close();
});

test("a transfer that is refused stores nothing, and the prompt is back", async (t) => {
  for (const command of ["sz -q 'big file.bin'", "kermit -Y -i -q -s 'big file.bin'"]) {
    const { page } = await session(t, 1000);
    page.page.on("download", () => assert.fail("nothing is to be stored"));
    await page.run(command);
    await page.press("Refuse");
    await page.prompt();
    await page.run("echo still $((6 * 7))");
    await page.until("the shell's answer", (lines) => lines.includes("still 42"));
    await page.close();
  }
});

test("a cancel in the middle ends both sides", async (t) => {
  const { far, page } = await session(t, 10);
  // Long enough that none of them is done before.
  truncateSync(join(far, "big file.bin"), 2000 * MB);
  page.page.on("download", () => assert.fail("it is not complete"));
  for (const [command, cancel] of [
    ["sz -q big*", () => page.press("Cancel")],
    ["kermit -Y -i -q -s big*", () => page.press("Cancel")],
    ["sz -q big*", () => page.type("\x03")],
  ]) {
    await page.run(command);
    await page.press("Receive");
    await page.page.waitForFunction(() => /[0-9.]+ (kB|MB), /.test(document.querySelector(".wetstring-text").textContent));
    if (cancel.toString().includes("type")) await page.page.locator(".xterm-helper-textarea").press("Control+c");
    else await cancel();
    assert.match(await page.ended(), /^aborted/);
    // What the peer had under way is discarded, and with it a prompt that follows at once.
    await page.run("");
    await page.prompt();
  }
  // And the other way: what the far side has of it is not there under its name, or short.
  const here = scratch(t);
  const sent = randomFile(here, "up.bin", 10);
  truncateSync(sent, 2000 * MB);
  await page.run("rz -q");
  await page.choose("Choose files", [sent]);
  await page.page.waitForFunction(() => /[0-9.]+ (kB|MB), /.test(document.querySelector(".wetstring-text").textContent));
  await page.press("Cancel");
  assert.match(await page.ended(), /^aborted/);
  await page.run("");
  await page.prompt();
  await page.close();
});

test("noise on the line damages no file", async (t) => {
  const far = scratch(t);
  const file = randomFile(far, "big.bin", 300_000);
  const page = await noisy(t, context, "1000000,burst=8@500ms", far);
  for (const command of ["sz -q big.bin", "kermit -Y -i -q -s big.bin"]) {
    await page.run(command);
    const got = await page.download();
    assert.equal(digestOf(got.path), digestOf(file), command);
    await page.ended();
    // An acknowledgement that was asked for again may reach the shell, with a quotation mark in it.
    await page.page.keyboard.press("Control+c");
    await page.run("");
    await page.prompt();
  }
  const here = scratch(t);
  const sent = randomFile(here, "up.bin", 300_000);
  await page.run("rz -q");
  await page.choose("Choose files", [sent]);
  await page.ended();
  assert.equal(digestOf(join(far, "up.bin")), digestOf(sent));
  await page.close();
});

test("a hostile name leads nowhere, and draws nothing", async (t) => {
  const { far, page } = await session(t, 10);
  const name = "in\u202evoice\x1b]0;owned\x07<x>.txt";
  writeFileSync(join(far, name), "harmless\n");
  await page.run("sz -q in*");
  const [download] = await Promise.all([page.page.waitForEvent("download"), page.press("Receive")]);
  assert.equal(download.suggestedFilename(), "in_voice_]0;owned__x_.txt");
  await page.ended();
  await page.prompt();
  // C-Kermit is asked to give it another name: a path out of every directory.
  await page.run("kermit -Y -i -q -s 'big file.bin' -a ../../etc/cron.d/evil");
  const evil = await page.download();
  assert.equal(evil.name, "evil");
  await page.ended();
  await page.run("kermit -Y -i -q -s 'big file.bin' -a ..");
  await page.press("Receive");
  await page.ended();
  await page.prompt();
  assert.equal(await page.page.title(), "Wetstring");
  await page.close();
});

test("after a reload the shell is there, and the transfer is not", async (t) => {
  const far = scratch(t);
  randomFile(far, "big.bin", 20 * MB);
  const page = await noisy(t, context, "2000000", far);
  await page.run("cd / && cd - > /dev/null && sz -q big.bin");
  await page.press("Receive");
  await page.page.waitForFunction(() => /[0-9.]+ (kB|MB), /.test(document.querySelector(".wetstring-text").textContent));
  await page.page.reload();
  await page.page.waitForSelector("body[data-ready]");
  // What was under way is binary: drawn, it leaves the cursor anywhere, and makes the terminal type answers.
  const prompted = (lines) => lines.at(-1).endsWith(PROMPT);
  for (let tries = 1; !prompted(await page.lines()); tries += 1) {
    await page.run("");
    await page.until("the prompt", prompted, 2000).catch((error) => assert.ok(tries < 10, error));
  }
  await page.run("stty sane; clear");
  await page.prompt();
  // The same shell: it remembers.
  await page.run("echo $OLDPWD and $((6 * 7))");
  await page.until("the same shell", (lines) => lines.includes("/ and 42"));
  // The terminal says so, too.
  page.errors = page.errors.filter((error) => !String(error).startsWith("xterm.js: Parsing error"));
  await page.close();
});

test("a board on Web Serial", async (t) => {
  const { far, file, page, url } = await session(t, 2 * MB);
  // No machine of CI has a device: a port made of the streams of the same WebSocket.
  await page.page.evaluate(() => document.getElementById("disconnect").click());
  await page.page.evaluate(async (token) => {
    const socket = new WebSocket(new URL("line", location.href.replace("http", "ws")).href.split("#")[0], [
      "wetstring", token,
    ]);
    socket.binaryType = "arraybuffer";
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    let parts = 0;
    const stream = () =>
      new ReadableStream({
        start(controller) {
          socket.onmessage = ({ data }) => {
            if (typeof data === "string") return;
            controller.enqueue(new Uint8Array(data));
            // After damage Web Serial ends the stream with an error, and has another.
            parts += 1;
            if (parts === 3) {
              port.readable = stream();
              controller.error(new DOMException("a framing error", "FramingError"));
            }
          };
        },
      });
    const port = {
      open: async (options) => {
        globalThis.opened = options;
        port.readable = stream();
      },
      readable: null,
      writable: new WritableStream({ write: (bytes) => socket.send(bytes) }),
      close: async () => socket.close(),
    };
    Object.defineProperty(navigator, "serial", { value: { requestPort: async () => port }, configurable: true });
  }, new URL(url).hash.slice(1));
  await page.page.locator("#rate").selectOption("115200");
  await page.page.locator("#serial").click();
  await page.until("the port", () => true);
  assert.equal(await page.page.evaluate("opened.baudRate"), 115200);
  await page.run("");
  await page.prompt();
  await page.run("sz -q 'big file.bin'");
  const got = await page.download();
  assert.equal(digestOf(got.path), digestOf(file));
  await page.ended();
  // By the buttons of the page, before the other side has said anything.
  const here = scratch(t);
  const sent = randomFile(here, "firmware.bin", 4096);
  await page.run("kermit -Y -i -q -r");
  await page.page.locator("#protocol").selectOption("kermit");
  const [chooser] = await Promise.all([page.page.waitForEvent("filechooser"), page.page.locator("#send").click()]);
  await chooser.setFiles([sent]);
  assert.match(await page.ended(), /^Done/);
  await page.prompt();
  assert.equal(digestOf(join(far, "firmware.bin")), digestOf(sent));
  assert.ok(existsSync(file));
  await page.close();
});
