//! UUCP's `g` in the swarm: whatever the line does, nothing is lost, and no end reports a false success,
//! except for what the check cannot detect.
//!
//! The check of 16 bits is fooled by noise (docs/decisions/061); how often is counted, and how: the
//! lengths are as announced even then. 2,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000
//! cargo test -p wetstring-lab uucp_swarm::` runs more; `WETSTRING_SEED=7` runs one, with its trace.

use crate::swarm_run;

use wetstring_lab::scenario::Protocol;
use wetstring_lab::swarm::alone::most;
use wetstring_lab::swarm::{Fault, Kind, Run, Swarm, Tally};
use wetstring_lab::trace::Recorder;

#[test]
fn nothing_is_lost_and_only_the_check_is_fooled() {
    let swarm = Swarm::of(Protocol::named("uucp-g"));
    let one = |seed, recorder: &mut Recorder| {
        swarm.one(seed, recorder).unwrap_or_else(|failed| panic!("{failed}"))
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
            Err(failed) => panic!("{failed}"),
        }
    }
    let kind = Kind::Serial(Protocol::named("uucp-g"));
    let alone = (0..runs).filter(|seed| kind.is_alone_fooled(*seed)).count() as u64;
    println!("{runs} runs: {tally:?}, fooled {fooled:?}; the check alone {alone}");
    // A swarm that hits nothing, or in which nothing arrives, proves nothing.
    assert!(tally.hits > runs, "the lines did harm");
    assert!(tally.done * 10 >= runs * 9, "{} of {runs} done", tally.done);
    assert!(fooled.len() as u64 <= most(alone), "fooled more often than the check alone");
}

/// The first byte of a packet is hardly looked at by the check, so at one bit in 1,000 it is often fooled.
#[test]
fn noisy_lines() {
    swarm_run::noisy(Protocol::named("uucp-g"), 40, 2);
}

/// Packets of 1,024 and 4,096 bytes take up to 137 s at 300 bit/s: a copy that is still leaving cannot be answered, and no
/// acknowledgement comes before the end of a packet that is arriving. The last seed has a damaged command.
#[test]
fn long_packets_on_slow_lines() {
    let swarm = Swarm::of(Protocol::named("uucp-g"));
    for seed in [299_781, 519_994, 529_838, 591_280, 688_391, 745_387, 650_090] {
        if let Err(failed) = swarm.one(seed, &mut Recorder::off()) {
            panic!("{failed}");
        }
    }
}
