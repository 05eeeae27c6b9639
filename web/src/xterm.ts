// An addon for xterm.js: a terminal on a pair of streams, in which transfers work.

import type { IDisposable, ITerminalAddon, Terminal } from "@xterm/xterm";
import { sendToDevice, type DeviceEnd, type DeviceOptions } from "./device.js";
import { NO_STATS, Scout, type LineFacts, type Start } from "./engine.js";
import { Inbox, Outbox, type Place, type Source } from "./files.js";
import { Panel } from "./panel.js";
import { runOn, type End, type TransferEvent, type TransferOptions } from "./transfer.js";
import { Wire, type Streams } from "./wire.js";

export { Panel } from "./panel.js";

/** What the addon asks the user, and shows. `Panel` is one; an application may have its own. */
export interface Interaction {
  /** The peer wants to send. The place for its files, or undefined to refuse: nothing is stored before. */
  consent(start: Start): Promise<Place | undefined>;
  /** The peer wants to receive. What to send, or undefined to refuse. */
  choose(start: Start): Promise<Source[] | undefined>;
  /** Files were dropped on the terminal: `shell` to start a receiver at the peer's shell, or a protocol. */
  how(files: Source[]): Promise<string | undefined>;
  /** A transfer begins; returns what is called with its events. */
  begin(direction: "send" | "receive", protocol: string, cancel: () => void): (event: TransferEvent) => void;
  /** A question need not be answered any more. */
  withdraw(): void;
}

export interface TransferAddonOptions {
  /** Who is asked. A `Panel` over the terminal unless told otherwise. */
  interaction?: Interaction;
  /** Whether transfers that the peer starts are looked for. */
  autostart?: boolean;
  /** Settings of the protocols, such as `{"kermit.window": 8}`. */
  settings?: Record<string, string | number | boolean>;
  /** What is known of the line. */
  line?: LineFacts;
  onevent?: (event: TransferEvent) => void;
  /** The terminal has another size. */
  onresize?: (columns: number, rows: number) => void;
  /** The line has closed. */
  onclose?: () => void;
}

/** How long the rest of a transfer may take to come. */
const LATE_MS = 2000;
/** How long a receiver may take to start at the shell. */
const START_MS = 15_000;
/** Bytes that the terminal has not shown yet, above which the line is not read. */
const MOST_UNSHOWN = 1 << 19;
/** What may wait while the user is asked. */
const MOST_HELD = 1 << 20;
const CTRL_C = "\x03";
/** A shell's terminal or tmux may act on any control character that is sent. */
const CAREFUL: Record<string, string> = { "kermit.prefixing": "all" };

const empty = new Uint8Array();

export class TransferAddon implements ITerminalAddon {
  /** May be changed at any time. */
  readonly options: TransferAddonOptions;
  #terminal: Terminal | undefined;
  #panel: Panel | undefined;
  #disposables: IDisposable[] = [];
  #wire: Wire | undefined;
  #scout: Scout | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unshown = 0;
  /** Running, or about to: the terminal reads nothing. */
  #busy = false;
  #cancel: AbortController | undefined;
  #trailer: { rest: Uint8Array; until: number } | undefined;
  /** What came while the user was asked. */
  #held: Uint8Array[] | undefined;
  #heldLen = 0;
  /** For the receiver that is started at the shell. */
  #uploading: { files: Source[]; until: number } | undefined;
  /** Starts are no question until then: one was refused. */
  #deafUntil = 0;

  constructor(options: TransferAddonOptions = {}) {
    this.options = options;
  }

  activate(terminal: Terminal): void {
    this.#terminal = terminal;
    this.#panel = new Panel(() => terminal.element?.parentElement);
    const utf8 = new TextEncoder();
    this.#disposables.push(
      terminal.onData((data) => this.#typed(utf8.encode(data), data)),
      terminal.onBinary((data) => this.#typed(Uint8Array.from(data, (c) => c.charCodeAt(0)), data)),
      terminal.onResize(({ cols, rows }) => this.options.onresize?.(cols, rows)),
    );
    const listen = (element: HTMLElement) => {
      const over = (event: DragEvent) => event.preventDefault();
      const drop = (event: DragEvent) => {
        event.preventDefault();
        const files = Array.from(event.dataTransfer?.files ?? []);
        if (files.length > 0) void this.dropped(files);
      };
      element.addEventListener("dragover", over);
      element.addEventListener("drop", drop);
      this.#disposables.push({
        dispose() {
          element.removeEventListener("dragover", over);
          element.removeEventListener("drop", drop);
        },
      });
    };
    if (terminal.element !== undefined) listen(terminal.element);
    // It is opened later.
    else queueMicrotask(() => terminal.element !== undefined && listen(terminal.element));
  }

  dispose(): void {
    this.detach();
    this.#disposables.splice(0).forEach((one) => one.dispose());
  }

  /** Puts the terminal on a line. What was there before is given back, and not closed. */
  async attach(streams: Streams): Promise<void> {
    this.detach();
    this.#scout = await Scout.create();
    const wire = new Wire(streams);
    this.#wire = wire;
    this.#listen();
  }

  /** Takes the terminal off the line. A transfer is aborted. */
  detach(): void {
    this.#cancel?.abort();
    this.#interaction?.withdraw();
    clearTimeout(this.#timer);
    const wire = this.#wire;
    this.#wire = undefined;
    if (wire !== undefined && !this.#busy) wire.release();
    this.#busy = false;
    this.#held = undefined;
    this.#trailer = undefined;
    this.#uploading = undefined;
  }

  /** Whether a transfer runs. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Cancels the transfer; the peer is told at once. */
  cancel(): void {
    this.#cancel?.abort();
  }

  /** Sends files by a protocol, to a receiver that is there. */
  send(files: Iterable<Source>, protocol = "zmodem", before?: Uint8Array): Promise<End> {
    return this.#run({ protocol, direction: "send", store: new Outbox(files), before });
  }

  /** Receives files by a protocol. `unnamed` is the name of one whose protocol tells none. */
  receive(place: Place, protocol = "zmodem", unnamed?: string, before?: Uint8Array): Promise<End> {
    const store = new Inbox(place, { unnamed });
    return this.#run({ protocol, direction: "receive", store, before });
  }

  /** Sends a file to a device as its profile says: see `sendToDevice`. What the device says is shown. */
  async device(file: Source, options: Omit<DeviceOptions, "onshow" | "onbegin" | "signal">): Promise<DeviceEnd> {
    const { wire, cancel } = this.#take();
    let show: ((event: TransferEvent) => void) | undefined;
    let protocol = "";
    const { line } = this.options;
    try {
      return await sendToDevice(wire, file, {
        line,
        ...options,
        settings: { ...CAREFUL, ...this.options.settings, ...options.settings },
        onshow: (bytes) => this.#show(bytes),
        onbegin: (by) => {
          protocol = by;
          show = this.#interaction?.begin("send", by, () => cancel.abort());
        },
        onevent: (event) => {
          show?.(event);
          options.onevent?.(event);
          this.options.onevent?.(event);
        },
        signal: cancel.signal,
      });
    } finally {
      this.#giveBack(wire, protocol, "send");
    }
  }

  /** Starts a receiver at the peer's shell, and sends it the files. */
  upload(files: Source[]): void {
    if (this.#wire === undefined || this.#scout === undefined) throw new Error("there is no line");
    this.#uploading = { files, until: performance.now() + START_MS };
    this.#wire.write(this.#scout.receiverCommand());
  }

  /** Files were dropped: asks how they are to be sent. */
  async dropped(files: Source[]): Promise<void> {
    if (this.#busy || this.#wire === undefined) return;
    const how = await this.#interaction?.how(files);
    if (how === "shell") this.upload(files);
    else if (how !== undefined) await this.send(files, how);
  }

  get #interaction(): Interaction | undefined {
    return this.options.interaction ?? this.#panel;
  }

  #listen(): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    wire.onwake = () => this.#heard();
    this.#heard();
  }

  #typed(bytes: Uint8Array, data: string): void {
    if (!this.#busy) {
      this.#wire?.write(bytes);
      return;
    }
    if (data === CTRL_C) this.cancel();
  }

  /** What the line has. */
  #heard(): void {
    const wire = this.#wire;
    if (wire === undefined || this.#busy) return;
    while (this.#unshown < MOST_UNSHOWN && this.#heldLen < MOST_HELD) {
      const bytes = wire.take();
      if (bytes === undefined) break;
      this.#sort(this.#withoutTrailer(bytes));
    }
    this.#schedule();
    if (wire.closed && this.#unshown === 0) this.#closed();
  }

  #closed(): void {
    if (this.#scout !== undefined) this.#show(this.#scout.release());
    this.#wire = undefined;
    clearTimeout(this.#timer);
    this.options.onclose?.();
  }

  #sort(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (this.#held !== undefined) {
      this.#held.push(bytes);
      this.#heldLen += bytes.length;
    } else if (this.options.autostart === false || this.#scout === undefined) {
      this.#show(bytes);
    } else {
      this.#show(this.#scout.feed(performance.now(), bytes));
    }
  }

  #show(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#unshown += bytes.length;
    this.#terminal?.write(bytes, () => {
      const was = this.#unshown;
      this.#unshown -= bytes.length;
      if (was >= MOST_UNSHOWN || this.#wire?.closed === true) this.#heard();
    });
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const due = this.#held === undefined ? this.#scout?.due() : undefined;
    if (due === undefined) return;
    this.#timer = setTimeout(() => this.#decide(), Math.max(0, due - performance.now()) + 1);
  }

  #decide(): void {
    if (this.#busy || this.#scout === undefined) return;
    const found = this.#scout.decide(performance.now());
    if (found instanceof Uint8Array) {
      this.#show(found);
      this.#schedule();
    } else if (performance.now() < this.#deafUntil) {
      // It has not heard the refusal yet.
      this.#wire?.write(found.refusal);
    } else {
      // What went wrong was shown.
      this.#started(found).catch(() => {});
    }
  }

  /** The peer has started a transfer. */
  async #started(start: Start): Promise<void> {
    const upload = this.#uploading;
    if (start.direction === "send" && upload !== undefined && performance.now() < upload.until) {
      this.#uploading = undefined;
      await this.#answer(start, upload.files);
      return;
    }
    this.#held = [];
    const wire = this.#wire;
    const send = start.direction === "send";
    const answer = send ? this.#interaction?.choose(start) : this.#interaction?.consent(start);
    const chosen = await answer?.catch(() => undefined);
    // Or the user has begun a transfer by hand instead of an answer.
    if (this.#wire !== wire || wire === undefined || this.#busy) return;
    this.#giveHeldBack(wire);
    if (chosen === undefined) {
      wire.write(start.refusal);
      this.#deafUntil = performance.now() + LATE_MS;
      this.#heard();
      return;
    }
    await this.#answer(start, chosen);
  }

  #giveHeldBack(wire: Wire): void {
    this.#held?.reverse().forEach((bytes) => wire.giveBack(bytes));
    this.#held = undefined;
    this.#heldLen = 0;
  }

  async #answer(start: Start, chosen: Place | Source[]): Promise<void> {
    const { protocol, bytes } = start;
    if (Array.isArray(chosen)) {
      // A Kermit receiver's NAK asks for our first packet, which leaves anyway.
      await this.send(chosen, protocol, protocol === "kermit" ? undefined : bytes);
    } else {
      await this.receive(chosen, protocol, "received", bytes);
    }
  }

  async #run(options: TransferOptions): Promise<End> {
    const { wire, cancel } = this.#take();
    const { protocol, direction } = options;
    const show = this.#interaction?.begin(direction, protocol, () => cancel.abort());
    const onevent = (event: TransferEvent) => {
      show?.(event);
      this.options.onevent?.(event);
    };
    const settings = { ...(direction === "send" && CAREFUL), ...this.options.settings };
    const { line } = this.options;
    try {
      return await runOn(wire, { line, linger: true, ...options, settings, onevent, signal: cancel.signal });
    } catch (error) {
      // A protocol or a setting that is none, a module that does not load.
      const message = error instanceof Error ? error.message : String(error);
      onevent({ event: "end", outcome: "internal", blame: "local", message, elapsed_s: 0, stats: NO_STATS });
      throw error;
    } finally {
      this.#giveBack(wire, protocol, direction);
    }
  }

  /** The line for a transfer, and its way out: the terminal reads nothing until it is given back. */
  #take(): { wire: Wire; cancel: AbortController } {
    const wire = this.#wire;
    if (wire === undefined || this.#scout === undefined) throw new Error("there is no line");
    if (this.#busy) throw new Error("a transfer is running");
    this.#busy = true;
    clearTimeout(this.#timer);
    this.#giveHeldBack(wire);
    this.#show(this.#scout.release());
    const cancel = new AbortController();
    this.#cancel = cancel;
    return { wire, cancel };
  }

  #giveBack(wire: Wire, protocol: string, direction: "send" | "receive"): void {
    this.#cancel = undefined;
    if (this.#wire === wire) {
      this.#busy = false;
      this.#trailer = { rest: trailerOf(protocol, direction), until: performance.now() + LATE_MS };
      this.#listen();
    } else {
      wire.release();
    }
  }

  /** Bytes without those that end the last transfer. */
  #withoutTrailer(bytes: Uint8Array): Uint8Array {
    const trailer = this.#trailer;
    if (trailer === undefined) return bytes;
    this.#trailer = undefined;
    if (performance.now() > trailer.until) return bytes;
    let len = 0;
    while (len < bytes.length && len < trailer.rest.length && bytes[len] === trailer.rest[len]) len += 1;
    const rest = trailer.rest.subarray(len);
    if (len === bytes.length && rest.length > 0) this.#trailer = { rest, until: trailer.until };
    return bytes.subarray(len);
  }
}

/** The last bytes of a protocol, which may come after its end and are not for the screen. */
function trailerOf(protocol: string, direction: "send" | "receive"): Uint8Array {
  if (protocol === "kermit") return new TextEncoder().encode("\r");
  return protocol === "zmodem" && direction === "receive" ? new TextEncoder().encode("OO") : empty;
}
