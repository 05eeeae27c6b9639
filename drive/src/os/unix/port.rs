//! Lines that are devices, processes and terminals of Unix.

mod child;
mod descriptor;
mod either;
mod exec;
mod exec_pty;
mod prelude;
mod pty;
mod serial;
mod stdio;
mod tmux;
mod wrap;

use crate::line::SerialSpec;
use crate::port::{OpenError, Port};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Errors of a device that is being plugged out.
pub(crate) const GONE: [i32; 3] =
    [Errno::IO.raw_os_error(), Errno::NXIO.raw_os_error(), Errno::NODEV.raw_os_error()];

/// A serial port.
pub(crate) fn serial(spec: &SerialSpec) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(serial::SerialLine::open(spec)?))
}

/// A command, by pipes.
pub(crate) fn exec(command: &str) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(exec::ExecLine::spawn(command)?))
}

/// A command in a terminal; if it is `attended`, it may ask the user first.
pub(crate) fn exec_pty(command: &str, attended: bool) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(exec_pty::ExecPtyLine::spawn(command, attended)?))
}

/// Runs a command in a terminal that has the settings and the size of this process's terminal.
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
    wrap(&["sh", "-c", line].map(OsString::from))
}

/// A PTY for other programs.
pub(crate) fn pty(
    link: Option<&Path>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(pty::PtyLine::make(link, notes)?))
}

/// This process's stdin and stdout.
pub(crate) fn stdio() -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(stdio::StdioLine::open()?))
}

/// An inherited descriptor.
pub(crate) fn descriptor(number: u32) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(descriptor::DescriptorLine::open(number)?))
}

/// A Unix-domain socket.
pub(crate) fn unix(path: &Path) -> Result<Box<dyn Port>, OpenError> {
    Ok(Box::new(descriptor::DescriptorLine::connect(path)?))
}

/// One non-blocking read, as [`Port::read`] has it.
fn read(fd: impl AsFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::io::read(&fd, &mut *into) {
            Ok(len) => return Ok(Some(len)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            // A terminal whose other side has gone, or an adapter that was unplugged.
            Err(Errno::IO) => return Ok(Some(0)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// One non-blocking write, as [`Port::write`] has it.
fn write(fd: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::io::write(&fd, bytes) {
            Ok(len) => return Ok(Some(len)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes a pipe this long, where the system can: short ones only cost speed.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn lengthen(pipe: impl AsFd, len: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, len);
}

/// This system chooses the lengths of its pipes.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn lengthen(_: impl AsFd, _: usize) {}

/// The other side of a PTY.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn other_side(terminal: impl AsFd) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
    Ok(ioctl_tiocgptpeer(terminal.as_fd(), OpenptFlags::RDWR | OpenptFlags::NOCTTY)?)
}

/// By its name, which this system has for it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn other_side(terminal: impl AsFd) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::fs::{Mode, OFlags, open};
    let name = rustix::pty::ptsname(terminal.as_fd(), Vec::new())?;
    Ok(open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Makes our own descriptor non-blocking.
fn nonblocking(fd: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | rustix::fs::OFlags::NONBLOCK)?;
    Ok(())
}
