//! Ports: the open ends of lines.
//!
//! A [`Port`] is opened from a [`LineSpec`](crate::LineSpec), never blocks, takes partial writes, lends what to wait for,
//! and reports what is known about the line ([`PortFacts`]).

use crate::event::{Interest, Source};
use crate::in_words;
use crate::signals::Signals;
use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

mod controls;
pub(crate) mod find;
mod list;
mod open;
pub(crate) mod pace;
mod returning;
pub(crate) mod serial;
mod tcp;
mod telnet;
mod tls;

pub use crate::os::port::{wrap, wrap_line};
pub use controls::{Controls, Wires};
pub use find::{LATEST, NEW, is_symbolic, locate, newest};
pub use list::{PortInfo, UsbFacts, ports};
pub use open::{open, open_attended, open_for};
pub use returning::{Finder, LOOK, Returning};
pub use tcp::Listener;

/// An open end of a line. Object safe; every call returns at once except [`Port::finish`].
pub trait Port: Send {
    /// Reads what is available: `Ok(None)` if nothing is available now, `Ok(Some(0))` if the peer has closed.
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>>;
    /// Writes as much as fits: `Ok(None)` if nothing fits now. Part of `bytes` may be accepted.
    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>>;
    /// Time until a write is worth retrying, where the port keeps its driver's queue short and the system
    /// cannot tell; zero where it can.
    fn rest(&self) -> Duration {
        Duration::ZERO
    }
    /// From now on damaged characters (framing, parity, break) are marked in the data, in the format of
    /// termios's PARMRK: `FF 00 c` for a damaged c, `FF FF` for the byte FF. False where the port cannot detect
    /// damage, and marks nothing. No system marks lost characters (overrun).
    fn mark_damage(&mut self) -> io::Result<bool> {
        Ok(false)
    }
    /// Whether the port holds output that the system has not accepted yet, which [`Port::flush`] writes when
    /// [`Port::write_source`] is ready.
    fn held(&self) -> bool {
        false
    }
    /// Writes as many [held](Port::held) bytes as the device accepts.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// Negotiates before the first byte of data, where there is such a thing (the options of Telnet). Takes
    /// bounded time; a second call does nothing. `notes` gets what a user should know.
    fn settle(
        &mut self,
        signals: Option<&Signals>,
        notes: &mut dyn FnMut(&str),
    ) -> Result<(), OpenError> {
        let _ = (signals, notes);
        Ok(())
    }
    /// What becomes readable with this port.
    fn read_source(&self) -> Source<'_>;
    /// What becomes writable with this port.
    fn write_source(&self) -> Source<'_>;
    /// What is known about the line.
    fn facts(&self) -> &PortFacts;
    /// Whether the other side asks the user something, such as a password.
    fn asks(&self) -> bool {
        false
    }
    /// The other side has nothing more to ask: what it says is no longer shown, and the user has the keyboard again.
    fn answered(&mut self) {}
    /// The known rate in bit/s at which the line carries bytes. A PTY has a rate that can be set, but none at
    /// which it carries.
    fn carries_bps(&self) -> Option<u32> {
        self.facts().rate_bps
    }
    /// Says to the program at the other side that the line has this rate: the speed of a PTY. Other ports have
    /// no such words.
    ///
    /// # Errors
    ///
    /// If the terminal cannot be set.
    fn claim(&mut self, _rate_bps: u32) -> io::Result<()> {
        Ok(())
    }
    /// Bytes written that the other side of this port has not accepted yet, as far as the system tells; 0 where
    /// it does not.
    fn unsent(&self) -> u64 {
        0
    }
    /// Its wires and settings, at a serial port.
    fn controls(&mut self) -> Option<&mut dyn Controls> {
        None
    }
    /// The next thing that has happened to the port and a user should know.
    fn news(&mut self) -> Option<String> {
        None
    }
    /// How often it has gone, where it may come again: what was on the way then is lost.
    fn losses(&self) -> u32 {
        0
    }
    /// It has gone, and is looked for: nothing passes until it is there again.
    fn is_gone(&self) -> bool {
        false
    }
    /// Readable once the program at the other side has ended, where this process started it.
    fn end_source(&self) -> Option<Source<'_>> {
        None
    }
    /// Tells the program at the other side the size of the user's terminal, where it has one.
    fn follow_size(&mut self) {}
    /// Tells it this size, where it has a terminal of its own.
    fn resize(&mut self, _columns: u16, _rows: u16) {}
    /// Ends the use of the port: written data is given time to leave (at most `patience`), line settings are
    /// restored, a child process is reaped. Returns the child's exit status if there was a child and it has
    /// ended. A child that does not end is killed, which takes at most the same time again; one that has sent
    /// something and not yet read what was written last is first given two seconds to read it. A second call does
    /// nothing. Dropping a port does the same with [`PATIENCE`].
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>>;
}

/// How long a dropped port waits for its output to leave.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What is known about a line before any byte is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortFacts {
    /// The line's name for users: `127.0.0.1:1649`, `/dev/ttyUSB0`, `/dev/pts/5`.
    pub name: String,
    /// Delivers every byte, unchanged, in order, or fails: `Some(true)` for TCP, pipes and a PTY
    /// with our own child in it, `Some(false)` for serial ports, `None` where this end cannot
    /// tell (stdio: "the remote Kermit can not usually tell what kind of connection it has").
    pub reliable: Option<bool>,
    /// Transparent to all 256 byte values. Known for sockets and pipes only.
    pub clear: bool,
    /// This end opened the connection. False for stdio.
    pub local: bool,
    /// Line rate in bit/s, for serial ports, as configured.
    pub rate_bps: Option<u32>,
    /// Data bytes per segment of the transport (TCP's MSS). A packet that is a multiple of it leaves no short
    /// segment.
    pub segment_len: Option<usize>,
    /// Characters have seven data bits (or fewer): the eighth is not carried. The device handles parity.
    pub seven_bit: bool,
    /// The driver or the path removes XON and XOFF from the stream.
    pub xon_xoff: bool,
    /// Telnet: 255 and CR take more than one byte.
    pub telnet: bool,
    /// The system redraws what passes, as Windows' pseudo-terminal does: for people, and not for transfers.
    pub redrawn: bool,
}

impl PortFacts {
    /// A line that this end opened, and of which nothing else is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            reliable: None,
            clear: false,
            local: true,
            rate_bps: None,
            segment_len: None,
            seven_bit: false,
            xon_xoff: false,
            telnet: false,
            redrawn: false,
        }
    }
}

/// The purpose of a line. Telnet tells its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purpose {
    /// A transfer between two programs.
    #[default]
    Transfer,
    /// A client of the peer's Kermit server.
    Client,
    /// To be a Kermit server.
    Server,
}

/// Why a port could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// A system error.
    Io {
        /// What was attempted, such as `connect to 127.0.0.1:1649`.
        what: String,
        /// The error.
        error: io::Error,
    },
    /// The device is in use.
    Locked {
        /// The device.
        device: String,
        /// By whom, where known.
        by: String,
    },
    /// A signal arrived while waiting (its number).
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

    /// Whether the port is not plugged in, or is just being plugged out.
    pub fn is_missing(&self) -> bool {
        let Self::Io { error, .. } = self else { return false };
        error.kind() == io::ErrorKind::NotFound
            || error.raw_os_error().is_some_and(|code| crate::os::port::GONE.contains(&code))
    }
}

/// Gives buffered output time to leave.
fn drain(port: &mut dyn Port, patience: Duration) {
    let until = Instant::now() + patience;
    while port.flush().is_ok() && port.held() {
        let left = until.saturating_duration_since(Instant::now());
        let ready = Signals::wait(None, Interest::write(port.write_source()), Some(left));
        if left.is_zero() || !matches!(ready, Ok(Ok(true))) {
            return;
        }
    }
}
