//! XMODEM and YMODEM in the swarm: whatever the line does, nobody reports a success that is none.
//!
//! The 8-bit checksum is fooled by noise; how often is counted. 2,000 seeds of each protocol run in
//! the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab --test xymodem_swarm`
//! runs more; `WETSTRING_SEED=7` runs one of each, with its trace.

use wetstring_lab::scenario::Protocol;
use wetstring_lab::swarm::protocols::fooled_percent;
use wetstring_lab::swarm::{Fault, Swarm, Tally};
use wetstring_lab::trace::Recorder;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What became of the seeds.
#[derive(Debug, Default)]
struct Sum {
    tally: Tally,
    fooled: Vec<u64>,
}

/// Runs the seeds of one protocol; where its check may be fooled, a false success is counted.
fn swarm(variant: &str, seeds: std::ops::Range<u64>) -> Sum {
    let protocol = Protocol::of(variant).expect("a protocol");
    let may_be_fooled = fooled_percent(protocol) > 0;
    let swarm = Swarm::of(protocol);
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
        match one(seed, &mut Recorder::off()) {
            Some(report) => sum.tally.add(&report),
            None => sum.fooled.push(seed),
        }
    }
    sum
}

fn run(variant: &str, done_of_ten: u64) {
    let runs = number("WETSTRING_SWARM").unwrap_or(2000);
    let sum = swarm(variant, 0..runs);
    if number("WETSTRING_SEED").is_some() {
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
    run("xmodem", 7);
}

#[test]
fn xmodem_with_crc_is_never_fooled() {
    run("xmodem-crc", 7);
}

#[test]
fn xmodem_1k_is_never_fooled() {
    run("xmodem-1k", 6);
}

#[test]
fn ymodem_is_never_fooled() {
    run("ymodem", 6);
}

/// A stream ends with the first error: most runs fail, none lies.
#[test]
fn ymodem_g_never_lies() {
    run("ymodem-g", 1);
}
