//! The account of files between ARPANET hosts.
//!
//! A message is on the line from its sender's IMP, or the sending host is busy with one, or the IMP accepts no
//! more of it, or it waits for its RFNM; or there is none, because the other host has given no allocation. The
//! account covers the whole host: with several files the line may carry one of them while the others wait.

use super::budget::{Budget, Part};
use super::log::{Log, Side};
use super::sending::Cursor;

/// Octets of a leader, which stays between host and IMP.
const LEADER: u64 = 4;

/// The budget of this trace, if it is of such files.
pub(super) fn of(log: &Log) -> Option<Budget> {
    let sender = log.sender.as_ref()?;
    let begun = log.files.iter().filter(|(_, name, _)| name == "begun").map(|file| file.0).min()?;
    let done = log.files.iter().filter(|(_, name, _)| name == "done").map(|file| file.0).max();
    let (from, to) = (begun, done.unwrap_or(log.end));
    let mut budget = Budget::default();
    let wires = log.wires.iter().map(|wire| (wire.from, wire.from + wire.ns));
    let mut states = [
        (Part::Framing, Cursor::new(merged(wires.collect()))),
        (Part::ThinkTime, Cursor::new(merged(at_work(log, sender)))),
        (
            Part::FlowControl,
            Cursor::new(merged(log.holds.iter().map(|h| (h.from, h.to)).collect())),
        ),
        (Part::Rfnm, Cursor::new(merged(under_way(sender, log.end)))),
        (Part::Allocation, Cursor::new(merged(dry(sender, log.end)))),
    ];
    let (mut at, mut wire) = (0, 0);
    while at < log.end {
        let (mut part, mut until) = (None, log.end);
        for (of, cursor) in &mut states {
            let (holds, next) = cursor.at(at);
            until = until.min(next);
            part = part.or(holds.map(|()| *of));
        }
        until = [from, to].into_iter().filter(|edge| *edge > at).fold(until, u64::min);
        let part = match part.unwrap_or(Part::Idle) {
            _ if at < from => Part::StartUp,
            _ if at >= to => Part::Closing,
            Part::Framing => {
                wire += until - at;
                at = until;
                continue;
            }
            part => part,
        };
        budget.add(part, until - at);
        at = until;
    }
    divide(&mut budget, log, sender, (from, to), wire);
    Some(budget)
}

/// Divides the time for which the line carried the sender's packets.
fn divide(budget: &mut Budget, log: &Log, sender: &Side, (from, to): (u64, u64), ns: u64) {
    let wires = || log.wires.iter().filter(|wire| (from..to).contains(&wire.from));
    let whole: u64 = wires().map(|wire| wire.ns).sum();
    let lost: u64 = wires().map(|wire| wire.lost).sum();
    let data: u64 = wires().filter(|wire| wire.lost == 0).map(|wire| wire.data).sum();
    let sent = sender.sent.iter().filter(|sent| (from..to).contains(&sent.time));
    let octets: u64 = sent.map(|sent| sent.len.saturating_sub(LEADER)).sum();
    let file = sender.file_bytes().unwrap_or(0).min(octets);
    let file = u128::from(data) * u128::from(file);
    let file = u64::try_from(file.checked_div(u128::from(octets)).unwrap_or(0)).unwrap_or(0);
    budget.divide(ns, &[(Part::Payload, file), (Part::Damage, lost)], whole, Part::Framing);
}

/// When the host was busy with a message: from when its NCP had built it to when the IMP began to take it; and
/// its other reported busy times.
fn at_work(log: &Log, sender: &Side) -> Vec<(u64, u64)> {
    let messages = sender.sent.iter().map(|sent| sent.time).zip(log.takes.iter().copied());
    messages.chain(sender.busy.iter().copied()).collect()
}

/// When messages with data had no RFNM.
fn under_way(sender: &Side, end: u64) -> Vec<(u64, u64)> {
    let rfnms = sender.got.iter().filter(|got| got.kind == 'R' && got.number > 0);
    let mut events: Vec<(u64, bool)> = rfnms.map(|got| (got.time, false)).collect();
    events.extend(sender.sent.iter().filter(|s| s.number > 0).map(|sent| (sent.time, true)));
    events.sort_unstable();
    let (mut count, mut since, mut spans) = (0_u64, 0, Vec::new());
    for (time, left) in events {
        match (left, count) {
            (true, 0) => {
                count = 1;
                since = time;
            }
            (true, _) => count += 1,
            (false, 1) => {
                spans.push((since, time));
                count = 0;
            }
            (false, _) => count = count.saturating_sub(1),
        }
    }
    if count > 0 {
        spans.push((since, end));
    }
    spans
}

/// When a connection had data to send but no allocation.
fn dry(sender: &Side, end: u64) -> Vec<(u64, u64)> {
    let until = |(time, link): &(u64, u64)| {
        let next = sender.sent.iter().find(|sent| sent.number == *link && sent.time > *time);
        (*time, next.map_or(end, |sent| sent.time))
    };
    sender.dry.iter().map(until).collect()
}

/// Spans without overlap, in order.
fn merged(mut spans: Vec<(u64, u64)>) -> impl Iterator<Item = (u64, u64, ())> {
    spans.sort_unstable();
    let mut all: Vec<(u64, u64, ())> = Vec::with_capacity(spans.len());
    for (from, to) in spans {
        match all.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(to),
            _ => all.push((from, to, ())),
        }
    }
    all.into_iter()
}
