// What the package declares is what `api.txt` lists, so that a change of one needs a change of the other.
// `WETSTRING_UPDATE_SNAPSHOTS=1 npm test` writes the list.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";

const web = new URL("..", import.meta.url);
const list = new URL("api.txt", web);

/** The declarations of the files that the package exports, and of those that they name, without comments. */
function listed() {
  const { exports } = JSON.parse(readFileSync(new URL("package.json", web), "utf8"));
  const waiting = Object.values(exports).flatMap((entry) => entry.types ?? []);
  const texts = new Map();
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (texts.has(path)) continue;
    const text = readFileSync(new URL(path, web), "utf8");
    texts.set(path, text);
    for (const [, name] of text.matchAll(/from "\.\/([\w-]+)\.js"/g)) waiting.push(`./dist/${name}.d.ts`);
  }
  const plain = (text) => text.replace(/\/\*[^]*?\*\//g, "").split("\n").filter((line) => line.trim() !== "" && !line.startsWith("//"));
  const names = [...texts.keys()].sort();
  return names.map((path) => [`// ${path.slice("./dist/".length)}`, ...plain(texts.get(path)), ""].join("\n")).join("\n");
}

test("the interface is listed", () => {
  const now = listed();
  assert.match(now, /export declare function send\(/);
  if (process.env.WETSTRING_UPDATE_SNAPSHOTS) writeFileSync(list, now);
  const before = existsSync(list) ? readFileSync(list, "utf8") : "";
  const lines = { before: before.split("\n"), now: now.split("\n") };
  const gone = lines.before.filter((line) => !lines.now.includes(line)).map((line) => `- ${line}`);
  const here = lines.now.filter((line) => !lines.before.includes(line)).map((line) => `+ ${line}`);
  assert.equal(now, before, ["web/api.txt differs from what the package declares", ...gone, ...here].join("\n"));
});
