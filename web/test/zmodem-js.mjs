// What a page does to receive a file by zmodem.js, for the two benches.

import Zmodem from "zmodem.js";

/** Receives one file: `send` takes bytes for the line, `listen` a function for the bytes that come. The file's chunks. */
export function received(send, listen) {
  return new Promise((resolve, reject) => {
    const sentry = new Zmodem.Sentry({
      to_terminal() {},
      on_retract() {},
      sender: (octets) => send(new Uint8Array(octets)),
      on_detect(detection) {
        const session = detection.confirm();
        let chunks;
        session.on("offer", (offer) => offer.accept().then((all) => (chunks = all), reject));
        session.on("session_end", () => resolve(chunks));
        session.start();
      },
    });
    listen((bytes) => sentry.consume(bytes));
  });
}
