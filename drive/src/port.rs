//! Ports: the real ends of real lines.
//!
//! A [`Port`] is opened from a [`LineSpec`], never blocks, takes partial writes, lends the
//! descriptors to wait on, and says what is known of the line ([`PortFacts`]).

use crate::line::LineSpec;
use crate::signals::Signals;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::process::ExitStatus;
use std::time::Duration;

/// The end of a line. Object safe; every call returns at once except [`Port::finish`].
pub trait Port {
    /// Reads what is there: `Ok(None)` if nothing is there now, `Ok(Some(0))` if the other end
    /// has closed.
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>>;
    /// Writes as much as fits: `Ok(None)` if nothing fits now. Part of `bytes` may be taken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>>;
    /// Wait on this to read.
    fn read_fd(&self) -> BorrowedFd<'_>;
    /// Wait on this to write.
    fn write_fd(&self) -> BorrowedFd<'_>;
    /// What is known of the line.
    fn facts(&self) -> &PortFacts;
    /// Ends the use of the port: what was written is given time to leave (at most `patience`),
    /// line settings come back, a child process is reaped. Returns the child's exit status if
    /// there was a child and it has ended. A second call does nothing. Dropping a port does the
    /// same with [`PATIENCE`].
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
    /// Line rate in bit/s, for serial ports.
    pub rate_bps: Option<u32>,
    /// Data bytes in a segment of the transport (TCP's MSS). A packet that is a multiple of it
    /// leaves no runt.
    pub segment_len: Option<usize>,
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
            Self::Io { what, error } => write!(f, "could not {what}: {error}"),
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

/// A serial port of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortInfo {
    /// The device, such as `/dev/ttyUSB0`.
    pub path: std::path::PathBuf,
    /// The kernel driver behind it, where known.
    pub driver: Option<String>,
    /// What USB says of it, if it hangs on USB.
    pub usb: Option<UsbFacts>,
}

/// What USB says of a serial adapter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsbFacts {
    /// Vendor id.
    pub vendor_id: u16,
    /// Product id.
    pub product_id: u16,
    /// The vendor's name.
    pub manufacturer: Option<String>,
    /// The product's name.
    pub product: Option<String>,
    /// Serial number.
    pub serial_number: Option<String>,
}

/// Opens a line.
///
/// `notes` is told what a person must know to join the other end: `listening on
/// 127.0.0.1:40123`, `pty /dev/pts/5`. Waiting for a connection ends early when `signals` has
/// one.
pub fn open(
    spec: &LineSpec,
    signals: Option<&Signals>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    let _ = (spec, signals, notes);
    todo!()
}

/// The serial ports of this machine, sorted by name.
pub fn ports() -> io::Result<Vec<PortInfo>> {
    todo!()
}
