//! Files between two hosts of the ARPANET: a run of the hosts' NCPs and of the processes that move files.

use super::{Ending, Outcome, Scenario};
use crate::element::{Element, End};
use crate::imp::{Content, Experiment, Processes, RateOf};
use crate::pair::{PairReport, SideReport, Stop};
use crate::trace::Recorder;
use wetstring_proto::Instant;
use wetstring_proto::engine::Outcome as EngineOutcome;

impl Scenario {
    /// As many transfers as the sender's settings say, each of the scenario's file.
    pub(super) fn run_ncp(
        &self,
        ends: [Processes; 2],
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> Outcome {
        let [Processes { host: sender, transfers, rate }, Processes { host: receiver, .. }] = ends;
        let content = match self.pattern {
            Some(len) => Content::Pattern(len),
            None => Content::File(self.file.clone()),
        };
        let experiment = Experiment {
            hosts: [sender, receiver],
            transfers,
            content,
            same: &|sink| self.is_same(sink),
            typing: self.typing,
            seed: self.seed,
            time_limit: self.time_limit,
        };
        let ran = experiment.run(element, recorder);
        let failure = ran.outcomes.iter().flatten().find_map(|(outcome, _)| match outcome {
            EngineOutcome::Failed(failure) => Some(*failure),
            EngineOutcome::Done => None,
        });
        let ending = match (failure, ran.stop) {
            (Some(failure), _) => Ending::Failed(End::A, failure),
            (None, Stop::Over) if !ran.right => Ending::Wrong,
            (None, Stop::Over) => Ending::Done,
            (None, stop) => Ending::Stopped(stop),
        };
        let done = ending == Ending::Done;
        let ended_at = Instant::ZERO + ran.elapsed;
        let side = |end: End| SideReport {
            outcome: done.then_some(EngineOutcome::Done),
            settled_at: done.then_some(ended_at),
            stats: ran.stats[end.index()],
            files_done: ran.stats[end.index()].files_done,
            files_verified: 0,
            files_skipped: 0,
            usage: element.usage(end),
            written: if end == End::B { ran.written } else { 0 },
        };
        let report = PairReport {
            stop: ran.stop,
            sides: End::BOTH.map(side),
            elapsed: ran.elapsed,
            ended_at,
            events: ran.events,
            window_bytes: None,
            sending: ran.moving,
        };
        let all = if done { self.counted_bytes() * u64::from(transfers) } else { ran.written };
        let moving = ran.moving.filter(|_| self.sending).map(|(first, last)| last.since(first));
        Outcome {
            ending,
            // The last of them has taken the longest.
            bytes: if rate == RateOf::Each { all / u64::from(transfers.max(1)) } else { all },
            elapsed: moving.unwrap_or(ran.elapsed),
            limit_millicps: self.limit_millicps,
            report,
            echoes: ran.echoes,
            ledgers: None,
            messages: None,
            trace_digest: if recorder.count() > 0 { recorder.digest() } else { 0 },
        }
    }
}
