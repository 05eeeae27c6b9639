//! Causes: what stands behind the parts of a budget.
//!
//! A part says what the time was spent on, a cause what to change. Each part but the file's own bytes is
//! attributed to one cause, by what else the trace shows: how long the packets were that had to come again,
//! whether bytes are missing or changed, how long answers took, what the ends agreed on, and of a run of the
//! laboratory what its scenario says of the line. The rules are in [`evidence`]; a test holds how often the
//! first cause is the right one over transfers whose cause is known.

mod evidence;
mod facts;
mod sentences;

use super::budget::Part;
use super::{Account, RateSource};
pub(super) use evidence::Evidence;
use facts::Facts;

/// From this share of file data in thousandths, the line itself is the limit.
const FULL: u64 = 800;
/// From this share of the time in thousandths, a second cause is named.
const SECOND: u64 = 100;

/// What limited a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The line carried file data nearly all of the time.
    Line,
    /// The same, and the port is faster than the line behind it.
    SlowerThanPort,
    /// The same, and the modems' compression shortened nothing.
    Incompressible,
    /// No more could be sent before an answer.
    Window,
    /// Answers came at the beat of a USB adapter's latency timer, of this many milliseconds in all.
    LatencyTimer(u64),
    /// Timers of an end ran out before answers could come.
    ShortTimer,
    /// Something was damaged.
    Noise,
    /// Something was damaged, and packets were too long for it; this length suits it.
    LongPackets(u64),
    /// Modems without error control on a line with noise.
    NoErrorControl,
    /// Characters were lost in front of a computer.
    Overrun,
    /// Packets of at least this length never arrived.
    TooLong(u64),
    /// What was queued in buffers had to pass before something could come again, for this many milliseconds.
    Queue(u64),
    /// The receiver asked again, for reasons that one end does not see.
    Asked,
    /// TCP's window is less than what the path holds: bytes of both.
    TcpWindow(u64, u64),
    /// The network lost TCP's segments.
    SegmentLoss,
    /// Bytes with the eighth bit set take prefixes.
    EighthBit,
    /// Control characters take prefixes.
    ControlPrefixes,
    /// The peer accepts only packets of this length.
    ShortOfPeer(u64),
    /// A disk was slow.
    Disk,
    /// Nothing came from the peer.
    Unanswered,
    /// Whatever the part says.
    Part(Part),
}

/// A cause, and the time that it cost in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// What it was.
    pub cause: Cause,
    /// Its time.
    pub ns: u64,
}

impl Account {
    /// What limited the transfer, the most expensive first.
    pub fn causes(&self) -> Vec<Cost> {
        // What the line was busy with does not matter then.
        if self.file_bytes == 0 && self.failed().is_some() && self.is_unanswered() {
            return vec![Cost { cause: Cause::Unanswered, ns: self.budget.total() }];
        }
        let evidence = Evidence::of(self);
        let mut costs: Vec<Cost> = Vec::new();
        for (part, ns) in self.budget.costs().filter(|(_, ns)| *ns > 0) {
            let cause = self.cause(part, &evidence);
            match costs.iter_mut().find(|cost| cost.cause == cause) {
                Some(cost) => cost.ns += ns,
                None => costs.push(Cost { cause, ns }),
            }
        }
        // The first of equals stays first.
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.ns));
        let payload = self.budget.of(Part::Payload);
        if costs.is_empty() || self.budget.permille(Part::Payload) >= FULL {
            costs.insert(0, Cost { cause: self.full(&evidence), ns: payload });
        }
        costs
    }

    /// The cause behind a full line.
    fn full(&self, evidence: &Evidence) -> Cause {
        let port = self.log.value("rate_bps").map(|rate| rate * 100);
        let slower = |port: u64| self.millicps.is_some_and(|rate| rate < port / 4 * 3);
        if evidence.facts.compresses() {
            Cause::Incompressible
        } else if self.rate_source == RateSource::Measured && port.is_some_and(slower) {
            Cause::SlowerThanPort
        } else {
            Cause::Line
        }
    }

    /// The cause of a part.
    fn cause(&self, part: Part, evidence: &Evidence) -> Cause {
        match part {
            Part::Acknowledgement => match evidence.latency_ms {
                Some(ms) => Cause::LatencyTimer(ms),
                // An answer that takes much longer than others, where segments are lost, was in one of them.
                None if self.log.marks.packets > 0 && evidence.slow_answers => Cause::SegmentLoss,
                None => Cause::Window,
            },
            // It is paid where packets were lost.
            Part::Parity => Cause::Noise,
            // Packets are short because of it, where an engine fits them to the errors.
            Part::Framing if evidence.is_damaged && evidence.peer_length.is_none() => Cause::Noise,
            Part::Framing => evidence.peer_length.map_or(Cause::Part(part), Cause::ShortOfPeer),
            Part::Encoding if evidence.eighth_bit => Cause::EighthBit,
            Part::Encoding if self.protocol.as_deref() == Some("kermit") => Cause::ControlPrefixes,
            Part::Store if evidence.has_disk => Cause::Disk,
            Part::Network => self.network(evidence),
            Part::Damage | Part::Asked | Part::Loss | Part::Timeout | Part::GoBack => {
                Self::repair(part, evidence)
            }
            _ => Cause::Part(part),
        }
    }

    fn network(&self, evidence: &Evidence) -> Cause {
        if self.log.marks.packets > 0 {
            return Cause::SegmentLoss;
        }
        match evidence.facts.short_window(self.millicps) {
            Some((window, holds)) => Cause::TcpWindow(window, holds),
            None => Cause::Part(Part::Network),
        }
    }

    /// The cause of a retransmission.
    fn repair(part: Part, evidence: &Evidence) -> Cause {
        if evidence.is_overrun {
            return Cause::Overrun;
        }
        if let Some(length) = evidence.too_long {
            return Cause::TooLong(length);
        }
        if evidence.nothing_harmed {
            return match (evidence.receiver_is_busy, evidence.has_disk) {
                (false, _) => Cause::ShortTimer,
                (true, true) => Cause::Disk,
                (true, false) => Cause::Part(Part::ThinkTime),
            };
        }
        if let Some(ms) = evidence.queued_ms {
            return Cause::Queue(ms);
        }
        if evidence.facts.has_bare_modems() {
            return Cause::NoErrorControl;
        }
        if let Some(length) = evidence.better_length {
            return Cause::LongPackets(length);
        }
        match part {
            Part::Timeout if !evidence.is_damaged => Cause::Part(part),
            Part::Loss if !evidence.is_damaged => Cause::Part(part),
            Part::Asked if !evidence.is_damaged => Cause::Asked,
            _ => Cause::Noise,
        }
    }
}
