//! A run of a scenario, and its result.

use super::{Other, Scenario};
use crate::element::{End, Unit};
use crate::imp::MessageTimes;
use crate::pair::{Pair, PairReport, Stop};
use crate::pattern::{PatternSink, PatternSource};
use crate::slip::{EchoTimes, Ledger};
use crate::store::{MemorySink, MemorySource};
use crate::trace::Recorder;
use std::fmt;
use wetstring_proto::Duration;
use wetstring_proto::engine::{Failure, Outcome as EngineOutcome};
use wetstring_proto::file::FileKind;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Both ends are done, and the receiver has the sender's file.
    Done,
    /// The measurement is complete; the transfer was still running.
    Measured,
    /// An end failed: the first to do so, and why.
    Failed(End, Failure),
    /// The run was stopped.
    Stopped(Stop),
    /// Both ends report success, but the receiver's file differs.
    Wrong,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = |end| if end == End::A { "sender" } else { "receiver" };
        match self {
            Self::Done => f.write_str("done"),
            Self::Measured => f.write_str("measured"),
            Self::Failed(end, failure) => write!(f, "the {} failed: {failure}", who(*end)),
            Self::Stopped(stop) => write!(f, "stopped: {stop}"),
            Self::Wrong => f.write_str("the receiver's file differs from the sender's"),
        }
    }
}

/// The result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// File bytes, as [`Scenario::counted_bytes`] has them; those of the window if there is one. If
    /// it did not end well, only those that arrived and were given to the receiver's store.
    pub bytes: u64,
    /// From the start to when both ends knew the outcome; or how long the window is.
    pub elapsed: Duration,
    /// The line's limit, as in [`Scenario::limit_millicps`].
    pub limit_millicps: Option<u64>,
    /// Everything else.
    pub report: PairReport,
    /// Echo delays of the interactive traffic.
    pub echoes: Option<EchoTimes>,
    /// What the bytes of a SLIP line were, from A and from B.
    pub ledgers: Option<[Ledger; 2]>,
    /// How long bare messages took.
    pub messages: Option<MessageTimes>,
    /// Digest of the trace; 0 if none was recorded.
    pub trace_digest: u64,
}

impl Outcome {
    /// Whether the file arrived unchanged, or the measurement is complete.
    pub fn is_done(&self) -> bool {
        matches!(self.ending, Ending::Done | Ending::Measured)
    }

    /// File bytes per second, in thousandths.
    pub fn millicps(&self) -> u64 {
        per(self.bytes, 1_000_000_000_000, self.elapsed.as_nanos())
    }

    /// Whole seconds as a clock of whole seconds shows them: the nearest, but at least one.
    pub fn whole_secs(&self) -> u64 {
        let nanos = self.elapsed.as_nanos() + 500_000_000;
        u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX).max(1)
    }

    /// Characters per second as the sources print them: whole bytes by whole seconds, rounded
    /// down.
    pub fn printed_cps(&self) -> u64 {
        self.bytes / self.whole_secs()
    }

    /// File bytes as a share of what `limit_millicps` can carry, in thousandths of a percent.
    pub fn efficiency(&self, limit_millicps: u64) -> u64 {
        per(self.millicps(), 100_000, u128::from(limit_millicps))
    }

    /// Bits per second on the line from the sender, including framing. Retransmissions count once.
    pub fn line_bps(&self) -> u64 {
        let side = &self.report.sides[End::A.index()];
        let (all, again) = (side.stats.wire_out_bytes, side.stats.repeated_bytes);
        let once = u128::from(side.usage.bits) * u128::from(all.saturating_sub(again));
        let bits = once.checked_div(u128::from(all)).unwrap_or(u128::from(side.usage.bits));
        per(u64::try_from(bits).unwrap_or(u64::MAX), 1_000_000_000, self.elapsed.as_nanos())
    }

    /// Packets retransmitted by both ends.
    pub fn retransmissions(&self) -> u64 {
        self.report.sides.iter().map(|side| side.stats.retransmissions).sum()
    }
}

fn per(amount: u64, unit: u128, by: u128) -> u64 {
    u64::try_from((u128::from(amount) * unit).checked_div(by).unwrap_or(0)).unwrap_or(u64::MAX)
}

impl Scenario {
    /// Runs it. The same scenario always gives the same outcome and the same trace.
    pub fn run(&self, recorder: &mut Recorder) -> Outcome {
        if let Some(network) = &self.slip {
            return self.run_session(network, recorder);
        }
        let stretch = self.stretch(self.unit());
        let mut element = stretch.expect("elements that were checked when it was read").element;
        if self.other.is_some_and(Other::is_bare) {
            return self.run_bare(element.as_mut(), recorder);
        }
        if let Some(messages) = self.ends.bare() {
            return self.run_messages(messages, element.as_mut(), recorder);
        }
        if let Some(ends) = self.ends.processes() {
            return self.run_ncp(ends, element.as_mut(), recorder);
        }
        let mut pair = Pair::new(element.as_mut())
            .port_buffer(self.port_bytes)
            .time_limit(self.time_limit)
            .event_limit(self.event_limit);
        if let Some(window) = self.window {
            pair = pair.window(window);
        }
        let (report, ending) = self.run_pair(pair, recorder);
        let whole = (self.arrived_bytes(ending, &report), report.elapsed);
        let (bytes, elapsed) = self.measured(&report).unwrap_or(whole);
        Outcome {
            ending,
            bytes,
            elapsed,
            limit_millicps: self.limit_millicps,
            report,
            echoes: None,
            ledgers: None,
            messages: None,
            trace_digest: if recorder.count() > 0 { recorder.digest() } else { 0 },
        }
    }

    /// File bytes that the receiver has: all, or what came to its store before it ended badly. The
    /// last block of a protocol that fills it up may have more than the file.
    pub(super) fn arrived_bytes(&self, ending: Ending, report: &PairReport) -> u64 {
        let all = self.counted_bytes();
        let done = matches!(ending, Ending::Done | Ending::Measured);
        if done { all } else { report.sides[End::B.index()].written.min(all) }
    }

    /// Runs the engines between their stores.
    fn run_pair(&self, pair: Pair<'_>, recorder: &mut Recorder) -> (PairReport, Ending) {
        let (mut sender, mut receiver) = (self.ends.sender(), self.ends.receiver());
        let (sender, receiver) = (sender.as_mut(), receiver.as_mut());
        if let Some(len) = self.pattern {
            let (mut source, mut sink) =
                (PatternSource::new(&self.file.name, len), PatternSink::new());
            let report = pair.run((sender, &mut source), (receiver, &mut sink), recorder);
            let ending = match ending(&report) {
                _ if sink.is_wrong() => Ending::Wrong,
                Ending::Done if !sink.has_all(len) => Ending::Wrong,
                ending => ending,
            };
            return (report, ending);
        }
        let mut source = MemorySource::one(self.file.clone());
        let mut sink = MemorySink::new().scattered();
        if let Some(older) = &self.older {
            sink = sink.with_older(&String::from_utf8_lossy(&self.file.name), older.clone());
        }
        let report = pair.run((sender, &mut source), (receiver, &mut sink), recorder);
        let ending = match ending(&report) {
            Ending::Done if !self.is_same(&sink) => Ending::Wrong,
            ending => ending,
        };
        (report, ending)
    }

    /// The required kind of element.
    pub(super) fn unit(&self) -> Unit {
        self.other.map_or(Unit::Bytes, Other::unit)
    }

    /// Bytes and time of the window, if there is one and the run went through it; or of the sending.
    pub(super) fn measured(&self, report: &PairReport) -> Option<(u64, Duration)> {
        if self.sending {
            let (first, last) = report.sending?;
            return Some((self.counted_bytes(), last.since(first)));
        }
        Some((report.window_bytes?, self.window?.len()))
    }

    /// Whether the receiver has what the sender had.
    pub(super) fn is_same(&self, sink: &MemorySink) -> bool {
        let source = &self.file.bytes;
        let same = |received: &[u8]| match self.file.kind {
            _ if self.other.is_none() && !self.protocol.tells_names => {
                // The last block is filled up, and a block has at most 1024 bytes.
                received.starts_with(source) && received.len() - source.len() < 1024
            }
            FileKind::Text => lines(received).eq(lines(source)),
            FileKind::Binary => received == &**source,
        };
        matches!(sink.received(), [file] if file.complete && same(&file.bytes))
    }
}

/// How both engines see it.
fn ending(report: &PairReport) -> Ending {
    let failures = End::BOTH.into_iter().filter_map(|end| {
        let side = &report.sides[end.index()];
        match side.outcome {
            Some(EngineOutcome::Failed(failure)) => Some((side.settled_at, end, failure)),
            _ => None,
        }
    });
    if let Some((_, end, failure)) = failures.min_by_key(|(at, ..)| *at) {
        return Ending::Failed(end, failure);
    }
    if report.stop == Stop::Measured {
        return Ending::Measured;
    }
    if !report.is_done() {
        return Ending::Stopped(report.stop);
    }
    Ending::Done
}

/// A text without the difference between LF and CR LF.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}
