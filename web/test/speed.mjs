// Our MB/s beside those of zmodem.js, in the same browser, on the same line: `node test/speed.mjs [MB]`.
//
// The far side is lrzsz, in a PTY behind `wst web`. Files are taken in memory by both. Not part of CI: what is
// measured is the machine. The program should be a release: WETSTRING_WST=../target/release/wst.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { digestOf, FLAGS, randomFile, scratch, SHELL, web } from "./helpers.mjs";

const MB = Number(process.env.MB ?? 20);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const theirs = readFileSync(new URL("../node_modules/zmodem.js/dist/zmodem.js", import.meta.url), "utf8");

/** Runs in the page: one transfer by our addon, without questions. */
async function byUs({ command, bytes }) {
  const { addon } = globalThis.wetstring;
  let got;
  let began;
  const ended = new Promise((resolve) => {
    addon.options.onevent = (event) => {
      if (event.event === "negotiated" || event.event === "file-started") began ??= performance.now();
      if (event.event === "end") resolve(performance.now() - began);
    };
  });
  const files = bytes ? [new File([new Uint8Array(bytes)], "up.bin")] : [];
  addon.options.interaction = {
    consent: async () => globalThis.wetstring.inMemory((file) => (got = file)),
    choose: async () => files,
    begin: () => () => {},
    withdraw() {},
  };
  globalThis.wetstring.type(command);
  const took = await ended;
  const buffer = got && (await got.arrayBuffer());
  return { took, digest: buffer && (await digest(buffer)) };
  async function digest(buffer) {
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer));
    return Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

/** The same by zmodem.js, as its own example has it. */
async function byThem({ command, bytes, url, token }) {
  const socket = new WebSocket(url, ["wetstring", token]);
  socket.binaryType = "arraybuffer";
  await new Promise((resolve) => (socket.onopen = resolve));
  const { Zmodem } = globalThis;
  let got;
  let began;
  const ended = new Promise((resolve, reject) => {
    const sentry = new Zmodem.Sentry({
      to_terminal() {},
      sender: (octets) => socket.send(new Uint8Array(octets)),
      on_retract() {},
      on_detect(detection) {
        const session = detection.confirm();
        began = performance.now();
        session.on("session_end", () => resolve(performance.now() - began));
        if (session.type === "send") {
          const files = [new File([new Uint8Array(bytes)], "up.bin")];
          Zmodem.Browser.send_files(session, files, {}).then(() => session.close()).catch(reject);
          return;
        }
        session.on("offer", (offer) => {
          offer.accept().then((chunks) => (got = new Blob(chunks)), reject);
        });
        session.start();
      },
    });
    socket.onmessage = ({ data }) => typeof data !== "string" && sentry.consume(data);
  });
  socket.send(new TextEncoder().encode(command));
  const took = await ended;
  socket.close();
  if (!got) return { took };
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", await got.arrayBuffer()));
  return { took, digest: Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

test("speed", { timeout: 600_000 }, async (t) => {
  const far = scratch(t);
  const file = randomFile(far, "big.bin", MB * 1_000_000);
  const wanted = digestOf(file);
  const context = await chromium.launchPersistentContext(scratch(t), {
    executablePath: process.env.WETSTRING_CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS, bypassCSP: true,
  });
  t.after(() => context.close());
  const address = await web(t, SHELL, { cwd: far });
  const token = new URL(address).hash.slice(1);
  const url = new URL("line", address.replace("http", "ws")).href;
  const bytes = Array.from(readFileSync(file));
  const rows = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [who, run] of [["wetstring", byUs], ["zmodem.js", byThem]]) {
      for (const [what, command, up] of [["sz to the browser", "sz -q big.bin\n", false], ["the browser to rz", "rz -q -y\n", true]]) {
        const page = await context.newPage();
        await page.goto(who === "wetstring" ? address : address.replace(/#.*/, ""));
        await page.waitForSelector("body[data-ready]");
        if (who === "zmodem.js") await page.addScriptTag({ content: theirs });
        const { took, digest } = await page.evaluate(run, { command, bytes: up ? bytes : undefined, url, token });
        await new Promise((resolve) => setTimeout(resolve, 500));
        const right = up ? digestOf(join(far, "up.bin")) === wanted : digest === wanted;
        if (!right) throw new Error(`${who}, ${what}: the file differs`);
        rows.push({ who, what, "MB/s": Number((MB / (took / 1000)).toFixed(1)) });
        await page.close();
      }
    }
  }
  console.table(rows);
});
