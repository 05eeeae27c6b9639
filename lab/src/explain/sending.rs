//! The account of a transfer from its sender's events.
//!
//! The sender reports which bytes the port accepted and what they were; the clock says when the line carried
//! them. The remaining time is idle line, attributed to what the sender waited for.

use super::budget::{Budget, Part};
use super::clock::{Busy, Clock, Rate};
use super::line::Sent;
use super::log::{Hold, HoldKind, Log, Side};
use super::passage;
use super::piece::{Piece, part_of, pieces};
use crate::scenario::Carrier;
use wetstring_proto::Wait;

/// Puts everything sent onto the line, with the index of its piece; bytes before the first packet count to it.
pub(super) fn on_line(side: &Side, pieces: &[Piece], rate: Rate, holds: &[Hold]) -> Vec<Busy> {
    if pieces.is_empty() {
        return Vec::new();
    }
    let mut clock = Clock::new(rate, holds);
    let (mut position, mut index) = (0, 0);
    let mut works = Cursor::new(side.busy.iter().map(|(from, to)| (*from, *to, *to)));
    for (time, total) in &side.left {
        // A busy computer passes bytes on when it is done with them.
        let time = &works.at(*time).0.unwrap_or(*time).max(*time);
        while position < *total {
            while pieces.get(index + 1).is_some_and(|next| next.sent.at <= position) {
                index += 1;
            }
            let next = pieces.get(index + 1).map_or(u64::MAX, |next| next.sent.at);
            let count = (*total).min(next) - position;
            clock.put(*time, count, index);
            position += count;
        }
    }
    clock.busy
}

/// The same, where the receiver's events may be known: why it requested a retransmission. Because of damage,
/// or because nothing was received, or else because of a gap.
pub(super) fn why(sender: &Side, receiver: Option<&Side>, sent: &Sent) -> Part {
    let part = part_of(sent.why);
    let (Part::Asked, Some(receiver)) = (part, receiver) else { return part };
    let earlier = &sender.sent[..sender.sent.partition_point(|other| other.time < sent.time)];
    let before = earlier.iter().rfind(|other| other.number == sent.number);
    let from = before.map_or(0, |other| other.time);
    let within = |time: &u64| (from..=sent.time).contains(time);
    let timeout = receiver.timeouts.iter().rev().find(|time| within(time));
    let damaged = receiver.damaged.iter().rev().map(|(time, _)| time).find(|time| within(time));
    match (timeout, damaged) {
        (None, None) => Part::Loss,
        _ if timeout > damaged => Part::Timeout,
        _ => Part::Damage,
    }
}

/// A time whose idle part has a cause that is known only afterwards.
#[derive(Clone, Copy, Debug)]
struct Blame {
    from: u64,
    to: u64,
    part: Part,
}

/// Looks back from each retransmission to the failed wait before it.
fn blames(sender: &Side, receiver: Option<&Side>) -> Vec<Blame> {
    let mut triggers: Vec<(u64, Part)> =
        sender.timeouts.iter().map(|time| (*time, Part::Timeout)).collect();
    for sent in sender.sent.iter().filter(|sent| sent.again > 0 || sent.old > 0) {
        let part = part_of(sent.why);
        if part != Part::Timeout && !sender.timeouts.contains(&sent.time) {
            triggers.push((sent.time, why(sender, receiver, sent)));
        }
    }
    triggers.sort_unstable();
    triggers.dedup_by_key(|(time, _)| *time);
    let mut blames = Vec::with_capacity(triggers.len());
    let (mut heard, mut before) = (0, 0);
    for (time, part) in triggers {
        heard += sender.got[heard..].iter().take_while(|got| got.time < time).count();
        let last = heard.checked_sub(1).map_or(0, |index| sender.got[index].time);
        blames.push(Blame { from: last.max(before), to: time, part });
        before = time;
    }
    blames
}

/// When the data of one file was on the line, and when the next file began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    pub(super) begins: u64,
    pub(super) ends: u64,
    pub(super) next_file: u64,
}

/// The phases of the files, in order. `data` are the spans of data with the time of their sending.
pub(super) fn phases(files: &[u64], data: impl Iterator<Item = (u64, u64, u64)>) -> Vec<Phase> {
    let mut phases: Vec<(usize, Phase)> = Vec::new();
    for (sent, from, to) in data {
        let file = files.iter().take_while(|begins| **begins <= sent).count();
        match phases.last_mut() {
            Some((known, phase)) if *known == file => phase.ends = phase.ends.max(to),
            _ => {
                let next_file = files.get(file).copied().unwrap_or(u64::MAX);
                phases.push((file, Phase { begins: from, ends: to, next_file }));
            }
        }
    }
    phases.into_iter().map(|(_, phase)| phase).collect()
}

/// The part of a time outside the data of all files; `None` within data.
pub(super) fn outside(phases: &[Phase], from: u64) -> Option<Part> {
    let after = phases.iter().take_while(|phase| phase.begins <= from).count();
    let Some(phase) = after.checked_sub(1).map(|index| phases[index]) else {
        return Some(Part::StartUp);
    };
    if from < phase.ends {
        None
    } else if from < phase.next_file || after == phases.len() {
        Some(Part::Closing)
    } else {
        Some(Part::StartUp)
    }
}

/// Divides the time of the transfer.
pub(super) fn budget(log: &Log, sender: &Side, rate: Rate) -> Budget {
    let mut pieces = pieces(sender);
    let receiver = log.receiver.as_ref();
    for piece in &mut pieces {
        piece.again = why(sender, receiver, &piece.sent);
    }
    // Data held back by flow control may still be under way behind it: only the wire itself counts.
    let wire = log.holds.iter().filter(|hold| hold.kind != HoldKind::Flow).copied();
    let carrier = log.text("carrier").unwrap_or_default();
    let chunks = receiver.filter(|_| carrier != Carrier::Even.as_str());
    let chunks = chunks.and_then(|receiver| passage::chunks(sender, receiver));
    let busy = match &chunks {
        Some(chunks) if carrier == Carrier::Frames.as_str() => passage::on_line(chunks, &pieces),
        _ => on_line(sender, &pieces, rate, &wire.collect::<Vec<_>>()),
    };
    let data = busy.iter().filter(|busy| pieces[busy.what].has_data());
    let data = data.map(|busy| (pieces[busy.what].sent.time, busy.from, busy.to));
    let mut phases = phases(&sender.files, data);
    let transit = receiver.map_or(0, |receiver| transit(&busy, receiver, rate));
    for phase in &mut phases {
        phase.ends = phase.ends.max(over(sender, receiver, phase));
    }
    let view = View {
        pieces: &pieces,
        phases: &phases,
        transit,
        idle: Idle {
            holds: Cursor::new(log.holds.iter().map(|hold| (hold.from, hold.to, hold.kind))),
            own: Cursor::new(sender.busy.iter().map(|busy| (busy.0, busy.1, ()))),
            theirs: Cursor::new(
                receiver.into_iter().flat_map(|side| &side.busy).map(|busy| (busy.0, busy.1, ())),
            ),
            disks: [Some(sender), receiver].map(|side| {
                let spans = side.into_iter().flat_map(|side| &side.disk);
                Cursor::new(spans.map(|disk| (disk.0, disk.1, ())))
            }),
            blames: Cursor::new(
                blames(sender, receiver)
                    .into_iter()
                    .map(|blame| (blame.from, blame.to, blame.part)),
            ),
            waits: Cursor::steps(&sender.waits, log.end),
            queued: Cursor::new(queued(sender, log.end).into_iter()),
            passage: Cursor::new(chunks.iter().flatten().map(|chunk| (chunk.from, chunk.to, ()))),
            network: carrier == Carrier::Network.as_str(),
        },
    };
    view.sweep(&busy, log.end)
}

/// When the data of a file had arrived, or the sender reported that it was over; the earlier of the two, but
/// not before the sender could know.
fn over(sender: &Side, receiver: Option<&Side>, phase: &Phase) -> u64 {
    let within = |time: u64| time < phase.next_file;
    let last = sender.sent.iter().rposition(|sent| sent.file > 0 && within(sent.time));
    let said = last.and_then(|last| sender.sent.get(last + 1)).map_or(0, |sent| sent.time);
    let mut came = receiver.into_iter().flat_map(|side| &side.got);
    let came = came.rfind(|got| got.data > 0 && within(got.time)).map_or(0, |got| got.time);
    said.max(came)
}

/// The minimum time from the end of a packet on the line to the start of its processing by the receiver's
/// computer.
fn transit(busy: &[Busy], receiver: &Side, rate: Rate) -> u64 {
    let times = receiver.got.iter().filter(|got| got.data > 0).filter_map(|got| {
        let on_line = busy.get(busy.partition_point(|busy| busy.bytes < got.at))?;
        let end = on_line.to.saturating_sub(rate.time(on_line.bytes - got.at)).max(on_line.from);
        let reads = receiver.busy.partition_point(|(_, to)| *to < got.time);
        let read = receiver.busy.get(reads).filter(|(_, to)| *to == got.time);
        let from = read.map_or(got.time, |(from, _)| *from);
        // The first of many reads took the packet's first byte.
        let mut first = from;
        for (earlier, to) in receiver.busy[..reads].iter().rev() {
            if *to != first || *earlier < on_line.from {
                break;
            }
            first = *earlier;
        }
        Some(from.saturating_sub(end).min(first.saturating_sub(on_line.from)))
    });
    times.min().unwrap_or(0)
}

/// When bytes waited for the port: from, to.
fn queued(side: &Side, end: u64) -> Vec<(u64, u64, ())> {
    let mut events: Vec<(u64, Option<u64>, Option<u64>)> = Vec::new();
    events.extend(side.sent.iter().map(|sent| (sent.time, Some(sent.at + sent.len), None)));
    events.extend(side.left.iter().map(|(time, total)| (*time, None, Some(*total))));
    // Bytes sent at a time were sent after they were queued.
    events.sort_by_key(|(time, ..)| *time);
    let (mut target, mut left, mut since) = (0, 0, None);
    let mut spans = Vec::new();
    for (time, queued, taken) in events {
        target = queued.unwrap_or(target);
        left = taken.unwrap_or(left);
        match (since, left < target) {
            (None, true) => since = Some(time),
            (Some(from), false) => {
                if from < time {
                    spans.push((from, time, ()));
                }
                since = None;
            }
            _ => {}
        }
    }
    spans.extend(since.filter(|from| *from < end).map(|from| (from, end, ())));
    spans
}

/// Spans in order of time, queried in order of time.
pub(super) struct Cursor<T> {
    spans: Vec<(u64, u64, T)>,
    at: usize,
}

impl<T: Copy> Cursor<T> {
    pub(super) fn new(spans: impl Iterator<Item = (u64, u64, T)>) -> Self {
        let mut spans: Vec<_> = spans.filter(|(from, to, _)| from < to).collect();
        spans.sort_by_key(|(from, ..)| *from);
        Self { spans, at: 0 }
    }

    /// Each value lasts until the next one.
    fn steps(steps: &[(u64, T)], end: u64) -> Self {
        let ends = steps.iter().skip(1).map(|(time, _)| *time).chain([end]);
        Self::new(steps.iter().zip(ends).map(|((from, value), to)| (*from, to, *value)))
    }

    /// The value at this time, and until when it lasts.
    pub(super) fn at(&mut self, time: u64) -> (Option<T>, u64) {
        while self.spans.get(self.at).is_some_and(|(_, to, _)| *to <= time) {
            self.at += 1;
        }
        match self.spans.get(self.at) {
            Some((from, to, value)) if *from <= time => (Some(*value), *to),
            Some((from, ..)) => (None, *from),
            None => (None, u64::MAX),
        }
    }
}

/// Possible reasons of an idle line.
struct Idle {
    holds: Cursor<HoldKind>,
    own: Cursor<()>,
    theirs: Cursor<()>,
    /// The computer of the sender, and of the receiver, waits for its disk.
    disks: [Cursor<()>; 2],
    blames: Cursor<Part>,
    waits: Cursor<Wait>,
    queued: Cursor<()>,
    /// Bytes are under way for longer than the minimum delay.
    passage: Cursor<()>,
    /// There is a network between the ports.
    network: bool,
}

impl Idle {
    /// The part of an idle line at this time, and until when that lasts. Before `arrived`, the data carried by
    /// the line has not come out of it.
    fn part(&mut self, time: u64, arrived: u64) -> (Part, u64) {
        let (hold, until) = self.holds.at(time);
        let mut until = until;
        let mut look = |next: u64| until = until.min(next);
        let (own, next) = self.own.at(time);
        look(next);
        let (theirs, next) = self.theirs.at(time);
        look(next);
        let disks = self.disks.each_mut().map(|disk| {
            let (disk, next) = disk.at(time);
            look(next);
            if disk.is_some() { Part::Store } else { Part::ThinkTime }
        });
        let (blame, next) = self.blames.at(time);
        look(next);
        let (wait, next) = self.waits.at(time);
        look(next);
        let (queued, next) = self.queued.at(time);
        look(next);
        let (passage, next) = self.passage.at(time);
        look(next);
        let in_network = self.network && (queued.is_some() || passage.is_some());
        if time < arrived {
            look(arrived);
        }
        let theirs = theirs.filter(|()| time >= arrived);
        let wait = wait.unwrap_or(Wait::Nothing);
        let part = match (hold, wait) {
            (Some(HoldKind::Turn), _) => Part::TurnAround,
            (Some(HoldKind::Flow), _) => Part::FlowControl,
            _ if own.is_some() => disks[0],
            (_, Wait::Pause) => Part::Pause,
            (_, Wait::Turn) => Part::TurnAround,
            // The awaited packet had arrived at the receiver's computer, which had not processed it.
            _ if blame == Some(Part::Timeout) && theirs.is_some() => disks[1],
            _ if blame.is_some() => blame.unwrap_or(Part::Timeout),
            (_, Wait::Store) => Part::Store,
            _ if in_network && theirs.is_none() => Part::Network,
            _ if in_network => disks[1],
            _ if queued.is_some() => Part::FlowControl,
            (_, Wait::Window | Wait::Answer) if theirs.is_some() => disks[1],
            (_, Wait::Window | Wait::Answer) => Part::Acknowledgement,
            (_, Wait::Peer) => Part::ThinkTime,
            _ => Part::Idle,
        };
        (part, until)
    }
}

struct View<'a> {
    pieces: &'a [Piece],
    phases: &'a [Phase],
    /// The minimum time from the line's end here to the reader there.
    transit: u64,
    idle: Idle,
}

impl View<'_> {
    /// Walks through the transfer; every nanosecond is counted once.
    fn sweep(mut self, busy: &[Busy], end: u64) -> Budget {
        let mut budget = Budget::default();
        let mut now = 0;
        for busy in busy.iter().chain([&Busy { from: end, to: end, what: usize::MAX, bytes: 0 }]) {
            let (from, to) = (busy.from.clamp(now, end), busy.to.min(end));
            self.idle_span(&mut budget, now, from);
            now = from;
            if from < to {
                self.busy_span(&mut budget, from, to, busy.what);
                now = to;
            }
        }
        budget
    }

    fn idle_span(&mut self, budget: &mut Budget, mut now: u64, to: u64) {
        let arrived = now.saturating_add(self.transit);
        while now < to {
            let (part, until) = self.idle.part(now, arrived);
            let until = until.min(to).min(self.border(now));
            budget.add_idle(outside(self.phases, now), part, until - now);
            now = until;
        }
    }

    /// The next time after `now` at which data begins or ends, or a file begins.
    fn border(&self, now: u64) -> u64 {
        let borders = self.phases.iter().flat_map(|p| [p.begins, p.ends, p.next_file]);
        borders.filter(|border| *border > now).min().unwrap_or(u64::MAX)
    }

    fn busy_span(&self, budget: &mut Budget, mut now: u64, to: u64, what: usize) {
        while now < to {
            let until = self.border(now).min(to);
            match outside(self.phases, now) {
                Some(part) => budget.add(part, until - now),
                None => divide(budget, until - now, &self.pieces[what]),
            }
            now = until;
        }
    }
}

/// Divides the line time of a packet.
fn divide(budget: &mut Budget, ns: u64, piece: &Piece) {
    let Piece { sent, len, again } = piece;
    if !piece.has_data() {
        return budget.add(if sent.again > 0 { *again } else { Part::Framing }, ns);
    }
    // A packet may be new only in part.
    let old = u128::from(ns) * u128::from(sent.old) / u128::from(sent.file);
    let old = u64::try_from(old).unwrap_or(u64::MAX).min(ns);
    budget.add(*again, old);
    let file = sent.file.min(sent.data);
    let weights =
        [(Part::Payload, file), (Part::Encoding, sent.data - file), (Part::Parity, sent.parity)];
    budget.divide(ns - old, &weights, *len, Part::Framing);
}
