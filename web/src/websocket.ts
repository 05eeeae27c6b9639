// A WebSocket as a pair of streams. Binary messages are bytes of the line; text messages are facts about it.

import type { Streams } from "./wire.js";

/** Bytes that may wait in the browser: a cancel waits behind them. */
const MOST_BUFFERED = 256 * 1024;
/** The smallest pause of a timer is four milliseconds, by the standard. */
const PAUSE_MS = 1;

export interface SocketStreams extends Streams {
  socket: WebSocket;
  /** Text messages, parsed as JSON. */
  onfacts: (facts: Record<string, unknown>) => void;
}

/** Connects; `protocols` are the subprotocols to ask for. */
export function connectWebSocket(url: string | URL, protocols?: string[]): Promise<SocketStreams> {
  const socket = new WebSocket(url, protocols);
  return streamsOf(socket);
}

/** The streams of a WebSocket, once it is open. */
export async function streamsOf(socket: WebSocket): Promise<SocketStreams> {
  socket.binaryType = "arraybuffer";
  const early: Record<string, unknown>[] = [];
  const streams: Pick<SocketStreams, "onfacts"> = { onfacts: (facts) => early.push(facts) };
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      socket.addEventListener("message", ({ data }) => {
        if (data instanceof ArrayBuffer) controller.enqueue(new Uint8Array(data));
        else if (typeof data === "string") streams.onfacts(JSON.parse(data));
      });
      socket.addEventListener("close", () => {
        try {
          controller.close();
        } catch {
          // It was cancelled.
        }
      });
    },
    cancel() {
      socket.close();
    },
  });
  const writable = new WritableStream<Uint8Array>({
    start(controller) {
      socket.addEventListener("close", () => controller.error(new Error("the connection closed")));
    },
    async write(bytes) {
      socket.send(bytes as Uint8Array<ArrayBuffer>);
      while (socket.bufferedAmount > MOST_BUFFERED && socket.readyState === WebSocket.OPEN) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    },
    close() {
      socket.close();
    },
  });
  if (socket.readyState === WebSocket.CONNECTING) {
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve(), { once: true });
      socket.addEventListener("close", () => reject(new Error("could not connect")), { once: true });
    });
  }
  return {
    socket,
    readable,
    writable,
    get onfacts() {
      return streams.onfacts;
    },
    set onfacts(handler) {
      streams.onfacts = handler;
      early.splice(0).forEach((facts) => handler(facts));
    },
  };
}
