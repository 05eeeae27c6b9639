// Our speed beside that of zmodem.js in Chromium itself: `node test/speed-chromium.mjs [MB] [ROUNDS]`. Both take the same bytes, those
// of lrzsz's `sz`, from the same WebSocket, in the same page, one after the other in each round. Not part of CI: what is measured
// is the machine. The processor's time of the page's thread says more than the clock where the processor is shared, with the sender
// among others.

import { buildSync } from "esbuild";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { CHROMIUM, FLAGS, WST } from "./helpers.mjs";

const MB = Number(process.argv[2] ?? 20);
const ROUNDS = Number(process.argv[3] ?? 5);
const here = new URL("..", import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), "wetstring-speed-"));
const path = join(directory, "random.bin");
writeFileSync(path, randomBytes(MB * 1_000_000));
const wanted = createHash("sha256").update(readFileSync(path)).digest("hex");

// Both in one script, which takes the place of the page's own: `wst web` serves nothing else.
const pages = join(directory, "pages");
cpSync(join(here, "dist/page"), pages, { recursive: true });
writeFileSync(join(pages, "index.html"), "<!doctype html><title>speed</title><script type=module src=page.js></script>");
buildSync({
  stdin: { contents: readFileSync(join(here, "test/speed-page.mjs"), "utf8"), resolveDir: join(here, "test") },
  bundle: true, format: "esm", target: "es2022", minify: true, outfile: join(pages, "page.js"), logLevel: "warning",
});

/** `wst web` with a sender behind it, and the address of its page. */
async function serve() {
  const args = ["web", "--listen", "127.0.0.1:0", "--no-token", "--pages", pages, `exec:sz -q ${path}`];
  const child = spawn(WST, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    child.stderr.on("data", (data) => {
      said += data;
      const found = /open (http:\S+)/.exec(said);
      if (found !== null) resolve(found[1]);
    });
    child.on("close", () => reject(new Error(said)));
  });
  return { child, url };
}

const context = await chromium.launchPersistentContext(join(directory, "profile"), {
  executablePath: CHROMIUM, headless: true, args: FLAGS,
});
const all = { wetstring: [[], []], "zmodem.js": [[], []] };
try {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const who of Object.keys(all)) {
      const { child, url } = await serve();
      const page = await context.newPage();
      await page.goto(url);
      await page.waitForFunction(() => globalThis.receive !== undefined);
      const session = await context.newCDPSession(page);
      await session.send("Performance.enable", { timeDomain: "threadTicks" });
      const busy = async () => {
        const { metrics } = await session.send("Performance.getMetrics");
        return metrics.find(({ name }) => name === "TaskDuration").value;
      };
      const before = await busy();
      const ms = await page.evaluate((who) => globalThis.receive(who), who);
      const cpu = (await busy()) - before;
      if ((await page.evaluate(() => globalThis.digest())) !== wanted) throw new Error(`${who}: the file differs`);
      const rates = [(MB * 1000) / ms, MB / cpu];
      rates.forEach((rate, index) => all[who][index].push(rate));
      console.log(`${who}: ${rates[0].toFixed(1)} MB/s, ${rates[1].toFixed(1)} MB in a second of the page's processor`);
      await page.close();
      child.kill();
    }
  }
  const middle = (rates) => rates.sort((a, b) => a - b)[Math.floor(rates.length / 2)];
  for (const [index, what] of ["by the clock", "by the processor's time"].entries()) {
    const [ours, theirs] = [middle(all.wetstring[index]), middle(all["zmodem.js"][index])];
    const times = (ours / theirs).toFixed(1);
    console.log(`median of ${ROUNDS} ${what}: ${ours.toFixed(1)} and ${theirs.toFixed(1)} MB/s, ${times} times`);
  }
} finally {
  await context.close();
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}
