//! UUCP's `g` in the swarm: whatever the line does, nothing is lost, and nobody reports a success that
//! is none, but for what the check cannot see.
//!
//! The check of 16 bits is fooled by noise (docs/decisions/061); how often is counted, and how: the
//! lengths are as announced even then. 2,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000
//! cargo test -p wetstring-lab uucp_swarm::` runs more; `WETSTRING_SEED=7` runs one, with its trace.

use crate::swarm_run;

use wetstring_lab::scenario::Protocol;
use wetstring_lab::swarm::{Fault, Run, Swarm, Tally};
use wetstring_lab::trace::Recorder;

#[test]
fn nothing_is_lost_and_only_the_check_is_fooled() {
    let swarm = Swarm::of(Protocol::Uucp);
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
            Err(failed) => match failed.fault {
                // Bytes that are wrong, and none too few or too many.
                Fault::FalseSuccess(ref what) if what.ends_with("differs from the source") => {
                    fooled.push((seed, what.clone()));
                }
                _ => panic!("{failed}"),
            },
        }
    }
    println!("{runs} runs: {tally:?}, fooled {fooled:?}");
    // A swarm that hits nothing, or in which nothing arrives, proves nothing.
    assert!(tally.hits > runs, "the lines did harm");
    assert!(tally.done * 10 >= runs * 9, "{} of {runs} done", tally.done);
    assert!(fooled.len() as u64 * 100 < runs, "fooled too often: {}", fooled.len());
}

/// The first byte of a packet is hardly looked at by the check, so at one bit in 1,000 it is often fooled.
#[test]
fn noisy_lines() {
    swarm_run::noisy(Protocol::Uucp, 40, 2);
}
