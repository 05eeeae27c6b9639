//! Windows.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::IsTerminal;
use std::os::windows::process::CommandExt;
use std::process::Command;

/// The value of `\\v(system)`, as C-Kermit's sibling Kermit 95 has it.
pub(crate) const SYSTEM: &[u8] = b"WIN32";

/// A name as the system writes it.
pub(crate) fn name(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Permissions: this system has only the one to write.
pub(crate) fn mode(of: &Metadata) -> u32 {
    let write = if of.permissions().readonly() { 0 } else { 0o200 };
    0o444 | write | if of.is_dir() { 0o111 } else { 0 }
}

/// A command for the system's shell, which splits the line itself.
pub(crate) fn shell(command: &[u8]) -> Command {
    let mut shell = Command::new("cmd.exe");
    // With /S the outer quotes are removed, whatever is between them.
    shell.raw_arg(format!("/D /S /C \"{}\"", String::from_utf8_lossy(command)));
    shell
}

/// What is written to show a text: a console takes UTF-8 only.
pub(crate) fn shown<'t>(text: &'t [u8], on: &impl IsTerminal) -> Cow<'t, [u8]> {
    if !on.is_terminal() {
        return Cow::Borrowed(text);
    }
    match String::from_utf8_lossy(text) {
        Cow::Borrowed(same) => Cow::Borrowed(same.as_bytes()),
        Cow::Owned(other) => Cow::Owned(other.into_bytes()),
    }
}
