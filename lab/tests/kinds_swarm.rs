//! The swarm of what is no serial protocol: NETBLT over paths, files between hosts of the ARPANET, TCP over
//! SLIP.
//!
//! 200 seeds of each run in the ordinary tests; `WETSTRING_SWARM=20000 cargo test -p wetstring-lab
//! kinds_swarm::` runs more, and so does `wst lab swarm --protocol netblt --seeds 20000`.

use crate::swarm_run;

use wetstring_lab::Recorder;
use wetstring_lab::swarm::{Fault, Kind, Tally};
use wetstring_lab::trace::twice;

/// Runs the seeds of a kind: all that were not as they must be, and what the others came to.
fn seeds(kind: Kind) -> Tally {
    let runs = swarm_run::runs(200);
    let (mut tally, mut fooled, mut broken) = (Tally::default(), 0, Vec::new());
    for seed in 0..runs {
        match kind.one(seed, &mut Recorder::off()) {
            Ok(run) => tally.add(&run),
            Err(failed) => {
                let is_fooled = matches!(failed.fault, Fault::Fooled(_));
                if is_fooled { fooled += 1 } else { broken.push(failed.to_string()) }
            }
        }
    }
    println!("{}: {tally:?}, {fooled} fooled by the check", kind.name());
    assert!(broken.is_empty(), "{} of {runs} broke:\n{}", broken.len(), broken.join("\n"));
    let most = kind.may_be_fooled(runs, 0);
    assert!(fooled <= most, "{fooled} of {runs} were fooled");
    assert!(tally.hits > 0, "the faults did harm");
    tally
}

#[test]
fn netblt_survives() {
    let tally = seeds(Kind::Netblt);
    assert!(tally.done * 2 > tally.runs, "{tally:?}");
}

#[test]
fn ncp_survives() {
    let tally = seeds(Kind::Ncp);
    assert!(tally.done * 2 > tally.runs, "{tally:?}");
}

#[test]
fn slip_survives() {
    let tally = seeds(Kind::Slip);
    assert!(tally.done * 10 > tally.runs * 9, "{tally:?}");
}

#[test]
fn a_seed_gives_the_same_trace_twice() {
    for kind in [Kind::Netblt, Kind::Ncp, Kind::Slip] {
        for seed in 0..3 {
            let (run, recorder) = twice(|recorder| kind.one(seed, recorder))
                .unwrap_or_else(|difference| panic!("{} {seed}: {difference}", kind.name()));
            assert!(run.is_ok() && recorder.count() > 3, "{} {seed}: {run:?}", kind.name());
        }
    }
}

#[test]
fn names_lead_to_their_kinds() {
    for kind in Kind::all() {
        assert_eq!(Kind::of(kind.name()), Some(kind));
    }
    assert_eq!(Kind::of("uucp"), None);
}
