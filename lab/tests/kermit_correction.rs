//! Error correction between our own ends, on lines of the laboratory: how near to the line's limit, and on which lines.

use crate::kermit_bundle::{on, transfer};
use wetstring_lab::pair::PairReport;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};

/// Sends random bytes; gives the report, and their share of what the line carries in that time, in thousandths.
fn run(line: &str, seed: u64, bytes: usize, settings: &[(&str, &str)]) -> (PairReport, u64) {
    let (model, config) = on(&format!("{line},seed={seed}"), settings);
    let file = MemoryFile::made("random.bin", Content::Random(seed), bytes);
    let mut source = MemorySource::one(file.clone());
    let mut sink = MemorySink::new();
    let report = transfer(&model, &config, &mut source, &mut sink);
    assert!(report.is_done(), "{line} {seed} {settings:?}: {report:?}");
    assert!(sink.received()[0].bytes[..] == file.bytes[..], "{line} {seed} {settings:?}");
    let capacity = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    let share = u64::try_from(bytes as u128 * 1000 / capacity).unwrap();
    (report, share)
}

/// The median of seeds 1 to 20.
fn median(line: &str, settings: &[(&str, &str)]) -> u64 {
    let mut shares: Vec<u64> = (1..=20).map(|seed| run(line, seed, 131_072, settings).1).collect();
    shares.sort_unstable();
    u64::midpoint(shares[9], shares[10])
}

#[test]
fn noise_leaves_nearly_all_of_the_line() {
    for (line, least) in [
        ("9600,burst=8@2s", 949),
        ("9600,delay=250ms,burst=8@2s", 940),
        ("9600,delay=1s,burst=8@2s", 920),
        ("9600,ber=1e-5", 950),
        ("9600,ber=1e-3", 850),
    ] {
        let share = median(line, &[]);
        println!("{line}: {share} thousandths");
        assert!(share >= least, "{line}: {share}");
    }
    assert!(median("9600,burst=8@2s", &[("correction", "off")]) < 860);
}

#[test]
fn a_clean_line_pays_nothing_for_it() {
    let shares = ["on", "off"].map(|on| run("9600", 1, 131_072, &[("correction", on)]).1);
    assert!(shares[0] >= shares[1], "{shares:?}");
}

/// Whatever the windows and lengths are: where one direction at a time has the line, and where characters get lost, which no
/// parity finds, it costs a ninth of what the line carries without it at most: the packets that are lost until that is known.
#[test]
fn no_line_is_worse_for_it() {
    for line in [
        "9600,half=20ms,burst=8@2s",
        "9600,delay=100ms,drop=2e-5",
        "9600,delay=100ms,drop=2e-4",
        "9600,delay=100ms,drop=2e-3",
        "9600,dup=2e-4",
        "9600,ber=1e-4,dup=1e-4",
        "9600,burst=64@10s",
        "9600,burst=200@20s",
    ] {
        for (window, length) in [("1", "9024"), ("2", "1000"), ("31", "300"), ("31", "9024")] {
            let mut settings = vec![("window", window), ("receive-length", length)];
            if line.contains("half") {
                settings.push(("handshake", "17"));
            }
            let [with, without] = ["on", "off"].map(|on| {
                let settings = [&settings[..], &[("correction", on)]].concat();
                let mut shares: Vec<u64> =
                    (1..=3).map(|seed| run(line, seed, 131_072, &settings).1).collect();
                shares.sort_unstable();
                shares[1]
            });
            println!(
                "{line} window {window} length {length}: {with} thousandths, {without} without"
            );
            assert!(with * 9 >= without * 8, "{line} {settings:?}: {with} {without}");
        }
    }
}
