//! The swarm: many runs, each from a seed, that try to break a protocol.
//!
//! A seed picks the files, the line and its faults here, and the engines and their settings in a
//! closure of the protocol; those of our protocols are in [`protocols`]. Then two things are checked.
//!
//! * **Safety**, in any case: no end reports success unless the receiver's files equal the source, the store is
//!   written in order, no engine panics, virtual time advances, and the number of events is bounded.
//! * **Liveness**: at some time the faults stop; from then on the run must come to an end, successfully or with
//!   a clear failure.
//!
//! A seed that fails is reported with everything it picked and with the command that replays it.

pub mod alone;
mod faulty;
pub mod kind;
pub mod ncp;
pub mod netblt;
mod picks;
pub mod protocols;
pub mod slip;

pub use kind::Kind;
pub use picks::{any_files, any_line, longer_files, noisy_line};

use crate::digest::Tap;
use crate::pair::{Act, Pair, PairReport, Stop};
use crate::random::Random;
use crate::serial::{LineModel, Serial};
use crate::store::{MemoryFile, MemorySink, MemorySource, Received};
use crate::trace::Recorder;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use wetstring_proto::Duration;
use wetstring_proto::engine::{Command, Engine, Outcome};

/// Two engines that a protocol made from a seed.
pub struct Ends {
    /// At end A.
    pub sender: Box<dyn Engine>,
    /// At end B.
    pub receiver: Box<dyn Engine>,
    /// Text description of the picked settings.
    pub description: String,
}

impl fmt::Debug for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ends").field("description", &self.description).finish_non_exhaustive()
    }
}

/// Makes both ends from a seed's random stream and the line that was picked.
type Build<'a> = Rc<dyn Fn(&mut Random, &LineModel) -> Ends + 'a>;

/// A swarm of runs of one protocol.
#[derive(Clone)]
pub struct Swarm<'a> {
    build: Build<'a>,
    lines: &'a dyn Fn(&mut Random) -> LineModel,
    files: &'a dyn Fn(&mut Random) -> Vec<MemoryFile>,
    sinks: &'a dyn Fn(&mut Random, &[MemoryFile]) -> MemorySink,
    acts: &'a dyn Fn(&mut Random) -> Vec<(Duration, Act)>,
    ports: &'a [usize],
    same: fn(&[u8], &[u8]) -> bool,
    names_stay: bool,
    bare_answers: bool,
    replay: Cow<'a, str>,
    faults_last: Duration,
    time_limit: Duration,
    event_limit: u64,
}

impl fmt::Debug for Swarm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swarm").field("replay", &self.replay).finish_non_exhaustive()
    }
}

/// A violation in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A success was reported, but the receiver's files are not those of the sender.
    FalseSuccess(String),
    /// A file is wrong at the receiver that both ends call whole, and no digest of it was compared: the check of the
    /// protocol did not see the damage. [`alone`] says how often that may be.
    Fooled(String),
    /// The receiver wrote its file backwards or with a hole.
    BrokenStore,
    /// On a line without damage a file is missing that was neither refused nor cancelled, and both ends report
    /// success.
    Lost(String),
    /// An engine panicked with this message.
    Panic(String),
    /// The run did not end.
    NoEnd(Stop),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FalseSuccess(what) => write!(f, "false success: {what}"),
            Self::Fooled(what) => write!(f, "fooled, and no digest was compared: {what}"),
            Self::BrokenStore => f.write_str("the receiver wrote its file out of order"),
            Self::Lost(what) => write!(f, "lost silently: {what}"),
            Self::Panic(what) => write!(f, "panic: {what}"),
            Self::NoEnd(stop) => write!(f, "no end: {stop}"),
        }
    }
}

/// A seed that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// The seed.
    pub seed: u64,
    /// What it did.
    pub fault: Fault,
    /// All that it picked.
    pub description: String,
    /// The command that runs it again.
    pub replay: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.fault)?;
        writeln!(f, "  picked: {}", self.description)?;
        write!(f, "  replay: {}", self.replay)
    }
}

impl std::error::Error for Failed {}

/// The result of a swarm without failures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Of those, how many ended well on both sides.
    pub done: u64,
    /// Of those, how many ended with a clear failure on either side.
    pub failed: u64,
    /// Damaged, lost and duplicated bytes of all runs.
    pub hits: u64,
    /// Packets retransmitted, in all runs.
    pub retransmissions: u64,
    /// Events of all runs.
    pub events: u64,
}

impl Tally {
    /// Counts a run without a violation.
    pub fn add(&mut self, run: &Run) {
        self.runs += 1;
        self.done += u64::from(run.done);
        self.failed += u64::from(!run.done);
        self.events += run.events;
        self.hits += run.hits;
        self.retransmissions += run.retransmissions;
    }
}

/// A run without a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// It ended in good order on both sides.
    pub done: bool,
    /// Damaged, lost and duplicated bytes.
    pub hits: u64,
    /// Packets that were sent again.
    pub retransmissions: u64,
    /// Different moments.
    pub events: u64,
    /// The receiver compared a digest of each whole file, and there was one.
    pub verified: bool,
}

impl From<&PairReport> for Run {
    fn from(report: &PairReport) -> Self {
        let hits = report.sides.iter().map(|side| {
            side.usage.damaged_bytes + side.usage.dropped_bytes + side.usage.duplicated_bytes
        });
        let again = report.sides.iter().map(|side| side.stats.retransmissions);
        Self {
            done: report.is_done(),
            hits: hits.sum(),
            retransmissions: again.sum(),
            events: report.events,
            verified: report.sides[1].files_verified > 0
                && report.sides[1].files_verified == report.sides[1].files_done,
        }
    }
}

impl<'a> Swarm<'a> {
    /// A swarm of the engines that `build` makes from a seed's random stream and the picked line.
    ///
    /// `replay` is the command that runs one seed again, with `{seed}` in the place of the seed.
    pub fn new(build: &'a dyn Fn(&mut Random, &LineModel) -> Ends, replay: &'a str) -> Self {
        Self::of_made(Rc::new(build), replay.into())
    }

    fn of_made(build: Build<'a>, replay: Cow<'a, str>) -> Self {
        Self {
            build,
            lines: &any_line,
            files: &any_files,
            sinks: &|_, _| MemorySink::new(),
            acts: &|_| Vec::new(),
            ports: &[1, 3, 16, 64, 64, 64, 1000, 9000],
            names_stay: false,
            bare_answers: false,
            same: |source, received| source == received,
            replay,
            faults_last: Duration::from_secs(600),
            time_limit: Duration::from_secs(100_000),
            event_limit: 20_000_000,
        }
    }

    /// This command runs one seed again, with `{seed}` in the place of the seed.
    #[must_use]
    pub fn replayed_by(mut self, replay: &'a str) -> Self {
        self.replay = replay.into();
        self
    }

    /// Picks lines in this way.
    #[must_use]
    pub fn lines(mut self, lines: &'a dyn Fn(&mut Random) -> LineModel) -> Self {
        self.lines = lines;
        self
    }

    /// Picks files in this way.
    #[must_use]
    pub fn files(mut self, files: &'a dyn Fn(&mut Random) -> Vec<MemoryFile>) -> Self {
        self.files = files;
        self
    }

    /// Picks the receiver's store for these files in this way.
    #[must_use]
    pub fn sinks(mut self, sinks: &'a dyn Fn(&mut Random, &[MemoryFile]) -> MemorySink) -> Self {
        self.sinks = sinks;
        self
    }

    /// Picks what the users do, and when, in this way.
    #[must_use]
    pub fn acts(mut self, acts: &'a dyn Fn(&mut Random) -> Vec<(Duration, Act)>) -> Self {
        self.acts = acts;
        self
    }

    /// Picks among ports that hold this many bytes.
    #[must_use]
    pub fn ports(mut self, bytes: &'a [usize]) -> Self {
        self.ports = bytes;
        self
    }

    /// The protocol keeps names: each file must have the bytes of the source of its own name.
    #[must_use]
    pub fn names_stay(mut self) -> Self {
        self.names_stay = true;
        self
    }

    /// Answers are single bytes without a check, so that damage can make an acknowledgement of any of them: what the
    /// sender then takes for a success is the protocol's fault.
    #[must_use]
    pub fn bare_answers(mut self) -> Self {
        self.bare_answers = true;
        self
    }

    /// Compares (source, received) in this way, for a protocol that changes files by its nature.
    #[must_use]
    pub fn same(mut self, same: fn(&[u8], &[u8]) -> bool) -> Self {
        self.same = same;
        self
    }

    /// The faults stop after this time, and the run must end within the other.
    #[must_use]
    pub fn times(mut self, faults_last: Duration, time_limit: Duration) -> Self {
        self.faults_last = faults_last;
        self.time_limit = time_limit;
        self
    }

    /// Limit of a run's events.
    #[must_use]
    pub fn event_limit(mut self, limit: u64) -> Self {
        self.event_limit = limit;
        self
    }

    /// Runs these seeds, up to the first that fails.
    pub fn run(&self, seeds: Range<u64>) -> Result<Tally, Box<Failed>> {
        let mut tally = Tally::default();
        for seed in seeds {
            tally.add(&Run::from(&self.one(seed, &mut Recorder::off())?));
        }
        Ok(tally)
    }

    /// The line and the files of a seed.
    pub fn picked(&self, seed: u64) -> (LineModel, Vec<MemoryFile>) {
        let line = (self.lines)(&mut Random::stream(seed, "swarm", "line"));
        (line, (self.files)(&mut Random::stream(seed, "swarm", "files")))
    }

    /// Runs one seed, with its trace.
    pub fn one(&self, seed: u64, recorder: &mut Recorder) -> Result<PairReport, Box<Failed>> {
        let (line, files) = self.picked(seed);
        let mut random = Random::stream(seed, "swarm", "run");
        let port_buffer = random.pick(self.ports);
        let acts = (self.acts)(&mut Random::stream(seed, "swarm", "acts"));
        let made = (self.sinks)(&mut Random::stream(seed, "swarm", "sink"), &files);
        let mut settings = Random::stream(seed, "swarm", "protocol");
        let refused: Vec<_> = files.iter().map(|file| made.refuses(&file.name)).collect();
        let mut description = format!(
            "line {line}; port {port_buffer}; files {}; refused {refused:?}; acts {acts:?}",
            list(&files)
        );
        let fail = |fault, description: &str| {
            let replay = self.replay.replace("{seed}", &seed.to_string());
            Box::new(Failed { seed, fault, description: description.to_owned(), replay })
        };
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let mut ends = (self.build)(&mut settings, &line);
            description = format!("{description}; {}", ends.description);
            let mut source = MemorySource::new(files.clone());
            let mut sink = made.clone();
            let mut element = Serial::new(&line);
            let mut element = Tap::new(&mut element, recorder.wire().clone());
            let pair =
                acts.iter().fold(Pair::new(&mut element), |pair, (at, act)| pair.at(*at, *act));
            let report = pair
                .port_buffer(port_buffer)
                .time_limit(self.time_limit)
                .event_limit(self.event_limit)
                .at(self.faults_last, Act::Calm)
                .run(
                    (ends.sender.as_mut(), &mut source),
                    (ends.receiver.as_mut(), &mut sink),
                    recorder,
                );
            (report, sink)
        }));
        let (report, sink) = match caught {
            Ok(result) => result,
            Err(panic) => return Err(fail(Fault::Panic(words(panic.as_ref())), &description)),
        };
        let checked = self
            .check(&files, &report, &sink, &acts)
            .and_then(|()| self.check_names(&files, &sink))
            .and_then(|()| self.check_lost(&files, &report, &sink, &line, &acts));
        match checked {
            Ok(()) => Ok(report),
            Err(fault) => Err(fail(self.blamed(fault, seed, &report, &sink), &description)),
        }
    }

    /// Blames the protocol where the run has shown that, else the engines: only damage can pass a check, and a
    /// sender is fooled by an answer only if it received one that the receiver has not sent.
    fn blamed(&self, fault: Fault, seed: u64, report: &PairReport, sink: &MemorySink) -> Fault {
        match fault {
            Fault::Fooled(what) if Run::from(report).hits == 0 => Fault::FalseSuccess(what),
            Fault::FalseSuccess(what)
                if self.bare_answers
                    && is_of_the_sender(report, sink)
                    && self.is_acknowledgement_made_by_the_line(seed) =>
            {
                Fault::Fooled(what)
            }
            fault => fault,
        }
    }

    /// Runs a seed again with its trace, and counts the acknowledgements that were sent and heard.
    fn is_acknowledgement_made_by_the_line(&self, seed: u64) -> bool {
        let mut recorder = Recorder::keep();
        // Without excuses, so that it is run once and no more; how it fails is known.
        let _ = Self { bare_answers: false, ..self.clone() }.one(seed, &mut recorder);
        let count = |what: &str| recorder.lines().iter().filter(|line| line.contains(what)).count();
        count(" A got Y ") > count(" B sent Y ")
    }

    /// Each whole file has the bytes of its own source, and there is one of each.
    fn check_names(&self, files: &[MemoryFile], sink: &MemorySink) -> Result<(), Fault> {
        if !self.names_stay {
            return Ok(());
        }
        for (index, file) in sink.complete().enumerate() {
            let name = file.name.escape_ascii();
            let own = files.iter().find(|source| source.name == file.name);
            if !own.is_some_and(|source| (self.same)(&source.bytes, &file.bytes)) {
                let what = format!("`{name}` has not the bytes of its own source");
                return Err(Fault::FalseSuccess(what));
            }
            if sink.complete().take(index).any(|before| before.name == file.name) {
                return Err(Fault::FalseSuccess(format!("`{name}` came twice")));
            }
        }
        Ok(())
    }

    fn check(
        &self,
        files: &[MemoryFile],
        report: &PairReport,
        sink: &MemorySink,
        acts: &[(Duration, Act)],
    ) -> Result<(), Fault> {
        check_files(files, sink, self.same)?;
        let spoken_of = if ends_batch(acts) { 0 } else { files.len() };
        check_ends(spoken_of, report, sink)?;
        match report.stop {
            Stop::Over => Ok(()),
            stop => Err(Fault::NoEnd(stop)),
        }
    }

    /// On a clean line, only refused or abandoned files may be missing in the end.
    fn check_lost(
        &self,
        files: &[MemoryFile],
        report: &PairReport,
        sink: &MemorySink,
        line: &LineModel,
        acts: &[(Duration, Act)],
    ) -> Result<(), Fault> {
        let plain = LineModel {
            rate_bps: line.rate_bps,
            delay: line.delay,
            buffer_bytes: line.buffer_bytes,
            direction: line.direction,
            seed: line.seed,
            ..LineModel::default()
        };
        if *line != plain || ends_batch(acts) {
            return Ok(());
        }
        if !report.is_done() {
            return Err(Fault::Lost("the transfer failed".to_owned()));
        }
        let given_up = acts.iter().filter(|(_, act)| *act != Act::Calm).count();
        // XMODEM has no names, so there the content says which file it is.
        let is = |here: &Received, file: &MemoryFile| {
            let nameless = here.name.is_empty() && (self.same)(&file.bytes, &here.bytes);
            here.name == file.name || nameless
        };
        let is_here = |file: &&MemoryFile| sink.complete().any(|here| is(here, file));
        let missing: Vec<_> = files
            .iter()
            .filter(|file| !sink.refuses(&file.name) && !is_here(file))
            .map(|file| file.name.escape_ascii().to_string())
            .collect();
        if missing.len() > given_up {
            return Err(Fault::Lost(format!("{missing:?}, of which {given_up} were given up")));
        }
        Ok(())
    }
}

/// Each whole file at the receiver has to be one of the sender's, in the sender's order.
fn check_files(
    files: &[MemoryFile],
    sink: &MemorySink,
    same: fn(&[u8], &[u8]) -> bool,
) -> Result<(), Fault> {
    if sink.broken_order() {
        return Err(Fault::BrokenStore);
    }
    let mut sources = files.iter();
    for (index, file) in sink.complete().enumerate() {
        if !sources.any(|source| same(&source.bytes, &file.bytes)) {
            let name = file.name.escape_ascii();
            let what = format!(
                "the receiver has whole file {index}, `{name}` of {} bytes, which differs from the source",
                file.bytes.len()
            );
            return Err(if file.verified {
                Fault::FalseSuccess(what)
            } else {
                Fault::Fooled(what)
            });
        }
    }
    Ok(())
}

/// No end calls more files done than are whole at the receiver, nor is it done with fewer than `count`.
fn check_ends(count: usize, report: &PairReport, sink: &MemorySink) -> Result<(), Fault> {
    let whole = sink.complete().count() as u64;
    for (side, name) in report.sides.iter().zip(["sender", "receiver"]) {
        let claimed = side.files_done.max(side.stats.files_done);
        if claimed > whole {
            return Err(Fault::FalseSuccess(format!(
                "the {name} reports {claimed} whole files, the receiver has {whole}"
            )));
        }
        let done = side.outcome == Some(Outcome::Done);
        if done && whole + side.files_skipped < count as u64 {
            return Err(Fault::FalseSuccess(format!(
                "the {name} is done with {count} files, the receiver has {whole}"
            )));
        }
    }
    Ok(())
}

/// The receiver knows what it has, and only the sender believes in more.
fn is_of_the_sender(report: &PairReport, sink: &MemorySink) -> bool {
    let [_, receiver] = &report.sides;
    receiver.outcome != Some(Outcome::Done) && receiver.files_done <= sink.complete().count() as u64
}

/// A user cancels the batch: the remaining files are never mentioned.
fn ends_batch(acts: &[(Duration, Act)]) -> bool {
    acts.iter().any(|(_, act)| matches!(act, Act::Command(_, Command::CancelBatch)))
}

/// What a panic said.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "?".to_owned())
}

fn list(files: &[MemoryFile]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| format!("{}({})", file.name.escape_ascii(), file.bytes.len()))
        .collect();
    names.join(" ")
}
