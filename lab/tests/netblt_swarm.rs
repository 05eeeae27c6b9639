//! NETBLT in the swarm: whatever the path does, no end reports a false success.
//!
//! 1,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab
//! netblt_swarm::` runs more; `WETSTRING_SEED=7` runs one and shows what came of it.

use crate::netblt_run;
use crate::swarm_run;

use netblt_run::{Forged, Path, Plan, Seen, Side, ends, receiver, run, sender};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wetstring_lab::random::Random;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_proto::netblt::Config;
use wetstring_proto::netblt::packet::{Body, Data, Packet, Ports, Terms, data_checksum};
use wetstring_proto::{BitRate, Command, Duration, Failure, FailureKind, Outcome, Span};

fn any_config(random: &mut Random) -> Config {
    let paced = match random.below(3) {
        0 => Config {
            burst: random.between(1, 40) as u16,
            interval: Span::from_millis(random.between(1, 60)),
            ..Config::default()
        },
        1 => Config {
            max_rate: BitRate::from_bps(random.pick(&[300_000, 5_000_000])),
            ..Config::default()
        },
        _ => Config::default(),
    };
    Config {
        max_datagram: random.pick(&[256, 600, 1432, 9000]),
        buffer_size: random.pick(&[0, 0, 700, 5000, 14_320, 100_000]),
        outstanding: random.pick(&[1, 2, 8, 300]),
        death: Span::from_secs(random.pick(&[5, 20])),
        checksum: true,
        buffer_len: random.pick(&[16_384, 262_144]),
        ..paced
    }
}

fn any_path(random: &mut Random, seed: u64) -> Path {
    let mbps = random.pick(&[1, 5, 50]);
    let mut path = Path::new(mbps * 1_000_000, random.pick(&[1, 20, 150, 600])).seed(seed);
    path.queue = random.pick(&[12_000, 50_000, 1_000_000]);
    path.loss = random.pick(&[0, 10, 300, 1500]);
    path.run = random.pick(&[1, 1, 6]);
    path.reorder = random.pick(&[0, 0, 500, 3000]);
    path.hold = Duration::from_millis(random.pick(&[2, 50, 700]));
    path.twice = random.pick(&[0, 0, 300]);
    path.damage = random.pick(&[0, 0, 20_000]);
    path
}

/// A packet of no connection, or a forged one.
fn any_forgery(random: &mut Random) -> Vec<u8> {
    let port = random.pick(&[4096, 4097, 7000, 9]);
    let ports = Ports { local: port, foreign: 11_096 - port.min(11_096) };
    let buffer = random.pick(&[0, 1, 2, 40, u32::MAX]);
    let made = vec![random.bits() as u8; random.below(300) as usize];
    let high = random.pick(&[0, 1, 5, 40_000]);
    let data = Data {
        // No packet of the connection itself: who can make those can make anything of them.
        buffer: buffer.wrapping_sub(5000),
        high: 50_000,
        packet: random.below(70_000) as u16,
        last_of_buffer: random.one_in(2),
        last_buffer: random.one_in(2),
        checksum: data_checksum(&made),
        bytes: &made,
    };
    let sizes = [0, 1, 1000, u32::MAX];
    let terms = Terms {
        id: random.bits() as u32,
        buffer_size: random.pick(&sizes),
        transfer_size: u32::MAX,
        packet_size: random.pick(&[0, 1, 1000, u16::MAX]),
        burst_size: random.pick(&[0, 1, u16::MAX]),
        burst_interval_ms: random.bits() as u16,
        death_s: 1,
        write: random.one_in(2),
        checksum: random.one_in(2),
        outstanding: random.pick(&[0, 1, u16::MAX]),
        client: b"wst1 x s=18446744073709551615 name=forged",
    };
    let body = match random.below(6) {
        0 => Body::Open(terms),
        1 => Body::Response(terms),
        2 => Body::Data(data),
        3 => Body::NullAck { high: high ^ 0x7000, burst_size: 0, burst_interval_ms: 0 },
        4 => Body::KeepAlive,
        _ => Body::QuitAck,
    };
    let mut bytes = vec![0; 1000];
    let len = Packet { ports, body }.put(&mut bytes).unwrap_or(0);
    let cut = if random.one_in(4) { random.below(len as u64 + 1) as usize } else { len };
    bytes.truncate(cut);
    bytes
}

/// Seeds that have shown something: OPENs said again that did not count as life, a NULL-ACK of one connection
/// that left from the ports of the next, rows that held every OPEN.
const SHOWN: [u64; 7] = [4195, 5536, 6979, 7744, 14_529, 15_647, 24_272];

/// Runs in which the path left an end without a word for too long.
static GAVE_UP: AtomicU64 = AtomicU64::new(0);

/// What an OPEN takes to be given up: five, two seconds apart, or quicker ones where the path is known.
const OPENS: Duration = Duration::from_secs(9);

/// Whether who gave up first was right: nothing sound came for as long as it waits. Losses in rows are of
/// packets, however long those take to come, so a row may hold every OPEN there is.
fn was_right(ends: [(&Seen, &Config); 2]) -> bool {
    let first = ends.into_iter().min_by_key(|(seen, _)| (seen.outcome.is_none(), seen.settled));
    first.is_some_and(|(seen, config)| {
        let silence = matches!(
            seen.outcome,
            Some(Outcome::Failed(Failure { kind: FailureKind::Silence, .. }))
        );
        // The clocks of both ends tick once between a packet's coming and its being looked at.
        silence && seen.deaf + Duration::from_secs(1) >= config.death.get().min(OPENS)
    })
}

/// Whether no end may give up although control messages arrive: no data, GO or OK for four times the death
/// timer. Where
/// a sixth of all is lost, and in rows, or by ends that wait five seconds, or where a queue holds one packet of
/// a burst, that happens: 3 of 20,000 seeds of impatient ends without rows.
fn is_mild(path: &Path, ends: [&Config; 2]) -> bool {
    let longest = ends.iter().map(|end| u64::from(end.max_datagram)).min().unwrap_or(0);
    let patient = ends.iter().all(|end| end.death > Span::from_secs(5));
    path.queue >= 2 * longest && (path.loss <= 300 || (path.run == 1 && patient))
}

/// Whether another host may open what one of these waits for: an engine serves the first that opens.
/// A listener gives each address an engine of its own.
fn is_taken(plan: &Plan, write: bool) -> bool {
    plan.forged.iter().any(|(_, to_a, bytes)| *to_a != write && bytes.get(3) == Some(&0))
}

/// One transfer; whether all files came through, and whether faults hit it.
fn one(seed: u64, show: bool) -> (bool, bool) {
    let mut random = Random::stream(seed, "swarm", "netblt");
    let (ours, theirs) = (any_config(&mut random), any_config(&mut random));
    let write = random.one_in(2);
    let (ours, _) = ends(&ours, write);
    let (_, theirs) = ends(&theirs, write);
    let path = any_path(&mut random, seed);
    let count = random.between(1, 4) as usize;
    let mut files: Vec<MemoryFile> = (0..count)
        .map(|index| {
            let size = random.pick(&[0, 1, 999, 14_320, 60_000, 200_000]);
            MemoryFile::made(&format!("{index}"), Content::Random(seed + index as u64), size)
        })
        .collect();
    for file in &mut files {
        file.resume = random.one_in(2);
    }
    let forged: Vec<Forged> = (0..random.pick(&[0, 0, 20]))
        .map(|_| {
            let at = Duration::from_millis(random.below(3000));
            (at, random.one_in(2), any_forgery(&mut random))
        })
        .collect();
    let mut acts = Vec::new();
    if random.one_in(6) {
        let command = random.pick(&[Command::Abort, Command::CancelBatch, Command::CancelFile]);
        acts.push((Duration::from_millis(random.below(4000)), random.one_in(2), command));
    }
    let cut = random.one_in(20).then(|| Duration::from_millis(random.below(4000)));
    let calm = Some(Duration::from_secs(30));
    let limit = Some(Duration::from_secs(4000));
    let meddled = !acts.is_empty() || cut.is_some();
    let plan = Plan { limit, acts, forged, cut, calm, ..Plan::default() };
    let mut source = MemorySource::new(files.clone());
    let mut sink = MemorySink::new();
    if random.one_in(2) {
        sink = sink.scattered();
    }
    if random.one_in(3) && files[0].bytes.len() > 1000 {
        let mut here = files[0].bytes.to_vec();
        here[3] ^= u8::from(random.one_in(3));
        sink = sink.with_pieces("0", &here, &[(0, 100), (200, 700)]);
    }
    let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
    let a = Side { engine: &mut sending, store: &mut source };
    let b = Side { engine: &mut receiving, store: &mut sink };
    let report = run(&path, &plan, a, b);
    let say = || format!("seed {seed}: {ours:?}\n{theirs:?}\n{path:?}\n{plan:?}\n{report:?}");
    if show {
        println!("{}", say());
    }
    assert!(!report.storm && !sink.broken_order(), "{}", say());
    // Safety: what is called whole is the file that was sent.
    for came in sink.complete() {
        let file = files.iter().find(|file| file.name == came.name);
        assert!(file.is_some_and(|file| came.bytes == file.bytes[..]), "{}", say());
    }
    let told = source.closed().iter().flatten().filter(|closed| closed.0).count();
    assert!(told <= sink.complete().count(), "{}", say());
    // Liveness: it ends, and successfully if there was no interference.
    let (active, passive) = if write { (&report.a, &report.b) } else { (&report.b, &report.a) };
    // A passive end that was never opened waits indefinitely.
    let unopened = passive.stats.file_bytes + passive.stats.timeouts + passive.done == 0;
    assert!(active.outcome.is_some() && (passive.outcome.is_some() || unopened), "{}", say());
    let whole = report.is_done() && sink.complete().count() == count;
    let excused = meddled || is_taken(&plan, write) || !is_mild(&path, [&ours, &theirs]);
    let right = !excused && was_right([(&report.a, &ours), (&report.b, &theirs)]);
    GAVE_UP.fetch_add(u64::from(!whole && right), Relaxed);
    (whole || excused || right, path.loss + path.reorder + path.damage + path.twice > 0)
}

#[test]
fn no_false_success_and_always_an_end() {
    if swarm_run::replayed(|seed, _| one(seed, true)) {
        return;
    }
    let runs = swarm_run::runs(1000);
    let results: Vec<(bool, bool)> = (0..runs).map(|seed| one(seed, false)).collect();
    let mut failed: Vec<u64> = (0..runs).filter(|seed| !results[*seed as usize].0).collect();
    failed.extend(SHOWN.into_iter().filter(|seed| !one(*seed, false).0));
    let hit = results.iter().filter(|result| result.1).count() as u64;
    let gave_up = GAVE_UP.load(Relaxed);
    println!("{runs} runs, {hit} on paths with faults, {gave_up} gave up in silence");
    assert!(gave_up * 30 < runs, "{gave_up} of {runs} paths fell silent");
    assert!(hit * 2 > runs, "the paths did harm");
    assert!(failed.is_empty(), "did not come through: {failed:?}");
}
