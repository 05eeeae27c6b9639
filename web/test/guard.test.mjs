// Who gets to the line of `wst web`, and who does not.

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { scratch, SHELL, web } from "./helpers.mjs";

/** A request with these headers; the status, the headers and the body. */
function ask(url, headers, path = "/line") {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path, headers });
    asked.on("upgrade", ({ headers }, socket) => {
      socket.destroy();
      resolve({ status: 101, headers });
    });
    asked.on("response", (response) => {
      let body = "";
      response.on("data", (data) => (body += data));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** The headers of a page of ours that asks for the line. */
function handshake(url) {
  const { host, hash } = new URL(url);
  assert.equal(hash.length, 33);
  return {
    Host: host,
    Origin: `http://${host}`,
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": `wetstring, ${hash.slice(1)}`,
  };
}

/** A page that says this over the line, whose device does not stop talking, and whose connection is then reset. */
async function last(url, words) {
  const { hostname, port } = new URL(url);
  const asked = request({ hostname, port, path: "/line", headers: handshake(url) });
  asked.end();
  const [, socket] = await once(asked, "upgrade");
  await once(socket, "data");
  // A mask of zeros changes nothing.
  socket.write(Buffer.concat([Buffer.from([0x82, 0x80 | words.length, 0, 0, 0, 0]), Buffer.from(words)]));
  socket.resetAndDestroy();
}

test("what a page has sent before it is gone reaches the line", async (t) => {
  const cwd = scratch(t);
  const url = await web(t, "exec:sh -c 'cat /dev/zero & exec cat > heard'", { cwd });
  const said = Array.from({ length: 300 }, (_, index) => `page ${index}\n`);
  for (const words of said) await last(url, words);
  const [heard, all] = [join(cwd, "heard"), said.join("")];
  const until = Date.now() + 5000;
  const got = () => (existsSync(heard) ? readFileSync(heard, "latin1") : "");
  while (got() !== all && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(got(), all);
});

test("only a page of ours with the token gets the line", async (t) => {
  const url = await web(t, SHELL, { cwd: scratch(t) });
  const { host } = new URL(url);
  const good = handshake(url);
  const status = async (changes) => (await ask(url, { ...good, ...changes })).status;
  assert.equal(await status({}), 101);
  assert.equal(await status({ Origin: "http://evil.example" }), 403);
  assert.equal(await status({ Origin: "null" }), 403);
  assert.equal(await status({ "Sec-WebSocket-Protocol": "wetstring" }), 403);
  assert.equal(await status({ "Sec-WebSocket-Protocol": `wetstring, ${"0".repeat(32)}` }), 403);
  // A name of somebody else's that leads here.
  assert.equal(await status({ Host: "evil.example", Origin: "http://evil.example" }), 421);
  assert.equal(await status({ Upgrade: "" }), 426);
});

test("the page, and nothing else of its directory", async (t) => {
  const url = await web(t, undefined);
  const { host } = new URL(url);
  for (const [path, status] of [
    ["/", 200], ["/page.js", 200], ["/wetstring.wasm", 200], ["/../page.js", 404], ["/page.ts", 404], ["/etc/passwd", 404],
  ]) {
    assert.equal((await ask(url, { Host: host }, path)).status, status, path);
  }
  const { headers } = await ask(url, { Host: host }, "/");
  const policy = headers["content-security-policy"];
  assert.match(policy, /script-src 'self' 'wasm-unsafe-eval';/);
  assert.doesNotMatch(policy, /'unsafe-eval'/);
});
