//! ZMODEM in the swarm: whatever the line does, no end reports a false success.
//!
//! 2,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab
//! zmodem_swarm::` runs more; `WETSTRING_SEED=7` runs one, with its trace.

use crate::swarm_run;

use wetstring_lab::element::End;
use wetstring_lab::pair::Act;
use wetstring_lab::random::Random;
use wetstring_lab::scenario::Protocol;
use wetstring_lab::serial::LineModel;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, Policy};
use wetstring_lab::swarm::protocols::ends;
use wetstring_lab::swarm::{Swarm, any_line};
use wetstring_proto::{Command, Duration, Refusal};

#[test]
fn no_false_success_and_always_an_end() {
    swarm_run::no_false_success(|| Swarm::of(Protocol::named("zmodem")).names_stay());
}

/// Half of the lines damage nothing and are slow, most of them.
fn slow_or_any(random: &mut Random) -> LineModel {
    if random.one_in(2) {
        return any_line(random);
    }
    LineModel {
        rate_bps: random.pick(&[300, 300, 1200, 2400, 9600, 115_200]),
        delay: Duration::from_millis(random.pick(&[0, 20, 250, 1000])),
        buffer_bytes: random.pick(&[64, 512, 4096, 65_536]),
        ..LineModel::default()
    }
}

/// One to six files, which the receiver may refuse, or have in part.
fn several_files(random: &mut Random) -> Vec<MemoryFile> {
    let longest = random.pick(&[0, 200, 200, 2000, 5000]);
    let file = |index: u64, random: &mut Random| {
        let len = random.between(longest / 4, longest) as usize;
        let file = MemoryFile::made(&format!("f{index}"), Content::Random(random.bits()), len);
        MemoryFile { resume: random.one_in(2), ..file }
    };
    (0..random.between(1, 6)).map(|index| file(index, random)).collect()
}

fn choosy(random: &mut Random, files: &[MemoryFile]) -> MemorySink {
    let mut sink = MemorySink::new().with_policy(Policy::Resume);
    for file in files {
        let name = String::from_utf8_lossy(&file.name).into_owned();
        let part = &file.bytes[..file.bytes.len() / 2];
        sink = match random.below(8) {
            0..3 => sink.without(&name, random.pick(&[Refusal::Exists, Refusal::Declined])),
            3 => sink.with_partial(&name, part),
            // Of another file.
            4 => sink.with_partial(&name, &vec![b'?'; part.len()]),
            _ => sink,
        };
    }
    sink
}

fn wishes(random: &mut Random) -> Vec<(Duration, Act)> {
    let mut acts = Vec::new();
    while acts.len() < 2 && random.one_in(5) {
        let end = random.pick(&[End::A, End::B]);
        let wish = random.pick(&[Command::CancelFile, Command::CancelFile, Command::CancelBatch]);
        let at = Duration::from_millis(random.between(0, 60_000));
        acts.push((at, Act::Command(end, wish)));
    }
    acts
}

/// 4,000 seeds with `WETSTRING_SWARM=4000`.
#[test]
fn refusals_and_resumes_lose_no_other_file() {
    let replay = "WETSTRING_SEED={seed} cargo test -p wetstring-lab zmodem_swarm::refusals \
                  -- --nocapture";
    let swarm = || {
        Swarm::new(&|random, line| ends(Protocol::named("zmodem"), random, line), replay)
            .lines(&slow_or_any)
            .files(&several_files)
            .sinks(&choosy)
            .acts(&wishes)
            .ports(&[64, 64, 1000, 9000, 65_536])
            .names_stay()
    };
    let runs = swarm_run::runs(400);
    let Some(tallies) = swarm_run::turn(swarm, runs) else { return };
    let done: u64 = tallies.iter().map(|tally| tally.done).sum();
    println!("{runs} runs, {done} done; {tallies:?}");
    assert!(done * 10 >= runs * 8, "{done} of {runs} transfers came through");
}

#[test]
fn noisy_lines() {
    swarm_run::noisy(Protocol::named("zmodem"), 0, 0);
}

/// An answer was overdue while the next words still waited for the port: the deadline came over and over.
#[test]
fn a_deadline_waits_for_the_port() {
    for seed in [457_817, 662_201, 691_501, 717_703, 795_059, 825_788, 911_138] {
        let ran = Swarm::of(Protocol::named("zmodem")).run(seed..seed + 1);
        ran.unwrap_or_else(|failed| panic!("{failed}"));
    }
}
