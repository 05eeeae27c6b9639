//! A trace, sorted by source.

use super::line::{BadTrace, Counts, Record, Sent, line};
use crate::scenario::Scenario;
use std::fmt;
use wetstring_proto::Wait;

/// The events of one engine.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub(super) who: String,
    pub(super) sent: Vec<Sent>,
    /// When bytes were sent, and the total at that time.
    pub(super) left: Vec<(u64, u64)>,
    pub(super) got: Vec<Got>,
    /// Time, and total bytes received.
    pub(super) came: Vec<(u64, u64)>,
    pub(super) waits: Vec<(u64, Wait)>,
    pub(super) timeouts: Vec<u64>,
    /// Time, and bytes dropped.
    pub(super) damaged: Vec<(u64, u64)>,
    /// When connections had data but no allocation, by link.
    pub(super) dry: Vec<(u64, u64)>,
    /// When its files began.
    pub(super) files: Vec<u64>,
    /// When its computer was busy: from, to.
    pub(super) busy: Vec<(u64, u64)>,
    /// Of that, when it waited for its disk.
    pub(super) disk: Vec<(u64, u64)>,
    pub(super) settled: Option<u64>,
    /// How it failed, if it did: whose fault, and which kind.
    pub(super) failed: Option<(String, String)>,
    /// The events for its user.
    pub(super) user_events: Vec<UserEvent>,
    /// Its own counts at the end.
    pub(super) counts: Option<Counts>,
    /// Of each packet that came and was corrected: the wrong characters in its worst code word, and of a sender its
    /// number.
    pub(super) mended: Vec<(u64, Option<u64>)>,
    /// Reported values, the last one of each name.
    pub(super) values: Vec<(String, u64)>,
}

/// An event for the user of an engine.
#[derive(Clone, Debug)]
pub(super) struct UserEvent {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) by_peer: bool,
}

/// A received packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Got {
    pub(super) time: u64,
    pub(super) kind: char,
    pub(super) number: u64,
    pub(super) len: u64,
    pub(super) data: u64,
    pub(super) at: u64,
    /// It is a duplicate.
    pub(super) duplicate: bool,
}

impl Side {
    /// A value by its name.
    pub(super) fn value(&self, name: &str) -> Option<u64> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// File bytes by its own count.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        self.counts.map(|counts| counts.file)
    }

    /// Of bytes, for UUCP sends messages before its packets, and may not get to those.
    fn is_engine(&self) -> bool {
        let packets = !self.sent.is_empty() || !self.got.is_empty();
        packets || !self.left.is_empty() || !self.came.is_empty() || self.failed.is_some()
    }

    /// File bytes sent, including retransmissions.
    fn file_sent(&self) -> u64 {
        self.sent.iter().map(|sent| sent.file).sum()
    }

    fn data_got(&self) -> u64 {
        self.got.iter().map(|got| got.data).sum()
    }

    /// The number of the data packet that the last answer is to, which names it modulo 64.
    fn answered(&self) -> Option<u64> {
        let answer = self.got.last()?.number % 64;
        let data = self.sent.iter().rev().filter(|sent| sent.data > 0);
        data.map(|sent| sent.number).find(|number| number % 64 == answer)
    }

    fn take(&mut self, time: u64, record: Record) {
        match record {
            Record::Sent(sent) => self.sent.push(sent),
            Record::Got { kind, number, len, data, at } => {
                self.got.push(Got { time, kind, number, len, data, at, duplicate: false });
            }
            Record::Left { total, ago } => self.left.push((time.saturating_sub(ago), total)),
            Record::Came { total } => self.came.push((time, total)),
            Record::Waiting(wait) => self.waits.push((time, wait)),
            Record::Timeout => self.timeouts.push(time),
            Record::Damaged { len } => self.damaged.push((time, len)),
            Record::Duplicate => {
                if let Some(got) = self.got.last_mut() {
                    got.duplicate = true;
                }
            }
            Record::Settled(failed) => {
                self.settled = Some(time);
                self.failed = failed;
            }
            Record::Event { kind, text, by_peer } => {
                let text = String::from_utf8_lossy(&text).into_owned();
                self.user_events.push(UserEvent { kind, text, by_peer });
            }
            Record::Stats(counts) => self.counts = Some(counts),
            Record::Text { name, .. } if name == "file" => self.files.push(time),
            Record::Value { name, value } if name == "unallocated" => self.dry.push((time, value)),
            Record::Value { name, value } if name == "mended" => {
                self.mended.push((value, self.answered()));
            }
            Record::Value { name, value } => {
                self.values.retain(|(known, _)| *known != name);
                self.values.push((name, value));
            }
            Record::Text { .. } | Record::Other => {}
        }
    }
}

/// Why a direction of the line was held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HoldKind {
    /// Half duplex: the line is being turned to or from this direction.
    Turn,
    /// Half duplex: the other direction has the line.
    Other,
    /// The receiver of the direction stopped it.
    Flow,
}

/// A time in which a direction was held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) kind: HoldKind,
}

/// A packet on the line from the sender's IMP, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wire {
    pub(super) from: u64,
    /// Total time, time of a message's bits, and wasted time.
    pub(super) ns: u64,
    pub(super) data: u64,
    pub(super) lost: u64,
}

/// The whole trace.
#[derive(Clone, Default)]
pub(super) struct Log {
    /// When both outcomes were fixed, or the last line was written.
    pub(super) end: u64,
    /// The engine that sent the data, if it is in the trace.
    pub(super) sender: Option<Side>,
    /// The engine that received it.
    pub(super) receiver: Option<Side>,
    /// The run's own values.
    pub(super) values: Vec<(String, u64)>,
    pub(super) texts: Vec<(String, Vec<u8>)>,
    /// A SLIP line's counters.
    counters: Vec<(String, u64)>,
    /// When files of ARPANET hosts began and were done.
    pub(super) files: Vec<ElementValue>,
    /// When the sender's IMP began to take messages of its host.
    pub(super) takes: Vec<u64>,
    /// Packets on the line from the sender's IMP.
    pub(super) wires: Vec<Wire>,
    /// Holds of the direction of the data, in order and without overlap.
    pub(super) holds: Vec<Hold>,
    /// What elements did to bytes and packets.
    pub(super) marks: Marks,
}

/// How often elements say that they did something to what was under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Marks {
    /// Characters damaged, in both directions.
    pub(super) damaged: u64,
    /// Characters lost in the direction of the data.
    pub(super) dropped: u64,
    /// Characters lost because a receiver was not read in time, in both directions.
    pub(super) overrun: u64,
    /// Characters damaged or lost on the way back.
    pub(super) back: u64,
    /// Packets of a network lost, in both directions.
    pub(super) packets: u64,
}

impl Marks {
    /// Nothing was harmed in any direction.
    pub(super) const fn harmless(self) -> bool {
        self.damaged + self.dropped + self.back + self.overrun == 0
    }

    /// Counts an event of an element by its name; `ours` ends those of the direction of the data.
    fn count(&mut self, name: &str, value: u64, ours: &str) {
        let Some((what, way)) = name.rsplit_once('_') else { return };
        let is_ours = ours.ends_with(way);
        match what {
            "bit_error" | "burst" => {
                self.damaged += 1;
                self.back += u64::from(!is_ours);
            }
            "drop" if is_ours => self.dropped += 1,
            "drop" => self.back += 1,
            "loss" | "queue_full" | "policed" => self.packets += 1,
            "overrun" => self.overrun += value,
            _ => {}
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("end", &self.end).finish_non_exhaustive()
    }
}

/// An event of an element: time, name, value.
type ElementValue = (u64, String, u64);

impl Log {
    /// Parses a trace.
    pub(super) fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, BadTrace> {
        let mut log = Self::default();
        let mut sides: Vec<Side> = Vec::new();
        let mut element: Vec<ElementValue> = Vec::new();
        let mut last = None;
        for (index, text) in lines.enumerate() {
            if text.trim().is_empty() {
                continue;
            }
            let line = line(index, text)?;
            last = Some(line.time);
            match (line.who, line.record) {
                ("run", Record::Value { name, value }) => log.values.push((name, value)),
                ("run", Record::Text { name, text }) => log.texts.push((name, text)),
                ("slip", Record::Value { name, value }) => log.counters.push((name, value)),
                ("ftp", Record::Value { name, value }) => log.files.push((line.time, name, value)),
                (who, Record::Value { name, value }) if who.starts_with("line") => {
                    element.push((line.time, name, value));
                }
                (who, record) => {
                    let known = sides.iter().position(|side| side.who == who);
                    let at = known.unwrap_or_else(|| {
                        sides.push(Side { who: who.to_owned(), ..Side::default() });
                        sides.len() - 1
                    });
                    sides[at].take(line.time, record);
                }
            }
        }
        sides.retain(Side::is_engine);
        if sides.is_empty() && !log.counters.is_empty() {
            log.end = log.counter("elapsed").unwrap_or_default();
            return Ok(log);
        }
        if sides.is_empty() {
            let comparator = log.text("protocol").filter(|name| Scenario::is_comparator(name));
            let message = match (last, comparator) {
                (_, Some(name)) => format!(
                    "{name} is a comparator: its bytes go without an engine of ours, so there are \
                     no packets of which an account could be made"
                ),
                (None, _) => "expected the trace of a transfer, got an empty file".to_owned(),
                _ => "expected the trace of a transfer, got one without a packet".to_owned(),
            };
            return Err(BadTrace { line: None, message });
        }
        let all_settled = sides.iter().map(|side| side.settled).collect::<Option<Vec<_>>>();
        let settled = all_settled.and_then(|times| times.into_iter().max());
        log.end = settled.or(last).unwrap_or_default();
        log.assign(sides);
        log.hold(element);
        for side in log.sender.iter_mut().chain(&mut log.receiver) {
            side.busy.sort_unstable();
            side.disk.sort_unstable();
        }
        Ok(log)
    }

    /// Determines which end sent the data.
    fn assign(&mut self, mut sides: Vec<Side>) {
        let way = self.text("way");
        let most = |measure: fn(&Side) -> u64, sides: &[Side]| {
            let by = |(_, side): &(usize, &Side)| measure(side);
            let best = sides.iter().enumerate().max_by_key(by)?;
            (measure(best.1) > 0).then_some(best.0)
        };
        let sender = most(Side::file_sent, &sides);
        let receiver = most(Side::data_got, &sides);
        match (sender, receiver) {
            (Some(sender), _) => self.sender = Some(sides.swap_remove(sender)),
            (None, Some(receiver)) => self.receiver = Some(sides.swap_remove(receiver)),
            (None, None) if way == Some("receive") => self.receiver = sides.pop(),
            (None, None) => self.sender = Some(sides.swap_remove(0)),
        }
        match &self.receiver {
            None => self.receiver = sides.pop(),
            Some(_) => self.sender = sides.pop(),
        }
    }

    /// A text value of the run.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let (_, text) = self.texts.iter().find(|(known, _)| known == name)?;
        std::str::from_utf8(text).ok()
    }

    /// A counter of a SLIP line.
    pub(super) fn counter(&self, name: &str) -> Option<u64> {
        self.counters.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// A numeric value of the run.
    pub(super) fn value(&self, name: &str) -> Option<u64> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The computer of this engine was busy, or waited for its disk.
    fn busy(&mut self, who: &str, is_disk: bool, span: (u64, u64)) {
        let mut sides = self.sender.iter_mut().chain(&mut self.receiver);
        if let Some(side) = sides.find(|side| side.who == who) {
            if is_disk { &mut side.disk } else { &mut side.busy }.push(span);
        }
    }

    /// Determines when the direction of the data was held.
    fn hold(&mut self, mut element: Vec<ElementValue>) {
        // The laboratory calls the direction from A forward.
        let backward = self.sender.as_ref().is_some_and(|side| side.who == "B");
        let (ours, theirs) = if backward { ("_rev", "_fwd") } else { ("_fwd", "_rev") };
        element.sort_by_key(|(time, ..)| *time);
        let (mut away, mut stopped) = (None, None);
        let mut holds = Vec::new();
        for (time, name, value) in element {
            let busy = (time, time.saturating_add(value));
            match name.as_str() {
                "think_a" => self.busy("A", false, busy),
                "think_b" => self.busy("B", false, busy),
                "disk_a" => self.busy("A", true, busy),
                "disk_b" => self.busy("B", true, busy),
                _ => self.marks.count(&name, value, ours),
            }
            if name == format!("take{ours}") {
                self.takes.push(time);
            } else if name == format!("wire{ours}") {
                self.wires.push(Wire { from: time, ns: value, data: 0, lost: 0 });
            } else if let Some(wire) = self.wires.last_mut().filter(|wire| wire.from == time)
                && name.ends_with(ours)
                && name.starts_with("bits")
            {
                wire.data = value;
            } else if let Some(wire) = self.wires.last_mut()
                && name == format!("vain{ours}")
            {
                wire.lost = value;
            } else if name == format!("turn{theirs}") {
                let turned = time.saturating_add(value);
                holds.push(Hold { from: time, to: turned, kind: HoldKind::Turn });
                away = Some(turned);
            } else if name == format!("turn{ours}") {
                if let Some(from) = away.take().filter(|from| *from < time) {
                    holds.push(Hold { from, to: time, kind: HoldKind::Other });
                }
                let turned = time.saturating_add(value);
                holds.push(Hold { from: time, to: turned, kind: HoldKind::Turn });
            } else if name == format!("held{ours}") {
                match (stopped, value) {
                    (None, 1..) => stopped = Some(time),
                    (Some(from), 0) => {
                        holds.push(Hold { from, to: time, kind: HoldKind::Flow });
                        stopped = None;
                    }
                    _ => {}
                }
            }
        }
        let open = [(away, HoldKind::Other), (stopped, HoldKind::Flow)];
        for (from, kind) in open {
            holds.extend(from.map(|from| Hold { from, to: self.end.max(from), kind }));
        }
        holds.sort_by_key(|hold| hold.from);
        let mut free = 0;
        for hold in holds {
            let hold = Hold { from: hold.from.max(free), ..hold };
            if hold.from < hold.to {
                free = hold.to;
                self.holds.push(hold);
            }
        }
    }
}
