//! ZMODEM on the laboratory's lines: efficiency, adaptation, and the same trace twice.

use wetstring_lab::element::End;
use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::{Recorder, twice};
use wetstring_proto::settings::Settings;
use wetstring_proto::zmodem::{Config, Receiver, Sender};
use wetstring_proto::{Engine, LineFacts};

/// What a serial port knows of a line of this rate.
fn config(rate_bps: u32, settings: &[(&str, &str)]) -> Config {
    let line = LineFacts { reliable: Some(false), clear: false, rate_bps, telnet: false };
    let mut config = Config { line, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("zmodem.{name}"), value).unwrap();
    }
    config
}

struct Run {
    report: PairReport,
    /// Encoded data as a share of what the line can carry, in tenths of a percent.
    efficiency: u64,
}

fn run(line: &str, len: usize, settings: &[(&str, &str)], recorder: &mut Recorder) -> Run {
    let model: LineModel = line.parse().unwrap();
    let rate = u32::try_from(model.rate_bps).unwrap();
    run_with(line, len, &config(rate, settings), recorder)
}

fn run_with(line: &str, len: usize, config: &Config, recorder: &mut Recorder) -> Run {
    let model: LineModel = line.parse().unwrap();
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
        return Run { report, efficiency: 0 };
    }
    assert_eq!(&*sink.received()[0].bytes, &*bytes);
    let capacity_bytes = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    let efficiency = u128::from(sender.stats().encoded_bytes) * 1000 / capacity_bytes;
    println!(
        "{line}: {} tenths of a percent in {:?}; {:?}",
        efficiency,
        report.elapsed,
        report.sides[End::A.index()].stats
    );
    Run { report, efficiency: efficiency as u64 }
}

const HALF_MIB: usize = 512 * 1024;
const CLEAN: &str = "9600,delay=250ms";
const NOISY: &str = "9600,delay=250ms,burst=8@2s";

#[test]
fn a_clean_long_line_is_used_to_95_percent() {
    let run = run(CLEAN, HALF_MIB, &[], &mut Recorder::off());
    assert!(run.efficiency >= 950, "{}", run.efficiency);
    assert_eq!(run.report.sides[0].stats.retransmissions, 0);
}

/// The issue asks for 60 %, and sees the limit near 67 %. 61.7 to 62.5 % were measured.
#[test]
fn a_line_hit_every_two_seconds_is_used_to_61_percent() {
    for seed in 1..=20 {
        let run = run(&format!("{NOISY},seed={seed}"), HALF_MIB, &[], &mut Recorder::off());
        assert!(run.efficiency >= 615, "seed {seed}: {}", run.efficiency);
    }
}

/// What a sender knows of a TCP connection: it is reliable, and nothing of the line behind it.
fn behind_a_socket(settings: &[(&str, &str)]) -> Config {
    let mut config = config(0, settings);
    config.line.reliable = Some(true);
    config
}

/// A socket that takes 256 KiB stands before a line that is hit. What it holds cannot be taken
/// back, so as little as the line needs may be in it.
#[test]
fn a_line_wrongly_declared_reliable_is_distrusted() {
    for seed in 1..=5 {
        let line = format!("{NOISY},buffer=262144,seed={seed}");
        let run = run_with(&line, 64 * 1024, &behind_a_socket(&[]), &mut Recorder::off());
        assert!(run.efficiency >= 550, "seed {seed}: {}", run.efficiency);
    }
    // As it was: everything is in the socket when the first error is found.
    let line = format!("{NOISY},buffer=262144");
    let filled = behind_a_socket(&[("window", "4000000"), ("adapt-length", "off")]);
    let run = run_with(&line, 64 * 1024, &filled, &mut Recorder::off());
    assert!(run.efficiency < 100, "{}", run.efficiency);
}

/// Acknowledgements cost the lines little that need none.
#[test]
fn a_line_of_unknown_rate_is_filled() {
    for (line, len, at_least) in [
        ("9600,delay=250ms,buffer=262144", 64 * 1024, 930),
        ("115200,delay=5ms,buffer=262144", HALF_MIB, 960),
        ("1000000,delay=100ms,buffer=262144", 4 * HALF_MIB, 900),
        ("10000000,delay=300ms,buffer=1048576", 64 * HALF_MIB, 800),
    ] {
        let run = run_with(line, len, &behind_a_socket(&[]), &mut Recorder::off());
        assert!(run.efficiency >= at_least, "{line}: {}", run.efficiency);
        assert_eq!(run.report.sides[0].stats.retransmissions, 0, "{line}");
    }
}

/// The adapted length is near the best that any fixed length reaches, without being told.
#[test]
fn adaptation_comes_close_to_the_best_fixed_length() {
    let len = 128 * 1024;
    for line in [CLEAN, NOISY, "9600,delay=250ms,burst=8@20s", "2400,delay=100ms,ber=5e-5"] {
        let adapted = run(line, len, &[], &mut Recorder::off()).efficiency;
        let best = ["32", "64", "96", "128", "256", "512", "1024"]
            .map(|length| {
                let fixed = [("adapt-length", "off"), ("send-length", length)];
                run(line, len, &fixed, &mut Recorder::off()).efficiency
            })
            .into_iter()
            .max()
            .unwrap();
        println!("{line}: adapted {adapted}, best fixed {best}");
        assert!(adapted * 100 >= best * 99, "{line}: adapted {adapted}, best fixed {best}");
    }
}

#[test]
fn the_same_scenario_gives_the_same_trace() {
    for line in [CLEAN, NOISY, "1200,bits=10,drop=1e-4,dup=1e-4"] {
        // A transfer that fails is no scenario.
        assert!(run(line, 20_000, &[], &mut Recorder::off()).report.is_done(), "{line}");
        let result = twice(|recorder| run(line, 20_000, &[], recorder).report);
        let (_, trace) = result.unwrap_or_else(|difference| panic!("{line}: {difference}"));
        assert!(trace.count() > 60, "{line}: a trace was recorded");
    }
}

/// A port takes bytes ahead of the line, and states a rate that the line may not have: what it takes while it is full is
/// what the line carries. Before that was measured a port of 4,096 bytes cost half of the line and more.
#[test]
fn a_deep_port_costs_nothing_on_a_noisy_line_whatever_rate_it_states() {
    for (line, least) in [("38400,ber=2e-5", 860), ("38400,ber=5e-5", 790), ("2400,ber=1e-4", 770)]
    {
        for buffer in [64, 256, 700, 4096, 8000] {
            for (seed, stated_bps) in [(1, None), (2, None), (2, Some(115_200)), (3, Some(460_800))]
            {
                let line = format!("{line},buffer={buffer},seed={seed}");
                let model: LineModel = line.parse().unwrap();
                let rate = stated_bps.unwrap_or(u32::try_from(model.rate_bps).unwrap());
                let run = run_with(&line, HALF_MIB, &config(rate, &[]), &mut Recorder::off());
                assert!(run.efficiency >= least, "{line}, {rate} stated: {}", run.efficiency);
            }
        }
    }
}
