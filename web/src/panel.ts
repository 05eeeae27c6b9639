// A panel over the terminal: questions, progress and a button to cancel.

import { escaped, type Start } from "./engine.js";
import { directory, downloads, type Place, type Source } from "./files.js";
import type { TransferEvent } from "./transfer.js";
import type { Interaction } from "./xterm.js";

/** How long the last words stay. */
const STAYS_MS = 6000;
const UNITS = ["bytes", "kB", "MB", "GB"];

/** A size in three digits. */
export function size(bytes: number): string {
  let unit = 0;
  let number = bytes;
  while (number >= 1000 && unit < UNITS.length - 1) {
    number /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? number : number.toPrecision(3)} ${UNITS[unit]}`;
}

const TITLES: Record<string, string> = { zmodem: "ZMODEM", kermit: "Kermit", ymodem: "YMODEM", "ymodem-g": "YMODEM-g" };
const title = (protocol: string) => TITLES[protocol] ?? protocol.toUpperCase();

interface Button<T> {
  label: string;
  /** The answer; undefined asks on, such as after a picker that was closed. */
  press: () => T | undefined | Promise<T | undefined>;
}

type Pickers = { showDirectoryPicker?: (options: object) => Promise<FileSystemDirectoryHandle> };

/** All parts have classes: `wetstring-panel`, `wetstring-text`, `wetstring-bar`, `wetstring-button`. */
export class Panel implements Interaction {
  readonly #parent: () => HTMLElement | null | undefined;
  #element: HTMLElement | undefined;
  #withdraw: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(parent: () => HTMLElement | null | undefined) {
    this.#parent = parent;
  }

  consent(start: Start): Promise<Place | undefined> {
    const buttons: Button<Place>[] = [{ label: "Receive", press: () => downloads() }];
    const picker = (window as Pickers).showDirectoryPicker;
    if (picker !== undefined) {
      const press = async () => directory(await picker.call(window, { mode: "readwrite" }));
      buttons.push({ label: "Into a directory…", press });
    }
    return this.#ask(`The other side sends by ${title(start.protocol)}.`, buttons, "Refuse");
  }

  choose(start: Start): Promise<Source[] | undefined> {
    const press = () => pick(!start.protocol.startsWith("xmodem"));
    const text = `The other side receives by ${title(start.protocol)}.`;
    return this.#ask(text, [{ label: "Choose files…", press }], "Refuse");
  }

  how(files: Source[]): Promise<string | undefined> {
    const [first] = files;
    const what = files.length === 1 && first !== undefined ? escaped(first.name) : `${files.length} files`;
    const buttons = ["zmodem", "kermit", "ymodem"].map((name) => ({ label: `By ${title(name)}`, press: () => name }));
    buttons.unshift({ label: "At the shell", press: () => "shell" });
    return this.#ask(`Send ${what}: start a receiver at the shell, or one is there already.`, buttons, "Cancel");
  }

  begin(direction: "send" | "receive", protocol: string, cancel: () => void): (event: TransferEvent) => void {
    const { text, buttons, panel } = this.#fresh();
    const bar = document.createElement("progress");
    bar.className = "wetstring-bar";
    Object.assign(bar.style, { width: "100%" });
    panel.insertBefore(bar, buttons);
    buttons.append(button("Cancel", cancel));
    const verb = direction === "send" ? "Sends" : "Receives";
    text.textContent = `${verb} by ${title(protocol)}…`;
    const done: string[] = [];
    let said = "";
    return (event) => {
      switch (event.event) {
        case "progress":
          if (event.size) [bar.max, bar.value] = [event.size, event.bytes];
          text.textContent = `${verb} ${event.name}: ${size(event.bytes)}, ${size(event.bytes_per_s)}/s`;
          return;
        case "file-done":
          done.push(`${size(event.size)}${event.verified ? ", compared" : ""}`);
          return;
        case "file-refused":
          done.push(`${event.name} was refused${event.why ? `: ${event.why}` : ""}`);
          return;
        case "message":
          said = `; it says: ${event.text}`;
          return;
        case "end": {
          const words = event.outcome === "done" ? `Done: ${done.join("; ") || "no file"}` : event.message;
          text.textContent = `${words}${event.outcome === "done" ? "" : said}`;
          bar.remove();
          buttons.replaceChildren(button("Close", () => this.#clear()));
          this.#timer = setTimeout(() => this.#clear(), STAYS_MS);
        }
      }
    };
  }

  withdraw(): void {
    this.#withdraw?.();
  }

  #ask<T>(words: string, choices: Button<T>[], none: string): Promise<T | undefined> {
    const { text, buttons } = this.#fresh();
    text.textContent = words;
    return new Promise((resolve) => {
      const end = (answer: T | undefined) => {
        this.#withdraw = undefined;
        this.#clear();
        resolve(answer);
      };
      this.#withdraw = () => end(undefined);
      for (const { label, press } of choices) {
        const pressed = async () => {
          const answer = await Promise.resolve(press()).catch(() => undefined);
          if (answer !== undefined) end(answer);
        };
        buttons.append(button(label, () => void pressed()));
      }
      buttons.append(button(none, () => end(undefined)));
    });
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#element?.remove();
    this.#element = undefined;
  }

  #fresh(): { panel: HTMLElement; text: HTMLElement; buttons: HTMLElement } {
    this.#withdraw?.();
    this.#clear();
    const div = () => document.createElement("div");
    const [panel, text, buttons] = [div(), div(), div()] as const;
    panel.className = "wetstring-panel";
    text.className = "wetstring-text";
    panel.setAttribute("role", "dialog");
    text.setAttribute("role", "status");
    Object.assign(panel.style, {
      position: "absolute", right: "1em", top: "1em", zIndex: "10", maxWidth: "30em", padding: "0.8em",
      font: "14px sans-serif", color: "#111", background: "#fffd", borderRadius: "6px", boxShadow: "0 2px 8px #0008",
    });
    panel.append(text, buttons);
    this.#parent()?.append(panel);
    this.#element = panel;
    return { panel, text, buttons };
  }
}

function button(label: string, press: () => void): HTMLButtonElement {
  const element = document.createElement("button");
  element.className = "wetstring-button";
  element.textContent = label;
  Object.assign(element.style, { margin: "0.6em 0.4em 0 0" });
  element.addEventListener("click", press);
  return element;
}

/** The browser's own dialog for files; undefined if it is closed. */
export function pick(multiple: boolean): Promise<File[] | undefined> {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = multiple;
  return new Promise((resolve) => {
    input.addEventListener("change", () => resolve(Array.from(input.files ?? [])));
    input.addEventListener("cancel", () => resolve(undefined));
    input.click();
  });
}
