//! What an open serial port has beside its data: wires, breaks, and settings that may change.

use crate::line::SerialSpec;
use std::io;
use std::time::Duration;

/// The wires and settings of an open serial port. Errors are the driver's: a PTY has no wires.
pub trait Controls {
    /// Sends a break of this length. Returns after it.
    fn send_break(&mut self, time: Duration) -> io::Result<()>;
    /// Raises or drops DTR.
    fn set_dtr(&mut self, on: bool) -> io::Result<()>;
    /// Raises or drops RTS.
    fn set_rts(&mut self, on: bool) -> io::Result<()>;
    /// The state of all wires.
    fn wires(&self) -> io::Result<Wires>;
    /// The settings as they are.
    fn spec(&self) -> SerialSpec;
    /// Changes rate and character format. Nothing that was received is lost, and no wire moves.
    fn change(&mut self, spec: &SerialSpec) -> io::Result<()>;
}

/// The modem wires of a serial port; true: raised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wires {
    /// Ours: Data Terminal Ready.
    pub dtr: bool,
    /// Ours: Request To Send.
    pub rts: bool,
    /// The peer's: Clear To Send.
    pub cts: bool,
    /// The peer's: Data Set Ready.
    pub dsr: bool,
    /// The peer's: Carrier Detect.
    pub cd: bool,
    /// The peer's: Ring Indicator.
    pub ri: bool,
}
