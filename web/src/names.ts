// Names from a peer, made safe: the rules of `wst receive`.

/** Longest name in UTF-16 units that every file system takes, with room for a number. */
const LONGEST = 200;
const DEVICES = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;

/**
 * The name under which a file is stored, or undefined if the name means no file. Only the last part counts; roots and
 * directories are taken off, control characters and what Windows cannot have become `_`, devices of Windows get one
 * in front.
 */
export function safeName(wire: string): string | undefined {
  let name = wire.split(/[/\\]/).at(-1) ?? "";
  name = name.replace(/^([a-z]:)+/i, "");
  if (name === "" || name === "." || name === "..") return undefined;
  name = name.replace(/[\x00-\x1f\x7f-\x9f<>:"|?*\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "_");
  name = name.replace(/[. ]+$/, (end) => "_".repeat(end.length));
  if (DEVICES.test(name)) name = `_${name}`;
  if (name.length <= LONGEST) return name;
  const [, stem = name, extension = ""] = /^(.*?)(\.[^.]{1,20})?$/s.exec(name) ?? [];
  return stem.slice(0, LONGEST - extension.length) + extension;
}

/** The next name to try if this one is taken: `a.bin`, `a (1).bin`, `a (2).bin`. */
export function numbered(name: string, number: number): string {
  const dot = name.lastIndexOf(".");
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  return number === 0 ? name : `${stem} (${number})${extension}`;
}
