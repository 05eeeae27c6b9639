//! Control messages from the receiver to the sender, several to a CONTROL packet.
//!
//! ```text
//! GO      0 0 sequence(2) buffer(4)
//! OK      1 0 sequence(2) buffer(4) burst size(2) burst interval(2) control timer(2) zero(2)
//! RESEND  2 0 sequence(2) buffer(4) count(2) zero(2) packets(2 each), padded to four
//! RATE    3 extra(1) number(2) rate(4) burst(2) control timer(2)
//! ```
//!
//! RATE is our extension, and sent only to a sender that requested it (docs/protocols/netblt.md §11).

use super::packet::{padded, u16_at, u32_at};
use super::rate::pacing::Pace;

/// A control message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// The buffer may be sent.
    Go {
        /// The kind of digest.
        buffer: u32,
    },
    /// The buffer is complete.
    Ok {
        /// The kind of digest.
        buffer: u32,
        /// Packets of a burst that the receiver offers.
        burst_size: u16,
        /// Burst interval in milliseconds that it offers.
        burst_interval_ms: u16,
        /// What its control timer is now, in milliseconds.
        control_timer_ms: u16,
    },
    /// Packets of the buffer are missing.
    Resend {
        /// The kind of digest.
        buffer: u32,
        /// Their numbers.
        packets: Missing<'a>,
    },
    /// The rate at which to send. Its number is in the place of the sequence number of others.
    Rate {
        /// Thousandths of packets per second.
        rate: u32,
        /// Packets that leave at once.
        burst: u16,
        /// One in N bursts has an additional packet; 0 is none.
        extra: u8,
        /// What the receiver's control timer is now, in milliseconds.
        control_timer_ms: u16,
    },
}

impl Message<'_> {
    /// The buffer that it is about; 0 if about none.
    pub const fn buffer(&self) -> u32 {
        match self {
            Self::Rate { .. } => 0,
            Self::Go { buffer } | Self::Ok { buffer, .. } | Self::Resend { buffer, .. } => *buffer,
        }
    }
}

/// The list of packet numbers of a RESEND.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing<'a>(&'a [u8]);

impl Missing<'_> {
    /// The numbers, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.chunks_exact(2).map(|two| u16_at(two, 0))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

const GO: u8 = 0;
const OK: u8 = 1;
const RESEND: u8 = 2;
const RATE: u8 = 3;

/// Bytes of a GO.
pub const GO_LEN: usize = 8;
/// Bytes of an OK.
pub const OK_LEN: usize = 16;

/// Bytes of a RATE.
pub const RATE_LEN: usize = 12;

/// Bytes of a RESEND of N packets.
pub const fn resend_len(count: usize) -> usize {
    padded(12 + 2 * count)
}

/// The messages in these bytes with their sequence numbers; it ends where they make no sense.
pub fn messages(mut rest: &[u8]) -> impl Iterator<Item = (u16, Message<'_>)> {
    core::iter::from_fn(move || {
        let (sequence, message, len) = message(rest)?;
        rest = rest.get(len..).unwrap_or_default();
        Some((sequence, message))
    })
}

fn message(bytes: &[u8]) -> Option<(u16, Message<'_>, usize)> {
    let head = bytes.get(..GO_LEN)?;
    let (sequence, buffer) = (u16_at(head, 2), u32_at(head, 4));
    let (message, len) = match head[0] {
        GO => (Message::Go { buffer }, GO_LEN),
        OK => {
            let more = bytes.get(GO_LEN..OK_LEN)?;
            let message = Message::Ok {
                buffer,
                burst_size: u16_at(more, 0),
                burst_interval_ms: u16_at(more, 2),
                control_timer_ms: u16_at(more, 4),
            };
            (message, OK_LEN)
        }
        RESEND => {
            let count = usize::from(u16_at(bytes.get(GO_LEN..12)?, 0));
            let list = bytes.get(12..12 + 2 * count)?;
            (Message::Resend { buffer, packets: Missing(list) }, resend_len(count))
        }
        RATE => {
            let more = bytes.get(GO_LEN..RATE_LEN)?;
            let (rate, extra) = (buffer, head[1]);
            let (burst, control_timer_ms) = (u16_at(more, 0), u16_at(more, 2));
            (Message::Rate { rate, burst, extra, control_timer_ms }, RATE_LEN)
        }
        _ => return None,
    };
    Some((sequence, message, len))
}

fn put_head(into: &mut [u8], kind: u8, sequence: u16, buffer: u32) {
    into[0] = kind;
    into[1] = 0;
    into[2..4].copy_from_slice(&sequence.to_be_bytes());
    into[4..8].copy_from_slice(&buffer.to_be_bytes());
}

/// Writes a GO; `None` if it does not fit.
pub fn put_go(into: &mut [u8], sequence: u16, buffer: u32) -> Option<usize> {
    put_head(into.get_mut(..GO_LEN)?, GO, sequence, buffer);
    Some(GO_LEN)
}

/// Writes a RATE; `None` if it does not fit.
pub(crate) fn put_rate(into: &mut [u8], number: u16, pace: Pace, timer_ms: u16) -> Option<usize> {
    let room = into.get_mut(..RATE_LEN)?;
    put_head(room, RATE, number, u32::try_from(pace.rate).unwrap_or(u32::MAX));
    room[1] = pace.extra;
    room[8..10].copy_from_slice(&pace.burst.to_be_bytes());
    room[10..12].copy_from_slice(&timer_ms.to_be_bytes());
    Some(RATE_LEN)
}

/// What an OK offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offer {
    /// Packets of a burst.
    pub burst_size: u16,
    /// Milliseconds from burst to burst.
    pub burst_interval_ms: u16,
    /// The control timer in milliseconds.
    pub control_timer_ms: u16,
}

/// Writes an OK; `None` if it does not fit.
pub fn put_ok(into: &mut [u8], sequence: u16, buffer: u32, offer: Offer) -> Option<usize> {
    let room = into.get_mut(..OK_LEN)?;
    put_head(room, OK, sequence, buffer);
    room[8..10].copy_from_slice(&offer.burst_size.to_be_bytes());
    room[10..12].copy_from_slice(&offer.burst_interval_ms.to_be_bytes());
    room[12..14].copy_from_slice(&offer.control_timer_ms.to_be_bytes());
    room[14..].fill(0);
    Some(OK_LEN)
}

/// Writes a RESEND of the first of these packets, as many as fit and at most 65,535; length and
/// how many they were. `None` if not even one fits.
pub fn put_resend(
    into: &mut [u8],
    sequence: u16,
    buffer: u32,
    packets: impl Iterator<Item = u16>,
) -> Option<(usize, usize)> {
    let most = into.len().saturating_sub(12) / 4 * 2;
    let mut count = 0;
    for packet in packets.take(most.min(0xFFFF)) {
        let at = 12 + 2 * count;
        into[at..at + 2].copy_from_slice(&packet.to_be_bytes());
        count += 1;
    }
    if count == 0 {
        return None;
    }
    put_head(into, RESEND, sequence, buffer);
    into[8..10].copy_from_slice(&(count as u16).to_be_bytes());
    into[10..12].fill(0);
    let len = resend_len(count);
    into[12 + 2 * count..len].fill(0);
    Some((len, count))
}
