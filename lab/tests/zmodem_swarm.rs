//! ZMODEM in the swarm: whatever the line does, nobody reports a success that is none.
//!
//! 2,000 seeds run in the ordinary tests. `WETSTRING_SWARM=20000 cargo test -p wetstring-lab --test
//! zmodem_swarm` runs more; `WETSTRING_SEED=7` runs one, with its trace.

use wetstring_lab::scenario::Protocol;
use wetstring_lab::swarm::Swarm;
use wetstring_lab::trace::Recorder;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_false_success_and_always_an_end() {
    if let Some(seed) = number("WETSTRING_SEED") {
        let mut recorder = Recorder::keep();
        let result = Swarm::of(Protocol::Zmodem).one(seed, &mut recorder);
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
                Swarm::of(Protocol::Zmodem).run(seeds).unwrap_or_else(|failed| panic!("{failed}"))
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
