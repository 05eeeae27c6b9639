//! Kermit in the swarm: whatever the line does, no end reports a false success.
//!
//! 2,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab
//! kermit_swarm::` runs more; `WETSTRING_SEED=7` runs one, with its trace.

use crate::swarm_run;

use wetstring_lab::element::End;
use wetstring_lab::pair::{Act, Pair, Stop};
use wetstring_lab::random::Random;
use wetstring_lab::scenario::Protocol;
use wetstring_lab::serial::Serial;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource, Policy};
use wetstring_lab::swarm::protocols::ends;
use wetstring_lab::swarm::{Swarm, any_line};
use wetstring_lab::trace::Recorder;
use wetstring_proto::{Command, Duration, Refusal};

#[test]
fn no_false_success_and_always_an_end() {
    swarm_run::no_false_success(|| Swarm::of(Protocol::named("kermit")));
}

/// What one seed does besides the line: refusals, partial files, wishes to stop.
fn decide(seed: u64) -> Result<(bool, u64), String> {
    let random = &mut Random::stream(seed, "decisions", "run");
    let line = any_line(&mut Random::stream(seed, "decisions", "line"));
    let mut settings = Random::stream(seed, "decisions", "protocol");
    let mut ends = ends(Protocol::named("kermit"), &mut settings, &line);
    let whole = Content::Random(random.bits()).bytes(random.between(0, 4000) as usize);
    let have = random.between(0, whole.len() as u64) as usize;
    let resume = random.one_in(3);
    let names = ["a.bin", "b.bin", "c.bin"];
    let files = names.map(|name| MemoryFile { resume, ..MemoryFile::new(name, whole.clone()) });
    let mut source = MemorySource::new(files.to_vec());
    let mut sink = MemorySink::new();
    if random.one_in(4) {
        sink = sink.with_policy(Policy::Refuse(Refusal::Exists));
    } else if resume {
        // A true beginning: another file's beginning is only found out where digests are on.
        sink = sink.with_policy(Policy::Resume).with_partial("b.bin", &whole[..have]);
    }
    let mut element = Serial::new(&line);
    let mut pair = Pair::new(&mut element).at(Duration::from_secs(600), Act::Calm);
    if random.one_in(2) {
        let command = random.pick(&[Command::CancelFile, Command::CancelBatch, Command::Abort]);
        let end = random.pick(&[End::A, End::B]);
        let at = Duration::from_millis(random.between(0, 60_000));
        pair = pair.at(at, Act::Command(end, command));
    }
    let report = pair.run(
        (ends.sender.as_mut(), &mut source),
        (ends.receiver.as_mut(), &mut sink),
        &mut Recorder::off(),
    );
    if report.stop != Stop::Over {
        return Err(format!("no end: {}", report.stop));
    }
    let arrived = |name: &str| {
        sink.complete().find(|file| file.name == name.as_bytes() && file.bytes == whole)
    };
    if let Some(file) = sink.complete().find(|file| file.bytes != whole) {
        return Err(format!("{} is whole and wrong", file.name.escape_ascii()));
    }
    for (name, closed) in names.iter().zip(source.closed()) {
        match (closed, arrived(name)) {
            (Some((true, _)), None) => return Err(format!("the sender is wrong about {name}")),
            (Some((_, true)), Some(file)) if !file.verified => {
                return Err(format!("{name} is verified at one end only"));
            }
            _ => {}
        }
    }
    Ok((report.is_done(), sink.complete().count() as u64))
}

#[test]
fn refusals_resumes_and_cancels_on_bad_lines() {
    let (mut done, mut whole) = (0, 0);
    for seed in 0..swarm_run::runs(1500) {
        let (is_done, files) = decide(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        done += u64::from(is_done);
        whole += files;
    }
    println!("{done} ended in good order, {whole} files are whole");
    assert!(done > 700 && whole > 1500, "{done} ended in good order, {whole} files are whole");
}

#[test]
fn noisy_lines_in_every_window() {
    swarm_run::noisy(Protocol::named("kermit"), 98, 0);
}
