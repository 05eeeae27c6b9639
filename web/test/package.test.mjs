// What `npm pack` makes, used from an empty directory; and the examples of the pages, with its types.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const web = new URL("..", import.meta.url).pathname;

/** What browsers have and the compiler does not know, and what the pages call `file`. */
const BROWSER = `interface Port { open(options: { baudRate: number }): Promise<void>; readable: ReadableStream<Uint8Array>; writable: WritableStream<Uint8Array> }
interface Navigator { readonly serial: { requestPort(): Promise<Port> } }
declare function showDirectoryPicker(): Promise<FileSystemDirectoryHandle>;
declare const file: File;
`;

/** The code of a page of docs/howto as one module: each part after the first has names of its own. */
function examples(page) {
  const text = readFileSync(new URL(`../../docs/howto/${page}`, import.meta.url), "utf8");
  const [first, ...others] = [...text.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, code]) => code);
  assert.match(first, /from "wetstring/);
  return [first, ...others.map((code) => `{\n${code}}\n`)].join("\n");
}

test("the package works, and has its types, in an empty directory", (t) => {
  const empty = mkdtempSync(join(tmpdir(), "wetstring-pack-"));
  t.after(() => rmSync(empty, { recursive: true, force: true }));
  const run = (command, args) => execFileSync(command, args, { cwd: empty, encoding: "utf8" });
  const [packed] = JSON.parse(run("npm", ["pack", "--json", "--silent", web]));
  const names = packed.files.map((file) => file.path);
  assert.ok(["package.json", "README.md", "dist/index.js", "dist/xterm.d.ts", "dist/wetstring.wasm"].every((name) => names.includes(name)));
  assert.ok(!names.some((name) => name.startsWith("dist/page/") || name.startsWith("src/")), names.join());
  const installed = join(empty, "node_modules/wetstring");
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", packed.filename, "--strip-components=1", "-C", installed]);
  writeFileSync(
    join(empty, "example.ts"),
    `import { inMemory, load, receive, send, type Streams } from "wetstring";
declare const process: { getBuiltinModule(name: "fs"): { readFileSync(path: URL): Uint8Array<ArrayBuffer> } };
const module = new URL(import.meta.resolve("wetstring/wetstring.wasm"));
await load(process.getBuiltinModule("fs").readFileSync(module));
const [there, back] = [new TransformStream<Uint8Array, Uint8Array>(), new TransformStream<Uint8Array, Uint8Array>()];
const near: Streams = { readable: back.readable, writable: there.writable };
const far: Streams = { readable: there.readable, writable: back.writable };
const stored: string[] = [];
const place = inMemory(async (file) => void stored.push(file.name + ": " + (await file.text())));
const [end] = await Promise.all([
  send(near, [new File(["hello"], "a.txt")], { protocol: "kermit" }),
  receive(far, place, { protocol: "kermit" }),
]);
console.log(end.outcome, stored.join());
`,
  );
  // The types of xterm.js are for those who have it.
  mkdirSync(join(empty, "node_modules/@xterm"));
  symlinkSync(join(web, "node_modules/@xterm/xterm"), join(empty, "node_modules/@xterm/xterm"));
  writeFileSync(
    join(empty, "terminal.ts"),
    `import { Terminal } from "@xterm/xterm";
import { TransferAddon } from "wetstring/xterm";
export function open(streams: { readable: ReadableStream<Uint8Array>; writable: WritableStream<Uint8Array> }) {
  const terminal = new Terminal();
  const addon = new TransferAddon({ onevent: (event) => event.event === "end" && console.log(event.outcome) });
  terminal.loadAddon(addon);
  return addon.attach(streams);
}
`,
  );
  writeFileSync(join(empty, "package.json"), '{ "type": "module" }\n');
  const tsc = join(web, "node_modules/.bin/tsc");
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--types", "", "--lib", "es2022,dom,dom.iterable"];
  run(tsc, [...options, "example.ts", "terminal.ts"]);
  writeFileSync(join(empty, "browser.d.ts"), BROWSER);
  const loose = ["--strictNullChecks", "false", "--noEmit", "browser.d.ts"];
  for (const page of ["web-serial.md", "xterm.md"]) {
    const ours = page.replace(".md", ".ts");
    writeFileSync(join(empty, ours), examples(page));
    run(tsc, [...options, ...loose, ours]);
    // A name that the package does not have is found.
    writeFileSync(join(empty, ours), examples(page).replace(/import \{(?=[^}]*\} from "wetstring)/, "import { unknown,"));
    assert.throws(() => run(tsc, [...options, ...loose, ours]), page);
  }
  assert.match(readFileSync(join(empty, "example.js"), "utf8"), /from "wetstring"/);
  assert.equal(run("node", ["example.js"]), "done a.txt: hello\n");
});
