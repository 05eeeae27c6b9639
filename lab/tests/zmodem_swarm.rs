//! ZMODEM in the swarm: whatever the line does, nobody reports a success that is none.
//!
//! 2,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab --test
//! zmodem_swarm` runs more; `WETSTRING_SEED=7` runs one, with its trace.

use std::fmt::Write;
use wetstring_lab::random::Random;
use wetstring_lab::serial::LineModel;
use wetstring_lab::swarm::{Ends, Swarm};
use wetstring_lab::trace::Recorder;
use wetstring_proto::LineFacts;
use wetstring_proto::settings::Settings;
use wetstring_proto::zmodem::{Config, Receiver, Sender};

/// Settings of both ends from the seed. They differ where ends may differ.
fn build(random: &mut Random, line: &LineModel) -> Ends {
    let rate = u32::try_from(line.rate_bps).unwrap_or(0);
    let mut description = String::new();
    let mut configs = [(), ()].map(|()| Config {
        line: LineFacts {
            reliable: Some(false),
            rate_bps: if random.one_in(4) { 0 } else { rate },
            ..LineFacts::default()
        },
        buffer_len: random.pick(&[1024, 4096, 65_536]),
        ..Config::default()
    });
    let mut set = |configs: &mut [Config], name: &str, value: &str| {
        for config in configs {
            config.set(name, value).unwrap();
        }
        write!(description, "{name}={value} ").unwrap();
    };
    for end in 0..2 {
        let of = &mut configs[end..=end];
        set(of, "zmodem.escape", random.pick(&["normal", "normal", "controls"]));
        set(of, "zmodem.send-length", random.pick(&["0", "0", "32", "300", "1024"]));
        set(of, "zmodem.window", random.pick(&["0", "0", "500", "4000"]));
        set(of, "zmodem.receive-buffer", random.pick(&["0", "0", "0", "600"]));
        set(of, "zmodem.rle", random.pick(&["on", "off"]));
        set(of, "zmodem.variable-headers", random.pick(&["on", "off"]));
        set(of, "zmodem.adapt-length", random.pick(&["on", "on", "off"]));
    }
    let [ours, theirs] = configs;
    let sender = Sender::new(ours.clone(), vec![0; ours.sender_memory()]).unwrap();
    let receiver = Receiver::new(theirs.clone(), vec![0; theirs.receiver_memory()]).unwrap();
    Ends { sender: Box::new(sender), receiver: Box::new(receiver), description }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_false_success_and_always_an_end() {
    let replay =
        "WETSTRING_SEED={seed} cargo test -p wetstring-lab --test zmodem_swarm -- --nocapture";
    let swarm = Swarm::new(&build, replay);
    if let Some(seed) = number("WETSTRING_SEED") {
        let mut recorder = Recorder::keep();
        let result = swarm.one(seed, &mut recorder);
        for line in recorder.lines() {
            println!("{line}");
        }
        result.unwrap_or_else(|failed| panic!("{failed}"));
        return;
    }
    let runs = number("WETSTRING_SWARM").unwrap_or(2000);
    let half = runs / 2;
    // Two cores: two halves.
    let tallies = std::thread::scope(|scope| {
        let [a, b] = [0..half, half..runs].map(|seeds| {
            scope.spawn(|| {
                Swarm::new(&build, replay).run(seeds).unwrap_or_else(|failed| panic!("{failed}"))
            })
        });
        [a.join(), b.join()]
    });
    let tallies =
        tallies.map(|tally| tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    let done: u64 = tallies.iter().map(|tally| tally.done).sum();
    let hits: u64 = tallies.iter().map(|tally| tally.hits).sum();
    println!("{runs} runs, {done} done, {hits} bytes damaged, lost or doubled; {tallies:?}");
    // A swarm that hits nothing, or in which nothing arrives, proves nothing.
    assert!(hits > runs, "the lines did harm");
    assert!(done * 10 >= runs * 9, "{done} of {runs} transfers came through");
}
