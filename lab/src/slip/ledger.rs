//! The composition of a SLIP line's bytes: file data, headers, acknowledgements, interactive traffic.
//!
//! Each delivered packet is recorded with the line bytes that it took, including ENDs and escapes. At the end
//! of a run the numbers are written to the trace as `slip`, with `_fwd` for the direction from A and `_rev` for
//! the other; an account of the time is made from them:
//!
//! | counter | bytes of the line |
//! |---|---|
//! | `line` | all |
//! | `data` | data of TCP, but of port 23 |
//! | `head` | headers, frames and escapes of packets with such data |
//! | `ack`, `acks` | packets of TCP without data, but of port 23; how many there were |
//! | `typed` | packets of port 23 |
//! | `other` | packets that are no TCP |
//! | `busy` | not bytes: nanoseconds that the line was busy |
//!
//! Two modems with turns say, in nanoseconds of their channel: `filled` (the share of its packets that
//! characters were in), `unfilled` (the rest of those packets), `empty` (packets without any), `again`
//! (packets that were hit), `calibrate` and `gap`.

use wetstring_proto::slip::packet::protocol;

/// The port of TELNET: interactive traffic and its echo.
pub const TELNET: u16 = 23;

/// The names of one direction's counters, in the order of [`Ledger::counters`].
pub type Names = [&'static str; 7];

/// From A to B.
pub const FWD: Names =
    ["line_fwd", "data_fwd", "head_fwd", "ack_fwd", "acks_fwd", "typed_fwd", "other_fwd"];
/// From B to A.
pub const REV: Names =
    ["line_rev", "data_rev", "head_rev", "ack_rev", "acks_rev", "typed_rev", "other_rev"];

/// The bytes of one direction of a line. Counters only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// All bytes that the line accepted; those that never formed a packet are in no other counter.
    pub line_bytes: u64,
    /// Data of TCP, without typing.
    pub data_bytes: u64,
    /// Overhead of that data: headers, frames, escapes.
    pub head_bytes: u64,
    /// Packets of TCP without data, without those of typing.
    pub ack_bytes: u64,
    /// How many there were.
    pub acks: u64,
    /// Interactive traffic: its packets and their acknowledgements.
    pub typed_bytes: u64,
    /// Packets that are no TCP.
    pub other_bytes: u64,
}

/// Ports and length of the data of a packet of TCP.
fn tcp(packet: &[u8]) -> Option<([u16; 2], usize)> {
    let body = packet.get(usize::from(*packet.first()? & 0x0F) * 4..)?;
    if packet[0] >> 4 != 4 || packet.get(9) != Some(&protocol::TCP) || body.len() < 20 {
        return None;
    }
    let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    Some(([port(0), port(2)], body.len().saturating_sub(usize::from(body[12] >> 4) * 4)))
}

/// Whether this packet is interactive traffic.
pub(super) fn is_typing(packet: &[u8]) -> bool {
    tcp(packet).is_some_and(|(ports, _)| ports.contains(&TELNET))
}

impl Ledger {
    /// A packet came out, which took this many bytes of the line.
    pub(super) fn add(&mut self, packet: &[u8], line_bytes: usize) {
        let line = line_bytes as u64;
        match tcp(packet) {
            None => self.other_bytes += line,
            Some((ports, _)) if ports.contains(&TELNET) => self.typed_bytes += line,
            Some((_, 0)) => {
                self.ack_bytes += line;
                self.acks += 1;
            }
            Some((_, data)) => {
                self.data_bytes += data as u64;
                self.head_bytes += line.saturating_sub(data as u64);
            }
        }
    }

    /// Bytes of the line for a packet without data, its frame with it, in thousandths; `None` if there was
    /// none.
    pub fn ack_millibytes(&self) -> Option<u64> {
        (self.ack_bytes * 1000).checked_div(self.acks)
    }

    /// All of it with these names.
    pub fn counters(&self, names: &Names) -> Vec<(&'static str, u64)> {
        let values = [
            self.line_bytes,
            self.data_bytes,
            self.head_bytes,
            self.ack_bytes,
            self.acks,
            self.typed_bytes,
            self.other_bytes,
        ];
        names.iter().copied().zip(values).collect()
    }
}
