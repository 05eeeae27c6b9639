//! Kermit on the laboratory's lines: efficiency, adaptation, and the same trace twice.

use wetstring_lab::element::End;
use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::{Recorder, twice};
use wetstring_proto::Engine;
use wetstring_proto::kermit::{Config, LineFacts, Receiver, Sender};
use wetstring_proto::settings::Settings;

/// What a serial port knows of a line of this rate.
fn config(rate_bps: u32, settings: &[(&str, &str)]) -> Config {
    let line = LineFacts { reliable: Some(false), clear: false, rate_bps, telnet: false };
    let mut config = Config { line, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("kermit.{name}"), value).unwrap();
    }
    config
}

struct Run {
    report: PairReport,
    /// Encoded data as a share of what the line can carry, in tenths of a percent.
    efficiency: u64,
}

/// The ports know the line's rate.
fn run(line: &str, len: usize, settings: &[(&str, &str)], recorder: &mut Recorder) -> Run {
    let model: LineModel = line.parse().unwrap();
    let config = config(u32::try_from(model.rate_bps).unwrap(), settings);
    transfer(&model, &config, len, settings, recorder)
}

fn transfer(
    model: &LineModel,
    config: &Config,
    len: usize,
    settings: &[(&str, &str)],
    recorder: &mut Recorder,
) -> Run {
    let file = MemoryFile::made("random.bin", Content::Random(1), len);
    let bytes = file.bytes.clone();
    let (mut source, mut sink) = (MemorySource::one(file), MemorySink::new());
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    let mut receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let mut element = Serial::new(model);
    let report = Pair::new(&mut element).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        recorder,
    );
    if !report.is_done() {
        return Run { report, efficiency: 0 };
    }
    assert_eq!(&*sink.received()[0].bytes, &*bytes);
    // A parameter string that had to be cut has no room for the digests.
    let is_cut = |(key, value): &(&str, &str)| {
        key.ends_with("-length") && value.parse::<u16>().is_ok_and(|len| len < 40)
    };
    assert!(sink.received()[0].verified || settings.iter().any(is_cut));
    let capacity_bytes = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    let efficiency = u128::from(sender.stats().encoded_bytes) * 1000 / capacity_bytes;
    println!(
        "{model} {settings:?}: {} tenths of a percent in {:?}; {:?}",
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
fn a_clean_long_line_is_used_to_97_percent() {
    let run = run(CLEAN, HALF_MIB, &[], &mut Recorder::off());
    assert!(run.efficiency >= 970, "{}", run.efficiency);
    assert_eq!(run.report.sides[0].stats.retransmissions, 0);
}

#[test]
fn a_line_hit_every_two_seconds_is_used_to_80_percent() {
    for seed in 1..=3 {
        let run = run(&format!("{NOISY},seed={seed}"), HALF_MIB, &[], &mut Recorder::off());
        assert!(run.efficiency >= 800, "{}", run.efficiency);
    }
}

/// The adapted length is near the best that any fixed length reaches, without being told.
#[test]
fn adaptation_comes_close_to_the_best_fixed_length() {
    let len = 128 * 1024;
    for line in [CLEAN, NOISY, "9600,delay=250ms,burst=8@20s", "2400,delay=100ms,ber=5e-5"] {
        let adapted = run(line, len, &[], &mut Recorder::off()).efficiency;
        let best = ["60", "94", "130", "200", "400", "1000", "4000"]
            .map(|length| {
                let fixed = [("adapt-length", "off"), ("send-length", length)];
                run(line, len, &fixed, &mut Recorder::off()).efficiency
            })
            .into_iter()
            .max()
            .unwrap();
        println!("{line}: adapted {adapted}, best fixed {best}");
        assert!(adapted * 100 >= best * 96, "{line}: adapted {adapted}, best fixed {best}");
    }
}

#[test]
fn the_same_scenario_gives_the_same_trace() {
    for line in [CLEAN, NOISY, "1200,bits=10,7bit,drop=1e-4,dup=1e-4,half=80ms"] {
        let settings: &[(&str, &str)] =
            if line.contains("7bit") { &[("parity", "even"), ("window", "1")] } else { &[] };
        // A transfer that fails is no scenario.
        assert!(run(line, 20_000, settings, &mut Recorder::off()).report.is_done(), "{line}");
        let result = twice(|recorder| run(line, 20_000, settings, recorder).report);
        let (_, trace) = result.unwrap_or_else(|difference| panic!("{line}: {difference}"));
        assert!(trace.count() > 100, "{line}: a trace was recorded");
    }
}

/// The receiver does not ask for a packet that cannot have arrived yet, however long the way. (The
/// sender's first two may be sent twice: nothing has been measured yet.)
#[test]
fn a_long_delay_causes_no_naks() {
    for delay in ["1s", "1500ms", "2s"] {
        for rate in ["1200", "9600", "115200"] {
            let line = format!("{rate},delay={delay}");
            let settings = [("window", "1"), ("send-length", "94")];
            let run = run(&line, 3000, &settings, &mut Recorder::off());
            assert!(run.report.is_done(), "{line}");
            let [sender, receiver] = run.report.sides.each_ref().map(|side| side.stats);
            assert_eq!((receiver.timeouts, receiver.naks_out), (0, 0), "{line}: {receiver:?}");
            assert!(sender.retransmissions <= 2, "{line}: {sender:?}");
        }
    }
}

/// Packets shorter than a whole parameter string make it shorter, at both ends.
#[test]
fn the_shortest_packets_carry_a_file() {
    for length in ["20", "24", "30", "36", "42"] {
        for ends in [["send-length", "send-length"], ["send-length", "receive-length"]] {
            let settings = ends.map(|end| (end, length));
            let run = run("9600,delay=20ms", 700, &settings, &mut Recorder::off());
            assert!(run.report.is_done(), "{settings:?}");
        }
    }
}

/// Behind the port stands what it does not tell of, a relay or a modem that takes all at once and
/// passes it on slowly. A timer that has seen short packets only is no reason to send long ones
/// twice.
#[test]
fn a_slow_relay_causes_no_retransmissions() {
    for (window, length, adapt) in
        [("1", "4000", "off"), ("4", "2000", "off"), ("30", "8000", "on"), ("31", "1000", "on")]
    {
        let model: LineModel = "19200,delay=100ms,buffer=1000000".parse().unwrap();
        let settings = [
            ("window", window),
            ("send-length", length),
            ("receive-length", length),
            ("adapt-length", adapt),
        ];
        let run = transfer(&model, &config(0, &settings), 60_000, &settings, &mut Recorder::off());
        assert!(run.report.is_done(), "{settings:?}");
        let [sender, receiver] = run.report.sides.each_ref().map(|side| side.stats);
        let again = (sender.retransmissions, receiver.naks_out);
        assert_eq!(again, (0, 0), "{settings:?}: {sender:?} {receiver:?}");
    }
}

/// A terminal takes more than a window at once, and passes it on for longer than any answer took before.
#[test]
fn a_port_deeper_than_a_window_causes_no_retransmissions() {
    for (line, stated_bps) in [("2400", 2400), ("2400", 115_200), ("1200", 2400), ("600", 1200)] {
        let model: LineModel = format!("{line},buffer=8192").parse().unwrap();
        let run = transfer(&model, &config(stated_bps, &[]), 4000, &[], &mut Recorder::off());
        assert!(run.report.is_done(), "{line}, {stated_bps} stated");
        let [sender, receiver] = run.report.sides.each_ref().map(|side| side.stats);
        let again = (sender.retransmissions, receiver.naks_out);
        assert_eq!(again, (0, 0), "{line}, {stated_bps} stated: {sender:?} {receiver:?}");
    }
}
