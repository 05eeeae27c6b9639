//! XMODEM and YMODEM on the laboratory's lines: efficiency, recovery, and the same trace twice.

use wetstring_lab::element::End;
use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::{Recorder, twice};
use wetstring_proto::settings::Settings;
use wetstring_proto::xymodem::{Config, Receiver, Sender};
use wetstring_proto::{Engine, LineFacts};

/// What a serial port knows of a line of this rate.
fn config(rate_bps: u32, settings: &[(&str, &str)]) -> Config {
    let line = LineFacts { reliable: Some(false), clear: false, rate_bps, telnet: false };
    let mut config = Config { line, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("xymodem.{name}"), value).unwrap();
    }
    config
}

struct Run {
    report: PairReport,
    /// File data as a share of what the line can carry, in tenths of a percent.
    efficiency: u64,
}

fn run(line: &str, len: usize, settings: &[(&str, &str)], recorder: &mut Recorder) -> Run {
    let model: LineModel = line.parse().unwrap();
    let config = config(u32::try_from(model.rate_bps).unwrap(), settings);
    let file = MemoryFile::made("random.bin", Content::Random(1), len);
    let bytes = file.bytes.clone();
    let (mut source, mut sink) = (MemorySource::one(file), MemorySink::new());
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    let mut receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let mut element = Serial::new(&model);
    let report = Pair::new(&mut element).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        recorder,
    );
    if !report.is_done() {
        println!("{line} {settings:?}: {report:?}");
        return Run { report, efficiency: 0 };
    }
    assert!(sink.received()[0].bytes.starts_with(&bytes));
    let capacity_bytes = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    let efficiency = u128::from(sender.stats().file_bytes) * 1000 / capacity_bytes;
    println!(
        "{line} {settings:?}: {efficiency} tenths of a percent in {:?}; {:?}",
        report.elapsed,
        report.sides[End::A.index()].stats
    );
    Run { report, efficiency: efficiency as u64 }
}

const LEN: usize = 128 * 1024;
/// Kermit's lines, and one without delay.
const NEAR: &str = "9600";
const CLEAN: &str = "9600,delay=250ms";
const NOISY: &str = "9600,delay=250ms,burst=8@2s";

/// What a block of `data` bytes can reach at best: it waits for the answer each time.
fn limit(line: &str, data: u64, check: u64) -> u64 {
    let wire = 3 + data + check;
    // A character is 1.0417 ms at 9600 bps; delay both ways and the answer's character.
    let idle = if line == NEAR { 1 } else { 1 + 480 };
    data * 1000 / (wire + idle)
}

/// Stop and wait is what it is: but it is used to 98 % of that.
#[test]
fn clean_lines_are_used_to_the_limit_of_stop_and_wait() {
    for line in [NEAR, CLEAN] {
        for (variant, data, check) in [
            ("xmodem", 128, 1),
            ("xmodem-crc", 128, 2),
            ("xmodem-1k", 1024, 2),
            ("ymodem", 1024, 2),
        ] {
            let run = run(line, LEN, &[("variant", variant)], &mut Recorder::off());
            let best = limit(line, data, check);
            assert!(run.efficiency * 100 >= best * 97, "{variant} {} of {best}", run.efficiency);
            assert!(run.efficiency <= best, "{variant} {} of {best}", run.efficiency);
            // The second EOT is no retransmission.
            assert_eq!(run.report.sides[0].stats.retransmissions, 0, "{variant}");
        }
    }
}

/// Without acknowledgements the delay costs nothing.
#[test]
fn a_stream_uses_a_clean_long_line_to_98_percent() {
    let run = run(CLEAN, LEN, &[("variant", "ymodem-g")], &mut Recorder::off());
    assert!(run.efficiency >= 980, "{}", run.efficiency);
}

#[test]
fn a_line_hit_every_two_seconds_is_survived() {
    for seed in 1..=3 {
        let line = format!("{NOISY},seed={seed}");
        for (variant, least) in [("xmodem-crc", 120), ("xmodem-1k", 150), ("ymodem", 150)] {
            let efficiency =
                run(&line, LEN, &[("variant", variant)], &mut Recorder::off()).efficiency;
            assert!(efficiency >= least, "{variant} {efficiency}");
        }
        let stream = run(&line, LEN, &[("variant", "ymodem-g")], &mut Recorder::off());
        assert!(!stream.report.is_done(), "a stream ends with the first error");
    }
}

#[test]
fn the_same_scenario_gives_the_same_trace() {
    for line in [CLEAN, NOISY, "1200,bits=10,drop=1e-4,dup=1e-4,half=80ms"] {
        for variant in ["xmodem", "xmodem-1k", "ymodem"] {
            let settings: &[(&str, &str)] = &[("variant", variant)];
            // A transfer that fails is no scenario.
            let first = run(line, 20_000, settings, &mut Recorder::off());
            assert!(first.report.is_done(), "{line} {variant}");
            let result = twice(|recorder| run(line, 20_000, settings, recorder).report);
            let (_, trace) = result.unwrap_or_else(|difference| panic!("{line}: {difference}"));
            assert!(trace.count() > 50, "{line}: a trace was recorded");
        }
    }
}
