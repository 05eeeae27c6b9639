//! XMODEM and YMODEM in the swarm: whatever the line does, nobody reports a success that is none.
//!
//! The 8-bit checksum is fooled by noise; how often is counted. 2,000 seeds of each protocol run in
//! the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab --test xymodem_swarm`
//! runs more; `WETSTRING_SEED=7` runs one of each, with its trace.

use std::fmt::Write;
use wetstring_lab::random::Random;
use wetstring_lab::serial::LineModel;
use wetstring_lab::store::MemoryFile;
use wetstring_lab::swarm::{Ends, Fault, Swarm, Tally, any_files};
use wetstring_lab::trace::Recorder;
use wetstring_proto::LineFacts;
use wetstring_proto::settings::Settings;
use wetstring_proto::xymodem::{Config, Receiver, Sender};

/// Settings of both ends from the seed. They differ where ends may differ.
fn build(variant: &str, random: &mut Random, line: &LineModel) -> Ends {
    let rate = u32::try_from(line.rate_bps).unwrap_or(0);
    let mut description = format!("{variant} ");
    let mut configs = [(), ()].map(|()| Config {
        line: LineFacts {
            reliable: Some(false),
            clear: false,
            rate_bps: if random.one_in(4) { 0 } else { rate },
            telnet: false,
        },
        buffer_len: random.pick(&[128, 1024, 4096, 65_536]),
        ..Config::default()
    });
    let mut set = |configs: &mut [Config], name: &str, value: &str| {
        for config in configs {
            config.set(name, value).unwrap();
        }
        write!(description, "{name}={value} ").unwrap();
    };
    set(&mut configs, "xymodem.variant", variant);
    // A fall back to checksums is the checksum's swarm.
    set(&mut configs, "xymodem.starts", "0");
    for end in 0..2 {
        let of = &mut configs[end..=end];
        set(of, "xymodem.block", random.pick(&["auto", "128", "128"]));
        set(of, "xymodem.first-eot", random.pick(&["auto", "auto", "nak", "wait"]));
        set(of, "xymodem.purge", random.pick(&["1000", "300"]));
        set(of, "xymodem.pause", random.pick(&["0", "0", "5"]));
        set(of, "xymodem.adapt-block", random.pick(&["on", "on", "off"]));
        set(of, "xymodem.retries", random.pick(&["10", "30"]));
    }
    let [ours, theirs] = configs;
    let sender = Sender::new(ours.clone(), vec![0; ours.sender_memory()]).unwrap();
    let receiver = Receiver::new(theirs.clone(), vec![0; theirs.receiver_memory()]).unwrap();
    Ends { sender: Box::new(sender), receiver: Box::new(receiver), description }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// XMODEM has one file, and its receiver keeps the padding of the last block.
fn one_file(random: &mut Random) -> Vec<MemoryFile> {
    let mut files = any_files(random);
    files.truncate(1);
    files
}

fn same_but_for_padding(source: &[u8], received: &[u8]) -> bool {
    let (file, rest) = received.split_at(source.len().min(received.len()));
    file == source && rest.len() < 1024 && rest.iter().all(|byte| *byte == 0x1a)
}

fn equal(source: &[u8], received: &[u8]) -> bool {
    source == received
}

/// What became of the seeds.
#[derive(Debug, Default)]
struct Sum {
    tally: Tally,
    fooled: Vec<u64>,
}

/// Runs the seeds of one protocol; with `may_be_fooled` a false success is counted, not fatal.
fn swarm(variant: &'static str, seeds: std::ops::Range<u64>, may_be_fooled: bool) -> Sum {
    let make = |random: &mut Random, line: &LineModel| build(variant, random, line);
    let replay = "WETSTRING_SEED={seed} cargo test -p wetstring-lab --test xymodem_swarm -- \
                  --nocapture";
    let mut swarm = Swarm::new(&make, replay);
    if variant.starts_with('x') {
        swarm = swarm.files(&one_file).same(same_but_for_padding);
    } else {
        swarm = swarm.same(equal);
    }
    let one = |seed: u64, recorder: &mut Recorder| match swarm.one(seed, recorder) {
        Ok(report) => Some(report),
        Err(failed) if may_be_fooled && matches!(failed.fault, Fault::FalseSuccess(_)) => None,
        Err(failed) => panic!("{variant} {failed}"),
    };
    if let Some(seed) = number("WETSTRING_SEED") {
        let mut recorder = Recorder::keep();
        let result = swarm.one(seed, &mut recorder);
        for line in recorder.lines() {
            println!("{line}");
        }
        result.unwrap_or_else(|failed| panic!("{variant} {failed}"));
        return Sum::default();
    }
    let mut sum = Sum::default();
    for seed in seeds {
        sum.tally.runs += 1;
        let Some(report) = one(seed, &mut Recorder::off()) else {
            sum.fooled.push(seed);
            continue;
        };
        sum.tally.done += u64::from(report.is_done());
        sum.tally.events += report.events;
        for side in &report.sides {
            let usage = side.usage;
            sum.tally.hits += usage.damaged_bytes + usage.dropped_bytes + usage.duplicated_bytes;
            sum.tally.retransmissions += side.stats.retransmissions;
        }
    }
    sum
}

fn run(variant: &'static str, may_be_fooled: bool, done_of_ten: u64) {
    let runs = number("WETSTRING_SWARM").unwrap_or(2000);
    let sum = swarm(variant, 0..runs, may_be_fooled);
    if sum.tally.runs == 0 {
        return;
    }
    println!("{variant}: {:?}, fooled {:?}", sum.tally, sum.fooled);
    // A swarm that hits nothing, or in which nothing arrives, proves nothing.
    assert!(sum.tally.hits > runs, "the lines did harm");
    assert!(sum.tally.done * 10 >= runs * done_of_ten, "{variant}: {} done", sum.tally.done);
    assert!(sum.fooled.len() as u64 * 50 < runs, "{variant}: fooled too often");
}

#[test]
fn xmodem_with_checksums_may_be_fooled() {
    run("xmodem", true, 7);
}

#[test]
fn xmodem_with_crc_is_never_fooled() {
    run("xmodem-crc", false, 7);
}

#[test]
fn xmodem_1k_is_never_fooled() {
    run("xmodem-1k", false, 6);
}

#[test]
fn ymodem_is_never_fooled() {
    run("ymodem", false, 6);
}

/// A stream ends with the first error: most runs fail, none lies.
#[test]
fn ymodem_g_never_lies() {
    run("ymodem-g", false, 1);
}
