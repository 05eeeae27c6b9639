// Both ends in one program, without a browser: every protocol of the module, files compared.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as wetstring from "../dist/index.js";

await wetstring.load(readFileSync(new URL("../dist/wetstring.wasm", import.meta.url)));

/** Two ends of a pipe; each chunk passes `change`. */
function pipe(change = (bytes) => bytes) {
  const one = () =>
    new TransformStream(
      { transform: (bytes, out) => out.enqueue(change(bytes)) },
      { highWaterMark: 65536, size: (bytes) => bytes.length },
      { highWaterMark: 65536, size: (bytes) => bytes.length },
    );
  const [there, back] = [one(), one()];
  return [
    { readable: back.readable, writable: there.writable },
    { readable: there.readable, writable: back.writable },
  ];
}

/** Bytes of a linear congruence: every value, no pattern. */
function noise(len, seed = 1) {
  let state = seed;
  return Uint8Array.from({ length: len }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

async function exchange(protocol, files, { change, line, settings } = {}) {
  const [a, b] = pipe(change);
  const received = [];
  const place = wetstring.inMemory((file) => received.push(file));
  const [sent, got] = await Promise.all([
    wetstring.send(a, files, { protocol, line, settings }),
    wetstring.receive(b, place, { protocol, line, settings, unnamed: "unnamed.bin" }),
  ]);
  return { sent, got, received };
}

test("a place in memory needs somebody who takes the files", () => {
  assert.throws(() => wetstring.inMemory(), /expected a function .* got undefined/);
});

const engine = await wetstring.Engine.create({ protocol: "zmodem", sends: false });
for (const { name: protocol } of engine.protocols()) {
  test(`${protocol}: a pair`, async () => {
    const many = /^(kermit|zmodem|ymodem)/.test(protocol);
    const files = [new File([noise(150_000)], "a.bin", { lastModified: 1e12 })];
    if (many) files.push(new File([], "empty"), new File([noise(1000, 2)], "ümlaut b.txt"));
    const { sent, got, received } = await exchange(protocol, files, { line: { reliable: true } });
    assert.equal(sent.outcome, "done", sent.message);
    assert.equal(got.outcome, "done", got.message);
    assert.equal(received.length, files.length);
    for (const [index, file] of files.entries()) {
      const bytes = new Uint8Array(await received[index].arrayBuffer());
      const wanted = new Uint8Array(await file.arrayBuffer());
      // XMODEM pads its last block.
      assert.deepEqual(many ? bytes : bytes.subarray(0, wanted.length), wanted);
      assert.equal(received[index].name, many ? file.name : "unnamed.bin");
    }
  });
}

for (const protocol of ["zmodem", "kermit", "ymodem"]) {
  test(`${protocol}: noise on the line`, async () => {
    const dice = noise(100_000, 7);
    let roll = 0;
    const change = (bytes) => {
      const copy = bytes.slice();
      if (copy.length > 100 && dice[roll++] < 20) copy[dice[roll++] % copy.length] ^= 0x41;
      return copy;
    };
    const len = protocol === "ymodem" ? 30_000 : 300_000;
    const file = new File([noise(len, 3)], "a.bin");
    const line = { reliable: false, rate: 1_000_000 };
    const { sent, got, received } = await exchange(protocol, [file], { change, line });
    assert.equal(sent.outcome, "done", sent.message);
    assert.equal(got.outcome, "done", got.message);
    assert.ok(sent.stats.retransmissions > 0, "the noise was heard");
    assert.deepEqual(new Uint8Array(await received[0].arrayBuffer()), noise(len, 3));
  });
}

test("a protocol or a setting that is none is named", async () => {
  const create = (protocol, settings) => wetstring.Engine.create({ protocol, sends: true, settings });
  await assert.rejects(create("ftp"), /expected one of kermit, .*zmodem, got ftp/);
  await create("zmodem", { "kermit.window": 8 });
  await assert.rejects(create("zmodem", { "kremit.window": 8 }), /kremit.window=8: no such setting/);
  await assert.rejects(create("kermit", { "kermit.window": 99 }), /kermit.window takes 1..31/);
});

test("an abort tells the peer", async () => {
  const [a, b] = pipe();
  const stop = new AbortController();
  const place = wetstring.inMemory(() => assert.fail("it is not complete"));
  // Long enough to be under way still when the first progress is told.
  const file = new File(Array(10).fill(noise(5_000_000)), "a.bin");
  const receiving = wetstring.receive(b, place);
  const onevent = (event) => event.event === "progress" && event.bytes > 100_000 && stop.abort();
  const sent = await wetstring.send(a, [file], { signal: stop.signal, onevent });
  const got = await receiving;
  assert.deepEqual([sent.outcome, sent.blame], ["aborted", "local"]);
  assert.deepEqual([got.outcome, got.blame], ["peer-error", "peer"]);
});

test("an offer that is declined stores nothing", async () => {
  const [a, b] = pipe();
  const place = { create: () => assert.fail("nothing is to be created") };
  const [sent, got] = await Promise.all([
    wetstring.send(a, [new File(["x"], "a")]),
    wetstring.receive(b, place, { accept: async () => false }),
  ]);
  assert.deepEqual([sent.outcome, got.outcome], ["done", "done"]);
  assert.equal(sent.stats.files_skipped, 1);
  assert.deepEqual(got.stored, []);
});

test("names from the wire are made safe", () => {
  const { safeName } = wetstring;
  for (const [wire, name] of [
    ["a.bin", "a.bin"],
    ["/etc/passwd", "passwd"],
    ["..\\..\\x.exe", "x.exe"],
    ["C:CON", "_CON"],
    ["nul.txt", "_nul.txt"],
    ["a\x1b[2J\0b", "a__2J_b".replace("__", "_[")],
    ["a?b<c>|.", "a_b_c___"],
    ["..", undefined],
    ["x/", undefined],
    ["", undefined],
    ["x".repeat(300) + ".tar.gz", "x".repeat(197) + ".gz"],
    ["invoice\u202efdp.exe", "invoice_fdp.exe"],
  ]) {
    assert.equal(safeName(wire), name, JSON.stringify(wire));
  }
  assert.equal(wetstring.numbered("a.b.c", 2), "a.b (2).c");
  assert.equal(wetstring.numbered(".profile", 1), ".profile (1)");
});

test("a start is found, and text passes", async () => {
  const scout = await wetstring.Scout.create();
  const start = new TextEncoder().encode("$ sz a\r\nrz\r**\x18B00000000000000\r\x8a\x11".replace("\x8a", ""));
  const shown = scout.feed(1, start);
  assert.equal(new TextDecoder().decode(shown), "$ sz a\r\nrz\r");
  assert.ok(scout.decide(2) instanceof Uint8Array, "not before silence");
  const found = scout.decide(scout.due());
  assert.equal(found.protocol, "zmodem");
  assert.equal(found.direction, "receive");
  assert.equal(found.refusal[0], 0x18);
  assert.equal(new TextDecoder().decode(scout.feed(5000, new TextEncoder().encode("$ "))), "$ ");
});
