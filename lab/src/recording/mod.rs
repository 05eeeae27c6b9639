//! Recordings of what any program sent and received, and traces made of them.
//!
//! ```text
//! file -> who wrote it: pcapng, pcap, strace, socat
//!      -> pieces: when which bytes went or came, at one end or both
//!      -> packets of the protocol that explains most of them (`watch`)
//!      -> the lines of a trace, as an engine would have written them
//! ```
//!
//! | file | written by | what is read of it |
//! |---|---|---|
//! | pcapng | `--capture`, `tshark`, `dumpcap` | serial bytes (link type 250); the TCP connection with most bytes |
//! | pcap | `tcpdump -w` | the same |
//! | strace | `strace -f -ttt -T -xx -s 65536 -e trace=read,write,ioctl -o FILE PROGRAM` | the file descriptors on which a protocol is spoken |
//! | socat | `socat -x ... 2>FILE` | both directions; the first address is the program's |
//!
//! A program's states cannot be seen, only what they lead to: a packet that is sent again without a NAK before it was sent
//! after a timeout; time in which a program could send, and does not, is its own.

mod packets;
mod pcap;
mod socat;
mod strace;
mod tcp;
mod watch;

use std::fmt;

/// Bytes that were sent or received together.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Piece {
    /// Since the start of the clock of the recording, in ns: when the program began to send them, or was told that they were there,
    from: u64,
    /// and when that was done.
    to: u64,
    /// The end sent them; else it received them.
    sent: bool,
    bytes: Vec<u8>,
}

/// What passed one end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Side {
    pieces: Vec<Piece>,
    /// The rate to which its port was set, in bit/s.
    rate_bps: Option<u64>,
    /// What carries the bytes neither loses nor damages any.
    reliable: bool,
    /// The pieces are calls of the program to its system.
    sees_calls: bool,
}

/// Why a recording cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecording {
    /// What was expected, and what was found.
    message: String,
}

impl BadRecording {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for BadRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadRecording {}

/// The lines of a trace of what a recording shows; `None` if the file is no recording.
pub fn trace(file: &[u8]) -> Option<Result<Vec<String>, BadRecording>> {
    let sides = match pcap::frames(file) {
        Some(frames) => frames.and_then(|frames| packets::sides(&frames)),
        None if strace::is_strace(file) => {
            return Some(strace::candidates(file).and_then(|sides| watch::trace_of_one(&sides)));
        }
        None => socat::sides(file)?,
    };
    Some(sides.and_then(|sides| watch::trace(&sides)))
}
