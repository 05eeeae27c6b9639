// A file for a device by its profile: to the prompt, the command, the transfer, the check. The conversation is that of
// `wst send FILE @uboot:LINE`; the module is loaded when it is first wanted.

import { escaped } from "./engine.js";
import { Outbox, type Source } from "./files.js";
import { compile, type ModuleSource } from "./module.js";
import { runOn, type End, type TransferOptions } from "./transfer.js";
import type { Wire } from "./wire.js";

interface Exports {
  memory: WebAssembly.Memory;
  input(len: number): number;
  output(): number;
  output_len(): number;
  list(): void;
  digest(len: number): void;
  begin(now: number, len: number): number;
  heard(now: number, len: number): void;
  transferred(now: number, done: number, len: number): void;
  next(now: number): number;
  deadline(): number;
  closed(now: number): number;
}

/** A kind of device that there is a profile for. */
export interface DeviceProfile {
  name: string;
  title: string;
  /** What it was tested with, in words. */
  tested: string;
  /** Those that it knows, the best first. */
  protocols: string[];
  /** Variables and their defaults. */
  vars: Record<string, string>;
}

/** What a port can do besides carrying bytes: `SerialPort` of Web Serial. */
export interface PortSignals {
  setSignals(signals: { break?: boolean; dataTerminalReady?: boolean; requestToSend?: boolean }): Promise<void>;
}

export interface DeviceOptions extends Omit<TransferOptions, "protocol" | "direction" | "store" | "before"> {
  /** The profile, such as `uboot`. */
  profile: string;
  /** One of the profile's; the first unless told otherwise. */
  protocol?: string;
  /** Such as `{ address: "0x82000000" }`. */
  vars?: Record<string, string>;
  /** For breaks, and wires that reset the device. Without it there are none. */
  port?: PortSignals;
  /** The device's words, as they come. */
  onshow?: (bytes: Uint8Array) => void;
  /** What the user is to know, such as to press a button. */
  onsay?: (words: string) => void;
  /** The transfer begins, by this protocol. */
  onbegin?: (protocol: string) => void;
}

/** How it ended. Without a transfer it has no `end`. */
export interface DeviceEnd {
  /** `done`, or the kind of failure: of the transfer, or `silence`, `peer-error`, `integrity` of the conversation. */
  outcome: string;
  /** A sentence; empty if it is done. */
  message: string;
  end?: End;
}

/** Bytes of a file that are read at once. */
const BLOCK = 1 << 20;
const LONG_MS = 60_000;
const PULSE_MS = 100;
const FAULTS: Record<number, string> = { 5: "done", 6: "silence", 7: "peer-error", 8: "integrity" };

const utf8 = new TextEncoder();
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let compiled: Promise<WebAssembly.Module> | undefined;

/** Compiles the module of the profiles, once. Without a source it is `device.wasm` beside this file. */
export function loadDevices(source?: ModuleSource): Promise<WebAssembly.Module> {
  if (source !== undefined || compiled === undefined) {
    compiled = compile(source ?? new URL("./device.wasm", import.meta.url));
    // It may be there later.
    compiled.catch(() => (compiled = undefined));
  }
  return compiled;
}

/** An instance of the module. */
class Talk {
  readonly #exports: Exports;

  private constructor(instance: WebAssembly.Instance) {
    this.#exports = instance.exports as unknown as Exports;
  }

  static async create(): Promise<Talk> {
    return new Talk(await WebAssembly.instantiate(await loadDevices(), {}));
  }

  #put(bytes: Uint8Array): number {
    const address = this.#exports.input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, address, bytes.length).set(bytes);
    return bytes.length;
  }

  bytes(): Uint8Array {
    const { memory, output, output_len } = this.#exports;
    return new Uint8Array(memory.buffer, output(), output_len()).slice();
  }

  text(): string {
    return new TextDecoder().decode(this.bytes());
  }

  list(): DeviceProfile[] {
    this.#exports.list();
    return JSON.parse(this.text()) as DeviceProfile[];
  }

  digest(bytes: Uint8Array): void {
    this.#exports.digest(this.#put(bytes));
  }

  begin(now: number, lines: string[]): Begun {
    const len = this.#put(utf8.encode(lines.map((line) => line.replaceAll("\n", " ")).join("\n")));
    if (this.#exports.begin(now, len) === 0) throw new RangeError(this.text());
    return JSON.parse(this.text()) as Begun;
  }

  heard(now: number, bytes: Uint8Array): void {
    this.#exports.heard(now, this.#put(bytes));
  }

  transferred(now: number, done: boolean): void {
    this.#exports.transferred(now, done ? 1 : 0, 0);
  }

  next(now: number): number {
    return this.#exports.next(now);
  }

  /** The line has closed; whether that is no fault, since all was done. */
  closed(now: number): boolean {
    return this.#exports.closed(now) !== 0;
  }

  deadline(): number | undefined {
    const at = this.#exports.deadline();
    return at < 0 ? undefined : at;
  }
}

interface Begun {
  protocol: string;
  /** As the commands to the device have it. */
  name: string;
  set: Record<string, string>;
  pause_ms: number;
  /** The wire that resets the device: `dtr`, `rts` or none. */
  pulse: string;
}

/** The profiles that there are. */
export async function deviceProfiles(): Promise<DeviceProfile[]> {
  return (await Talk.create()).list();
}

/** Sends a file to a device on a wire. Bytes that follow it stay in the wire. */
export async function sendToDevice(wire: Wire, file: Source, options: DeviceOptions): Promise<DeviceEnd> {
  const { profile, protocol, vars = {}, port, onshow, onsay, onbegin, ...rest } = options;
  const talk = await Talk.create();
  const data = file instanceof File ? file : file.data;
  for (let at = 0; at < data.size; at += BLOCK) {
    talk.digest(new Uint8Array(await data.slice(at, at + BLOCK).arrayBuffer()));
  }
  const sets = Object.entries(vars).map(([name, value]) => `${name}=${value}`);
  const begun = talk.begin(performance.now(), [profile, protocol ?? "", file.name, ...sets]);
  if (begun.pulse !== "") await pulse(port, begun.pulse);
  let end: End | undefined;
  let wake = () => {};
  const { signal } = rest;
  signal?.addEventListener("abort", () => wake());
  for (;;) {
    if (signal?.aborted === true) return { outcome: "aborted", message: "aborted", ...(end && { end }) };
    for (let bytes = wire.take(); bytes !== undefined; bytes = wire.take()) {
      onshow?.(bytes);
      talk.heard(performance.now(), bytes);
    }
    const what = talk.next(performance.now());
    switch (what) {
      case 0: {
        if ((wire.closed || wire.broken) && talk.closed(performance.now())) break;
        if (wire.closed || wire.broken) return { outcome: "closed", message: "the connection is closed" };
        const due = talk.deadline();
        const ms = due === undefined ? LONG_MS : Math.max(1, due - performance.now() + 1);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(ms, LONG_MS));
          wake = wire.onwake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        [wake, wire.onwake] = [() => {}, () => {}];
        break;
      }
      case 1:
        await type(wire, talk.bytes(), begun.pause_ms);
        break;
      case 2:
        await port?.setSignals({ break: true });
        await sleep(Number(talk.text()));
        await port?.setSignals({ break: false });
        break;
      case 3:
        onsay?.(escaped(talk.text()));
        break;
      case 4: {
        const before = talk.bytes();
        onbegin?.(begun.protocol);
        const settings = { ...begun.set, ...rest.settings };
        const modified = file instanceof File ? Math.floor(file.lastModified / 1000) : file.modified;
        const store = new Outbox([{ name: begun.name, data, ...(modified !== undefined && { modified }) }]);
        end = await runOn(wire, { ...rest, settings, protocol: begun.protocol, direction: "send", store, before });
        talk.transferred(performance.now(), end.outcome === "done");
        break;
      }
      default: {
        // What the transfer failed at comes first.
        if (end !== undefined && end.outcome !== "done") return { outcome: end.outcome, message: end.message, end };
        const message = what === 5 ? "" : escaped(talk.text());
        return { outcome: FAULTS[what] ?? "internal", message, ...(end && { end }) };
      }
    }
  }
}

async function type(wire: Wire, bytes: Uint8Array, pauseMs: number): Promise<void> {
  if (pauseMs === 0) return wire.write(bytes);
  for (const byte of bytes) {
    wire.write(Uint8Array.of(byte));
    await sleep(pauseMs);
  }
}

async function pulse(port: PortSignals | undefined, which: string): Promise<void> {
  const signal = (on: boolean) => (which === "dtr" ? { dataTerminalReady: on } : { requestToSend: on });
  await port?.setSignals(signal(false));
  await sleep(PULSE_MS);
  await port?.setSignals(signal(true));
}
