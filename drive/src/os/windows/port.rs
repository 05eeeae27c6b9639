//! Lines that are devices and processes of Windows.

mod exec;
mod serial;
mod stdio;
mod wrap;

use crate::line::SerialSpec;
use crate::port::{OpenError, Port};
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Errors of a device that is being plugged out: `ERROR_GEN_FAILURE`, `ERROR_DEVICE_NOT_CONNECTED`.
pub(crate) const GONE: [i32; 2] = [31, 1167];

/// A COM port.
pub(crate) fn serial(spec: &SerialSpec) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(serial::SerialLine::open(spec)?))
}

/// A command, by pipes.
pub(crate) fn exec(command: &str) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(exec::ExecLine::spawn(command)?))
}

/// The system's pseudo-terminal redraws what passes: no transfer survives that.
pub(crate) fn exec_pty(command: &str, _: bool) -> Result<Box<dyn Port>, OpenError> {
    refused(
        format!("run {command:?} in a pty"),
        "Windows redraws what passes through its pseudo-terminal; use exec: instead, such as exec:'ssh -T HOST'",
    )
}

/// A command in a terminal like the user's, for a person to look at.
///
/// # Errors
///
/// If there is no such command, or no terminal to be had.
pub fn wrap(command: &[OsString]) -> Result<Box<dyn Port>, OpenError> {
    wrap::wrap(command)
}

/// The same for a line of the system's shell.
///
/// # Errors
///
/// As of [`wrap`].
pub fn wrap_line(line: &str) -> Result<Box<dyn Port>, OpenError> {
    // The shell splits the line itself, and words that are given to it are joined by blanks.
    let words = ["cmd.exe", "/D", "/C"].into_iter().chain(line.split(' '));
    wrap(&words.map(OsString::from).collect::<Vec<_>>())
}

/// There are none.
pub(crate) fn pty(_: Option<&Path>, _: &mut dyn FnMut(&str)) -> Result<Box<dyn Port>, OpenError> {
    refused("make a pty", "it is for Unix only; use tcp-listen: instead, or a pair of COM ports")
}

/// This process's stdin and stdout.
pub(crate) fn stdio() -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(stdio::StdioLine::open()?))
}

/// There are none.
pub(crate) fn descriptor(number: u32) -> Result<Box<dyn Port>, OpenError> {
    refused(format!("use descriptor {number}"), "it is for Unix only; use stdio instead")
}

/// There are none.
pub(crate) fn unix(path: &Path) -> Result<Box<dyn Port>, OpenError> {
    refused(format!("connect to unix:{}", path.display()), "it is for Unix only; use tcp: instead")
}

fn refused(what: impl Into<String>, say: &str) -> Result<Box<dyn Port>, OpenError> {
    Err(OpenError::io(what, io::Error::new(io::ErrorKind::Unsupported, say)))
}
