//! TCP's timestamps (RFC 7323), which defeat header compression, and their removal.
//!
//! RFC 1144 cannot encode a change of an option, and timestamps change in every packet. A connection has them
//! only if both SYNs offered them (RFC 7323 §2.5): if the offer is removed from a SYN in transit, both ends
//! do without. They are of little use on a slow line: sequence numbers that come
//! round within minutes need more than 100 Mb/s (RFC 7323 §5.2).

use super::packet::{IP_HEADER, SHORTEST_TCP, flag, is_fragment, protocol, put_u16, u16_at};
use crate::checksum::Sum;

/// Kinds of TCP options (IANA's registry).
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOTHING: u8 = 1;
    pub(super) const TIMESTAMPS: u8 = 8;
    /// TCP-AO (RFC 5925): the options may be part of what is signed.
    pub(super) const AUTHENTICATION: u8 = 29;
}

/// Bytes of the option.
const TIMESTAMPS_LEN: usize = 10;

/// Removes the offer of timestamps from a SYN, and corrects the checksum (a wrong one stays wrong). Nothing
/// is moved: no-operations are in its place. Whether there was one; anything that is not a SYN over IPv4, is a
/// fragment, has malformed options or is signed is left as it is.
pub fn take_out_timestamps(packet: &mut [u8]) -> bool {
    let Some((tcp, end)) = options_of_syn(packet) else { return false };
    let options = &mut packet[tcp + 20..end];
    let Some(at) = place_of_timestamps(options) else { return false };
    let before = Sum::default().with(options).checksum();
    options[at..at + TIMESTAMPS_LEN].fill(kind::NOTHING);
    let after = Sum::default().with(options).folded();
    // RFC 1624, equation 3.
    let sum = !u16_at(packet, tcp + 16);
    let words = [sum.to_be_bytes(), before.to_be_bytes(), after.to_be_bytes()];
    put_u16(packet, tcp + 16, Sum::default().with(words.as_flattened()).checksum());
    true
}

/// Where TCP and where its options end, of a SYN.
fn options_of_syn(packet: &[u8]) -> Option<(usize, usize)> {
    let head: &[u8; SHORTEST_TCP] = packet.first_chunk()?;
    let tcp = usize::from(head[0] & 0x0F) * 4;
    let fits = head[0] >> 4 == 4 && tcp >= IP_HEADER && packet.len() >= tcp + 20;
    if !fits || head[9] != protocol::TCP || is_fragment(head) {
        return None;
    }
    let end = tcp + usize::from(packet[tcp + 12] >> 4) * 4;
    let is_syn = packet[tcp + 13] & flag::SYN != 0;
    (is_syn && end >= tcp + 20 && end <= packet.len()).then_some((tcp, end))
}

/// The timestamps in the options of TCP, if there are any.
pub(super) fn timestamps(options: &[u8]) -> Option<&[u8]> {
    place_of_timestamps(options).map(|at| &options[at + 2..at + TIMESTAMPS_LEN])
}

/// Where the timestamps are in the options of TCP.
fn place_of_timestamps(options: &[u8]) -> Option<usize> {
    let (mut at, mut found) = (0, None);
    while let Some(&first) = options.get(at) {
        at += match first {
            kind::END => break,
            kind::NOTHING => 1,
            _ => {
                let len = usize::from(*options.get(at + 1)?);
                if len < 2 || at + len > options.len() || first == kind::AUTHENTICATION {
                    return None;
                }
                if first == kind::TIMESTAMPS && len == TIMESTAMPS_LEN {
                    found = Some(at);
                }
                len
            }
        };
    }
    found
}
