// The page of speed-chromium.mjs: receives a file by either library; the time, and the digest of what came.

import * as wetstring from "../dist/index.js";
import { received } from "./zmodem-js.mjs";

await wetstring.load(new URL("wetstring.wasm", location.href));

/** What came. */
let got;

const line = () => new URL("line", location.href.replace("http", "ws"));

async function byUs() {
  const streams = await wetstring.connectWebSocket(line(), ["wetstring"]);
  let file;
  const began = performance.now();
  await wetstring.receive(streams, wetstring.inMemory((received) => (file = received)), { line: { reliable: true } });
  return { ms: performance.now() - began, bytes: () => file.arrayBuffer() };
}

async function byThem() {
  const socket = new WebSocket(line(), ["wetstring"]);
  socket.binaryType = "arraybuffer";
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const began = performance.now();
  // Text messages are facts of the line.
  const chunks = await received(
    (bytes) => socket.send(bytes),
    (take) => socket.addEventListener("message", ({ data }) => typeof data !== "string" && take(new Uint8Array(data))),
  );
  const ms = performance.now() - began;
  return { ms, bytes: () => new Blob(chunks.map((chunk) => Uint8Array.from(chunk))).arrayBuffer() };
}

globalThis.receive = async (who) => {
  const { ms, bytes } = await (who === "wetstring" ? byUs() : byThem());
  got = bytes;
  return ms;
};
globalThis.digest = async () => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await got()));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
};
