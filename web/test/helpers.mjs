// What the tests in the browser share: `wst web`, a page in a real Chromium, files and their digests.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const root = new URL("../..", import.meta.url).pathname;
export const WST = process.env.WETSTRING_WST ?? `${root}target/debug/wst`;
export const CHROMIUM = process.env.WETSTRING_CHROMIUM ?? "/usr/bin/chromium";
export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
/** The prompt of the shell behind the page. */
export const PROMPT = "wet$ ";

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
export const digestOf = (path) => sha256(readFileSync(path));

/** A directory that is gone after the tests. */
export function scratch(t) {
  const path = mkdtempSync(join(tmpdir(), "wetstring-web-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** A file of random bytes. */
export function randomFile(directory, name, len) {
  const path = join(directory, name);
  writeFileSync(path, randomBytes(len));
  return path;
}

/** Starts a program; resolves once its stderr has a match. */
export async function started(t, args, pattern, options = {}) {
  const child = spawn(WST, args, { stdio: ["ignore", "inherit", "pipe"], ...options });
  const ended = new Promise((resolve) => child.on("close", resolve));
  t.after(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  let said = "";
  return new Promise((resolve, reject) => {
    child.stderr.on("data", (data) => {
      said += data;
      const found = pattern.exec(said);
      if (found !== null) resolve({ child, found });
    });
    child.on("close", () => reject(new Error(`wst ${args.join(" ")}: ${said}`)));
  });
}

/** `wst web` with a line; the address of its page. */
export async function web(t, line, { cwd, args = [] } = {}) {
  const path = `${join(WST, "..")}:${process.env.PATH}`;
  const env = { ...process.env, PS1: PROMPT, PATH: path, TERM: "xterm" };
  // The page is part of the program, unless another one is to be tested.
  const pages = process.env.WETSTRING_PAGES ? ["--pages", process.env.WETSTRING_PAGES] : [];
  const all = ["web", "--listen", "127.0.0.1:0", ...pages, ...args, ...(line ? [line] : [])];
  const { found } = await started(t, all, /open (http:\S+)/, { cwd, env });
  return found[1];
}

export const SHELL = "exec-pty:bash --norc --noprofile";

/** A page on a shell behind a bad line. */
export async function noisy(t, context, spec, cwd) {
  const env = { ...process.env, PS1: PROMPT, PATH: `${join(WST, "..")}:${process.env.PATH}`, TERM: "xterm" };
  const end = join(cwd, "end");
  await started(t, ["line", spec, "-a", `pty:${end}`, "-b", SHELL], /is up/, { cwd, env });
  const page = await Page.open(context, await web(t, `serial:${end}`, { cwd }), { prompt: false });
  // What the shell said before the port was open is lost, as at a board; and its terminal is raw.
  await page.run("stty sane");
  await page.prompt();
  return page;
}

/** The processes of the Chromium with this profile. */
function processesOf(profile) {
  const isOne = (id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, "latin1").includes(`--user-data-dir=${profile}\0`);
    } catch {
      // It has ended meanwhile.
      return false;
    }
  };
  return readdirSync("/proc").filter(isOne).map(Number);
}

/** Chromium, once for all tests of a file. */
export async function browser(t) {
  assert.ok(existsSync(CHROMIUM), `${CHROMIUM} is missing`);
  const profile = scratch(t);
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM, headless: true, args: FLAGS, acceptDownloads: true,
  });
  t.after(async () => {
    // On a busy machine it may not end by itself.
    const timer = setTimeout(() => processesOf(profile).forEach((id) => process.kill(id, "SIGKILL")), 10_000);
    await context.close();
    clearTimeout(timer);
  });
  return context;
}

/** A page of `wst web` that is connected, with a few helpers. */
export class Page {
  static async open(context, url, { prompt = true } = {}) {
    const page = await context.newPage();
    const self = new Page(page);
    page.on("pageerror", (error) => self.errors.push(error));
    page.on("console", (message) => message.type() === "error" && self.errors.push(message.text()));
    await page.goto(url);
    await page.waitForSelector("body[data-ready]");
    if (prompt) await self.prompt();
    return self;
  }

  errors = [];

  constructor(page) {
    this.page = page;
  }

  /** What the terminal shows, line by line. */
  lines() {
    return this.page.evaluate(() => {
      const buffer = globalThis.wetstring.terminal.buffer.active;
      const lines = [];
      for (let y = 0; y <= buffer.baseY + buffer.cursorY; y += 1) {
        const line = buffer.getLine(y);
        const text = line?.translateToString(y !== buffer.baseY + buffer.cursorY) ?? "";
        // The cursor's line is whole up to the cursor.
        const shown = y === buffer.baseY + buffer.cursorY ? text.slice(0, buffer.cursorX) : text.trimEnd();
        if (line?.isWrapped) lines[lines.length - 1] += shown;
        else lines.push(shown);
      }
      return lines;
    });
  }

  /** Until this holds of the lines. */
  async until(what, holds, patience = 20_000) {
    const until = Date.now() + patience;
    for (;;) {
      const lines = await this.lines();
      if (holds(lines)) return lines;
      if (Date.now() > until) assert.fail(`${what} did not come; the terminal shows:\n${lines.join("\n")}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Until the cursor stands behind the prompt. */
  prompt(patience) {
    return this.until("the prompt", (lines) => lines.at(-1) === PROMPT, patience);
  }

  async type(text) {
    await this.page.locator(".xterm-helper-textarea").focus();
    await this.page.keyboard.type(text);
  }

  async run(command) {
    await this.type(`${command}\n`);
  }

  /** Waits for a question, presses a button. */
  async press(label) {
    await this.page.locator(".wetstring-button", { hasText: label }).click({ timeout: 20_000 });
  }

  /** The last words of the panel, once the transfer is over. */
  async ended(patience = 60_000) {
    await this.page.locator(".wetstring-button", { hasText: "Close" }).waitFor({ timeout: patience });
    const text = await this.page.locator(".wetstring-text").textContent();
    await this.press("Close");
    return text;
  }

  /** Presses a button that downloads; the path of the file and its name. */
  async download(label = "Receive", patience = 60_000) {
    const [download] = await Promise.all([
      this.page.waitForEvent("download", { timeout: patience }),
      this.press(label),
    ]);
    return { path: await download.path(), name: download.suggestedFilename() };
  }

  /** Presses a button that asks for files. */
  async choose(label, paths) {
    const [chooser] = await Promise.all([this.page.waitForEvent("filechooser"), this.press(label)]);
    await chooser.setFiles(paths);
  }

  async close() {
    await this.page.close();
    assert.deepEqual(this.errors, []);
  }
}
