// wetstring: Kermit, XMODEM, YMODEM and ZMODEM over any pair of streams.

export { load, loadExtended, escaped, Engine, Scout, REFUSALS, STORE_ERRORS } from "./engine.js";
export type {
  EngineEvent, FileInfo, LineFacts, Refusal, Reply, Request, Start, Stats, Status, StoreError,
} from "./engine.js";
export { deviceProfiles, loadDevices, sendToDevice } from "./device.js";
export type { DeviceEnd, DeviceOptions, DeviceProfile, PortSignals } from "./device.js";
export type { ModuleSource } from "./module.js";
export { directory, downloads, inMemory, Inbox, Outbox } from "./files.js";
export type { InboxOptions, Place, Sink, Source, Store } from "./files.js";
export { numbered, safeName } from "./names.js";
export { runOn, transfer } from "./transfer.js";
export type { End, Progress, TransferEvent, TransferOptions } from "./transfer.js";
export { serialStreams } from "./serial.js";
export type { SerialPortLike } from "./serial.js";
export { connectWebSocket, streamsOf } from "./websocket.js";
export type { SocketStreams } from "./websocket.js";
export { Wire } from "./wire.js";
export type { Streams } from "./wire.js";

import { Inbox, Outbox, type InboxOptions, type Place, type Source } from "./files.js";
import { transfer, type End, type TransferOptions } from "./transfer.js";
import type { Streams } from "./wire.js";

export type Options = Omit<TransferOptions, "protocol" | "direction" | "store"> & { protocol?: string };

/** Sends files; the protocol is ZMODEM unless told otherwise. */
export function send(streams: Streams, files: Iterable<Source>, options: Options = {}): Promise<End> {
  return transfer(streams, { protocol: "zmodem", ...options, direction: "send", store: new Outbox(files) });
}

/** Receives files into a place; the protocol is ZMODEM unless told otherwise. */
export async function receive(
  streams: Streams,
  place: Place,
  options: Options & InboxOptions = {},
): Promise<End & { stored: string[] }> {
  const { accept, unnamed, ...rest } = options;
  const store = new Inbox(place, { accept, unnamed });
  const end = await transfer(streams, { protocol: "zmodem", ...rest, direction: "receive", store });
  return { ...end, stored: store.stored };
}
