// Stores: files to send, and places for files that are received.

import type { FileInfo, Refusal, Reply, Request, StoreError } from "./engine.js";
import { numbered, safeName } from "./names.js";

/** Executes the requests of an engine. A reply that needs no waiting is given at once. */
export interface Store {
  answer(request: Request): Reply | Promise<Reply>;
  /** The transfer has ended: what is open is discarded. */
  end(): Promise<void>;
}

const failed = (why: StoreError): Reply => ({ kind: "failed", why });

/** What an exception of the browser means. */
function whyOf(error: unknown): StoreError {
  switch (error instanceof DOMException ? error.name : "") {
    case "QuotaExceededError":
      return "no-space";
    case "NotAllowedError":
    case "SecurityError":
    case "NoModificationAllowedError":
      return "permission";
    case "NotFoundError":
      return "not-found";
    case "NotReadableError":
      return "changed";
    default:
      return "io";
  }
}

/** Bytes of a file that are read at once; the next as many are read meanwhile. */
const BLOCK = 1 << 20;

/** Something to send: a `File`, or bytes with a name. */
export type Source = File | { name: string; data: Blob; modified?: number };

/** Files to send. */
export class Outbox implements Store {
  readonly #sources: { name: string; data: Blob; modified?: number }[];
  #current: Blob = new Blob();
  #index = 0;
  #block: Uint8Array = new Uint8Array();
  #at = 0;
  #ahead: { at: number; bytes: Promise<Uint8Array> } | undefined;

  constructor(sources: Iterable<Source>) {
    this.#sources = Array.from(sources, (source) =>
      source instanceof File
        ? { name: source.name, data: source, modified: Math.floor(source.lastModified / 1000) }
        : source,
    );
  }

  answer(request: Request): Reply | Promise<Reply> {
    switch (request.kind) {
      case "next":
        return this.#next();
      case "read":
        return this.#read(request.offset, request.len);
      case "close":
      case "aside":
      case "settle":
      case "pass-over":
        return { kind: "done" };
      case "digest":
        return this.#digest(request.len, request.hash);
      case "signatures":
        return this.#blocks(request.offset, request.block, request.count);
      default:
        return failed("unsupported");
    }
  }

  async end(): Promise<void> {}

  /** The file is read again: parts of it were not sent. */
  async #digest(len: number, hash: (at: number, bytes: Uint8Array) => void): Promise<Reply> {
    const file = this.#current;
    try {
      for (let at = 0; at < len || at === 0; at += BLOCK) {
        hash(at, new Uint8Array(await file.slice(at, Math.min(at + BLOCK, len)).arrayBuffer()));
      }
      return { kind: "digest" };
    } catch (error) {
      return failed(whyOf(error));
    }
  }

  /** Whole blocks, as many as there are. */
  async #blocks(offset: number, block: number, count: number): Promise<Reply> {
    const whole = Math.max(0, Math.min(count, Math.floor((this.#current.size - offset) / block)));
    try {
      const part = this.#current.slice(offset, offset + whole * block);
      return { kind: "signatures", blocks: new Uint8Array(await part.arrayBuffer()) };
    } catch (error) {
      return failed(whyOf(error));
    }
  }

  #next(): Reply {
    const rest = this.#sources.slice(this.#index);
    const source = rest[0];
    if (source === undefined) return { kind: "no-more-files" };
    this.#index += 1;
    this.#current = source.data;
    [this.#block, this.#at, this.#ahead] = [new Uint8Array(), 0, undefined];
    const { name, data, modified } = source;
    const bytes_left = rest.reduce((sum, source) => sum + source.data.size, 0);
    return { kind: "file", info: { name, size: data.size, modified, files_left: rest.length, bytes_left } };
  }

  #read(offset: number, len: number): Reply | Promise<Reply> {
    const from = offset - this.#at;
    if (from >= 0 && from < this.#block.length) {
      return { kind: "read", bytes: this.#block.subarray(from, from + len) };
    }
    if (offset >= this.#current.size) return { kind: "read", bytes: new Uint8Array() };
    return this.#fill(offset, len);
  }

  async #fill(offset: number, len: number): Promise<Reply> {
    try {
      const bytes = this.#ahead?.at === offset ? this.#ahead.bytes : this.#load(offset);
      this.#ahead = undefined;
      this.#block = await bytes;
      this.#at = offset;
      const next = offset + this.#block.length;
      if (next < this.#current.size) {
        const bytes = this.#load(next);
        // It is looked at when its turn comes.
        bytes.catch(() => {});
        this.#ahead = { at: next, bytes };
      }
      return { kind: "read", bytes: this.#block.subarray(0, len) };
    } catch (error) {
      return failed(whyOf(error));
    }
  }

  async #load(offset: number): Promise<Uint8Array> {
    return new Uint8Array(await this.#current.slice(offset, offset + BLOCK).arrayBuffer());
  }
}

/** A file that is being received. */
export interface Sink {
  /** Where it will be, for people. */
  name: string;
  write(bytes: Uint8Array): Promise<void>;
  /** The whole file has arrived: from now on it is there. */
  close(): Promise<void>;
  /** It has not: nothing of it stays. */
  abort(): Promise<void>;
}

/** Where files are stored. */
export interface Place {
  /** Opens a file of this safe name, never one that is there already. */
  create(name: string, info: FileInfo): Promise<Sink>;
}

/** Bytes that are written at once. */
const WRITE = 256 * 1024;
/** Bytes under way to the disk, above which the peer has to wait. */
const MOST_UNDER_WAY = 4 << 20;

export interface InboxOptions {
  /** Asked before anything of a file is stored; the name is safe. */
  accept?: (name: string, info: FileInfo) => boolean | Promise<boolean>;
  /** The name of a file whose protocol tells none (XMODEM). */
  unnamed?: string;
}

/** Receives files into a place. */
export class Inbox implements Store {
  readonly #place: Place;
  readonly #options: InboxOptions;
  #sink: Sink | undefined;
  #position = 0;
  #gathered = new Uint8Array(WRITE);
  #filled = 0;
  #underWay = 0;
  #writes: Promise<void> = Promise.resolve();
  #error: StoreError | undefined;
  #room: (() => void) | undefined;
  /** Names of the files that are stored. */
  readonly stored: string[] = [];

  constructor(place: Place, options: InboxOptions = {}) {
    this.#place = place;
    this.#options = options;
  }

  answer(request: Request): Reply | Promise<Reply> {
    switch (request.kind) {
      case "offer":
        return this.#offer(request.info);
      case "write":
        return this.#write(request.offset, request.bytes);
      case "close":
        return this.#close(request.complete);
      default:
        return failed("unsupported");
    }
  }

  async end(): Promise<void> {
    await this.#discard();
  }

  async #offer(info: FileInfo): Promise<Reply> {
    await this.#discard();
    const name = safeName(info.name || this.#options.unnamed || "");
    if (name === undefined) return { kind: "refuse", why: "name" };
    if (!(await (this.#options.accept?.(name, info) ?? true))) return { kind: "refuse", why: "declined" };
    try {
      this.#sink = await this.#place.create(name, info);
    } catch (error) {
      const why: Refusal = whyOf(error) === "no-space" ? "no-space" : "not-stored";
      return { kind: "refuse", why };
    }
    [this.#position, this.#filled, this.#underWay, this.#error] = [0, 0, 0, undefined];
    this.#writes = Promise.resolve();
    return { kind: "accept" };
  }

  #write(offset: number, bytes: Uint8Array): Reply | Promise<Reply> {
    if (this.#error !== undefined) return failed(this.#error);
    if (this.#sink === undefined || offset !== this.#position) return failed("unsupported");
    this.#position += bytes.length;
    while (bytes.length > 0) {
      const part = bytes.subarray(0, WRITE - this.#filled);
      this.#gathered.set(part, this.#filled);
      this.#filled += part.length;
      bytes = bytes.subarray(part.length);
      if (this.#filled === WRITE) this.#flush(this.#sink);
    }
    if (this.#underWay <= MOST_UNDER_WAY) return { kind: "done" };
    return new Promise((resolve) => {
      this.#room = () => resolve(this.#error === undefined ? { kind: "done" } : failed(this.#error));
    });
  }

  #flush(sink: Sink): void {
    const bytes = this.#gathered.slice(0, this.#filled);
    this.#filled = 0;
    this.#underWay += bytes.length;
    this.#writes = this.#writes.then(async () => {
      try {
        if (this.#error === undefined) await sink.write(bytes);
      } catch (error) {
        this.#error ??= whyOf(error);
      }
      this.#underWay -= bytes.length;
      if (this.#underWay <= MOST_UNDER_WAY / 2 || this.#error !== undefined) {
        this.#room?.();
        this.#room = undefined;
      }
    });
  }

  async #close(complete: boolean): Promise<Reply> {
    const sink = this.#sink;
    if (sink === undefined) return { kind: "done" };
    if (complete) {
      if (this.#filled > 0) this.#flush(sink);
      await this.#writes;
      try {
        if (this.#error === undefined) {
          await sink.close();
          this.stored.push(sink.name);
          this.#sink = undefined;
          return { kind: "done" };
        }
      } catch (error) {
        this.#error = whyOf(error);
      }
    }
    await this.#discard();
    return complete ? failed(this.#error ?? "io") : { kind: "done" };
  }

  async #discard(): Promise<void> {
    const sink = this.#sink;
    this.#sink = undefined;
    if (sink === undefined) return;
    await this.#writes;
    await sink.abort().catch(() => {});
  }
}

/** The error of a name that is taken. */
async function exists(directory: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  try {
    await directory.getFileHandle(name);
    return true;
  } catch (error) {
    // A directory of that name is in the way, too.
    return !(error instanceof DOMException && error.name === "NotFoundError");
  }
}

/**
 * A directory that the user has picked (`showDirectoryPicker`), or the browser's own (`navigator.storage`). Bytes go
 * to the disk as they come; the file has its name once it is complete.
 */
export function directory(handle: FileSystemDirectoryHandle): Place {
  return {
    async create(name) {
      let number = 0;
      while (await exists(handle, numbered(name, number))) number += 1;
      const own = numbered(name, number);
      const file = await handle.getFileHandle(own, { create: true });
      const stream = await file.createWritable();
      return {
        name: own,
        write: (bytes) => stream.write(bytes as Uint8Array<ArrayBuffer>),
        close: () => stream.close(),
        async abort() {
          await stream.abort().catch(() => {});
          await handle.removeEntry(own);
        },
      };
    },
  };
}

/** A place that hands each complete file over, kept in the browser's memory until then. */
export function inMemory(done: (file: File) => void | Promise<void>): Place {
  if (typeof done !== "function") {
    throw new TypeError(`expected a function that takes each file, got ${typeof done}`);
  }
  return {
    async create(name, info) {
      const parts: Blob[] = [];
      return {
        name,
        async write(bytes) {
          // A blob may be on the disk, which an array is not.
          parts.push(new Blob([bytes as Uint8Array<ArrayBuffer>]));
        },
        async close() {
          const lastModified = info.modified === undefined ? undefined : info.modified * 1000;
          // Of no type the browser guesses one, and adds what it would end with.
          await done(new File(parts, name, { lastModified, type: "application/octet-stream" }));
        },
        async abort() {
          parts.length = 0;
        },
      };
    },
  };
}

/** The browser's downloads. */
export function downloads(): Place {
  return inMemory((file) => {
    const url = URL.createObjectURL(file);
    const link = document.createElement("a");
    [link.href, link.download] = [url, file.name];
    link.click();
    // The browser has to have begun with it.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  });
}
