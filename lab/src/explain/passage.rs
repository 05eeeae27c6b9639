//! When the elements between the ports carried which bytes, from departure and arrival times.
//!
//! Modems with error control take a different time for each byte: frames and retransmissions add to it,
//! compression reduces it. A network queues packets. With both ends known it can be computed: any time above
//! the minimum from port to port was waiting or work.

use super::clock::{Busy, Clock, Rate};
use super::log::Side;
use super::piece::Piece;

/// Bytes that arrived at one time, and when they were worked on between the ports, in the sender's time: minus
/// the minimum delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chunk {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Total bytes before and after these.
    bytes: (u64, u64),
}

/// Trailing bytes that the receiver may leave unread: more than the `OO` of ZMODEM.
const LAST: u64 = 16;

/// All arrivals, in order; `None` if they do not match what was sent, so that nothing is known about any byte.
pub(super) fn chunks(sender: &Side, receiver: &Side) -> Option<Vec<Chunk>> {
    let total = |steps: &[(u64, u64)]| steps.last().map(|(_, total)| *total);
    // The last bytes may be left unread.
    if total(&sender.left)?.checked_sub(total(&receiver.came)?)? > LAST {
        return None;
    }
    // When this many bytes had been sent.
    let left = |bytes: u64| {
        let index = sender.left.partition_point(|(_, total)| *total < bytes);
        sender.left.get(index).map(|(time, _)| *time)
    };
    let ways = receiver.came.iter().map(|(time, total)| Some(time.saturating_sub(left(*total)?)));
    let shortest = ways.flatten().min()?;
    let mut chunks = Vec::with_capacity(receiver.came.len());
    let (mut had, mut before) = (0, 0);
    for (time, total) in &receiver.came {
        let to = time.saturating_sub(shortest);
        let from = left(had + 1)?.max(before).min(to);
        chunks.push(Chunk { from, to, bytes: (had, *total) });
        had = *total;
        before = to;
    }
    Some(chunks)
}

/// The chunks with their pieces; bytes before the first piece count to it.
pub(super) fn on_line(chunks: &[Chunk], pieces: &[Piece]) -> Vec<Busy> {
    let mut clock = Clock::new(Rate { millicps: None }, &[]);
    let mut index = 0;
    if pieces.is_empty() {
        return clock.busy;
    }
    for chunk in chunks {
        let (first, end) = chunk.bytes;
        let at = |bytes: u64| {
            let ns = u128::from(chunk.to - chunk.from) * u128::from(bytes - first);
            let ns = ns.checked_div(u128::from(end - first)).unwrap_or(0);
            chunk.from + u64::try_from(ns).unwrap_or(u64::MAX)
        };
        let mut position = first;
        while position < end {
            while pieces.get(index + 1).is_some_and(|next| next.sent.at <= position) {
                index += 1;
            }
            let next = pieces.get(index + 1).map_or(u64::MAX, |next| next.sent.at).min(end);
            clock.put_seen((at(position), at(next)), next - position, index);
            position = next;
        }
    }
    clock.busy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(left: &[(u64, u64)], came: &[(u64, u64)]) -> Side {
        Side { left: left.to_vec(), came: came.to_vec(), ..Side::default() }
    }

    #[test]
    fn time_above_the_minimum_delay_is_work() {
        // Everything is sent at once and takes 10 in transit, and 5 for each of the first twenty bytes but 1
        // for each of the rest.
        let sender = side(&[(0, 1), (100, 41)], &[]);
        let receiver = side(&[], &[(10, 1), (210, 21), (230, 41)]);
        let chunks = chunks(&sender, &receiver).unwrap();
        let spans: Vec<_> = chunks.iter().map(|chunk| (chunk.from, chunk.to)).collect();
        assert_eq!(spans, [(0, 0), (100, 200), (200, 220)]);
    }

    #[test]
    fn lost_bytes_prevent_an_account() {
        let (sender, receiver) = (side(&[(0, 90)], &[]), side(&[], &[(5, 60)]));
        assert_eq!(chunks(&sender, &receiver), None);
        assert_eq!(chunks(&Side::default(), &Side::default()), None);
    }
}
