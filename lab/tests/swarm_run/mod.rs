//! What the swarms share: which seeds are run, and what must come of them.

#![allow(dead_code)] // Each test uses a part.

use wetstring_lab::scenario::Protocol;
use wetstring_lab::swarm::{Fault, Run, Swarm, Tally};
use wetstring_lab::trace::Recorder;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How many seeds: what `WETSTRING_SWARM` says, or what the ordinary tests run.
pub(crate) fn runs(usual: u64) -> u64 {
    number("WETSTRING_SWARM").unwrap_or(usual)
}

/// Runs only the seed that `WETSTRING_SEED` names and shows its trace; false if it names none.
pub(crate) fn replayed<T>(one: impl FnOnce(u64, &mut Recorder) -> T) -> bool {
    let Some(seed) = number("WETSTRING_SEED") else { return false };
    let mut recorder = Recorder::keep();
    let result =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one(seed, &mut recorder)));
    recorder.lines().iter().for_each(|line| println!("{line}"));
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
    true
}

/// Runs the seeds on two cores, or the one that `WETSTRING_SEED` names.
pub(crate) fn turn(swarm: impl Fn() -> Swarm<'static> + Sync, runs: u64) -> Option<[Tally; 2]> {
    let one = |seed, recorder: &mut Recorder| {
        swarm().one(seed, recorder).unwrap_or_else(|failed| panic!("{failed}"))
    };
    if replayed(one) {
        return None;
    }
    let half = runs / 2;
    let tallies = std::thread::scope(|scope| {
        let [a, b] = [0..half, half..runs].map(|seeds| {
            scope.spawn(|| swarm().run(seeds).unwrap_or_else(|failed| panic!("{failed}")))
        });
        [a.join(), b.join()]
    });
    Some(tallies.map(|tally| tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
}

/// Whatever the line does, no end reports a false success, and nine of ten succeed.
pub(crate) fn no_false_success(swarm: impl Fn() -> Swarm<'static> + Sync) {
    let runs = runs(2000);
    let Some(tallies) = turn(swarm, runs) else { return };
    let done: u64 = tallies.iter().map(|tally| tally.done).sum();
    let hits: u64 = tallies.iter().map(|tally| tally.hits).sum();
    println!("{runs} runs, {done} done, {hits} bytes damaged, lost or doubled; {tallies:?}");
    // A swarm that hits nothing, or in which nothing arrives, proves nothing.
    assert!(hits > runs, "the lines did harm");
    assert!(done * 10 >= runs * 9, "{done} of {runs} transfers came through");
}

/// Lines of bit errors up to one in 1,000: no engine hangs or panics, this many of a hundred come through, and
/// what is wrong where both ends are content is less than one run of this many, for checks of 16 bits; 0 is none
/// at all.
pub(crate) fn noisy(protocol: Protocol, done_percent: u64, fooled_one_in: u64) {
    let swarm = || Swarm::noisy(protocol);
    let name = protocol.name;
    let one = |seed, recorder: &mut Recorder| {
        swarm().one(seed, recorder).unwrap_or_else(|failed| panic!("{name} {failed}"))
    };
    if replayed(one) {
        return;
    }
    let runs = runs(300);
    let seeds = |first: u64| {
        let (mut tally, mut fooled) = (Tally::default(), Vec::new());
        for seed in (first..runs).step_by(2) {
            match swarm().one(seed, &mut Recorder::off()) {
                Ok(report) => tally.add(&Run::from(&report)),
                Err(failed) if fooled_one_in > 0 && matches!(failed.fault, Fault::Fooled(_)) => {
                    fooled.push(seed);
                }
                Err(failed) => panic!("{name} {failed}"),
            }
        }
        (tally, fooled)
    };
    let [(even, mut fooled), (odd, more)] = std::thread::scope(|scope| {
        [0, 1]
            .map(|first| scope.spawn(move || seeds(first)))
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    fooled.extend(more);
    let done = even.done + odd.done;
    println!("{name}, noisy: {done} of {runs} done, fooled {fooled:?}; {even:?} {odd:?}");
    assert!(done * 100 >= runs * done_percent, "{name}: {done} of {runs} came through");
    assert!(
        fooled.is_empty() || (fooled.len() as u64) * fooled_one_in <= runs,
        "{name}: fooled too often: {fooled:?}"
    );
}
