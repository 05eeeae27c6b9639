// Modules of WebAssembly: where one comes from.

/** An address, the bytes, a response, or the compiled module. */
export type ModuleSource = URL | string | BufferSource | Response | WebAssembly.Module;

/** Compiles a module; one that is compiled already stays. */
export async function compile(source: ModuleSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (typeof source === "string" || source instanceof URL) {
    const response = await fetch(source);
    if (!response.ok) throw new Error(`could not load ${source}: ${response.status}`);
    return WebAssembly.compile(await response.arrayBuffer());
  }
  if (source instanceof Response) return WebAssembly.compile(await source.arrayBuffer());
  return WebAssembly.compile(source);
}
