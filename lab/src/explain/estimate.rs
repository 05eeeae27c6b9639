//! What one end can tell about the line: its rate, its round trip time, its errors.
//!
//! A quiet exchange is a packet that was sent alone and the answer to it. It takes the round trip and the line
//! time of both. Exchanges of short and of long packets separate the rate from the rest: `rate = (long - short)
//! / (time of long - time of short)`. If all are about equally long, nothing does: their length divided by
//! their time is no rate, for most of it may be delay. A window has no quiet exchanges; there the answers
//! follow each other as the packets did. A stream has no answers either; there everything sent until the answer
//! to its end gives a lower bound of the rate.

use super::clock::Rate;
use super::log::Side;
use super::piece::pieces;

/// The result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Estimate {
    /// Characters in 1000 s.
    pub(super) millicps: Option<u64>,
    /// From the last byte of a packet on the line to the first byte of its answer.
    pub(super) round_trip_ns: Option<u64>,
    /// The shortest tenth of the round trips of data, their median, and the longest tenth.
    pub(super) round_trips: Option<(u64, u64, u64)>,
    /// Packets retransmitted, not counting those that only followed one.
    pub(super) errors: u64,
    /// Bytes of data packets sent, in which those errors happened.
    pub(super) bytes: u64,
    /// The line's rate is unknown: it is the port's, if it has one.
    pub(super) nothing_seen: bool,
}

/// A packet and the answer to it.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// Bytes of both.
    len: u64,
    /// From the first byte sent to the last of the answer.
    ns: u64,
    /// The packet contained file data.
    has_data: bool,
}

/// For tenths.
const TENTH: u64 = 10;
/// Exchanges that differ by fewer bytes tell the rate only if their times differ clearly.
const FEW: u64 = 128;
/// Exchanges that differ by fewer bytes tell nothing.
const FEWEST: u64 = 24;
/// By what factor of the spread of equal exchanges others have to differ, to differ clearly.
const CLEARLY: u64 = 4;

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
        // An answer to an earlier packet, or one that was lost and retransmitted, tells nothing. Neither does the
        // first, which waits for the peer to start.
        let alone = from == 0
            || side.left.get(first.wrapping_sub(1)).is_some_and(|left| {
                let heard = side.got.partition_point(|got| got.time <= *begun);
                left.0 <= *begun && heard > 0 && side.got[heard - 1].time >= left.0
            });
        // With a window the next answer to data may be to other data.
        let ours = piece.sent.file == 0 || piece.sent.number % 64 == got.number % 64;
        if from > 0
            && alone
            && ours
            && got.time >= *begun
            && piece.sent.again == 0
            && got_at < answer + 1
        {
            got_at = answer + 1;
            found.push(Exchange {
                len: piece.len + got.at.saturating_sub(before),
                ns: got.time - begun,
                has_data: piece.sent.file > 0,
            });
        }
    }
    found
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// The result from the lengths of exchanges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lengths {
    /// The rate.
    Rate(u64),
    /// The line's time is too short to be measured.
    Fast,
    /// Nothing.
    Silent,
}

/// The rate at which longer exchanges take longer.
fn by_length(exchanges: &[Exchange]) -> Lengths {
    let longest = exchanges.iter().map(|exchange| exchange.len).max().unwrap_or(0);
    let (short, long): (Vec<_>, Vec<_>) =
        exchanges.iter().partition(|exchange| exchange.len <= longest / 2);
    let middle = |group: &[&Exchange]| {
        let of = |pick: fn(&&Exchange) -> u64| median(group.iter().map(pick).collect());
        Some((of(|exchange| exchange.len)?, of(|exchange| exchange.ns)?))
    };
    let (Some((few, short_ns)), Some((many, long_ns))) = (middle(&short), middle(&long)) else {
        return Lengths::Silent;
    };
    let (bytes, ns) = (many.saturating_sub(few), long_ns.saturating_sub(short_ns));
    // Less than a tenth of the time, and the line is too fast to be measured by it; few bytes, and other delays
    // dominate.
    if bytes >= FEW {
        let rate = by_pairs(&short, &long).filter(|_| ns >= short_ns / TENTH);
        return rate.map_or(Lengths::Fast, Lengths::Rate);
    }
    let spread = median(long.iter().map(|exchange| exchange.ns.abs_diff(long_ns)).collect());
    let clear = ns > CLEARLY * spread.unwrap_or(0) && ns >= short_ns / TENTH / 2;
    if bytes < FEWEST || !clear {
        return Lengths::Silent;
    }
    // Few packets are short, and each has another length.
    by_pairs(&short, &long).map_or(Lengths::Silent, Lengths::Rate)
}

/// The median of the rates from a short and a long exchange, over all pairs. The median length and the median
/// time of a group may be those of different exchanges, where some of few were late.
fn by_pairs(short: &[&Exchange], long: &[&Exchange]) -> Option<u64> {
    let rates = short.iter().flat_map(|few| {
        long.iter().map(|many| {
            let ns = many.ns.saturating_sub(few.ns);
            // No longer: infinitely fast.
            per(many.len.saturating_sub(few.len), ns).unwrap_or(u64::MAX)
        })
    });
    median(rates.collect()).filter(|rate| *rate < u64::MAX)
}

/// Rates from here on, 100 Gbit/s, are not those of a line: something before it took all at once.
const FASTEST: u64 = 10_000_000_000_000;

/// Bytes divided by nanoseconds, in characters per 1000 s.
fn per(bytes: u64, ns: u64) -> Option<u64> {
    let rate = (u128::from(bytes) * 1_000_000_000_000).checked_div(u128::from(ns))?;
    u64::try_from(rate).ok().filter(|rate| *rate > 0 && *rate < FASTEST)
}

/// The rate at which the answers to data packets followed each other, if most had one: that of the fastest
/// quarter. With a window that is about the line's rate, even if the window is closed between bursts.
fn by_answers(side: &Side) -> Option<u64> {
    let data: Vec<_> = side.sent.iter().filter(|sent| sent.file > 0 && sent.again == 0).collect();
    let begun = data.first()?.time;
    let answers = &side.got[side.got.partition_point(|got| got.time <= begun)..];
    if data.len() < 8 || answers.len() < data.len() / 2 {
        return None;
    }
    let pairs = answers.windows(2).zip(&data[1..]);
    let mut rates: Vec<u64> = pairs
        .filter_map(|(pair, sent)| per(sent.len, pair[1].time.saturating_sub(pair[0].time)))
        .collect();
    rates.sort_unstable();
    rates.get(rates.len() * 3 / 4).copied()
}

/// The rate of everything from the first data to the answer to the end of file, which is sent when everything
/// has arrived.
fn by_stream(side: &Side, round_trip: u64) -> Option<u64> {
    let first = side.sent.iter().find(|sent| sent.file > 0)?;
    let last = side.sent.iter().rposition(|sent| sent.file > 0)?;
    let over = side.sent.get(last + 1)?;
    let (from, end) = (first.at, over.at + over.len);
    let begun = side.left.get(side.left.partition_point(|(_, total)| *total <= from))?.0;
    let answer = side.got.get(side.got.partition_point(|got| got.time <= over.time))?.time;
    per(end.saturating_sub(from), answer.saturating_sub(begun).saturating_sub(round_trip).max(1))
}

/// The rate from the sender's view, and whether it could be measured at all.
fn seen(side: &Side, exchanges: &[Exchange]) -> (Option<u64>, bool) {
    let shortest = exchanges.iter().map(|exchange| exchange.ns).min().unwrap_or(0);
    let lengths = by_length(exchanges);
    let data = side.sent.iter().filter(|sent| sent.file > 0 && sent.again == 0).count();
    let alone = exchanges.iter().filter(|exchange| exchange.has_data).count();
    // One packet at a time: answers follow each other at round trips, and so does the stream.
    if data > 0 && alone * 2 > data {
        return match lengths {
            Lengths::Rate(rate) => (Some(rate), true),
            Lengths::Fast => (None, true),
            Lengths::Silent => (None, false),
        };
    }
    let rate = match (lengths, by_answers(side), by_stream(side, shortest)) {
        // The stream's rate includes waits; it is only better if it is clearly higher.
        (Lengths::Rate(rate), _, Some(stream)) if stream > rate + rate / TENTH => Some(stream),
        (Lengths::Rate(rate), ..) => Some(rate),
        // Single answers come early or late; the stream is more exact, unless it mostly waited.
        (_, Some(answers), Some(stream)) if answers > stream + stream / 2 => Some(answers),
        (_, answers, stream) => stream.or(answers),
    };
    (rate, true)
}

/// How a rate is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// Measured.
    Sure(u64),
    /// The port's rate. The line behind it may be slower.
    Port(u64),
    /// Unknown.
    No,
}

/// A sender's view of its line.
pub(super) fn of_sender(side: &Side, known: Known) -> Estimate {
    let exchanges = exchanges(side);
    let (seen, could_be_seen) = seen(side, &exchanges);
    let millicps = match known {
        Known::Sure(rate) => Some(rate),
        // The port may be that of a modem or of an adapter; the line behind it may be slower.
        Known::Port(rate) => seen.filter(|seen| *seen < rate / 4 * 3).or(Some(rate)),
        Known::No => seen,
    };
    let rate = Rate { millicps };
    let trip = |exchange: &Exchange| exchange.ns.saturating_sub(rate.time(exchange.len));
    let round_trips = exchanges.iter().map(trip).collect();
    let mut of_data: Vec<u64> = exchanges.iter().filter(|e| e.has_data).map(trip).collect();
    of_data.sort_unstable();
    let tenth = |tenths: usize| of_data.get(of_data.len() * tenths / 10).copied();
    let firsts = side.sent.iter().filter(|sent| sent.file > 0);
    let again = firsts.clone().filter(|sent| {
        let repeated = sent.again > 0 || sent.old > 0;
        repeated && sent.why != Some(wetstring_proto::Again::GoBack)
    });
    Estimate {
        millicps,
        round_trip_ns: median(round_trips),
        round_trips: tenth(1)
            .zip(tenth(5))
            .zip(tenth(9))
            .map(|((low, mid), high)| (low, mid, high)),
        errors: again.count() as u64,
        bytes: firsts.map(|sent| sent.len).sum(),
        nothing_seen: !could_be_seen && !matches!(known, Known::Sure(_)),
    }
}

/// A receiver's view of its line: how fast the bytes of a packet followed each other, and the best rate over a
/// sixteenth of everything.
pub(super) fn of_receiver(side: &Side, known: Known) -> Estimate {
    let total = side.came.last().map_or(0, |(_, total)| *total);
    let seen = by_packets(side).into_iter().chain(by_windows(side, total)).max();
    let millicps = match known {
        Known::Sure(rate) => Some(rate),
        Known::Port(rate) if seen.is_none_or(|seen| seen >= rate / 4 * 3) => Some(rate),
        Known::Port(_) | Known::No => seen,
    };
    Estimate { millicps, errors: side.damaged.len() as u64, bytes: total, ..Estimate::default() }
}

/// The median rate from the first bytes of a packet to its last.
fn by_packets(side: &Side) -> Option<u64> {
    let mut rates = Vec::new();
    for pair in side.got.windows(2) {
        let (before, got) = (pair[0], pair[1]);
        let first = side.came.partition_point(|(_, total)| *total <= before.at);
        let Some((time, total)) = side.came.get(first) else { break };
        let bytes = got.at.saturating_sub(*total);
        if bytes >= FEW && got.time > *time {
            rates.extend(per(bytes, got.time - time));
        }
    }
    median(rates)
}

/// The best rate over a sixteenth of the received data.
fn by_windows(side: &Side, total: u64) -> Option<u64> {
    let window = (total / 16).max(256);
    let mut best = None;
    let mut from = 0;
    for (time, had) in &side.came {
        let enough = |(_, first): &(u64, u64)| had.saturating_sub(*first) >= window;
        while side.came.get(from + 1).is_some_and(enough) {
            from += 1;
        }
        let (since, first) = side.came[from];
        let bytes = had.saturating_sub(first);
        if bytes >= window {
            best = best.max(per(bytes, time.saturating_sub(since).max(1)));
        }
    }
    best
}
