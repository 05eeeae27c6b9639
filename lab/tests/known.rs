//! What ZMODEM, YMODEM and XMODEM-1K do with what an earlier transfer has found out about the line.

use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::Recorder;
use wetstring_proto::settings::Settings;
use wetstring_proto::{Engine, Learned, LineFacts, xymodem, zmodem};

const LEN: usize = 32 * 1024;

/// One transfer of random bytes between a sender and a receiver that are made of these facts.
fn transfer(
    line: &str,
    seed: u64,
    engines: impl Fn(LineFacts) -> (Box<dyn Engine>, Box<dyn Engine>),
) -> (PairReport, Learned) {
    let model: LineModel = format!("{line},seed={seed}").parse().unwrap();
    let rate_bps = u32::try_from(model.rate_bps).unwrap();
    let facts = LineFacts { reliable: Some(false), clear: false, rate_bps, telnet: false };
    let file = MemoryFile::made("random.bin", Content::Random(seed), LEN);
    let (mut source, mut sink) = (MemorySource::one(file.clone()), MemorySink::new());
    let (mut sender, mut receiver) = engines(facts);
    let mut element = Serial::new(&model);
    let report = Pair::new(&mut element).run(
        (&mut *sender, &mut source),
        (&mut *receiver, &mut sink),
        &mut Recorder::off(),
    );
    if report.is_done() {
        assert!(sink.received()[0].bytes.starts_with(&file.bytes), "{line} {seed}");
    }
    (report, sender.learned())
}

/// Bytes between two errors, as the program remembers them.
fn spacing(learned: &Learned) -> u64 {
    learned.carried.checked_div(learned.hits).unwrap_or(0)
}

fn by_xymodem(variant: &str, line: &str, seed: u64, known: u64) -> (PairReport, Learned) {
    transfer(line, seed, |facts| {
        let mut config = xymodem::Config { line: facts, ..xymodem::Config::default() };
        config.set("xymodem.variant", variant).unwrap();
        let receives = config.clone();
        config.set("xymodem.known-spacing", &known.to_string()).unwrap();
        let memory = vec![0; config.sender_memory()];
        let sender = xymodem::Sender::new(config, memory).unwrap();
        let memory = vec![0; receives.receiver_memory()];
        (Box::new(sender), Box::new(xymodem::Receiver::new(receives, memory).unwrap()))
    })
}

fn by_zmodem(line: &str, seed: u64, known: u64) -> (PairReport, Learned) {
    transfer(line, seed, |facts| {
        let mut config = zmodem::Config { line: facts, ..zmodem::Config::default() };
        let receives = config.clone();
        config.set("zmodem.known-spacing", &known.to_string()).unwrap();
        let memory = vec![0; config.sender_memory()];
        let sender = zmodem::Sender::new(config, memory).unwrap();
        let memory = vec![0; receives.receiver_memory()];
        (Box::new(sender), Box::new(zmodem::Receiver::new(receives, memory).unwrap()))
    })
}

/// A long block that never comes through ends a transfer; the next one on that line begins with short ones.
#[test]
fn what_a_failed_transfer_found_out_lets_the_next_one_pass() {
    const SEEDS: u64 = 20;
    for variant in ["ymodem", "xmodem-1k"] {
        for line in ["9600,ber=3e-4", "9600,ber=5e-4", "9600,delay=250ms,ber=5e-4"] {
            let (mut unknown, mut known) = (0, 0);
            for seed in 1..=SEEDS {
                let (report, learned) = by_xymodem(variant, line, seed, 0);
                unknown += u64::from(report.is_done());
                assert!(learned.hits >= 3, "{variant} {line} {seed}: {learned:?}");
                let (report, _) = by_xymodem(variant, line, seed + SEEDS, spacing(&learned));
                known += u64::from(report.is_done());
            }
            println!("{variant} {line}: {unknown} of {SEEDS} done, {known} with what they learned");
            assert!(unknown * 2 < SEEDS && known * 10 >= SEEDS * 7, "{variant} {line}");
        }
    }
}

/// It costs some short blocks where the line is clean by now, or was not that bad.
#[test]
fn a_line_that_is_clean_now_has_long_blocks_again() {
    for (line, most) in [("9600", 1005), ("9600,delay=250ms", 1150)] {
        let time = |known| by_xymodem("ymodem", line, 1, known).0.elapsed.as_millis();
        let unknown = time(0);
        for known in [60, 200, 511, 512, 1023, 1024, 5000] {
            let share = time(known) * 1000 / unknown;
            println!("{line} {known}: {share} thousandths of the time");
            assert!(share <= most, "{line} {known}: {share}");
        }
    }
}

/// Half of the seeds gain more than a percent on lines with bursts, and nothing is lost on a clean one.
#[test]
fn zmodem_begins_with_subpackets_that_fit() {
    let median = |line: &str, known: u64| {
        let mut times: Vec<u128> = (1..=21)
            .map(|seed| {
                let (report, _) = by_zmodem(line, seed, known);
                assert!(report.is_done(), "{line} {seed} {known}: {report:?}");
                report.elapsed.as_millis()
            })
            .collect();
        times.sort_unstable();
        times[10]
    };
    for (line, known, most) in [
        ("9600,burst=8@2s", 1900, 990),
        ("9600,delay=250ms,burst=8@2s", 1900, 1000),
        ("9600,delay=250ms", 1000, 1005),
        ("9600", 100, 1005),
    ] {
        let share = median(line, known) * 1000 / median(line, 0);
        println!("{line} {known}: {share} thousandths of the time");
        assert!(share <= most, "{line} {known}: {share}");
    }
}

/// What a sender has seen is near what the line does.
#[test]
fn the_spacing_of_errors_is_measured() {
    for (ber, bytes) in [("3e-5", 3333), ("1e-4", 1000)] {
        let line = format!("9600,ber={ber}");
        for by in [by_zmodem as fn(&str, u64, u64) -> _, |line, seed, known| {
            by_xymodem("xmodem-crc", line, seed, known)
        }] {
            let (mut carried, mut hits) = (0, 0);
            for seed in 1..=10 {
                let (_, learned) = by(&line, seed, 0);
                carried += learned.carried;
                hits += learned.hits;
            }
            let found = carried / hits;
            println!("{line}: {found} bytes between two errors");
            assert!((bytes * 2 / 3..bytes * 3 / 2).contains(&found), "{line}: {found}");
        }
    }
}
