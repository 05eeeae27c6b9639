//! `wst lab swarm`: seeds that try to break the protocols.

use std::path::Path;
use std::time::Duration;

use wetstring_events::{Event, FailedSeed, SwarmSum};
use wetstring_lab::Recorder;
use wetstring_lab::explain::run_line;
use wetstring_lab::swarm::{self, Failed, Fault, Kind, Tally};
use wetstring_proto::trace::TraceEvent;

use super::count::Count;
use super::pool::{PoolEvent, WorkerPool};
use super::run::{store, write_trace};
use crate::args::Common;
use crate::args::lab::SwarmVerb;
use crate::transfer::opening::signals;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};

/// Poll interval for interrupts.
const LOOK: Duration = Duration::from_millis(50);
/// Most failures of a protocol that are shown in full.
const SHOWN: usize = 10;

/// The result of a seed, and whether the check of the protocol alone would have accepted a wrong file, which is
/// known only where no digest was compared.
type Run = (Result<swarm::Run, Box<Failed>>, bool);

fn run_one(protocol: Kind, seed: u64, recorder: &mut Recorder) -> Run {
    let run = protocol.one(seed, recorder);
    let verified = match &run {
        Ok(run) => run.verified,
        Err(failed) => !matches!(failed.fault, Fault::Fooled(_)),
    };
    (run, !verified && protocol.is_alone_fooled(seed))
}

pub(super) fn run(ui: &Output, common: &Common, verb: &SwarmVerb) -> Result<Ending, Ending> {
    let chosen = verb.protocol.as_deref().and_then(Kind::of);
    let protocols: Vec<_> =
        Kind::all().filter(|kind| chosen.is_none_or(|only| only == *kind)).collect();
    let first = verb.seed.unwrap_or(0);
    let seeds = verb.seeds.unwrap_or(if verb.seed.is_some() { 1 } else { 1000 });
    let mut sums: Vec<Sum> = protocols.iter().map(|protocol| Sum::new(*protocol)).collect();
    if let Some(path) = &common.trace {
        let ([sum], 1) = (&mut sums[..], seeds) else {
            let say = "expected --protocol and one --seed with --trace: a trace is of one run";
            return Err(Ending::early(Exit::Usage, say));
        };
        trace(path, first, sum)?;
    } else {
        many(ui, &mut sums, first, seeds)?;
    }
    Ok(end(ui, &mut sums))
}

/// Runs one seed with its trace.
fn trace(path: &Path, seed: u64, sum: &mut Sum) -> Result<(), Ending> {
    let mut recorder = Recorder::keep();
    sum.add(run_one(sum.protocol, seed, &mut recorder));
    // So that it can be explained.
    let protocol = TraceEvent::Text { name: "protocol", text: sum.protocol.name().as_bytes() };
    let head = run_line(&protocol);
    let lines = std::iter::once(&head).chain(recorder.lines()).map(String::as_str);
    write_trace(path, lines).map_err(|error| store(path, "could not write the trace", &error))
}

/// Runs seeds of all protocols on all cores.
fn many(ui: &Output, sums: &mut [Sum], first: u64, seeds: u64) -> Result<(), Ending> {
    let signals = signals()?;
    let protocols: Vec<Kind> = sums.iter().map(|sum| sum.protocol).collect();
    let jobs = sums.len() * usize::try_from(seeds).unwrap_or(usize::MAX / 8);
    let mut count = Count::new(ui, "runs", jobs);
    let kinds = protocols.len();
    let mut crew = WorkerPool::start(jobs, move |job| -> Run {
        let seed = first.wrapping_add((job / kinds) as u64);
        run_one(protocols[job % kinds], seed, &mut Recorder::off())
    });
    loop {
        match crew.next(LOOK) {
            PoolEvent::Done(job, result) => {
                sums[job % kinds].add(result);
                count.add();
            }
            PoolEvent::Nothing => {}
            PoolEvent::Over => return Ok(()),
        }
        if signals.count() > 0 {
            drop(count);
            let ending = end(ui, sums);
            let say = if ending.exit == Exit::Done {
                "interrupted; no failures so far".to_owned()
            } else {
                format!("interrupted; {}", ending.message)
            };
            return Err(Ending { message: say, exit: Exit::Interrupted, ..ending });
        }
    }
}

/// Totals of a protocol's seeds.
struct Sum {
    protocol: Kind,
    tally: Tally,
    /// Seeds in which damage passed the check, and no digest was compared.
    fooled: Vec<Failed>,
    /// Seeds in which it would have passed the check alone.
    alone: u64,
    failures: Vec<Failed>,
}

impl Sum {
    fn new(protocol: Kind) -> Self {
        Self {
            protocol,
            tally: Tally::default(),
            fooled: Vec::new(),
            alone: 0,
            failures: Vec::new(),
        }
    }

    fn add(&mut self, (run, alone): Run) {
        self.alone += u64::from(alone);
        match run {
            Ok(report) => self.tally.add(&report),
            Err(failed) if matches!(failed.fault, Fault::Fooled(_)) => self.fooled.push(*failed),
            Err(failed) => self.failures.push(*failed),
        }
    }

    fn runs(&self) -> u64 {
        self.tally.runs + self.fooled.len() as u64 + self.failures.len() as u64
    }

    /// Expected maximum of seeds whose damage passes the check.
    fn most_fooled(&self) -> u64 {
        self.protocol.may_be_fooled(self.runs(), self.alone)
    }

    fn is_fooled_too_often(&self) -> bool {
        self.fooled.len() as u64 > self.most_fooled()
    }

    fn words(&self) -> String {
        let Tally { done, failed, hits, retransmissions, .. } = self.tally;
        let fooled = match self.fooled.len() {
            0 => String::new(),
            n => format!(", {n} fooled by the check"),
        };
        let bound = if self.protocol.may_miss_damage() {
            format!("; the check alone: {}, at most {}", self.alone, self.most_fooled())
        } else {
            String::new()
        };
        format!(
            "{:<10}  {} runs: {done} done, {failed} failed clearly{fooled}, {} broken; {hits} bytes \
             hit, {retransmissions} packets again{bound}\n",
            self.protocol.name(),
            self.runs(),
            self.failures.len(),
        )
    }

    fn event(&self) -> Event {
        Event::Protocol(Box::new(SwarmSum {
            protocol: self.protocol.name(),
            runs: self.runs(),
            done: self.tally.done,
            failed: self.tally.failed,
            fooled: self.fooled.iter().map(|failed| failed.seed).collect(),
            check_alone: self.alone,
            fooled_at_most: self.most_fooled(),
            broken: self.failures.len() as u64,
            hits: self.tally.hits,
            retransmissions: self.tally.retransmissions,
            events: self.tally.events,
        }))
    }
}

/// Prints the totals and the failures, in an order that does not depend on the cores.
fn end(ui: &Output, sums: &mut [Sum]) -> Ending {
    let mut worst = Exit::Done;
    let mut broken = 0;
    for sum in sums.iter_mut() {
        sum.failures.sort_by_key(|failed| failed.seed);
        sum.fooled.sort_by_key(|failed| failed.seed);
        ui.event(sum.event());
        if !ui.has_json() {
            crate::ui::output::print(&sum.words());
        }
        // The replay of one seed is shown in detail.
        let level = if sum.runs() == 1 { Level::Note } else { Level::Detail };
        for failed in &sum.fooled {
            ui.say(level, &format!("{}, which its check explains: {failed}", sum.protocol.name()));
        }
        if sum.is_fooled_too_often() {
            broken += sum.fooled.len();
            worst = Exit::Integrity;
            ui.say(Level::Error, &format!("{}: fooled too often", sum.protocol.name()));
        }
        for (index, failed) in sum.failures.iter().enumerate() {
            ui.event(failure(sum.protocol, failed));
            if index < SHOWN {
                ui.say(Level::Error, &format!("{}: {failed}", sum.protocol.name()));
            }
            worst = worse(worst, exit_of(&failed.fault));
        }
        broken += sum.failures.len();
    }
    let message =
        if broken == 0 { String::new() } else { format!("{broken} seeds broke a protocol") };
    Ending::early(worst, message)
}

fn failure(protocol: Kind, failed: &Failed) -> Event {
    Event::Failure(Box::new(FailedSeed {
        protocol: protocol.name(),
        seed: failed.seed,
        fault: failed.fault.to_string(),
        picked: failed.description.clone(),
        replay: failed.replay.clone(),
    }))
}

/// The exit code of a fault.
const fn exit_of(fault: &Fault) -> Exit {
    match fault {
        Fault::FalseSuccess(_) | Fault::Fooled(_) | Fault::BrokenStore | Fault::Lost(_) => {
            Exit::Integrity
        }
        Fault::Panic(_) => Exit::Peer,
        Fault::NoEnd(_) => Exit::Timeout,
    }
}

/// Severity: false success, then panic, then livelock.
fn worse(a: Exit, b: Exit) -> Exit {
    let order = [Exit::Integrity, Exit::Peer, Exit::Timeout];
    order.into_iter().find(|exit| a == *exit || b == *exit).unwrap_or(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_undetected_errors_are_a_failure() {
        let fooled = |seed| Failed {
            seed,
            fault: Fault::Fooled("wrong".to_owned()),
            description: String::new(),
            replay: String::new(),
        };
        let mut sum = Sum::new(Kind::of("xmodem").expect("a protocol"));
        // Even if the check alone accepts none, five may be chance.
        for seed in 0..5 {
            sum.add((Err(Box::new(fooled(seed))), false));
        }
        assert!(!sum.is_fooled_too_often());
        sum.add((Err(Box::new(fooled(5))), false));
        assert!(sum.is_fooled_too_often());
        sum.add((Err(Box::new(fooled(6))), true));
        assert_eq!((sum.alone, sum.most_fooled(), sum.is_fooled_too_often()), (1, 7, false));
        // Where digests are compared no wrong file is excused.
        let mut sum = Sum::new(Kind::of("zmodem").expect("a protocol"));
        sum.add((Err(Box::new(fooled(0))), false));
        assert!(sum.is_fooled_too_often());
    }
}
