//! Differences against an older version, on lines of the laboratory: what they cost, and what noise does to them.

use crate::kermit_bundle::{on, transfer};
use wetstring_lab::pair::PairReport;
use wetstring_lab::random::Random;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_proto::Duration;
use wetstring_proto::kermit::Config;

/// Sends the new version to who has the old one, and compares.
fn run(line: &str, old: Option<&[u8]>, new: &[u8], settings: &[(&str, &str)]) -> PairReport {
    let (model, config) = on(line, settings);
    let config = Config { finds_blocks: true, ..config };
    let mut source = MemorySource::one(MemoryFile::new("image.bin", new.to_vec()));
    let mut sink = MemorySink::new();
    if let Some(old) = old {
        sink = sink.with_older("image.bin", old.to_vec());
    }
    let report = transfer(&model, &config, &mut source, &mut sink);
    assert!(report.is_done(), "{line} {settings:?}: {report:?}");
    assert!(sink.received()[0].bytes == new, "{line} {settings:?}: the bytes differ");
    assert_eq!(source.closed(), [Some((true, true))], "{line} {settings:?}");
    assert!(!sink.broken_order());
    report
}

/// An image of 8 MB of which 2 % is changed, in 40 places.
fn images() -> (Vec<u8>, Vec<u8>) {
    let old = Content::Random(1).bytes(8_000_000);
    let mut new = old.clone();
    for place in 0..40u64 {
        let at = place as usize * 200_000 + 13_577 * (place as usize % 13);
        new[at..at + 4000].copy_from_slice(&Content::Random(100 + place).bytes(4000));
    }
    (old, new)
}

#[test]
fn firmware_that_hardly_changed() {
    let (old, new) = images();
    for line in ["115200", "115200,delay=250ms", "115200,ber=1e-6"] {
        let report = run(line, Some(&old), &new, &[]);
        // A tenth of the rate is the most that a line carries, so the whole takes at least 694 s.
        let whole = Duration::from_millis(8_000_000 * 1000 / 11_520);
        let known = report.sides[1].stats.known_bytes;
        println!("8 MB, 2 % changed in 40 places, {line}: {:?}, {known} known", report.elapsed);
        assert!(report.elapsed * 15 <= whole, "{line}: {:?}", report.elapsed);
        assert!(known > 7_600_000, "{line}: {known}");
    }
}

#[test]
fn a_byte_at_the_front() {
    let old = Content::Random(2).bytes(2_000_000);
    let new = [b"x", &old[..]].concat();
    let report = run("115200", Some(&old), &new, &[]);
    println!("2 MB, a byte inserted: {:?}", report.elapsed);
    assert!(report.elapsed < Duration::from_secs(6), "{:?}", report.elapsed);
}

#[test]
fn nothing_in_common_costs_one_per_cent_and_a_round_trip() {
    for (line, size) in
        [("115200", 1_000_000), ("3000000", 2_000_000), ("115200,delay=250ms", 1_000_000)]
    {
        let (old, new) = (Content::Random(3).bytes(size), Content::Random(4).bytes(size));
        for window in ["4", "31"] {
            let set = [("window", window)];
            let whole = run(line, None, &new, &set).elapsed;
            let with = run(line, Some(&old), &new, &set).elapsed;
            println!("nothing in common, {line}, window {window}: {with:?}, without {whole:?}");
            let trip = if line.contains("delay") { 500 } else { 0 };
            // A packet is the least that a round trip takes.
            let most = whole * 101 / 100 + Duration::from_millis(trip + 800);
            assert!(with <= most, "{line} {window}: {with:?} {whole:?}");
        }
    }
}

/// An edit of any kind.
fn edit(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() as u64) as usize;
    let len = random.between(1, 5000) as usize;
    let to = (at + len).min(bytes.len());
    let other = Content::Random(random.bits()).bytes(len);
    match random.below(4) {
        0 => drop(bytes.splice(at..at, other)),
        1 => drop(bytes.drain(at..to)),
        2 => bytes[at..to].copy_from_slice(&other[..to - at]),
        _ => bytes.extend(other),
    }
}

#[test]
fn any_edits_on_any_line() {
    let lines = [
        "115200",
        "19200,delay=250ms,burst=8@2s",
        "57600,ber=1e-5",
        "57600,delay=100ms,ber=1e-4",
        "38400,drop=1e-5",
        "38400,dup=1e-5,delay=30ms",
    ];
    let mut known = 0;
    for seed in 0..300 {
        let random = &mut Random::stream(seed, "decisions", "difference");
        let mut old = Content::Random(seed).bytes(random.between(65_536, 200_000) as usize);
        if random.one_in(6) {
            old = Content::Zeros.bytes(old.len());
        }
        let mut new = old.clone();
        for _ in 0..random.below(6) {
            edit(&mut new, random);
        }
        if random.one_in(4) {
            std::mem::swap(&mut old, &mut new);
        }
        let line = format!("{},seed={seed}", random.pick(&lines));
        let window = random.between(1, 31).to_string();
        let length = random.pick(&["94", "500", "2000", "9024"]);
        let set = [("window", &window[..]), ("receive-length", length)];
        let report = run(&line, Some(&old), &new, &set);
        known += report.sides[1].stats.known_bytes;
    }
    println!("{known} bytes were known");
    assert!(known > 300 * 50_000, "{known}");
}
