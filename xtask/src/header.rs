//! `capi/include/wetstring.h`, which cbindgen makes of `capi/src/lib.rs`: `cargo xtask api` compares, `--write` writes it.

use std::path::Path;

use cbindgen::{Builder, Config};

const HEADER: &str = "capi/include/wetstring.h";
const SOURCE: &str = "capi/src/lib.rs";
const CONFIG: &str = "capi/cbindgen.toml";

/// Compares the header with the library as it is, or writes it.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
    let (path, now) = (root.join(HEADER), made(root)?);
    if write {
        return std::fs::write(&path, now).map_err(|e| format!("{HEADER}: {e}"));
    }
    let before = std::fs::read_to_string(&path).map_err(|e| format!("{HEADER}: {e}"))?;
    if before == now {
        return Ok(());
    }
    Err(format!("{HEADER} is not what {SOURCE} declares: `cargo xtask api --write` makes it"))
}

/// The header as the library has it.
fn made(root: &Path) -> Result<String, String> {
    let config = Config::from_file(root.join(CONFIG)).map_err(|e| format!("{CONFIG}: {e}"))?;
    let bindings = Builder::new().with_src(root.join(SOURCE)).with_config(config).generate();
    let mut text = Vec::new();
    bindings.map_err(|e| format!("{SOURCE}: {e}"))?.write(&mut text);
    String::from_utf8(text).map_err(|e| format!("{HEADER}: {e}"))
}
