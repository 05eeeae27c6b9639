//! Files between two hosts of the ARPANET: a run with NCPs.

use super::{Ending, Outcome, Scenario};
use crate::element::{Element, End};
use crate::imp::{Experiment, Processes};
use crate::pair::{PairReport, SideReport, Stop};
use crate::trace::Recorder;
use wetstring_proto::engine::Outcome as EngineOutcome;
use wetstring_proto::{Instant, Stats};

impl Scenario {
    /// As many transfers as the sender's settings say, each of a file of its own with as many bytes as the scenario's.
    pub(super) fn run_ncp(
        &self,
        ends: [Processes; 2],
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> Outcome {
        let [sender, receiver] = ends;
        let experiment = Experiment {
            hosts: [sender.ncp, receiver.ncp],
            transfers: sender.transfers,
            octets: self.counted_bytes(),
            typing: self.typing,
            seed: self.seed,
            time_limit: self.time_limit,
        };
        let ran = experiment.run(element, recorder);
        let done = ran.stop == Stop::Over && !ran.wrong;
        let ending = match ran.stop {
            _ if ran.wrong => Ending::Wrong,
            Stop::Over => Ending::Done,
            stop => Ending::Stopped(stop),
        };
        let all: u64 = ran.octets.iter().sum();
        let ended_at = Instant::ZERO + ran.elapsed;
        let side = |end| SideReport {
            outcome: done.then_some(EngineOutcome::Done),
            settled_at: done.then_some(ended_at),
            stats: Stats::default(),
            files_done: ran.ended.iter().flatten().count() as u64,
            files_verified: 0,
            files_skipped: 0,
            usage: element.usage(end),
            written: if end == End::B { all } else { 0 },
        };
        let report = PairReport {
            stop: ran.stop,
            sides: End::BOTH.map(side),
            elapsed: ran.elapsed,
            ended_at,
            events: ran.events,
            window_bytes: None,
            sending: None,
        };
        Outcome {
            ending,
            // The last of them has taken the longest.
            bytes: if sender.each { all / u64::from(sender.transfers.max(1)) } else { all },
            elapsed: ran.elapsed,
            limit_millicps: self.limit_millicps,
            report,
            echoes: ran.echoes,
            ledgers: None,
            trace_digest: if recorder.count() > 0 { recorder.digest() } else { 0 },
        }
    }
}
