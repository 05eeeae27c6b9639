// The loop that runs an engine: between streams, a store, timers and a user.

import { Engine, type EngineEvent, type LineFacts, type Reply, type Stats } from "./engine.js";
import type { Store } from "./files.js";
import { Wire, type Streams } from "./wire.js";

/** Progress of the current file. Names and fields are those of `wst --json`. */
export interface Progress {
  event: "progress";
  name: string;
  bytes: number;
  size: number | null;
  elapsed_s: number;
  bytes_per_s: number;
  left_s: number | null;
  retransmissions: number;
}

/** The last event. */
export interface End {
  event: "end";
  /** `done`, or the kind of failure, such as `silence`, `peer-error`, `aborted`. */
  outcome: string;
  /** Who is to blame for a failure: `peer`, `line`, `store` or `local`. */
  blame: string;
  /** A sentence; empty if it is done. */
  message: string;
  elapsed_s: number;
  stats: Stats;
}

export type TransferEvent = EngineEvent | Progress | End;

export interface TransferOptions {
  /** Such as `zmodem`, `kermit`, `ymodem`, `xmodem-1k`. */
  protocol: string;
  direction: "send" | "receive";
  store: Store;
  /** Settings by their names, such as `kermit.window`; see `wst show`. */
  settings?: Record<string, string | number | boolean>;
  line?: LineFacts;
  /**
   * Whether Kermit uses the larger module, `kermit.wasm`, which has what two Wetstrings do between them; unless told
   * otherwise it does, if that can be loaded.
   */
  extended?: boolean;
  /** Received before: the first bytes of a peer. */
  before?: Uint8Array;
  onevent?: (event: TransferEvent) => void;
  /** The user's way out. The first abort tells the peer. */
  signal?: AbortSignal;
  /**
   * Whether to stay after the end, until the peer must have heard it; unless told otherwise on a line that is not known
   * to be reliable. Where something else follows on the line, the last bytes of the peer are not left to it.
   */
  linger?: boolean;
  /** Time for the peer to hear of an abort. */
  graceMs?: number;
}

/** Bytes written at once. */
const WRITE = 64 * 1024;
/** Bytes moved before the browser may do something else. */
const TURN = 1 << 20;
const PROGRESS_MS = 100;
/** The longest timer. */
const LONG_MS = 60_000;

/** Runs one transfer on a wire; returns its last event. Bytes that follow it stay in the wire. */
export async function runOn(wire: Wire, options: TransferOptions): Promise<End> {
  const { protocol, direction, settings, line } = options;
  // The opening exchange tells the peer what this end can do: the module has to be here before.
  const extended = protocol === "kermit" && options.extended !== false;
  const engine = await Engine.create({ protocol, sends: direction === "send", settings, line, extended });
  return new Turning(wire, engine, options).run();
}

/** Runs one transfer on a pair of streams, which are free again afterwards. */
export async function transfer(streams: Streams, options: TransferOptions): Promise<End> {
  const wire = new Wire(streams);
  try {
    return await runOn(wire, options);
  } finally {
    wire.release();
  }
}

class Turning {
  readonly #wire: Wire;
  readonly #engine: Engine;
  readonly #options: TransferOptions;
  readonly #began = performance.now();
  readonly #linger: boolean;
  #input: Uint8Array = new Uint8Array();
  #fed = 0;
  #out = new Uint8Array(WRITE);
  #outLen = 0;
  #reply: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #woken = false;
  #file = { name: "", size: null as number | null, began: 0, offset: 0 };
  #nextProgress = 0;
  #aborted: number | undefined;
  #closedSince: number | undefined;

  constructor(wire: Wire, engine: Engine, options: TransferOptions) {
    this.#wire = wire;
    this.#engine = engine;
    this.#options = options;
    this.#linger = options.linger ?? options.line?.reliable !== true;
    wire.onwake = () => this.#rouse();
    options.signal?.addEventListener("abort", () => this.#abort());
    if (options.before !== undefined) this.#offer(options.before);
  }

  async run(): Promise<End> {
    if (this.#options.signal?.aborted === true) this.#abort();
    for (;;) {
      let moved = this.#exchange();
      moved = this.#read() || moved;
      moved = this.#tick() || moved;
      moved = this.#events() || moved;
      this.#progress(false);
      const end = this.#over(moved);
      if (end !== undefined) return this.#settle(end);
      await this.#wait(moved);
    }
  }

  #rouse(): void {
    this.#woken = true;
    this.#wake?.();
  }

  #abort(): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = performance.now();
    this.#engine.command(this.#aborted, "abort");
    // At once: the page may be about to go.
    this.#flush();
    this.#rouse();
  }

  /** All that is to be sent, whether or not the line takes it. */
  #flush(): void {
    while (this.#outLen < WRITE) {
      const len = this.#engine.transmit(performance.now(), this.#out.subarray(this.#outLen));
      if (len === 0) break;
      this.#outLen += len;
    }
    this.#send();
  }

  #send(): void {
    if (this.#outLen === 0) return;
    this.#wire.write(this.#out.slice(0, this.#outLen));
    this.#outLen = 0;
  }

  /** Requests and output, until there are none or the line is full. */
  #exchange(): boolean {
    let moved = false;
    let turn = 0;
    const now = performance.now();
    for (;;) {
      moved = this.#answer() || moved;
      if (!this.#wire.writable || turn >= TURN) break;
      const len = this.#engine.transmit(now, this.#out.subarray(this.#outLen));
      if (len === 0) break;
      moved = true;
      turn += len;
      this.#outLen += len;
      if (this.#outLen === WRITE) this.#send();
    }
    this.#send();
    return moved;
  }

  /** Answers requests as far as the store does so at once. */
  #answer(): boolean {
    let moved = false;
    while (this.#reply === undefined) {
      // The next file's name would replace the one that these events are about.
      this.#events();
      const request = this.#engine.request();
      if (request === undefined) break;
      const reply = this.#options.store.answer(request);
      if (reply instanceof Promise) {
        const give = (reply: Reply) => {
          this.#reply = undefined;
          this.#give(reply);
          this.#rouse();
        };
        this.#reply = reply.then(give, () => give({ kind: "failed", why: "io" }));
        break;
      }
      this.#give(reply);
      moved = true;
    }
    return moved;
  }

  #give(reply: Reply): void {
    this.#engine.reply(performance.now(), reply);
    // A file's name is put where the input was.
    if (reply.kind === "file" && this.#fed < this.#input.length) this.#offer(this.#input.subarray(this.#fed));
  }

  #offer(bytes: Uint8Array): void {
    this.#input = bytes;
    this.#fed = 0;
    this.#engine.hold(bytes);
  }

  /** Feeds what came to the engine. */
  #read(): boolean {
    let moved = false;
    for (let turn = 0; turn < TURN && !this.#ended(); ) {
      if (this.#fed === this.#input.length) {
        const bytes = this.#wire.take();
        if (bytes === undefined) break;
        this.#offer(bytes);
      }
      const taken = this.#engine.receivePart(performance.now(), this.#fed, this.#input.length);
      this.#fed += taken;
      turn += taken;
      const answered = this.#answer();
      moved ||= taken > 0 || answered;
      if (taken === 0 && !answered) break;
    }
    return moved;
  }

  /** Whether the engine is to get no more bytes: what follows is not for it. */
  #ended(): boolean {
    const state = this.#engine.state();
    return state === "over" || (state === "lingering" && !this.#linger);
  }

  #tick(): boolean {
    const before = this.#engine.deadline();
    const now = performance.now();
    if (before === undefined || before > now) return false;
    this.#engine.tick(now);
    return this.#engine.deadline() !== before;
  }

  #events(): boolean {
    let moved = false;
    for (;;) {
      const event = this.#engine.event();
      if (event === undefined) return moved;
      moved = true;
      if (event.event === "file-started") {
        const { name, size, offset } = event;
        this.#file = { name, size, offset, began: performance.now() };
      }
      if (event.event === "file-done") this.#progress(true);
      this.#options.onevent?.(event);
    }
  }

  #progress(whole: boolean): void {
    const now = performance.now();
    if (this.#options.onevent === undefined || (now < this.#nextProgress && !whole)) return;
    this.#nextProgress = now + PROGRESS_MS;
    const { name, size, began, offset } = this.#file;
    if (name === "") return;
    const stats = this.#engine.stats();
    const bytes = stats.current_file_bytes;
    const elapsed_s = (now - began) / 1000;
    const bytes_per_s = elapsed_s > 0 ? (bytes - offset) / elapsed_s : 0;
    const left_s = size !== null && bytes_per_s > 0 ? (size - bytes) / bytes_per_s : null;
    const { retransmissions } = stats;
    const event = "progress" as const;
    this.#options.onevent({ event, name, bytes, size, elapsed_s, bytes_per_s, left_s, retransmissions });
  }

  #over(moved: boolean): Omit<End, "elapsed_s" | "stats"> | undefined {
    const now = performance.now();
    const grace = this.#options.graceMs ?? 1000;
    const closing = this.#aborted !== undefined && now - this.#aborted >= grace;
    if (moved && !closing) return undefined;
    if (this.#wire.closed || this.#wire.broken) this.#closedSince ??= now;
    const lost = this.#wire.closed && this.#wire.broken;
    const late = this.#closedSince !== undefined && (lost || now - this.#closedSince >= grace);
    const ended = this.#ended() && (!this.#engine.hasOutput(now) || this.#wire.broken || closing);
    if (!ended && !closing && !late) return undefined;
    const { why, blame, kind } = this.#engine.status(late && !ended);
    if (closing && !ended && !late) {
      return { event: "end", outcome: "aborted", blame: "local", message: "aborted" };
    }
    return { event: "end", outcome: kind || "done", blame, message: why };
  }

  async #settle(end: Omit<End, "elapsed_s" | "stats">): Promise<End> {
    // A store that never answers does not keep the user.
    await Promise.race([this.#reply, new Promise((resolve) => setTimeout(resolve, 2000))]);
    this.#answer();
    await this.#reply;
    this.#events();
    await this.#options.store.end();
    this.#wire.onwake = () => {};
    this.#wire.giveBack(this.#input.slice(this.#fed));
    const elapsed_s = (performance.now() - this.#began) / 1000;
    const whole: End = { ...end, elapsed_s, stats: this.#engine.stats() };
    this.#options.onevent?.(whole);
    return whole;
  }

  /** Waits for the line, the store, a timer or the user; if something moved, only lets the browser do its own. */
  async #wait(moved: boolean): Promise<void> {
    if (this.#woken && !moved) {
      this.#woken = false;
      return;
    }
    this.#woken = false;
    if (moved) return pause();
    const now = performance.now();
    const grace = this.#options.graceMs ?? 1000;
    const ends = (since: number | undefined) => (since === undefined ? Infinity : since + grace);
    const progress = this.#file.name === "" ? Infinity : this.#nextProgress;
    const at = Math.min(
      this.#engine.deadline() ?? Infinity,
      ends(this.#aborted),
      ends(this.#closedSince),
      progress,
      now + LONG_MS,
    );
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, at - now));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
    this.#woken = false;
  }
}

const paused: (() => void)[] = [];
let channel: MessageChannel | undefined;

/** Until the browser has had its turn: a timer of zero would take four milliseconds. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    if (channel === undefined) {
      channel = new MessageChannel();
      channel.port1.onmessage = () => {
        paused.shift()?.();
        // Outside a page an open port keeps the program from ending.
        if (paused.length === 0) {
          channel?.port1.close();
          channel = undefined;
        }
      };
    }
    paused.push(resolve);
    channel.port2.postMessage(0);
  });
}
