// The laboratory's module, in a worker: the page stays usable while it runs. One run; its end is the worker's.

import type { Choices, Said, Told } from "./lab.js";

interface Exports {
  memory: WebAssembly.Memory;
  input(len: number): number;
  output(): number;
  output_len(): number;
  list(): number;
  run(len: number): number;
  explain(): number;
  advise(): number;
}

let lab: Exports;

async function load(): Promise<void> {
  const response = await fetch(new URL("./lab.wasm", import.meta.url));
  if (!response.ok) throw new Error(`could not load the laboratory: ${response.status}`);
  const module = await WebAssembly.compile(await response.arrayBuffer());
  lab = (await WebAssembly.instantiate(module, {})).exports as unknown as Exports;
}

const text = () => new TextDecoder().decode(new Uint8Array(lab.memory.buffer, lab.output(), lab.output_len()));

function made<T>(whether: number): T {
  if (whether === 0) throw new Error(text());
  return JSON.parse(text()) as T;
}

function run(described: string): number {
  const bytes = new TextEncoder().encode(described);
  const address = lab.input(bytes.length);
  new Uint8Array(lab.memory.buffer, address, bytes.length).set(bytes);
  return lab.run(bytes.length);
}

const say = (said: Said) => postMessage(said);

// Listens at once: a message may be here before the module is.
addEventListener("message", async ({ data }: MessageEvent<Told>) => {
  let part: Said["kind"] = "result";
  try {
    await load();
    if (data.kind === "list") return say({ kind: "choices", choices: made<Choices>(lab.list()) });
    say({ kind: "result", result: made(run([data.scenario, ...data.sets].join("\n"))) });
    part = "account";
    say({ kind: "account", account: made(lab.explain()), last: false });
    say({ kind: "account", account: made(lab.advise()), last: true });
  } catch (error) {
    say({ kind: "failed", part, why: error instanceof Error ? error.message : String(error) });
  }
});
