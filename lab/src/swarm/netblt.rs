//! NETBLT in the swarm: a path of datagrams with all its faults, and all settings of both ends.
//!
//! The path is that of [`crate::net::Path`]; damage, outage and death are put before it. On a mild path (it
//! loses little, and its outages are shorter than half of the ends' timeouts) every file must arrive, however
//! short its queue is; on any other the run must end, and no end may report a false success.

use super::faulty::{Faults, Faulty};
use super::{Failed, Fault, Run, check_ends, check_files, list, words};
use crate::digest::Tap;
use crate::net::{Path, PathModel, Queue, Reorder};
use crate::pair::{Act, Pair, PairReport, Stop};
use crate::random::Random;
use crate::serial::Probability;
use crate::store::{Content, MemoryFile, MemorySink, MemorySource};
use crate::trace::Recorder;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wetstring_proto::netblt::{Config, Receiver, Role, Sender};
use wetstring_proto::{BitRate, Duration, FileInfo, Reply, Request, Span, Store};

const REPLAY: &str = "wst lab swarm --protocol netblt --seed {seed} --trace FILE";
/// The faults stop then, and the run must end.
const FAULTS_LAST: Duration = Duration::from_secs(30);
const TIME_LIMIT: Duration = Duration::from_secs(20_000);
const EVENT_LIMIT: u64 = 20_000_000;

/// Picked by a seed.
#[derive(Clone, Debug)]
struct Plan {
    ours: Config,
    theirs: Config,
    path: PathModel,
    faults: Faults,
    files: Vec<MemoryFile>,
    /// The sender does not tell sizes.
    sizeless: bool,
    scattered: bool,
    mild: bool,
}

fn config(random: &mut Random) -> Config {
    let paced = match random.below(4) {
        0 => Config {
            burst: random.between(1, 20) as u16,
            interval: Span::from_millis(random.between(5, 60)),
            ..Config::default()
        },
        1 => {
            let max_rate = BitRate::from_bps(random.pick(&[64_000, 300_000, 5_000_000]));
            Config { max_rate, ..Config::default() }
        }
        _ => Config::default(),
    };
    Config {
        max_datagram: random.pick(&[256, 600, 1432, 9000]),
        buffer_size: random.pick(&[0, 0, 700, 5000, 14_320, 100_000]),
        outstanding: random.pick(&[1, 2, 8, 300]),
        death: Span::from_secs(random.pick(&[10, 20, 60])),
        checksum: true,
        buffer_len: random.pick(&[16_384, 262_144]),
        ..paced
    }
}

fn chance(of_10_000: u64) -> Probability {
    Probability::new(of_10_000, 4).unwrap_or_default()
}

fn path(random: &mut Random, mild: bool) -> PathModel {
    let rate_bps = random.pick(&[64_000, 256_000, 1_000_000, 10_000_000, 100_000_000]);
    let loss = if mild { [0, 0, 10, 100, 300] } else { [0, 100, 500, 1500, 3000] };
    PathModel {
        rate_bps,
        reverse_rate_bps: random.one_in(5).then_some(rate_bps / 8),
        delay: Duration::from_millis(random.pick(&[0, 1, 10, 100, 300])),
        queue: match random.below(4) {
            0 => Queue::Bytes(random.between(4000, 100_000)),
            1 => Queue::Unlimited,
            _ => Queue::Packets(random.between(1, 20)),
        },
        loss: chance(random.pick(&loss)),
        loss_run: if mild { 1 } else { random.pick(&[1, 1, 6]) },
        jitter: Duration::from_millis(random.pick(&[0, 0, 5, 50])),
        reorder: Reorder {
            chance: chance(random.pick(&[0, 0, 500, 3000])),
            by: Duration::from_millis(random.pick(&[2, 50, 700])),
        },
        duplicate: chance(random.pick(&[0, 0, 300])),
        seed: random.bits(),
        ..PathModel::default()
    }
}

fn file(random: &mut Random, index: u64) -> MemoryFile {
    let names = [format!("{index}"), format!("two words {index}"), format!("dir/{index} .x")];
    let sizes = [0, 1, 999, 14_320, 60_000, 200_000];
    let size = random.pick(&sizes);
    let name = &names[random.below(3) as usize];
    let mut file = MemoryFile::made(name, Content::Random(random.bits()), size);
    file.resume = random.one_in(2);
    file
}

fn plan(seed: u64) -> Plan {
    let mut random = Random::stream(seed, "swarm", "netblt");
    let mild = random.one_in(2);
    let (mut ours, mut theirs) = (config(&mut random), config(&mut random));
    // Either may open: for WRITE the sender does.
    let passive = if random.one_in(2) { &mut theirs } else { &mut ours };
    let usual = Config::default();
    passive.role = Role::Passive;
    passive.local_port = usual.foreign_port;
    let path = path(&mut random, mild);
    let count = random.between(1, 3);
    let files = (0..count).map(|index| file(&mut random, index)).collect();
    let patience = ours.death.min(theirs.death).get().as_millis() as u64;
    let begin = Duration::from_millis(random.below(5000));
    let longest = if mild { patience / 3 } else { patience * 2 };
    let lasts = Duration::from_millis(random.below(longest));
    let faults = Faults {
        damage: random.pick(&[0, 0, 10, 200]),
        silence: random.one_in(3).then_some((begin, begin + lasts)),
        death: (!mild && random.one_in(4)).then_some(begin),
    };
    let (sizeless, scattered) = (random.one_in(4), random.one_in(2));
    Plan { ours, theirs, path, faults, files, sizeless, scattered, mild }
}

/// A source that does not tell how long its files are.
struct Sizeless<'a>(&'a mut MemorySource);

impl Store for Sizeless<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match self.0.answer(request) {
            Reply::File(info) => Reply::File(FileInfo { size: None, ..info }),
            other => other,
        }
    }
}

fn run(plan: &Plan, recorder: &mut Recorder) -> (PairReport, MemorySink, u64) {
    let (a, b) = (vec![0; plan.ours.sender_memory()], vec![0; plan.theirs.receiver_memory()]);
    let mut sender = Sender::new(plan.ours.clone(), a).expect("memory as asked for");
    let mut receiver = Receiver::new(plan.theirs.clone(), b).expect("memory as asked for");
    let mut source = MemorySource::new(plan.files.clone());
    let mut sink = MemorySink::new();
    if plan.scattered {
        sink = sink.scattered();
    }
    let mut path = Path::new(&plan.path);
    let random = Random::stream(plan.path.seed, "swarm", "faults");
    let mut element = Faulty::new(&mut path, plan.faults, random);
    let mut tapped = Tap::new(&mut element, recorder.wire().clone());
    let pair = Pair::new(&mut tapped)
        .time_limit(TIME_LIMIT)
        .event_limit(EVENT_LIMIT)
        .at(FAULTS_LAST, Act::Calm);
    let report = if plan.sizeless {
        let mut source = Sizeless(&mut source);
        pair.run((&mut sender, &mut source), (&mut receiver, &mut sink), recorder)
    } else {
        pair.run((&mut sender, &mut source), (&mut receiver, &mut sink), recorder)
    };
    let hits = element.hits;
    (report, sink, hits)
}

fn check(plan: &Plan, report: &PairReport, sink: &MemorySink) -> Result<(), Fault> {
    let same = |source: &[u8], here: &[u8]| source == here;
    check_files(&plan.files, sink, same)?;
    check_ends(plan.files.len(), report, sink)?;
    // An end that listens waits indefinitely if nothing is received.
    let unopened = |config: &Config, side: usize| {
        let stats = &report.sides[side].stats;
        config.role == Role::Passive && stats.packets_in == 0
    };
    let ended = [&plan.ours, &plan.theirs]
        .into_iter()
        .enumerate()
        .all(|(side, config)| report.sides[side].outcome.is_some() || unopened(config, side));
    if !ended || matches!(report.stop, Stop::Storm | Stop::EventLimit) {
        return Err(Fault::NoEnd(report.stop));
    }
    let whole = sink.complete().count();
    if plan.mild && !(report.is_done() && whole == plan.files.len()) {
        let outcomes = [report.sides[0].outcome, report.sides[1].outcome];
        let (of, count) = (plan.files.len(), whole);
        return Err(Fault::Lost(format!(
            "{count} of {of} files on a path that should do no harm: {outcomes:?}"
        )));
    }
    Ok(())
}

/// Runs one seed.
pub fn one(seed: u64, recorder: &mut Recorder) -> Result<Run, Box<Failed>> {
    let plan = plan(seed);
    let fail = |fault| {
        let Plan { ours, theirs, path, faults, sizeless, scattered, mild, .. } = &plan;
        let files = list(&plan.files);
        let description = format!(
            "mild {mild}; {path}; {faults:?}; files {files}; sizeless {sizeless}; scattered \
             {scattered}; ours {ours:?}; theirs {theirs:?}"
        );
        let replay = REPLAY.replace("{seed}", &seed.to_string());
        Box::new(Failed { seed, fault, description, replay })
    };
    let ran = catch_unwind(AssertUnwindSafe(|| run(&plan, recorder)));
    let (report, sink, hits) = ran.map_err(|panic| fail(Fault::Panic(words(panic.as_ref()))))?;
    check(&plan, &report, &sink).map_err(fail)?;
    let run = Run::from(&report);
    Ok(Run { hits: run.hits + hits, ..run })
}
