// Builds the package and the page into dist/: the module by cargo, the library by tsc, the page by esbuild.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url).pathname;
const run = (command, args, cwd = here) => execFileSync(command, args, { cwd, stdio: "inherit" });

/** The limit of the module, in bytes after gzip -9. */
const MOST_BYTES = 150_000;

const target = process.env.CARGO_TARGET_DIR ?? `${here}wasm/target`;
rmSync(`${here}dist`, { recursive: true, force: true });
mkdirSync(`${here}dist/page`, { recursive: true });
run("cargo", ["build", "--quiet", "--release", "--locked", "--target-dir", target], `${here}wasm`);
const module = `${target}/wasm32-unknown-unknown/release/wetstring_web.wasm`;
cpSync(module, `${here}dist/wetstring.wasm`);
run("node_modules/.bin/tsc", ["-p", "."]);
run("node_modules/.bin/tsc", ["-p", "page"]);
run("node_modules/.bin/esbuild", [
  "page/page.ts", "--bundle", "--format=esm", "--target=es2022", "--minify", "--log-level=warning",
  "--outdir=dist/page", "--legal-comments=none",
]);
cpSync(module, `${here}dist/page/wetstring.wasm`);
cpSync(`${here}page/index.html`, `${here}dist/page/index.html`);

const len = gzipSync(readFileSync(module), { level: 9 }).length;
console.log(`wetstring.wasm: ${len} bytes after gzip`);
if (len > MOST_BYTES) throw new Error(`expected at most ${MOST_BYTES} bytes, the module has ${len}`);
