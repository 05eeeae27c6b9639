//! Bare messages between two hosts of the ARPANET.

use super::{Ending, Outcome, Scenario};
use crate::element::{Element, End};
use crate::imp::Messages;
use crate::pair::{PairReport, SideReport, Stop};
use crate::trace::Recorder;
use wetstring_proto::Stats;
use wetstring_proto::engine::Outcome as EngineOutcome;

impl Scenario {
    /// As many messages as the file's octets fill. Their content does not matter.
    pub(super) fn run_messages(
        &self,
        messages: Messages,
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> Outcome {
        let ran = messages.run(self.counted_bytes(), self.time_limit, element, recorder);
        let done = ran.stop == Stop::Over;
        let side = |end| SideReport {
            outcome: done.then_some(EngineOutcome::Done),
            settled_at: done.then_some(ran.ended_at),
            stats: Stats::default(),
            files_done: u64::from(done),
            files_verified: 0,
            files_skipped: 0,
            usage: element.usage(end),
            written: if end == End::B { ran.all_octets } else { 0 },
        };
        let report = PairReport {
            stop: ran.stop,
            sides: End::BOTH.map(side),
            elapsed: ran.elapsed,
            ended_at: ran.ended_at,
            events: ran.events,
            window_bytes: None,
            sending: None,
        };
        Outcome {
            ending: if done { Ending::Done } else { Ending::Stopped(ran.stop) },
            bytes: ran.octets,
            elapsed: ran.elapsed,
            limit_millicps: self.limit_millicps,
            report,
            echoes: None,
            ledgers: None,
            messages: Some(ran.times),
            trace_digest: if recorder.count() > 0 { recorder.digest() } else { 0 },
        }
    }
}
