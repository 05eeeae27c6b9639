// The dialog of device profiles: which device, which protocol, its variables.

import { deviceProfiles, type DeviceProfile } from "../src/index.js";

/** What was chosen. */
export interface Chosen {
  profile: string;
  protocol?: string;
  vars: Record<string, string>;
}

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
let profiles: DeviceProfile[] = [];

/** Asks; undefined if nothing was chosen. */
export async function choose(): Promise<Chosen | undefined> {
  const [dialog, device, protocol] = [
    element<HTMLDialogElement>("device-dialog"), element<HTMLSelectElement>("device-profile"),
    element<HTMLSelectElement>("device-protocol"),
  ];
  if (profiles.length === 0) {
    profiles = await deviceProfiles();
    device.append(...profiles.map(({ name, title }) => new Option(title, name)));
    device.value = "uboot";
    device.addEventListener("change", show);
    show();
  }
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  if (dialog.returnValue !== "send") return undefined;
  const inputs = element("device-vars").querySelectorAll("input");
  const vars = Object.fromEntries(Array.from(inputs, ({ name, value }) => [name, value]).filter(([, value]) => value !== ""));
  return { profile: device.value, protocol: protocol.value, vars };
}

/** The protocols and the variables of the device that is chosen. */
function show(): void {
  const of = profiles.find(({ name }) => name === element<HTMLSelectElement>("device-profile").value);
  if (of === undefined) return;
  element("device-about").textContent = `Tested with: ${of.tested}.`;
  element("device-protocol").replaceChildren(...of.protocols.map((name) => new Option(name)));
  // The rate of a line cannot be changed from here.
  const vars = Object.entries(of.vars).filter(([name]) => name !== "baud");
  element("device-vars").replaceChildren(
    ...vars.map(([name, value]) => {
      const [label, input] = [document.createElement("label"), document.createElement("input")];
      [input.name, input.placeholder] = [name, value];
      label.append(name, input);
      return label;
    }),
  );
}
