//! What is known of a line before the transfer begins: it helps where it is right, and costs little where it is not.

use crate::kermit_bundle::{on, transfer};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};

/// Milliseconds for 64 KiB of random bytes: the median of seeds 1 to 20. `known` is only the sender's.
fn median_ms(line: &str, known: u32) -> u64 {
    let mut times: Vec<u64> = (1..=20)
        .map(|seed| {
            let known = known.to_string();
            let settings = [("known-spacing", known.as_str())];
            let (model, config) = on(&format!("{line},seed={seed}"), &settings);
            let file = MemoryFile::made("random.bin", Content::Random(seed), 65_536);
            let (mut source, mut sink) = (MemorySource::one(file.clone()), MemorySink::new());
            let report = transfer(&model, &config, &mut source, &mut sink);
            assert!(report.is_done(), "{line} {seed} {known}: {report:?}");
            assert!(sink.received()[0].bytes[..] == file.bytes[..], "{line} {seed} {known}");
            u64::try_from(report.elapsed.as_nanos() / 1_000_000).unwrap()
        })
        .collect();
    times.sort_unstable();
    u64::midpoint(times[9], times[10])
}

/// In thousandths of the time without it.
fn with_known(line: &str, known: u32) -> u64 {
    let share = median_ms(line, known) * 1000 / median_ms(line, 0);
    println!("{line}, {known} bytes between errors: {share} thousandths of the time");
    share
}

#[test]
fn known_errors_are_corrected_from_the_first_one_on() {
    for (line, spacing, most) in [
        ("9600,ber=1e-5", 10_000, 985),
        ("9600,delay=250ms,ber=1e-5", 10_000, 985),
        ("9600,ber=1e-4", 1_000, 985),
        ("9600,burst=8@2s", 1_900, 997),
    ] {
        let share = with_known(line, spacing);
        assert!(share <= most, "{line} {spacing}: {share}");
    }
}

/// A line that was noisy and is clean.
#[test]
fn a_line_that_is_clean_now_costs_little() {
    for spacing in [20, 100, 600, 1_000, 1_900, 2_500, 4_900, 5_100, 10_000, 19_999, 1_000_000] {
        let share = with_known("9600,delay=250ms", spacing);
        assert!(share <= 1010, "{spacing}: {share}");
    }
}

/// A line that is worse than it was known to be: what was known must not hold up what the first losses tell.
#[test]
fn a_line_that_is_worse_now_costs_little() {
    for (line, spacing) in
        [("9600,ber=1e-3", 10_000), ("9600,ber=1e-4", 10_000), ("9600,burst=8@2s", 10_000)]
    {
        let share = with_known(line, spacing);
        assert!(share <= 1010, "{line} {spacing}: {share}");
    }
}
