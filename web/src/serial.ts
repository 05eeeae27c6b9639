// Web Serial's port as a pair of streams that survives damage.

import type { Streams } from "./wire.js";

/** What is needed of a `SerialPort` that is open. */
export interface SerialPortLike {
  readonly readable: ReadableStream<Uint8Array> | null;
  readonly writable: WritableStream<Uint8Array> | null;
}

/**
 * The streams of an open port. After damage (framing, parity, overrun, break) Web Serial ends the stream with an error
 * and begins a new one: for a protocol that is noise, and its business.
 */
export function serialStreams(port: SerialPortLike): Streams {
  if (port.writable === null) throw new TypeError("expected a port that is open");
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const readable = new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        if (reader === undefined) {
          // None is left once the device is gone.
          if (port.readable === null) return controller.close();
          reader = port.readable.getReader();
        }
        try {
          const { value, done } = await reader.read();
          if (value !== undefined) return controller.enqueue(value);
          if (done) return controller.close();
        } catch {
          reader.releaseLock();
          reader = undefined;
        }
      }
    },
    async cancel() {
      await reader?.cancel();
      reader?.releaseLock();
    },
  });
  return { readable, writable: port.writable };
}
