//! Kermit over modems, a 7171 and a terminal server: what the elements mean for a transfer.

use wetstring_lab::chain::Chain;
use wetstring_lab::element::Element;
use wetstring_lab::modem::{ModemModel, ModemPair};
use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::terminal::{Ibm7171, TelnetPath};
use wetstring_lab::trace::{Recorder, twice};
use wetstring_proto::kermit::{Config, LineFacts, Receiver, Sender};
use wetstring_proto::settings::Settings;

fn modem(text: &str) -> ModemPair {
    let model: ModemModel = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    ModemPair::new(&model)
}

/// Sends a file from A to B; gives the report, and whether the file arrived as it was.
fn transfer(
    element: &mut dyn Element,
    content: Content,
    len: usize,
    settings: &[(&str, &str)],
    recorder: &mut Recorder,
) -> (PairReport, bool) {
    let line = LineFacts { reliable: Some(false), clear: false, rate_bps: 57_600, telnet: false };
    let mut config = Config { line, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("kermit.{name}"), value).unwrap();
    }
    let file = MemoryFile::made("file.bin", content, len);
    let bytes = file.bytes.clone();
    let (mut source, mut sink) = (MemorySource::one(file), MemorySink::new());
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    let mut receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let report = Pair::new(element).time_limit(std::time::Duration::new(7200, 0)).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        recorder,
    );
    let whole = report.is_done() && *sink.received()[0].bytes == *bytes;
    (report, whole)
}

/// File characters per second.
fn rate(report: &PairReport, len: usize) -> u64 {
    (len as u128 * 1_000_000_000 / report.elapsed.as_nanos()) as u64
}

#[test]
fn a_modem_pair_carries_kermit_and_compression_pays() {
    let len = 100_000;
    let settings = &[("window", "30"), ("send-length", "8000"), ("receive-length", "8000")];
    let run = |modems: &str, content| {
        let (report, whole) =
            transfer(&mut modem(modems), content, len, settings, &mut Recorder::off());
        assert!(whole, "{modems}: {report:?}");
        rate(&report, len)
    };
    let plain = run("modem:line=14400,v42", Content::Random(1));
    let squeezed = run("modem:line=14400,v42bis", Content::Text(1));
    println!("random over V.42 {plain}, text over V.42bis {squeezed}");
    // 1693 octets per second, of which control prefixes, packets and the beginning take some.
    assert!((1550..1693).contains(&plain), "{plain}");
    // This text comes to two thirds of its length.
    assert!(squeezed > 2300, "{squeezed} and {plain}");
}

#[test]
fn an_error_control_link_hides_noise_that_v32_alone_shows() {
    for (text, repeats) in [
        ("modem:line=9600,v42,burst=8@2s", false),
        ("modem:dte=9600,line=9600,mod=v32,burst=8@2s", true),
    ] {
        let run = |recorder: &mut Recorder| {
            transfer(&mut modem(text), Content::Random(1), 40_000, &[], recorder)
        };
        let (report, whole) = run(&mut Recorder::off());
        assert!(whole, "{text}: {report:?}");
        assert_eq!(report.sides[0].stats.retransmissions > 0, repeats, "{text}: {report:?}");
        let result = twice(run);
        assert!(result.is_ok(), "{text}: the same trace twice");
    }
}

#[test]
fn a_7171_takes_a_file_packet_by_packet() {
    let model = "7171:".parse().expect("the usual");
    let settings =
        &[("parity", "even"), ("window", "1"), ("send-length", "1920"), ("receive-length", "1920")];
    let mut element = Ibm7171::new(&model);
    let (report, whole) =
        transfer(&mut element, Content::Text(1), 60_000, settings, &mut Recorder::off());
    assert!(whole, "{report:?}");
    let usage = report.sides[0].usage;
    assert!(usage.turnarounds > 30 && usage.dropped_bytes == 0, "{usage:?}");
    // Every packet costs its characters and its turn.
    let turns = usage.turnarounds * 85_000_000;
    assert!(report.elapsed.as_nanos() > u128::from(usage.busy_ns + turns));
    println!("7171: {} characters/s, {usage:?}", rate(&report, 60_000));
}

#[test]
fn a_terminal_server_behind_modems_fails_unless_its_escape_is_prefixed() {
    let chain = |telnet: &str| {
        let model = telnet.parse().expect("a good path");
        let elements: Vec<Box<dyn Element>> =
            vec![Box::new(modem("modem:line=14400,v42bis")), Box::new(TelnetPath::new(&model))];
        Chain::new(elements)
    };
    let run = |prefixing: &[(&str, &str)]| {
        let lengths = [("send-length", "1000"), ("receive-length", "1000")];
        let settings = [&lengths[..], prefixing].concat();
        let mut chain = chain("telnet:");
        transfer(&mut chain, Content::Random(1), 20_000, &settings, &mut Recorder::off())
    };
    for prefixing in [&[("prefixing", "all")][..], &[("prefixing", "none"), ("prefixed", "30")]] {
        let (report, whole) = run(prefixing);
        assert!(whole, "{prefixing:?}: {report:?}");
        assert_eq!(report.sides[0].usage.dropped_bytes, 0);
    }
    let (report, whole) = run(&[("prefixing", "none")]);
    assert!(!whole && !report.is_done(), "{report:?}");
}
