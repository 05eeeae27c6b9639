//! ZMODEM on clean lines of every speed, behind ports of every depth: nothing is sent twice, and
//! no engine times out while data is still in a port.

use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::Recorder;
use wetstring_proto::zmodem::{Config, Receiver, Sender};
use wetstring_proto::{Duration, LineFacts};

/// Sends these; every one must arrive.
fn send(line: &LineModel, is_known: bool, port: usize, files: &[MemoryFile]) -> PairReport {
    let rate_bps = if is_known { u32::try_from(line.rate_bps).unwrap() } else { 0 };
    let facts = LineFacts { reliable: Some(false), rate_bps, ..LineFacts::default() };
    let config = Config { line: facts, ..Config::default() };
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    let mut receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let (mut source, mut sink) = (MemorySource::new(files.to_vec()), MemorySink::new());
    let mut element = Serial::new(line);
    let report = Pair::new(&mut element)
        .port_buffer(port)
        .time_limit(Duration::from_secs(100_000))
        .event_limit(50_000_000)
        .run((&mut sender, &mut source), (&mut receiver, &mut sink), &mut Recorder::off());
    assert!(report.is_done(), "{line}, known {is_known}, port {port}: {report:?}");
    for (sent, came) in files.iter().zip(sink.complete()) {
        assert!(sent.name == came.name && sent.bytes[..] == came.bytes[..], "{line}");
    }
    assert_eq!(sink.complete().count(), files.len(), "{line}");
    report
}

fn line(rate_bps: u64, delay_ms: u64, buffer_bytes: usize) -> LineModel {
    let delay = Duration::from_millis(delay_ms);
    LineModel { rate_bps, delay, buffer_bytes, ..LineModel::default() }
}

/// 100 seconds of line, of which little may be lost at the start and at the end.
#[test]
fn a_clean_line_is_filled_whatever_the_ports_hold() {
    for (is_known, most_s) in [(true, 111), (false, 116)] {
        for rate in [300, 1200, 9600] {
            let file = MemoryFile::made("f", Content::Random(5), rate as usize * 10);
            // What has to wait for an answer is six times the delay.
            for (delay, trips_s) in [(0, 0), (1000, 6)] {
                for (buffer, port) in [(64, 64), (512, 64), (4096, 9000), (65_536, 65_536)] {
                    let line = line(rate, delay, buffer);
                    let report = send(&line, is_known, port, std::slice::from_ref(&file));
                    let label = format!("{line}, known {is_known}, port {port}");
                    println!("{label}: {:?}", report.elapsed);
                    for side in &report.sides {
                        assert_eq!(side.stats.timeouts, 0, "{label}");
                        assert_eq!(side.stats.retransmissions, 0, "{label}");
                    }
                    assert!(report.elapsed < Duration::from_secs(most_s + trips_s), "{label}");
                }
            }
        }
    }
}

/// Six files of 200 bytes at 300 bit/s take 40 seconds of line, with their protocol overhead 75.
#[test]
fn small_files_on_a_slow_line_wait_for_nothing() {
    let files: Vec<_> = (0..6u64)
        .map(|index| MemoryFile::made(&format!("f{index}"), Content::Random(index), 200))
        .collect();
    for (buffer, port) in [(64, 64), (512, 1000), (4096, 9000)] {
        let report = send(&line(300, 20, buffer), true, port, &files);
        println!("buffer {buffer}, port {port}: {:?}", report.elapsed);
        assert!(report.elapsed < Duration::from_secs(90), "{:?}", report.elapsed);
        assert_eq!(report.sides[0].stats.retransmissions, 0);
    }
}
