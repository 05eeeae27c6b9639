// The module's border: numbers and bytes in its memory. See web/wasm/src/lib.rs for what each number means.

import { compile, type ModuleSource } from "./module.js";

interface Exports {
  memory: WebAssembly.Memory;
  numbers(): number;
  input(len: number): number;
  create(sends: number, len: number): number;
  receive(now: number, from: number, to: number): number;
  transmit(now: number): number;
  transmitted(now: number, len: number): void;
  deadline(): number;
  tick(now: number): void;
  request(): number;
  reply(now: number, kind: number, len: number): void;
  hash(len: number): void;
  event(): number;
  command(now: number, which: number): void;
  status(closed: number): number;
  stats(): void;
  list(): void;
  feed(now: number, len: number): number;
  due(): number;
  decide(now: number): number;
  release(): number;
  receiver_command(): void;
}

let compiled: Promise<WebAssembly.Module> | undefined;
let extended: Promise<WebAssembly.Module> | undefined;

/**
 * Compiles the module, once. Without a source it is `wetstring.wasm` beside this file. If it is never called,
 * that happens when the first transfer begins.
 */
export function load(source?: ModuleSource): Promise<WebAssembly.Module> {
  if (source !== undefined || compiled === undefined) {
    compiled = compile(source ?? new URL("./wetstring.wasm", import.meta.url));
  }
  return compiled;
}

/**
 * The same with what two Wetstrings do between them by Kermit. Without a source it is `kermit.wasm` beside this file,
 * which is loaded when a transfer by Kermit begins.
 */
export function loadExtended(source?: ModuleSource): Promise<WebAssembly.Module> {
  if (source !== undefined || extended === undefined) {
    extended = compile(source ?? new URL("./kermit.wasm", import.meta.url));
  }
  return extended;
}

const utf8 = new TextEncoder();
/** Names may be of any character set: what is no UTF-8 is taken byte by byte, as Latin-1. */
function text(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  }
}

/** An instance of the module: one engine, or one scout. */
class Instance {
  protected readonly exports: Exports;
  readonly #numbers: number;

  protected constructor(instance: WebAssembly.Instance) {
    this.exports = instance.exports as unknown as Exports;
    this.#numbers = this.exports.numbers();
  }

  /** The numbers; look them up again after each call that may have taken memory. */
  protected numbers(): Float64Array {
    return new Float64Array(this.exports.memory.buffer, this.#numbers, 16);
  }

  protected bytes(at = 0): Uint8Array {
    const [address, len] = this.numbers().subarray(at);
    return new Uint8Array(this.exports.memory.buffer, address, len);
  }

  protected text(at = 0): string {
    return text(this.bytes(at));
  }

  /** Copies bytes into the input. */
  protected put(bytes: Uint8Array): number {
    const address = this.exports.input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);
    return bytes.length;
  }

  /** The protocols of the module: names and titles. */
  protocols(): { name: string; title: string }[] {
    this.exports.list();
    return this.text().split("\n").map((line) => {
      const [name = "", title = ""] = line.split("\t");
      return { name, title };
    });
  }
}

/** What is known of a line. */
export interface LineFacts {
  /** Every byte arrives unchanged, or certainly not; unknown if undefined. */
  reliable?: boolean;
  /** All byte values pass. */
  clear?: boolean;
  /** Bits per second. */
  rate?: number;
}

/** A file as its sender describes it. */
export interface FileInfo {
  /** As it came, not yet safe. */
  name: string;
  size?: number;
  /** Seconds since 1970, UTC. */
  modified?: number;
  files_left?: number;
  bytes_left?: number;
}

/** What an engine wants of its store. */
export type Request =
  | { kind: "next" }
  | { kind: "read"; offset: number; len: number }
  | { kind: "offer"; info: FileInfo }
  | { kind: "write"; offset: number; bytes: Uint8Array }
  | { kind: "close"; complete: boolean; verified: boolean }
  /** A digest of the first bytes of the file: they go through `hash`, from the start. */
  | { kind: "digest"; len: number; hash: (at: number, bytes: Uint8Array) => void }
  /** Signatures of that many blocks: those blocks, as `signatures`. */
  | { kind: "signatures"; offset: number; block: number; count: number }
  /** The next file begins before the peer has stored this one; the oldest such one is stored; a file is not sent. */
  | { kind: "aside" | "settle" | "pass-over" }
  | { kind: "other" };

/** Why a file is refused. */
export const REFUSALS = ["declined", "name", "exists", "no-space", "not-stored"] as const;
export type Refusal = (typeof REFUSALS)[number];
/** Why a store fails. */
export const STORE_ERRORS = ["io", "no-space", "permission", "not-found", "changed", "unsupported"] as const;
export type StoreError = (typeof STORE_ERRORS)[number];

/** A store's answer. */
export type Reply =
  | { kind: "done" }
  | { kind: "no-more-files" }
  | { kind: "file"; info: FileInfo }
  | { kind: "read"; bytes: Uint8Array }
  /** All of it went through `hash`. */
  | { kind: "digest" }
  | { kind: "signatures"; blocks: Uint8Array }
  | { kind: "accept" }
  | { kind: "refuse"; why: Refusal }
  | { kind: "failed"; why: StoreError };

/** An event of an engine. Names and fields are those of `wst --json`. */
export type EngineEvent =
  | { event: "negotiated"; text: string }
  | { event: "file-started"; name: string; size: number | null; modified: number | null; offset: number }
  | { event: "file-done"; size: number; verified: boolean }
  | { event: "file-refused"; name: string; why: string | null; by_peer: boolean }
  | { event: "file-cancelled"; by_peer: boolean }
  | { event: "message"; text: string };

export interface Stats {
  file_bytes: number;
  current_file_bytes: number;
  wire_out_bytes: number;
  wire_in_bytes: number;
  packets_out: number;
  packets_in: number;
  retransmissions: number;
  damaged: number;
  files_done: number;
  files_skipped: number;
}

/** Before anything has happened. */
export const NO_STATS: Stats = {
  file_bytes: 0,
  current_file_bytes: 0,
  wire_out_bytes: 0,
  wire_in_bytes: 0,
  packets_out: 0,
  packets_in: 0,
  retransmissions: 0,
  damaged: 0,
  files_done: 0,
  files_skipped: 0,
};

/** How an engine stands. */
export interface Status {
  state: "running" | "lingering" | "over";
  /** With an outcome: empty if it is done. */
  why: string;
  blame: string;
  /** Of a failure, such as `silence` or `peer-error`. */
  kind: string;
}

const STATES = ["running", "lingering", "over"] as const;
const known = (number: number | undefined) => (number !== undefined && number >= 0 ? number : undefined);

/** An engine: its doors. */
export class Engine extends Instance {
  static async create(options: {
    protocol: string;
    sends: boolean;
    settings?: Record<string, string | number | boolean>;
    line?: LineFacts;
    /** Of the larger module, if that is there. */
    extended?: boolean;
  }): Promise<Engine> {
    const module = await (options.extended === true ? loadExtended().catch(() => load()) : load());
    const engine = new Engine(await WebAssembly.instantiate(module, {}));
    const line = Object.entries(options.line ?? {}).map(([name, value]) => `line.${name}=${value}`);
    const settings = Object.entries(options.settings ?? {}).map(([name, value]) => `${name}=${value}`);
    const all = [options.protocol, ...line, ...settings].map((part) => part.replaceAll("\n", " "));
    const len = engine.put(utf8.encode(all.join("\n")));
    if (engine.exports.create(options.sends ? 1 : 0, len) === 0) throw new RangeError(engine.text());
    return engine;
  }

  /** Takes received bytes; returns how many it took. */
  receive(now: number, bytes: Uint8Array): number {
    return this.exports.receive(now, 0, this.put(bytes));
  }

  /** Puts bytes into the module once, to be taken in parts by `receivePart`. */
  hold(bytes: Uint8Array): void {
    this.put(bytes);
  }

  receivePart(now: number, from: number, to: number): number {
    return this.exports.receive(now, from, to);
  }

  /** Moves bytes to send into `into`; returns how many. */
  transmit(now: number, into: Uint8Array): number {
    if (this.exports.transmit(now) === 0) return 0;
    const bytes = this.bytes().subarray(0, into.length);
    into.set(bytes);
    const len = bytes.length;
    this.exports.transmitted(now, len);
    return len;
  }

  /** Whether there are bytes to send. */
  hasOutput(now: number): boolean {
    return this.exports.transmit(now) > 0;
  }

  deadline(): number | undefined {
    return known(this.exports.deadline());
  }

  tick(now: number): void {
    this.exports.tick(now);
  }

  request(): Request | undefined {
    const kind = this.exports.request();
    if (kind === 0) return undefined;
    const numbers = this.numbers();
    switch (kind) {
      case 1:
        return { kind: "next" };
      case 2:
        return { kind: "read", offset: numbers[2]!, len: numbers[1]! };
      case 3:
        return { kind: "offer", info: this.#info() };
      case 4:
        return { kind: "write", offset: numbers[2]!, bytes: this.bytes() };
      case 6: {
        // Of one kind only: the other is of ZMODEM, which goes without.
        if (numbers[2] === 1) return { kind: "other" };
        return { kind: "digest", len: numbers[3]!, hash: (at, bytes) => this.#hash(at, bytes) };
      }
      case 9:
        return { kind: "signatures", offset: numbers[2]!, block: numbers[3]!, count: numbers[4]! };
      case 10:
        return { kind: "aside" };
      case 11:
        return { kind: "settle" };
      case 12:
        return { kind: "pass-over" };
      case 8:
        return { kind: "close", complete: numbers[2] === 1, verified: numbers[3] === 1 };
      default:
        return { kind: "other" };
    }
  }

  reply(now: number, reply: Reply): void {
    const answer = (kind: number, first = 0) => {
      this.numbers()[0] = first;
      this.exports.reply(now, kind, 0);
    };
    switch (reply.kind) {
      case "done":
        return answer(0);
      case "no-more-files":
        return answer(1);
      case "file": {
        const { info } = reply;
        const len = this.put(utf8.encode(info.name));
        const facts = [info.size, info.modified, info.files_left, info.bytes_left];
        this.numbers().set(facts.map((fact) => fact ?? -1));
        return this.exports.reply(now, 2, len);
      }
      case "read": {
        // Where it goes is told once more: memory may have moved while the bytes were read.
        this.exports.request();
        const room = this.bytes();
        const bytes = reply.bytes.subarray(0, room.length);
        room.set(bytes);
        return answer(3, bytes.length);
      }
      case "digest":
        return answer(7);
      case "signatures":
        return this.exports.reply(now, 8, this.put(reply.blocks));
      case "accept":
        return answer(4);
      case "refuse":
        return answer(5, REFUSALS.indexOf(reply.why));
      case "failed":
        return answer(6, STORE_ERRORS.indexOf(reply.why));
    }
  }

  #hash(at: number, bytes: Uint8Array): void {
    const len = this.put(bytes);
    this.numbers()[0] = at;
    this.exports.hash(len);
  }

  event(): EngineEvent | undefined {
    for (;;) {
      const kind = this.exports.event();
      if (kind === 0) return undefined;
      const numbers = this.numbers();
      switch (kind) {
        case 1:
          return { event: "negotiated", text: this.text() };
        case 2: {
          const offset = numbers[6]!;
          const { name, size = null, modified = null } = this.#info();
          return { event: "file-started", name: escaped(name), size, modified, offset };
        }
        case 3:
          return { event: "file-done", size: numbers[2]!, verified: numbers[3] === 1 };
        case 4: {
          const by_peer = numbers[2] === 1;
          return { event: "file-refused", name: escaped(this.text()), why: this.text(3) || null, by_peer };
        }
        case 5:
          return { event: "file-cancelled", by_peer: numbers[2] === 1 };
        case 6:
          return { event: "message", text: escaped(this.text()) };
      }
    }
  }

  command(now: number, which: "cancel-file" | "cancel-batch" | "abort"): void {
    this.exports.command(now, ["cancel-file", "cancel-batch", "abort"].indexOf(which));
  }

  status(closed = false): Status {
    const state = STATES[this.exports.status(closed ? 1 : 0)]!;
    if (state === "running" && !closed) return { state, why: "", blame: "", kind: "" };
    return { state, why: this.text(), blame: this.text(2), kind: this.text(4) };
  }

  /** As `status().state`, without words. */
  state(): Status["state"] {
    return STATES[this.exports.status(0)]!;
  }

  stats(): Stats {
    this.exports.stats();
    const n = this.numbers();
    return {
      file_bytes: n[0]!,
      current_file_bytes: n[1]!,
      wire_out_bytes: n[2]!,
      wire_in_bytes: n[3]!,
      packets_out: n[4]!,
      packets_in: n[5]!,
      retransmissions: n[6]!,
      damaged: n[7]!,
      files_done: n[8]!,
      files_skipped: n[9]!,
    };
  }

  #info(): FileInfo {
    const n = this.numbers();
    const modified = n[3] === -1 ? undefined : n[3];
    return { name: this.text(), size: known(n[2]), modified, files_left: known(n[4]), bytes_left: known(n[5]) };
  }
}

/** Text of a peer with its control characters written out: it is shown to people. */
export function escaped(words: string): string {
  // Also the characters that change the direction of what follows.
  return words.replace(/[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) =>
    c.charCodeAt(0) < 256
      ? `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`
      : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A transfer that the peer has started. */
export interface Start {
  /** `receive` if the peer sends, `send` if it receives. */
  direction: "receive" | "send";
  /** Our protocol. */
  protocol: string;
  /** The first bytes of the peer. */
  bytes: Uint8Array;
  /** What ends the peer's program. */
  refusal: Uint8Array;
}

/** Finds the starts of transfers in what a terminal receives. */
export class Scout extends Instance {
  static async create(): Promise<Scout> {
    return new Scout(await WebAssembly.instantiate(await load(), {}));
  }

  /** Received bytes; returns those that are no part of a start. */
  feed(now: number, bytes: Uint8Array): Uint8Array {
    const len = this.exports.feed(now, this.put(bytes));
    return len === 0 ? new Uint8Array() : this.bytes().slice();
  }

  /** When `decide` is due. */
  due(): number | undefined {
    return known(this.exports.due());
  }

  /** After silence: the start, or what shows after all. */
  decide(now: number): Start | Uint8Array {
    const what = this.exports.decide(now);
    const bytes = this.bytes().slice();
    if (what === 0) return bytes;
    const direction = what === 1 ? "receive" : "send";
    return { direction, protocol: this.text(2), bytes, refusal: this.bytes(4).slice() };
  }

  /** What is held back and will not be looked at. */
  release(): Uint8Array {
    this.exports.release();
    return this.bytes().slice();
  }

  /** A command for a POSIX shell that starts the receiver that there is. */
  receiverCommand(): Uint8Array {
    this.exports.receiver_command();
    return this.bytes().slice();
  }
}
