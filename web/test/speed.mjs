// Our speed beside that of zmodem.js, from lrzsz's `sz` through pipes, in V8 without a browser: `node test/speed.mjs [MB]`.
// Not part of CI: what is measured is the machine. The processor's time says more than the clock where it is shared.

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as wetstring from "../dist/index.js";
import { received } from "./zmodem-js.mjs";

const MB = Number(process.argv[2] ?? 20);
const ROUNDS = 3;
const directory = mkdtempSync(join(tmpdir(), "wetstring-speed-"));
const path = join(directory, "random.bin");
writeFileSync(path, randomBytes(MB * 1_000_000));
const sha256 = (chunks) => chunks.reduce((hash, chunk) => hash.update(Uint8Array.from(chunk)), createHash("sha256")).digest("hex");
const wanted = sha256([readFileSync(path)]);
await wetstring.load(readFileSync(new URL("../dist/wetstring.wasm", import.meta.url)));

function sender() {
  const child = spawn("sz", ["-q", path], { stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.on("error", () => {});
  return child;
}

async function byUs({ stdin, stdout }) {
  let file;
  const readable = new ReadableStream({
    start(controller) {
      stdout.on("data", (data) => controller.enqueue(new Uint8Array(data)));
      stdout.on("end", () => controller.close());
    },
  });
  const writable = new WritableStream({ write: (bytes) => void stdin.write(bytes) });
  const place = wetstring.inMemory((received) => (file = received));
  await wetstring.receive({ readable, writable }, place, { line: { reliable: true } });
  return [new Uint8Array(await file.arrayBuffer())];
}

function byThem({ stdin, stdout }) {
  const listen = (take) => stdout.on("data", (data) => take(new Uint8Array(data)));
  return received((bytes) => stdin.write(bytes), listen);
}

for (let round = 0; round < ROUNDS; round += 1) {
  for (const [who, run] of [["wetstring", byUs], ["zmodem.js", byThem]]) {
    const child = sender();
    const [began, before] = [performance.now(), process.cpuUsage()];
    const chunks = await run(child);
    const { user, system } = process.cpuUsage(before);
    const took = performance.now() - began;
    if (sha256(chunks) !== wanted) throw new Error(`${who}: the file differs`);
    const [clock, cpu] = [(MB / took) * 1e3, (MB / (user + system)) * 1e6];
    console.log(`${who}: ${clock.toFixed(1)} MB/s, ${cpu.toFixed(1)} MB in a second of the processor`);
    child.kill();
  }
}
rmSync(directory, { recursive: true });
process.exit();
