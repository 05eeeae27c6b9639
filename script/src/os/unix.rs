//! Unix.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// The value of `\\v(system)`.
pub(crate) const SYSTEM: &[u8] = b"UNIX";

/// A name as the system writes it.
pub(crate) fn name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// Permissions.
pub(crate) fn mode(of: &Metadata) -> u32 {
    of.permissions().mode() & 0o7777
}

/// A command for the system's shell.
pub(crate) fn shell(command: &[u8]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(name(command));
    shell
}

/// What is written to show a text: the text.
pub(crate) fn shown<'t>(text: &'t [u8], _: &impl IsTerminal) -> Cow<'t, [u8]> {
    Cow::Borrowed(text)
}
