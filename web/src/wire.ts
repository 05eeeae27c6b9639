// A pair of streams as the loop needs it: what came and is not yet taken, and whether more can leave.

/** Any pair of streams of bytes: Web Serial's `SerialPort`, a WebSocket's, WebRTC's. */
export interface Streams {
  readable: ReadableStream<Uint8Array>;
  writable: WritableStream<Uint8Array>;
}

/** Received bytes that may wait; then the stream is not read. */
const MOST_WAITING = 1 << 20;

/** Reads one stream and writes the other. Its user sets `onwake` and takes what has arrived. */
export class Wire {
  /** Called when something came, can leave, or has closed. */
  onwake: () => void = () => {};
  /** The peer has closed, or reading failed. */
  closed = false;
  /** Writing failed. */
  broken = false;
  error: unknown;
  #queue: Uint8Array[] = [];
  #waiting = 0;
  #room: (() => void) | undefined;
  #ready = true;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  /** Ends with the wire. */
  readonly done: Promise<void>;

  constructor(streams: Streams) {
    this.#reader = streams.readable.getReader();
    this.#writer = streams.writable.getWriter();
    this.#writer.closed.catch((error) => this.#failed(error));
    this.done = this.#read();
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#reader.read();
        if (done) break;
        if (value.length === 0) continue;
        this.#queue.push(value);
        this.#waiting += value.length;
        this.onwake();
        if (this.#waiting > MOST_WAITING) await new Promise<void>((resolve) => (this.#room = resolve));
      }
    } catch (error) {
      this.error ??= error;
    }
    this.closed = true;
    this.onwake();
  }

  #failed(error: unknown): void {
    this.error ??= error;
    this.broken = true;
    this.onwake();
  }

  /** The next bytes that came. */
  take(): Uint8Array | undefined {
    const bytes = this.#queue.shift();
    this.#waiting -= bytes?.length ?? 0;
    if (this.#room !== undefined && this.#waiting <= MOST_WAITING / 2) {
      this.#room();
      this.#room = undefined;
    }
    return bytes;
  }

  /** Bytes that were taken and not used: they come next. */
  giveBack(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#queue.unshift(bytes);
    this.#waiting += bytes.length;
  }

  /** Whether more is to be written now. */
  get writable(): boolean {
    return this.#ready && !this.broken;
  }

  /** Writes bytes, which belong to the wire from now on. Ignored once it is broken. */
  write(bytes: Uint8Array): void {
    if (this.broken || bytes.length === 0) return;
    this.#writer.write(bytes).catch((error) => this.#failed(error));
    if ((this.#writer.desiredSize ?? 0) > 0) return;
    this.#ready = false;
    this.#writer.ready.then(
      () => {
        this.#ready = true;
        this.onwake();
      },
      () => {},
    );
  }

  /** Gives both streams back, as they were before. */
  release(): void {
    this.#reader.releaseLock();
    this.#writer.releaseLock();
  }

  /** Closes both. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#reader.cancel(), this.#writer.close()]);
  }
}
