//! Control characters that a line does not pass: tried once, then avoided.

use wetstring_lab::element::{Element, End, Usage};
use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::Recorder;
use wetstring_proto::kermit::{Config, LineFacts, Receiver, Sender};
use wetstring_proto::{Cx, Engine, Instant};

/// A line on which something takes these characters out of the stream, in both directions.
struct Eating {
    line: Serial,
    eaten: &'static [u8],
}

impl Element for Eating {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.line.offer(cx, end, bytes)
    }
    fn next(&self, end: End) -> Option<Instant> {
        self.line.next(end)
    }
    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let len = self.line.emit(cx, end, into);
        let kept: Vec<u8> =
            into[..len].iter().copied().filter(|byte| !self.eaten.contains(byte)).collect();
        into[..kept.len()].copy_from_slice(&kept);
        kept.len()
    }
    fn room(&self, end: End) -> Option<Instant> {
        self.line.room(end)
    }
    fn usage(&self, end: End) -> Usage {
        self.line.usage(end)
    }
}

/// Sends 64 KiB of random bytes; gives the report and the file's share of the line, in thousandths.
fn run(eaten: &'static [u8], line: &str, prefixing: &str, bundle: &str) -> (PairReport, u64) {
    use wetstring_proto::settings::Settings;
    let model: LineModel = line.parse().unwrap();
    let facts = LineFacts { reliable: Some(false), clear: false, rate_bps: 9600, telnet: false };
    let mut config = Config { line: facts, ..Config::default() };
    config.set("kermit.prefixing", prefixing).unwrap();
    config.set("kermit.bundle", bundle).unwrap();
    let file = MemoryFile::made("random.bin", Content::Random(1), 64 * 1024);
    let bytes = file.bytes.clone();
    let (mut source, mut sink) = (MemorySource::one(file), MemorySink::new());
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    let mut receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let mut element = Eating { line: Serial::new(&model), eaten };
    let report = Pair::new(&mut element).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        &mut Recorder::off(),
    );
    if report.is_done() {
        assert_eq!(&*sink.received()[0].bytes, &*bytes);
    }
    let capacity = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    let share = sender.stats().file_bytes as u128 * 1000 / capacity;
    (report, share as u64)
}

#[test]
fn a_line_that_passes_them_saves_most_prefixes() {
    // What 13 and 32 codes of 256 cost by prefixes, and in a code without them.
    for (bundle, least, saved) in [("off", 930, 45), ("on", 970, 10)] {
        let (tried, share) = run(&[], "9600", "auto", bundle);
        let (careful, cautious) = run(&[], "9600", "cautious", bundle);
        println!("bundle {bundle}: tried {share}, cautious {cautious} thousandths of the line");
        assert!(tried.is_done() && careful.is_done());
        assert!(share >= least, "{share}");
        assert!(share >= cautious + saved, "{share} {cautious}");
    }
}

#[test]
fn a_line_that_eats_controls_gets_prefixes() {
    // SO, as terminals take it for another character set; and with bit 7.
    for bundle in ["off", "on"] {
        for eaten in [&[14u8, 142][..], &[0], &[10], &[127]] {
            let (report, share) = run(eaten, "9600,delay=100ms", "auto", bundle);
            let cautious_passes = run(eaten, "9600,delay=100ms", "cautious", bundle).0.is_done();
            println!("without {eaten:?}, bundle {bundle}: {share} thousandths");
            assert_eq!(report.is_done(), cautious_passes, "without {eaten:?}");
            if cautious_passes {
                assert!(report.sides[0].stats.retransmissions <= 3, "{:?}", report.sides[0].stats);
            }
        }
        assert!(run(&[14], "9600", "auto", bundle).0.is_done());
    }
}

#[test]
fn controls_that_are_never_sent_bare_do_no_harm() {
    // XON and XOFF, and what leaves a terminal server or a Telnet client.
    for bundle in ["off", "on"] {
        let (report, share) = run(&[16, 17, 19, 29, 30, 145, 147], "9600", "auto", bundle);
        assert!(report.is_done());
        assert!(share >= 930, "{share}");
    }
}

#[test]
fn noise_on_the_try_only_costs_the_prefixes() {
    for seed in 1..=20 {
        let line = format!("9600,delay=100ms,burst=8@2s,seed={seed}");
        for bundle in ["off", "on"] {
            let (report, _) = run(&[], &line, "auto", bundle);
            assert!(report.is_done(), "seed {seed}, bundle {bundle}");
        }
    }
}
