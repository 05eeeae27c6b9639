//! Ports: the real ends of real lines.
//!
//! A [`Port`] is opened from a [`LineSpec`], never blocks, takes partial writes, lends the
//! descriptors to wait on, and says what is known of the line ([`PortFacts`]).

use crate::in_words;
use crate::signals::Signals;
use rustix::event::PollFlags;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

mod child;
mod descriptor;
mod exec;
mod exec_pty;
mod list;
mod open;
mod pace;
mod prelude;
mod pty;
mod serial;
mod stdio;
mod tcp;
mod telnet;
mod tls;

pub use list::{PortInfo, UsbFacts, ports};
pub use open::{open, open_attended, open_for};
pub use tcp::Listener;

/// The end of a line. Object safe; every call returns at once except [`Port::finish`].
pub trait Port: Send {
    /// Reads what is there: `Ok(None)` if nothing is there now, `Ok(Some(0))` if the other end
    /// has closed.
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>>;
    /// Writes as much as fits: `Ok(None)` if nothing fits now. Part of `bytes` may be taken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>>;
    /// How long until a write is worth trying again, where the port keeps its driver's queue short
    /// and the descriptor cannot tell; zero where it can.
    fn rest(&self) -> Duration {
        Duration::ZERO
    }
    /// From now on characters that come damaged (framing, parity, break) are marked in what is read, as
    /// termios has it with PARMRK: `FF 00 c` for a damaged c, `FF FF` for the byte FF. False where
    /// the port cannot tell of damage, and marks nothing. Lost characters (overrun) are marked by no system.
    fn mark_damage(&mut self) -> io::Result<bool> {
        Ok(false)
    }
    /// Whether the port keeps output that the system has not taken yet, which
    /// [`Port::flush`] writes when [`Port::write_fd`] is ready.
    fn held(&self) -> bool {
        false
    }
    /// Writes as much as fits of what is [held](Port::held).
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// Says and hears what comes before the first byte of data, where there is such a thing (the
    /// options of Telnet). Takes bounded time; a second call does nothing. `notes` is told what a
    /// person should know.
    fn settle(
        &mut self,
        signals: Option<&Signals>,
        notes: &mut dyn FnMut(&str),
    ) -> Result<(), OpenError> {
        let _ = (signals, notes);
        Ok(())
    }
    /// Wait on this to read.
    fn read_fd(&self) -> BorrowedFd<'_>;
    /// Wait on this to write.
    fn write_fd(&self) -> BorrowedFd<'_>;
    /// What is known of the line.
    fn facts(&self) -> &PortFacts;
    /// Whether what is at the other side asks the person something, such as a password.
    fn asks(&self) -> bool {
        false
    }
    /// The rate in bit/s at which the line is known to carry bytes. A PTY has a rate that can be set, and
    /// none at which it carries.
    fn carries_bps(&self) -> Option<u32> {
        self.facts().rate_bps
    }
    /// Bytes that were written and that the other side of this port has not taken yet, as far as the system
    /// tells; 0 where it does not.
    fn unsent(&self) -> u64 {
        0
    }
    /// Ends the use of the port: what was written is given time to leave (at most `patience`),
    /// line settings come back, a child process is reaped. Returns the child's exit status if
    /// there was a child and it has ended. A child that will not end is ended, which takes as long
    /// again at most. A second call does nothing. Dropping a port does the same with [`PATIENCE`].
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>>;
}

/// How long a port that is dropped waits for its output to leave.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a line before a byte has moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortFacts {
    /// The line for a person: `127.0.0.1:1649`, `/dev/ttyUSB0`, `/dev/pts/5`.
    pub name: String,
    /// Delivers every byte, unchanged, in order, or fails: `Some(true)` for TCP, pipes and a PTY
    /// with our own child in it, `Some(false)` for serial ports, `None` where this end cannot
    /// tell (stdio: "the remote Kermit can not usually tell what kind of connection it has").
    pub reliable: Option<bool>,
    /// Carries all 256 byte values untouched. Known of sockets and pipes only.
    pub clear: bool,
    /// This end made the connection. False for stdio: somebody else did.
    pub local: bool,
    /// Line rate in bit/s, for serial ports, as it was set.
    pub rate_bps: Option<u32>,
    /// Data bytes in a segment of the transport (TCP's MSS). A packet that is a multiple of it
    /// leaves no runt.
    pub segment_len: Option<usize>,
    /// Characters have seven bits of data (or fewer): the eighth is not carried. The device looks
    /// after parity.
    pub seven_bit: bool,
    /// XON and XOFF are taken out of the stream by the driver or by what is on the way.
    pub xon_xoff: bool,
    /// Telnet is spoken: 255 and CR cost more than one byte.
    pub telnet: bool,
}

/// What a line is opened for. Telnet tells its partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purpose {
    /// Whatever two programs have agreed on.
    #[default]
    Transfer,
    /// To ask the Kermit server at the other end.
    Client,
    /// To be a Kermit server.
    Server,
}

/// Why a port could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The system said no.
    Io {
        /// What was being done, such as `connect to 127.0.0.1:1649`.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// Somebody else uses the device.
    Locked {
        /// The device.
        device: String,
        /// Who, where known.
        by: String,
    },
    /// A signal came while waiting (its number).
    Interrupted(i32),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, error } => write!(f, "could not {what}: {}", in_words(&error)),
            Self::Locked { device, by } => write!(f, "{device} is in use by {by}"),
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl OpenError {
    /// `what` failed with `error`.
    pub(crate) fn io(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::Io { what: what.into(), error: error.into() }
    }
}

/// Gives what a port holds time to leave.
fn drain(port: &mut dyn Port, patience: Duration) {
    let until = Instant::now() + patience;
    while port.flush().is_ok() && port.held() {
        let left = until.saturating_duration_since(Instant::now());
        let ready = Signals::wait(None, port.write_fd(), PollFlags::OUT, Some(left));
        if left.is_zero() || !matches!(ready, Ok(Ok(ready)) if !ready.is_empty()) {
            return;
        }
    }
}

/// One non-blocking read, as [`Port::read`] has it.
fn read(fd: impl AsFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::io::read(&fd, &mut *into) {
            Ok(len) => return Ok(Some(len)),
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(rustix::io::Errno::INTR) => {}
            // A terminal whose other side has gone, or an adapter that was pulled out.
            Err(rustix::io::Errno::IO) => return Ok(Some(0)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// One non-blocking write, as [`Port::write`] has it.
fn write(fd: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::io::write(&fd, bytes) {
            Ok(len) => return Ok(Some(len)),
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes a descriptor of our own non-blocking.
fn nonblocking(fd: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | rustix::fs::OFlags::NONBLOCK)?;
    Ok(())
}
