//! When what lies between the ports carried which bytes, by when they left and when they came.
//!
//! Modems with error control take a different time for each byte: frames add to it, repeats add to
//! it, compression takes from it. A network lets packets wait. With both ends known it can be seen:
//! whatever takes longer than the shortest way from port to port was waited for or worked on.

use super::clock::{Busy, Clock, Rate};
use super::log::Side;
use super::piece::Piece;

/// Bytes that came at one time, and when they were worked on between the ports, as seen from the
/// end that sends: the shortest way is taken off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chunk {
    pub(super) from: u64,
    pub(super) to: u64,
    /// How many bytes had come before, and with these.
    bytes: (u64, u64),
}

/// Bytes at the end that the receiver may leave: more than the `OO` of ZMODEM.
const LAST: u64 = 16;

/// All that came, in order; `None` if it is not what left, so that nothing can be said of any byte.
pub(super) fn chunks(sender: &Side, receiver: &Side) -> Option<Vec<Chunk>> {
    let total = |steps: &[(u64, u64)]| steps.last().map(|(_, total)| *total);
    // The last of all may not be looked at any more.
    if total(&sender.left)?.checked_sub(total(&receiver.came)?)? > LAST {
        return None;
    }
    // When so many bytes had left.
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

/// The chunks with the pieces that they are of; bytes in front of the first piece count to it.
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
    fn what_takes_longer_than_the_shortest_way_is_worked_on() {
        // All leaves at once and takes 10 on the way, and 5 for each of the first twenty bytes but
        // 1 for each of the rest.
        let sender = side(&[(0, 1), (100, 41)], &[]);
        let receiver = side(&[], &[(10, 1), (210, 21), (230, 41)]);
        let chunks = chunks(&sender, &receiver).unwrap();
        let spans: Vec<_> = chunks.iter().map(|chunk| (chunk.from, chunk.to)).collect();
        assert_eq!(spans, [(0, 0), (100, 200), (200, 220)]);
    }

    #[test]
    fn bytes_that_got_lost_leave_nothing_to_say() {
        let (sender, receiver) = (side(&[(0, 90)], &[]), side(&[], &[(5, 60)]));
        assert_eq!(chunks(&sender, &receiver), None);
        assert_eq!(chunks(&Side::default(), &Side::default()), None);
    }
}
