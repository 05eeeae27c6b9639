//! FTP and the other comparators: a run without engines.

use super::{Ending, Outcome, Scenario};
use crate::element::{Element, End, Usage};
use crate::pair::{PairReport, SideReport, Stop};
use crate::pattern::{Pattern, Stream};
use crate::tcp::{Bulk, BulkReport, StopBulk};
use crate::trace::Recorder;
use wetstring_proto::engine::Outcome as EngineOutcome;
use wetstring_proto::file::FileKind;
use wetstring_proto::{Instant, Stats};

impl Scenario {
    /// The file's bytes as they are on the line: of a text, with CR LF.
    pub(super) fn stream(&self) -> Stream {
        if self.pattern.is_some() {
            return Stream::Pattern(Pattern::new());
        }
        let bytes = &self.file.bytes;
        Stream::File(match self.file.kind {
            FileKind::Text => {
                bytes.split_inclusive(|byte| *byte == b'\n').flat_map(with_cr).collect()
            }
            FileKind::Binary => bytes.clone(),
        })
    }

    /// A stream of bytes over this element.
    pub(super) fn run_bare(&self, element: &mut dyn Element, recorder: &mut Recorder) -> Outcome {
        let bytes = self.counted_bytes();
        let bulk = Bulk { time_limit: self.time_limit, window: self.window, ..Bulk::new(bytes) };
        let report = bulk.run_with(self.stream(), element, &mut recorder.of("line"));
        self.bulk_outcome(report, |end| element.usage(end), recorder)
    }

    /// The statistics of bytes transferred without an engine.
    pub(super) fn bulk_outcome(
        &self,
        report: BulkReport,
        usage: impl Fn(End) -> Usage,
        recorder: &Recorder,
    ) -> Outcome {
        let (stop, ending) = match report.stop {
            StopBulk::Done => (Stop::Over, Ending::Done),
            StopBulk::Stalled => (Stop::Stalled, Ending::Stopped(Stop::Stalled)),
            StopBulk::Measured => (Stop::Measured, Ending::Measured),
            StopBulk::TimeLimit => (Stop::TimeLimit, Ending::Stopped(Stop::TimeLimit)),
            StopBulk::Damaged => (Stop::Over, Ending::Wrong),
        };
        let done = report.stop == StopBulk::Done;
        let ended_at = Instant::ZERO + report.elapsed;
        let side = |end| SideReport {
            outcome: done.then_some(EngineOutcome::Done),
            settled_at: done.then_some(ended_at),
            stats: Stats::default(),
            files_done: u64::from(done),
            files_verified: 0,
            files_skipped: 0,
            usage: usage(end),
            written: if end == End::B { report.bytes } else { 0 },
        };
        let report = PairReport {
            stop,
            sides: End::BOTH.map(side),
            elapsed: report.elapsed,
            ended_at,
            events: report.events,
            window_bytes: report.window_bytes,
            sending: None,
        };
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
}

/// A line with CR before its LF, if it has one.
fn with_cr(line: &[u8]) -> impl Iterator<Item = u8> {
    let (text, end): (_, &[u8]) = match line.strip_suffix(b"\n") {
        Some(text) => (text, b"\r\n"),
        None => (line, b""),
    };
    text.iter().chain(end).copied()
}
