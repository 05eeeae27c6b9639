//! UUCP's `g` in the swarm: whatever the line does, nothing is lost, and nobody reports a success that
//! is none, but for what the check cannot see.
//!
//! The check of 16 bits is fooled by noise (docs/decisions/061); how often is counted, and how: the
//! lengths are as announced even then. 2,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000
//! cargo test -p wetstring-lab --test uucp_swarm` runs more; `WETSTRING_SEED=7` runs one, with its trace.

mod swarm_run;

use std::fmt::Write as _;

use wetstring_lab::random::Random;
use wetstring_lab::serial::LineModel;
use wetstring_lab::swarm::{Ends, Fault, Swarm, Tally};
use wetstring_lab::trace::Recorder;
use wetstring_proto::LineFacts;
use wetstring_proto::settings::Settings;
use wetstring_proto::uucp::{Config, Receiver, Sender};

fn ends(random: &mut Random, line: &LineModel) -> Ends {
    let mut description = String::new();
    let caller = random.one_in(2);
    let [ours, theirs] = [caller, !caller].map(|calls| {
        let rate = u32::try_from(line.rate_bps).unwrap_or(0);
        let mut config = Config {
            line: LineFacts {
                reliable: Some(false),
                rate_bps: if random.one_in(4) { 0 } else { rate },
                ..LineFacts::default()
            },
            buffer_len: random.pick(&[4096, 65_536]),
            ..Config::default()
        };
        for (name, values) in [
            ("uucp.window", &["1", "3", "7", "7"][..]),
            ("uucp.packet", &["32", "64", "64", "256", "1024"]),
            ("uucp.retries", &["10", "30"]),
            ("uucp.timeout", &["10", "20"]),
        ] {
            let value = random.pick(values);
            config.set(name, value).expect("a setting of the table and a value in its range");
            // Writing to a string does not fail.
            let _ = write!(description, "{name}={value} ");
        }
        config.set("uucp.role", if calls { "call" } else { "answer" }).expect("a role");
        config
    });
    let [a, b] = [vec![0; ours.sender_memory()], vec![0; theirs.receiver_memory()]];
    Ends {
        sender: Box::new(Sender::new(ours, a).expect("memory as asked for")),
        receiver: Box::new(Receiver::new(theirs, b).expect("memory as asked for")),
        description,
    }
}

#[test]
fn nothing_is_lost_and_only_the_check_is_fooled() {
    let swarm = Swarm::new(
        &ends,
        "WETSTRING_SEED={seed} cargo test -p wetstring-lab --test uucp_swarm -- --nocapture",
    );
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
            Ok(report) => tally.add(&report),
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
