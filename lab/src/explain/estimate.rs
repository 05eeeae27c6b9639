//! What one end can say of the line: its rate, its round trip, its errors.
//!
//! A quiet exchange is a packet that left alone and the answer to it. It takes the round trip and
//! the line time of both. Exchanges of short and of long packets tell the rate apart from the
//! rest: `rate = (long - short) / (time of long - time of short)`. A stream has no quiet exchanges;
//! there everything that was sent until the answer to its end gives a rate that the line can
//! carry at least. The better of the two is taken.

use super::clock::Rate;
use super::log::Side;
use super::sending::pieces;

/// What was found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Estimate {
    /// Characters in 1000 s.
    pub(super) millicps: Option<u64>,
    /// From the last byte of a packet on the line to the first byte of its answer.
    pub(super) round_trip_ns: Option<u64>,
    /// Packets that had to come again, not counting those that only followed one.
    pub(super) errors: u64,
    /// Bytes of data packets that left, in which those errors happened.
    pub(super) bytes: u64,
}

/// A packet and the answer to it.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// Bytes of both.
    len: u64,
    /// From the first byte that left to the last of the answer.
    ns: u64,
}

/// For tenths.
const TENTH: u64 = 10;
/// Exchanges that differ by fewer bytes tell little of the rate.
const FEW: u64 = 128;

/// Exchanges of this sender.
fn exchanges(side: &Side) -> Vec<Exchange> {
    let pieces = pieces(side);
    let mut found = Vec::new();
    let mut got_at = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let (from, end) = (piece.sent.at, piece.sent.at + piece.len);
        let next = pieces.get(index + 1).map_or(u64::MAX, |next| next.sent.time);
        let first = side.left.partition_point(|(_, total)| *total <= from);
        let last = side.left.partition_point(|(_, total)| *total < end);
        let (Some((begun, _)), Some((ended, _))) = (side.left.get(first), side.left.get(last))
        else {
            continue;
        };
        let answer = side.got.partition_point(|got| got.time <= *ended);
        let Some(got) = side.got.get(answer).filter(|got| got.time <= next) else { continue };
        let before = answer.checked_sub(1).map_or(0, |index| side.got[index].at);
        // An answer to something earlier, or one that was lost and said again, tells nothing; nor
        // does the first, which waits for the partner to start.
        let alone = from == 0
            || side.left.get(first.wrapping_sub(1)).is_some_and(|left| {
                let heard = side.got.partition_point(|got| got.time <= *begun);
                left.0 <= *begun && heard > 0 && side.got[heard - 1].time >= left.0
            });
        if from > 0 && alone && got.time >= *begun && piece.sent.again == 0 && got_at < answer + 1 {
            got_at = answer + 1;
            found.push(Exchange {
                len: piece.len + got.at.saturating_sub(before),
                ns: got.time - begun,
            });
        }
    }
    found
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// The rate by which longer exchanges take longer.
fn by_length(exchanges: &[Exchange]) -> Option<u64> {
    let mut sorted = exchanges.to_vec();
    sorted.sort_by_key(|exchange| exchange.len);
    let third = sorted.len() / 3;
    if third == 0 {
        return None;
    }
    let middle = |group: &[Exchange]| {
        let of = |pick: fn(&Exchange) -> u64| median(group.iter().map(pick).collect());
        Some((of(|exchange| exchange.len)?, of(|exchange| exchange.ns)?))
    };
    let (short, short_ns) = middle(&sorted[..third])?;
    let (long, long_ns) = middle(&sorted[sorted.len() - third..])?;
    let (bytes, ns) = (long.checked_sub(short)?, long_ns.checked_sub(short_ns)?);
    // Less than a tenth of the time, and the line is too fast to be measured by it; few bytes, and
    // whatever else takes time counts for more.
    if bytes < FEW || ns < short_ns / TENTH {
        return None;
    }
    per(bytes, ns)
}

/// Bytes by nanoseconds, in characters per 1000 s.
fn per(bytes: u64, ns: u64) -> Option<u64> {
    let rate = (u128::from(bytes) * 1_000_000_000_000).checked_div(u128::from(ns))?;
    u64::try_from(rate).ok().filter(|rate| *rate > 0)
}

/// The rate of everything from the first data to the answer to its end.
fn by_stream(side: &Side, round_trip: u64) -> Option<u64> {
    let data = || side.sent.iter().filter(|sent| sent.file > 0);
    let (first, last) = (data().next()?, data().next_back()?);
    let (from, end) = (first.at, last.at + last.len);
    let begun = side.left.get(side.left.partition_point(|(_, total)| *total <= from))?.0;
    let ended = side.left.get(side.left.partition_point(|(_, total)| *total < end))?.0;
    let answer = side.got.get(side.got.partition_point(|got| got.time <= ended))?.time;
    per(end.saturating_sub(from), answer.saturating_sub(begun).saturating_sub(round_trip).max(1))
}

/// What a sender can say of its line; `known` is the rate if it is known.
pub(super) fn of_sender(side: &Side, known: Option<u64>) -> Estimate {
    let exchanges = exchanges(side);
    let shortest = exchanges.iter().map(|exchange| exchange.ns).min();
    let millicps = known.or_else(|| {
        let stream = by_stream(side, shortest.unwrap_or(0));
        match (by_length(&exchanges), stream) {
            // The stream's rate includes waits; it is only better if it is clearly higher.
            (Some(length), Some(stream)) if stream > length + length / TENTH => Some(stream),
            (length, stream) => length.or(stream),
        }
    });
    let rate = Rate { millicps };
    let round_trips = exchanges.iter().map(|e| e.ns.saturating_sub(rate.time(e.len))).collect();
    let firsts = side.sent.iter().filter(|sent| sent.file > 0);
    let again = firsts.clone().filter(|sent| {
        let repeated = sent.again > 0 || sent.old > 0;
        repeated && sent.why != Some(wetstring_proto::Again::GoBack)
    });
    Estimate {
        millicps,
        round_trip_ns: median(round_trips),
        errors: again.count() as u64,
        bytes: firsts.map(|sent| sent.len).sum(),
    }
}

/// What a receiver can say of its line: the best rate at which bytes came over a sixteenth of them.
pub(super) fn of_receiver(side: &Side, known: Option<u64>) -> Estimate {
    let total = side.came.last().map_or(0, |(_, total)| *total);
    let window = (total / 16).max(256);
    let mut best = None;
    let mut from = 0;
    for (time, had) in &side.came {
        while side.came.get(from + 1).is_some_and(|(_, first)| had.saturating_sub(*first) >= window)
        {
            from += 1;
        }
        let (since, first) = side.came[from];
        let bytes = had.saturating_sub(first);
        if bytes >= window {
            best = best.max(per(bytes, time.saturating_sub(since).max(1)));
        }
    }
    Estimate {
        millicps: known.or(best),
        errors: side.damaged.len() as u64,
        bytes: total,
        ..Estimate::default()
    }
}
