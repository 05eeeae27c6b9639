//! Small windows and long packets on noisy lines. A packet keeps its length for all its copies, so one
//! that was made too long for the line never comes through: the first must be short enough.

use wetstring_lab::scenario::Scenario;
use wetstring_lab::trace::Recorder;

fn run(window: u8, line: &str, seed: u64) -> (bool, u64) {
    let text = format!(
        "line = '{line}'\nfile.bytes = 20000\nboth.window = {window}\nboth.receive-length = 9024\n"
    );
    let scenario = Scenario::parse("windows", &text, &|file| Err(file.to_owned())).expect("good");
    let outcome = scenario.with_seed(seed).run(&mut Recorder::digest_only());
    (outcome.is_done(), outcome.whole_secs())
}

#[test]
fn small_windows_come_through_noise() {
    // The second is 10,000 bits between errors of one bit.
    for line in
        ["9600,delay=250ms,burst=8@2s", "9600,delay=50ms,ber=1e-4", "2400,delay=500ms,burst=8@10s"]
    {
        for window in [1, 2, 4] {
            let runs: Vec<_> = (1..=12).map(|seed| run(window, line, seed)).collect();
            let failed = runs.iter().filter(|(is_done, _)| !is_done).count();
            let longest = runs.iter().map(|(_, seconds)| *seconds).max();
            println!("{line} window {window}: {failed} failed, {longest:?} s at most");
            assert_eq!(failed, 0, "{line}, window {window}");
        }
    }
}
