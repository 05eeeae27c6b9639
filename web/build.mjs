// Builds the package and the page into dist/: the modules by cargo, the library by tsc, the page by esbuild.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url).pathname;
const run = (command, args, cwd = here, env = {}) =>
  execFileSync(command, args, { cwd, stdio: "inherit", env: { ...process.env, ...env } });

/** The limits of the modules, in bytes after gzip -9. */
const MOST_BYTES = { "wetstring.wasm": 151_000, "kermit.wasm": 295_000, "device.wasm": 265_000, "lab.wasm": 960_000 };

/** What compiles C for WebAssembly: zstd. Without any Kermit does not compress. */
function compiler() {
  if (process.env.CC_wasm32_unknown_unknown !== undefined) return {};
  const of = (cc, ar, flags = "") => ({
    CC_wasm32_unknown_unknown: cc,
    AR_wasm32_unknown_unknown: ar,
    CFLAGS_wasm32_unknown_unknown: `-Os -DNDEBUG ${flags}`,
    CRATE_CC_NO_DEFAULTS: "1",
  });
  const works = (...words) => spawnSync(words[0], words.slice(1), { stdio: "ignore" }).status === 0;
  for (const zig of ["zig", "python-zig"]) {
    if (works(zig, "version")) return of(`${zig} cc -target wasm32-freestanding`, `${zig} ar`, "-fno-sanitize=all");
  }
  if (works("clang", "--print-targets") && works("llvm-ar", "--version")) {
    return of("clang --target=wasm32-unknown-unknown", "llvm-ar");
  }
  return undefined;
}

/** Builds the module of one crate; returns its path. */
function module(crate, file, args = [], env = {}) {
  const target = process.env.CARGO_TARGET_DIR ?? `${here}target`;
  const words = ["build", "--quiet", "--release", "--locked", "--target-dir", target, ...args];
  run("cargo", words, `${here}${crate}`, env);
  return `${target}/wasm32-unknown-unknown/release/${file}.wasm`;
}

rmSync(`${here}dist`, { recursive: true, force: true });
mkdirSync(`${here}dist/page`, { recursive: true });
const cc = compiler();
if (cc === undefined) console.log("no zig or clang: Kermit does not compress in kermit.wasm and lab.wasm");
// The same crate twice; the second takes the place of the first.
cpSync(module("wasm", "wetstring_web", ["--features", cc === undefined ? "extended" : "compress"], cc), `${here}dist/kermit.wasm`);
cpSync(module("wasm", "wetstring_web"), `${here}dist/wetstring.wasm`);
cpSync(module("device", "wetstring_web_device"), `${here}dist/device.wasm`);
run("node_modules/.bin/tsc", ["-p", "."]);
run("node_modules/.bin/tsc", ["-p", "page"]);
run("node_modules/.bin/esbuild", [
  "page/page.ts", "page/lab.ts", "page/lab-worker.ts", "--bundle", "--format=esm", "--target=es2022", "--minify",
  "--log-level=warning", "--outdir=dist/page", "--legal-comments=none", "--external:./lab.js",
]);
for (const name of ["wetstring", "kermit", "device"]) cpSync(`${here}dist/${name}.wasm`, `${here}dist/page/${name}.wasm`);
cpSync(`${here}page/index.html`, `${here}dist/page/index.html`);
const lab = module("lab", "wetstring_web_lab", cc === undefined ? [] : ["--features", "compress"], cc);
cpSync(lab, `${here}dist/page/lab.wasm`);

for (const [name, most] of Object.entries(MOST_BYTES)) {
  const len = gzipSync(readFileSync(`${here}dist/page/${name}`), { level: 9 }).length;
  console.log(`${name}: ${len} bytes after gzip`);
  if (len > most) throw new Error(`expected at most ${most} bytes, ${name} has ${len}`);
}
