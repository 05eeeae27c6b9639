//! A second barrier, should the name checks ever fail: Linux's Landlock confines the session's thread to the
//! served directory.

use super::session::Rules;
use super::tree::Handle;
use crate::os::sandbox::bind;

/// Result of confinement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Sandbox {
    /// This thread, and those it starts, cannot open anything outside the root.
    Closed,
    /// They can open what the system's permissions allow; the reason.
    Open(String),
}

/// Confines the calling thread permanently to files below the root.
pub(super) fn enter(root: Handle<'_>, rules: &Rules) -> Sandbox {
    if rules.host.is_some() || rules.kermit.is_some() {
        return Sandbox::Open("commands of the host are allowed".into());
    }
    // Read once and cached.
    crate::zone::offset_at(0);
    crate::disk::place::umask();
    match bind(root, rules.write) {
        Ok(()) => Sandbox::Closed,
        Err(error) => Sandbox::Open(crate::in_words(&error)),
    }
}
