// The page: a terminal on a serial port or on the line of `wst web`, and transfers by every protocol.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import "./page.css";
import { connectWebSocket, directory, downloads, Engine, escaped, inMemory, serialStreams, type SerialPortLike, type Streams } from "../src/index.js";
import { pick } from "../src/panel.js";
import type { PortSignals } from "../src/index.js";
import { choose } from "./device.js";
import { TransferAddon } from "../src/xterm.js";

const RATES = [1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600];
/** The code by which `wst web` says that another page has the line. */
const TAKEN = 4001;

interface SerialPort extends SerialPortLike, PortSignals {
  open(options: { baudRate: number; bufferSize: number }): Promise<void>;
  close(): Promise<void>;
}
type Serial = { requestPort(): Promise<SerialPort> };

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const buttonOf = (id: string) => element<HTMLButtonElement>(id);
const [serial, line, disconnect] = [buttonOf("serial"), buttonOf("line"), buttonOf("disconnect")];
const [send, receive, device] = [buttonOf("send"), buttonOf("receive"), buttonOf("device")];
const lab = element<HTMLButtonElement>("lab");
const [rate, protocol] = [element<HTMLSelectElement>("rate"), element<HTMLSelectElement>("protocol")];

const terminal = new Terminal({ cursorBlink: true, scrollback: 5000 });
const fit = new FitAddon();
/** Closes what is connected. */
let close: (() => void) | undefined;
let tellSize: (() => void) | undefined;
/** What can send breaks and reset a device. */
let signals: PortSignals | undefined;

const addon = new TransferAddon({
  onresize: () => tellSize?.(),
  onclose: () => disconnected(),
  onevent: (event) => {
    if (event.event === "end") terminal.focus();
  },
});
terminal.loadAddon(fit);
terminal.open(element("terminal"));
terminal.loadAddon(addon);
fit.fit();
new ResizeObserver(() => fit.fit()).observe(element("terminal"));

function say(words: string): void {
  element("status").textContent = words;
}

async function connected(streams: Streams, name: string, closes: () => void): Promise<void> {
  close?.();
  close = closes;
  await addon.attach(streams);
  for (const button of [disconnect, send, receive, device]) button.disabled = false;
  say(name);
  terminal.focus();
}

function disconnected(why = "not connected"): void {
  close = undefined;
  tellSize = undefined;
  signals = undefined;
  for (const button of [disconnect, send, receive, device]) button.disabled = true;
  say(why);
}

async function connectSerial(): Promise<void> {
  const ports = (navigator as { serial?: Serial }).serial;
  if (ports === undefined) return say("this browser has no Web Serial; use wst web LINE");
  const port = await ports.requestPort();
  const baudRate = Number(rate.value);
  await port.open({ baudRate, bufferSize: 1 << 16 });
  addon.options.line = { reliable: false, rate: baudRate };
  await connected(serialStreams(port), `serial port, ${baudRate} bit/s`, () => {
    addon.detach();
    void port.close().catch(() => {});
    disconnected();
  });
  signals = port;
}

async function connectLine(): Promise<void> {
  const url = new URL("line", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  const token = location.hash.slice(1);
  url.hash = "";
  const streams = await connectWebSocket(url, ["wetstring", ...(token === "" ? [] : [token])]);
  addon.options.line = {};
  streams.socket.addEventListener("close", ({ code, reason }) => {
    disconnected(code === TAKEN ? "another page has the line" : `not connected${reason && `: ${escaped(reason)}`}`);
  });
  await connected(streams, "connected", () => {
    addon.cancel();
    addon.detach();
    streams.socket.close();
  });
  tellSize = () => streams.socket.send(JSON.stringify({ size: [terminal.cols, terminal.rows] }));
  tellSize();
  streams.onfacts = (facts) => {
    if (typeof facts.note === "string") return say(escaped(facts.note));
    const { reliable, clear, rate } = facts;
    addon.options.line = {
      ...(typeof reliable === "boolean" && { reliable }),
      ...(typeof clear === "boolean" && { clear }),
      ...(typeof rate === "number" && { rate }),
    };
    say(escaped(String(facts.line)));
  };
}

/** Runs what a button asks for, and says why it cannot. */
function pressed(what: () => Promise<unknown>): () => void {
  return () => {
    what().catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
  };
}

serial.addEventListener("click", pressed(connectSerial));
line.addEventListener("click", pressed(connectLine));
disconnect.addEventListener("click", () => close?.());
send.addEventListener("click", pressed(async () => {
  const files = await pick(!protocol.value.startsWith("xmodem"));
  if (files !== undefined && files.length > 0) await addon.send(files, protocol.value);
}));
receive.addEventListener("click", pressed(() => addon.receive(downloads(), protocol.value, "received.bin")));
/** Sends a file as a device's profile says. */
async function toDevice(): Promise<void> {
  const chosen = await choose();
  const [file] = (chosen === undefined ? undefined : await pick(false)) ?? [];
  if (chosen === undefined || file === undefined) return;
  say(`${chosen.profile}: waits for the prompt`);
  const { outcome, message } = await addon.device(file, { ...chosen, port: signals, onsay: say });
  if (outcome !== "done") say(`${chosen.profile}: ${message}`);
  terminal.focus();
}
device.addEventListener("click", pressed(toDevice));
/** Shows the laboratory, or the terminal again; the laboratory's script and module are loaded the first time. */
async function toggleLab(): Promise<void> {
  const shows = lab.getAttribute("aria-pressed") !== "true";
  lab.setAttribute("aria-pressed", String(shows));
  [element("terminal").hidden, element("laboratory").hidden] = [shows, !shows];
  if (!shows) return terminal.focus();
  const { open } = await import("./lab.js");
  await open();
}
lab.addEventListener("click", pressed(toggleLab));
// A reload or a closed page: the peer is told before the connection ends.
addEventListener("pagehide", () => addon.cancel());

rate.append(...RATES.map((rate) => new Option(String(rate), String(rate), rate === 115200, rate === 115200)));
const engine = await Engine.create({ protocol: "zmodem", sends: false });
protocol.append(...engine.protocols().map(({ name }) => new Option(name, name, name === "zmodem", name === "zmodem")));
// Served by `wst web`, there may be a line; from a file or another server there is none.
line.hidden = !location.protocol.startsWith("http");
// For the console of the browser, and for tests.
Object.assign(window, { wetstring: { addon, terminal, directory, inMemory, type: (text: string) => terminal.input(text) } });
if (location.hash !== "") await connectLine().catch(() => say("there is no line, or the token is old"));
document.body.dataset.ready = "yes";
