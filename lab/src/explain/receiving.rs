//! The account of a transfer from its receiver's events, without the sender's.
//!
//! Received bytes were on the line just before. In the remaining time nothing was received, and the receiver
//! cannot tell whether because of the line or the peer.

use super::budget::{Budget, Part};
use super::clock::Rate;
use super::log::{Log, Side};
use super::sending::{outside, phases};
use wetstring_proto::Wait;

/// The bytes up to the end of a good packet.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// All of them.
    len: u64,
    /// Those of the good packet and its line end.
    good: u64,
    data: u64,
    damaged: u64,
    duplicate: bool,
}

/// Divides the time of the transfer.
pub(super) fn budget(log: &Log, receiver: &Side, rate: Rate) -> Budget {
    let shares = shares(receiver);
    let spans = on_line(receiver, rate);
    let ends: Vec<(u64, bool)> = receiver.got.iter().map(|got| (got.at, got.data > 0)).collect();
    let mut index = 0;
    let mut whats = Vec::with_capacity(spans.len());
    for span in &spans {
        while ends.get(index).is_some_and(|(at, _)| *at < span.position) {
            index += 1;
        }
        whats.push(index);
    }
    let data = spans.iter().zip(&whats).filter(|(_, what)| ends.get(**what).is_some_and(|e| e.1));
    let data = data.map(|(span, what)| (receiver.got[*what].time, span.from, span.to));
    let phases = phases(&receiver.files, data);
    let totals = Totals::of(receiver);
    let mut budget = Budget::default();
    let mut now = 0;
    for (span, what) in spans.iter().zip(whats) {
        let (from, to) = (span.from.clamp(now, log.end), span.to.min(log.end));
        idle(&mut budget, receiver, &phases, now, from);
        now = from;
        if from < to {
            match outside(&phases, from) {
                Some(part) => budget.add(part, to - from),
                None => divide(&mut budget, to - from, shares.get(what), totals),
            }
            now = to;
        }
    }
    idle(&mut budget, receiver, &phases, now, log.end);
    budget
}

/// File bytes for data bytes.
#[derive(Clone, Copy, Debug)]
struct Totals {
    file: u64,
    data: u64,
}

impl Totals {
    fn of(side: &Side) -> Self {
        let fresh = side.got.iter().filter(|got| !got.duplicate);
        let data = fresh.map(|got| got.data).sum();
        Self { file: side.file_bytes().unwrap_or(data).min(data), data }
    }
}

/// Bytes received at one time: when they were on the line, and their end in the stream.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: u64,
    to: u64,
    position: u64,
}

fn on_line(side: &Side, rate: Rate) -> Vec<Span> {
    let mut spans = Vec::with_capacity(side.came.len());
    let (mut had, mut before) = (0, 0);
    for (time, total) in &side.came {
        let from = time.saturating_sub(rate.time(total - had)).max(before);
        spans.push(Span { from: from.min(*time), to: *time, position: *total });
        had = *total;
        before = *time;
    }
    spans
}

/// Bytes between good packets.
fn shares(side: &Side) -> Vec<Share> {
    let mut shares = Vec::with_capacity(side.got.len());
    let (mut before, mut seen) = (0, 0);
    for got in &side.got {
        let until = side.damaged[seen..].iter().take_while(|(time, _)| *time <= got.time).count();
        let damaged = side.damaged[seen..seen + until].iter().map(|(_, len)| len).sum();
        seen += until;
        let len = got.at.saturating_sub(before);
        before = got.at;
        let duplicate = got.duplicate;
        shares.push(Share { len, good: len, data: got.data, damaged, duplicate });
        if until > 0 {
            // The usual line time of a packet of this length tells the rest.
            let share = shares.len() - 1;
            shares[share].good = usual(&side.got, got.len).min(len);
        }
    }
    shares
}

/// Usual line bytes of a packet of this length.
fn usual(all: &[super::log::Got], len: u64) -> u64 {
    let mut ratios: Vec<(u64, u64)> = all
        .windows(2)
        .filter(|pair| pair[1].len > 0)
        .map(|pair| (pair[1].at.saturating_sub(pair[0].at), pair[1].len))
        .collect();
    ratios.sort_unstable_by(|a, b| {
        (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
    });
    let Some((wire, of)) = ratios.get(ratios.len() / 2) else { return len };
    u64::try_from(u128::from(len) * u128::from(*wire) / u128::from(*of)).unwrap_or(u64::MAX)
}

fn divide(budget: &mut Budget, ns: u64, share: Option<&Share>, totals: Totals) {
    let Some(share) = share else { return budget.add(Part::Framing, ns) };
    if share.duplicate {
        // A duplicate: our acknowledgement was lost.
        return budget.add(Part::Timeout, ns);
    }
    let bad = share.len - share.good;
    let damaged = bad.min(share.damaged);
    let file = u128::from(share.data) * u128::from(totals.file);
    let file = u64::try_from(file.checked_div(u128::from(totals.data)).unwrap_or(0)).unwrap_or(0);
    let weights = [
        (Part::Damage, damaged),
        (Part::GoBack, bad - damaged),
        (Part::Payload, file),
        (Part::Encoding, share.data.saturating_sub(file)),
    ];
    budget.divide(ns, &weights, share.len, Part::Framing);
}

/// Divides a time without reception.
fn idle(budget: &mut Budget, side: &Side, phases: &[super::sending::Phase], mut now: u64, to: u64) {
    while now < to {
        let borders = phases.iter().flat_map(|p| [p.begins, p.ends, p.next_file]);
        let waits = &side.waits[side.waits.partition_point(|(time, _)| *time <= now)..];
        let next = borders.filter(|at| *at > now).chain(waits.first().map(|(time, _)| *time));
        let until = next.min().unwrap_or(to).min(to);
        budget.add_idle(outside(phases, now), silence(side, now, to), until - now);
        now = until;
    }
}

/// Why nothing was received from `now` until the next byte at `to`.
fn silence(side: &Side, now: u64, to: u64) -> Part {
    let waits = &side.waits[..side.waits.partition_point(|(time, _)| *time <= now)];
    if waits.last().is_some_and(|(_, wait)| *wait == Wait::Store) {
        return Part::Store;
    }
    let timeouts = &side.timeouts[side.timeouts.partition_point(|time| *time < now)..];
    if timeouts.first().is_some_and(|time| *time <= to) {
        return Part::Timeout;
    }
    let got = side.got.partition_point(|got| got.time <= now);
    let good_at = got.checked_sub(1).map_or(0, |index| side.got[index].time);
    let damaged = side.damaged.partition_point(|(time, _)| *time <= now);
    if damaged.checked_sub(1).is_some_and(|index| side.damaged[index].0 >= good_at) {
        return Part::Damage;
    }
    // We have sent something since the last packet: the sender may have waited for it.
    let said = &side.sent[side.sent.partition_point(|sent| sent.time < good_at)..];
    let answered = said.first().is_some_and(|sent| sent.time <= to);
    if answered { Part::Acknowledgement } else { Part::ThinkTime }
}
