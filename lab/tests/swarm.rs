//! The swarm finds what is broken, and finds nothing in what is not.

use crate::toy;

use toy::{Defect, Toy};
use wetstring_lab::swarm::{Ends, Fault, Swarm};
use wetstring_lab::trace::twice;
use wetstring_lab::{LineModel, Random};
use wetstring_proto::Duration;

const REPLAY: &str = "WETSTRING_SEED={seed} cargo test -p wetstring-lab swarm::";

fn ends(defect: Defect) -> impl Fn(&mut Random, &LineModel) -> Ends {
    move |_, _| Ends {
        sender: Box::new(Toy::sender(defect)),
        receiver: Box::new(Toy::receiver(defect)),
        description: format!("toy {defect:?}"),
    }
}

/// Runs a defect until it is caught.
fn caught(defect: Defect) -> Fault {
    let build = ends(defect);
    let swarm = Swarm::new(&build, REPLAY)
        .times(Duration::from_secs(600), Duration::from_secs(20_000))
        .event_limit(500_000);
    let failed = swarm.run(0..300).expect_err("a defect that 300 seeds do not find");
    assert!(failed.description.contains("toy") && failed.description.contains("line "));
    let shown = failed.to_string();
    assert!(shown.contains(&format!("WETSTRING_SEED={} cargo", failed.seed)), "{shown}");
    // The seed alone fails again, in the same way.
    let again = swarm.run(failed.seed..failed.seed + 1).expect_err("the same seed fails again");
    assert_eq!(again, failed);
    failed.fault
}

#[test]
fn a_sound_protocol_survives() {
    let only: Option<u64> = std::env::var("WETSTRING_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..300, |seed| seed..seed + 1);
    let build = ends(Defect::None);
    let tally = Swarm::new(&build, REPLAY).run(seeds).unwrap_or_else(|failed| panic!("{failed}"));
    println!("{tally:?}");
    if only.is_none() {
        assert_eq!(tally.runs, 300);
        assert!(tally.done > 250, "{tally:?}");
        assert!(tally.hits > 1000 && tally.retransmissions > 300, "{tally:?}");
    }
}

#[test]
fn a_protocol_without_a_check_is_caught() {
    assert!(matches!(caught(Defect::NoCheck), Fault::Fooled(_)));
}

#[test]
fn a_sender_that_ignores_answers_is_caught() {
    assert!(matches!(caught(Defect::Deaf), Fault::FalseSuccess(_)));
}

/// Bare answers excuse only a sender that heard one; this one believes without any.
#[test]
fn a_sender_that_ignores_answers_is_not_excused() {
    let build = ends(Defect::Deaf);
    let failed = Swarm::new(&build, REPLAY).bare_answers().run(0..300).unwrap_err();
    assert!(matches!(failed.fault, Fault::FalseSuccess(_)), "{failed}");
}

#[test]
fn a_protocol_without_timers_is_caught() {
    assert!(matches!(caught(Defect::NoTimer), Fault::NoEnd(_)));
}

#[test]
fn a_timer_storm_is_caught() {
    assert_eq!(
        caught(Defect::TimerStays).to_string(),
        "no end: livelock: virtual time is not advancing"
    );
}

#[test]
fn a_panic_is_caught() {
    assert_eq!(caught(Defect::Panics), Fault::Panic("a damaged frame".to_owned()));
}

#[test]
fn data_stored_twice_is_caught() {
    assert!(matches!(caught(Defect::StoresTwice), Fault::FalseSuccess(_)));
}

#[test]
fn one_that_never_gives_up_is_caught() {
    let build = ends(Defect::NeverGivesUp);
    let dead = |_: &mut Random| LineModel {
        drop: wetstring_lab::serial::Probability::new(1, 0).expect("1 is a chance"),
        ..LineModel::clean(9600)
    };
    let swarm = Swarm::new(&build, REPLAY)
        .lines(&dead)
        .times(Duration::from_secs(90_000), Duration::from_secs(80_000));
    let failed = swarm.run(0..1).expect_err("it never ends");
    assert!(matches!(failed.fault, Fault::NoEnd(_)), "{failed}");
}

#[test]
fn a_seed_gives_the_same_trace_twice() {
    let build = ends(Defect::None);
    let swarm = Swarm::new(&build, REPLAY);
    for seed in 0..20 {
        let (report, recorder) = twice(|recorder| swarm.one(seed, recorder))
            .unwrap_or_else(|difference| panic!("seed {seed}: {difference}"));
        assert!(report.is_ok());
        assert!(recorder.count() > 3);
    }
}
