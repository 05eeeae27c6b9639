// The laboratory's view: a line, a protocol and a file are chosen, and what the run did is shown. All numbers, words and
// pictures come from the module; see web/lab.

/** A built-in scenario, and what it says. */
interface Scenario {
  name: string;
  line: string;
  protocol: string;
  bytes: number;
  seed: number;
}

/** What can be chosen. */
export interface Choices {
  scenarios: Scenario[];
  protocols: string[];
  made: string[];
  corpora: string[];
  /** Kermit compresses as in the program. */
  compresses: boolean;
}

/** What a run did. */
export interface Result {
  text: string;
  command: string;
  done: boolean;
  ending: string;
  elapsed_s: number;
  cps: number;
  efficiency: number | null;
  retransmissions: number;
}

/** Where its time went: as text, and as a page with pictures. */
export interface Account {
  text: string;
  page: string;
}

/** To the worker. */
export type Told = { kind: "list" } | { kind: "run"; scenario: string; sets: string[] };

/** From the worker. */
export type Said =
  | { kind: "choices"; choices: Choices }
  | { kind: "result"; result: Result }
  | { kind: "account"; account: Account; last: boolean }
  | { kind: "failed"; part: Said["kind"]; why: string };

/** Lines to begin with, from docs/reference/laboratory.md, with a protocol where not every one goes over it. */
const LINES: { name: string; line: string; protocol?: string }[] = [
  { name: "9600 bit/s, clean", line: "9600" },
  { name: "9600 bit/s over a satellite", line: "9600,delay=250ms" },
  { name: "9600 bit/s with bursts of noise", line: "9600,burst=8@2s" },
  { name: "115200 bit/s between two USB adapters", line: "115200,usb=16ms" },
  { name: "57600 bit/s, hardware flow control, a small buffer", line: "57600,rtscts,rxbuf=256" },
  { name: "two modems with V.42bis", line: "modem:dte=57600,line=14400,v42bis" },
  { name: "TCP over Ethernet", line: "tcp:mss=1460 over ethernet:10M,load=30%" },
  { name: "UDP over a long path with loss", line: "udp over path:10M,rtt=69ms,loss=0.1%", protocol: "netblt" },
  { name: "the ARPANET", line: "imp:hops=1", protocol: "ncp" },
];

/** The longest file: a trace of it is kept in memory. */
const MOST_BYTES = 4_000_000;

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const field = (id: string) => element<HTMLInputElement & HTMLSelectElement>(`lab-${id}`);

function start(told: Told, said: (said: Said) => void): Worker {
  const worker = new Worker(new URL("./lab-worker.js", import.meta.url), { type: "module" });
  worker.addEventListener("message", ({ data }: MessageEvent<Said>) => said(data));
  worker.addEventListener("error", ({ message }) =>
    said({ kind: "failed", part: "result", why: message || "the laboratory could not be loaded" }),
  );
  worker.postMessage(told);
  return worker;
}

let choices: Choices | undefined;
let running: Worker | undefined;

/** Shows the view; what can be chosen is asked of the module the first time. */
export async function open(): Promise<void> {
  if (choices !== undefined) return;
  choices = await new Promise<Choices>((resolve, reject) => {
    const worker = start({ kind: "list" }, (said) => {
      worker.terminate();
      if (said.kind === "choices") resolve(said.choices);
      else reject(new Error(said.kind === "failed" ? said.why : "the laboratory did not answer"));
    });
  });
  fill(choices);
}

function group(label: string, options: HTMLOptionElement[]): HTMLOptGroupElement {
  const group = document.createElement("optgroup");
  group.label = label;
  group.append(...options);
  return group;
}

function fill({ scenarios, protocols, made, corpora, compresses }: Choices): void {
  const presets = scenarios.map(({ name, line }) => new Option(`${name}: ${line}`, `scenario ${name}`));
  const lines = LINES.map(({ name }, index) => new Option(name, `line ${index}`));
  field("preset").append(group("Lines", lines), group("Scenarios", presets));
  field("protocol").append(...protocols.map((name) => new Option(name)));
  const option = (name: string, key: string) => new Option(name, `file.${key}=${name}`);
  field("content").append(
    new Option("as in the scenario", ""),
    group("Made", made.map((name) => option(name, "made"))),
    group("Files of the measurements", corpora.map((name) => option(name, "corpus"))),
  );
  field("bytes").max = String(MOST_BYTES);
  element("lab-note").hidden = compresses;
  element("lab-form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  field("preset").addEventListener("change", chosen);
  element("lab-stop").addEventListener("click", () => ended("stopped"));
  field("preset").value = "scenario wet-string";
  chosen();
}

/** The scenario that is changed by what the form has. */
function base(): Scenario {
  const [kind, name] = field("preset").value.split(" ");
  const wanted = kind === "scenario" ? name : "clean";
  return choices!.scenarios.find((scenario) => scenario.name === wanted)!;
}

/** A line or a scenario was chosen: its values. */
function chosen(): void {
  const scenario = base();
  const [kind, index] = field("preset").value.split(" ");
  const preset = kind === "line" ? LINES[Number(index)] : undefined;
  field("line").value = preset?.line ?? scenario.line;
  field("protocol").value = preset?.protocol ?? scenario.protocol;
  field("content").value = "";
  field("bytes").value = String(scenario.bytes);
  field("seed").value = String(scenario.seed);
}

/** What differs from the scenario, as `wst lab run --set` takes it. */
function sets(scenario: Scenario): string[] {
  const all: string[] = [];
  const line = field("line").value.trim();
  if (line !== scenario.line) all.push(`line=${line}`);
  if (field("protocol").value !== scenario.protocol) all.push(`protocol=${field("protocol").value}`);
  const content = field("content").value;
  if (content !== "") all.push(content);
  const [bytes, seed] = [Number(field("bytes").value), Number(field("seed").value)];
  if (bytes !== scenario.bytes || content !== "") all.push(`file.bytes=${bytes}`);
  if (seed !== scenario.seed) all.push(`seed=${seed}`);
  return all;
}

function run(): void {
  const scenario = base();
  ended("runs…");
  for (const id of ["lab-summary", "lab-command", "lab-text"]) element(id).textContent = "";
  element("lab-result").hidden = true;
  element<HTMLButtonElement>("lab-stop").disabled = false;
  running = start({ kind: "run", scenario: scenario.name, sets: sets(scenario) }, heard);
}

/** No run any more, for this reason. */
function ended(why: string): void {
  running?.terminate();
  running = undefined;
  element<HTMLButtonElement>("lab-stop").disabled = true;
  element("lab-status").textContent = why;
}

function heard(said: Said): void {
  switch (said.kind) {
    case "choices":
      return;
    case "result": {
      const { text, command } = said.result;
      element("lab-result").hidden = false;
      element("lab-summary").textContent = text;
      element("lab-command").textContent = `$ ${command}`;
      element("lab-frame").hidden = true;
      return;
    }
    case "account":
      show(said.account);
      if (said.last) ended("");
      else element("lab-status").textContent = "looks for what would help…";
      return;
    case "failed":
      return ended(said.part === "account" ? `nothing to explain: ${said.why}` : said.why);
  }
}

function show({ text, page }: Account): void {
  const frame = element<HTMLIFrameElement>("lab-frame");
  frame.hidden = false;
  frame.srcdoc = page;
  element("lab-text").textContent = text;
}

/** The frame is as high as what it shows; it has no scripts. */
function fit(): void {
  const frame = element<HTMLIFrameElement>("lab-frame");
  const shown = frame.contentDocument?.body;
  if (shown) frame.style.height = `${shown.scrollHeight + 40}px`;
}
element("lab-frame").addEventListener("load", fit);
new ResizeObserver(fit).observe(element("laboratory"));
