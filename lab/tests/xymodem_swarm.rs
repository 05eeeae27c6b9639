//! XMODEM and YMODEM in the swarm: whatever the line does, no end reports a false success.
//!
//! The 8-bit checksum is fooled by noise, and may be as often as it is alone (`swarm::alone`). 2,000 seeds of each
//! protocol run in the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab xymodem_swarm::`
//! runs more; `WETSTRING_SEED=7` runs one of each, with its trace.

use crate::swarm_run;

use wetstring_lab::scenario::Protocol;
use wetstring_lab::swarm::alone::most;
use wetstring_lab::swarm::{Fault, Kind, Run, Swarm, Tally};
use wetstring_lab::trace::Recorder;

/// Runs the seeds of one protocol; where its check may be fooled, a false success is counted.
fn run(variant: &str, done_of_ten: u64) {
    let protocol = Protocol::named(variant);
    let kind = Kind::Serial(protocol);
    let swarm = Swarm::of(protocol);
    let one = |seed, recorder: &mut Recorder| {
        swarm.one(seed, recorder).unwrap_or_else(|failed| panic!("{variant} {failed}"))
    };
    if swarm_run::replayed(one) {
        return;
    }
    let runs = swarm_run::runs(2000);
    let (mut tally, mut fooled) = (Tally::default(), Vec::new());
    for seed in 0..runs {
        match swarm.one(seed, &mut Recorder::off()) {
            Ok(report) => tally.add(&Run::from(&report)),
            Err(failed) if matches!(failed.fault, Fault::Fooled(_)) => fooled.push(seed),
            Err(failed) => panic!("{variant} {failed}"),
        }
    }
    let alone = (0..runs).filter(|seed| kind.is_alone_fooled(*seed)).count() as u64;
    println!("{variant}: {tally:?}, fooled {fooled:?}; the check alone {alone}");
    // A swarm that hits nothing, or in which nothing arrives, proves nothing.
    assert!(tally.hits > runs, "the lines did harm");
    assert!(tally.done * 10 >= runs * done_of_ten, "{variant}: {} done", tally.done);
    assert!(
        fooled.len() as u64 <= most(alone),
        "{variant}: fooled more often than the check alone"
    );
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

#[test]
fn noisy_lines() {
    for (variant, done, fooled_one_in) in [
        ("xmodem", 0, 5),
        ("xmodem-crc", 0, 100),
        ("xmodem-1k", 0, 100),
        ("ymodem", 0, 100),
        ("ymodem-g", 0, 100),
    ] {
        swarm_run::noisy(Protocol::named(variant), done, fooled_one_in);
    }
}

/// The receiver refuses the first EOT, and damage makes an acknowledgement of the refusal: no fault of the sender.
#[test]
fn a_forged_answer_is_told_from_a_sender_error() {
    let swarm = Swarm::of(Protocol::named("xmodem-crc"));
    let failed = swarm.one(231_771, &mut Recorder::off()).unwrap_err();
    assert!(matches!(failed.fault, Fault::Fooled(_)), "{failed}");
}

/// A block was repeated, each copy was acknowledged, and the answers were one ahead from then on: that to the last
/// block but one was taken for that to the last, and that to the last for that to EOT.
#[test]
fn answers_that_are_one_ahead_do_not_end_a_file() {
    for (variant, seed) in
        [("xmodem-crc", 184_484), ("xmodem-crc", 978_211), ("xmodem-1k", 978_211)]
    {
        let swarm = Swarm::of(Protocol::named(variant));
        let report =
            swarm.one(seed, &mut Recorder::off()).unwrap_or_else(|failed| panic!("{failed}"));
        assert!(report.is_done(), "{variant} {seed}");
    }
}

/// Damage made a `G` of a `C` in the middle of a batch, or a `C` came sooner after EOT than any answer can: neither
/// tells that a file has arrived.
#[test]
fn a_start_character_that_cannot_be_an_answer_ends_no_file() {
    let swarm = Swarm::of(Protocol::named("ymodem"));
    for seed in [205_724, 401_501, 696_029, 800_282, 982_556] {
        swarm.one(seed, &mut Recorder::off()).unwrap_or_else(|failed| panic!("{failed}"));
    }
}
