//! The state directory: what the program keeps for itself between runs.

use std::path::PathBuf;

/// `$XDG_STATE_HOME/wetstring`, on Windows `%LOCALAPPDATA%\wetstring`; `None` where there is no such place.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = from("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| from("HOME").map(|home| home.join(".local").join("state")));
    state.or_else(|| from("LOCALAPPDATA")).map(|state| state.join("wetstring"))
}
