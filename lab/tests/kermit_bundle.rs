//! Many files in one window, on lines of the laboratory: how near to the line's limit, and what noise does to it.

use wetstring_lab::compressor::Compressor;
use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::Recorder;
use wetstring_proto::kermit::{Config, LineFacts, Receiver, Sender, Switch};
use wetstring_proto::settings::Settings;
use wetstring_proto::{Cx, Engine, Instant, NoTrace, Outcome, Reply, Request, Status, Store};

/// A line, and the configuration of both ends on it.
pub(crate) fn on(line: &str, settings: &[(&str, &str)]) -> (LineModel, Config) {
    let model: LineModel = line.parse().unwrap();
    let facts = LineFacts {
        reliable: Some(false),
        clear: false,
        rate_bps: u32::try_from(model.rate_bps).unwrap(),
        telnet: false,
    };
    let mut config = Config { line: facts, bundle: Switch::On, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("kermit.{name}"), value).unwrap();
    }
    (model, config)
}

/// A transfer between two such ends.
pub(crate) fn transfer(
    model: &LineModel,
    config: &Config,
    source: &mut MemorySource,
    sink: &mut MemorySink,
) -> PairReport {
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    let mut receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let mut element = Serial::new(model);
    Pair::new(&mut element).run((&mut sender, source), (&mut receiver, sink), &mut Recorder::off())
}

/// Sends the files; gives the report, and their share of what the line could carry in that time, in thousandths.
fn run(line: &str, files: &[MemoryFile], settings: &[(&str, &str)]) -> (PairReport, u64) {
    let (model, config) = on(line, settings);
    let (mut source, mut sink) = (MemorySource::new(files.to_vec()), MemorySink::new());
    let report = transfer(&model, &config, &mut source, &mut sink);
    assert!(report.is_done(), "{line} {settings:?}: {report:?}");
    let got: Vec<_> =
        sink.received().iter().map(|file| (&file.name[..], &file.bytes[..])).collect();
    let sent: Vec<_> = files.iter().map(|file| (&file.name[..], &file.bytes[..])).collect();
    assert_eq!(got.len(), sent.len(), "{line}");
    assert!(got == sent, "{line}: files differ");
    assert!(source.closed().iter().all(|closed| *closed == Some((true, true))), "{line}");
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    let capacity = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    (report, (bytes as u128 * 1000 / capacity) as u64)
}

/// Files of 1 kB of random bytes, with names of 12 characters, sizes and times.
fn small(count: u32) -> Vec<MemoryFile> {
    let file = |index: u32| MemoryFile {
        modified: Some(1_790_000_000 + i64::from(index.wrapping_mul(2_654_435_761) >> 12)),
        mode: Some(0o644),
        ..MemoryFile::made(&format!("file{index:04}.bin"), Content::Random(index.into()), 1024)
    };
    (0..count).map(file).collect()
}

fn long() -> Vec<MemoryFile> {
    vec![MemoryFile::made("random.bin", Content::Random(1), 128 * 1024)]
}

#[test]
fn a_thousand_small_files_fill_the_line() {
    for (line, least) in [("9600", 950), ("9600,delay=250ms", 950), ("9600,delay=1s", 930)] {
        let (_, share) = run(line, &small(1000), &[]);
        println!("1000 files of 1 kB, {line}: {share} thousandths of the line");
        assert!(share >= least, "{line}: {share}");
    }
}

#[test]
fn one_file_is_near_the_limit() {
    for (line, least) in [("9600", 980), ("9600,delay=250ms", 970), ("9600,delay=1s", 945)] {
        let (_, share) = run(line, &long(), &[]);
        println!("128 KiB, {line}: {share} thousandths of the line");
        assert!(share >= least, "{line}: {share}");
    }
}

/// Each of these without the extension, for comparison.
#[test]
fn one_after_the_other_waits_for_each() {
    for (line, most) in [("9600", 850), ("9600,delay=250ms", 500)] {
        let (_, share) = run(line, &small(20), &[("bundle", "off")]);
        println!("20 files of 1 kB without bundles, {line}: {share} thousandths of the line");
        assert!(share <= most, "{line}: {share}");
    }
}

#[test]
fn noise_costs_what_it_must() {
    for window in ["1", "2", "4", "31"] {
        for line in ["9600,delay=250ms,burst=8@2s", "9600,ber=1e-5", "9600,delay=250ms,ber=3e-4"] {
            let (report, share) = run(line, &small(40), &[("window", window)]);
            let (again, _) = run(line, &small(40), &[("window", window)]);
            assert_eq!(report.elapsed, again.elapsed);
            println!("40 files of 1 kB, {line}, window {window}: {share} thousandths");
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// The rows of this kind in the file of vectors.
fn vectors(kind: &str) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/kermit/bundle.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [found, letter, first, second] = fields[..] else { return None };
        (found == kind).then(|| (letter.as_bytes()[0], unhex(first), unhex(second)))
    });
    rows.collect()
}

/// Lets an engine hear this; what it says, and how it ends.
fn hear(engine: &mut dyn Engine, store: &mut dyn Store, wire: &[u8]) -> (Vec<u8>, Outcome) {
    let (mut said, mut at, mut now) = (Vec::new(), 0, Instant::ZERO);
    for _ in 0..10_000 {
        if let Status::Over(outcome) = engine.status() {
            return (said, outcome);
        }
        let mut trace = NoTrace;
        let mut cx = Cx { now, trace: &mut trace };
        at += engine.receive(&mut cx, &wire[at..]);
        while let Some(request) = engine.request() {
            let reply = store.answer(request);
            engine.reply(&mut cx, reply);
        }
        while engine.event().is_some() {}
        let bytes = engine.transmit(&mut cx).to_vec();
        engine.transmitted(&mut cx, bytes.len());
        said.extend(bytes);
        if at == wire.len() {
            now = engine.deadline().unwrap_or(now).max(now);
            let mut cx = Cx { now, trace: &mut trace };
            engine.tick(&mut cx);
        }
    }
    panic!("it does not end")
}

/// A store that undoes frames, too.
struct Unpacks(MemorySink, Compressor);

impl Store for Unpacks {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match self.1.answer(request) {
            Ok(reply) => reply,
            Err(request) => self.0.answer(request),
        }
    }
}

/// A frame begins in one packet and ends in another, which is in the form with error correction: as it was sent, and with
/// as many wrong characters as can be corrected.
#[cfg(feature = "compress")]
#[test]
fn a_compressed_session_of_another_program_is_received() {
    let rows = vectors("compressed");
    assert_eq!(rows.len(), 1);
    let (_, wire, words) = &rows[0];
    // The second packet begins with its first fixed character, and has 8 parity symbols.
    let second = wire.iter().rposition(|byte| *byte == 0xb5).unwrap();
    for errors in [0, 4, 5] {
        let mut wire = wire.clone();
        for character in &mut wire[second + 30..second + 30 + errors] {
            *character = if *character == b'a' { b'b' } else { b'a' };
        }
        let config = Config {
            streaming: Switch::Off,
            bundle: Switch::On,
            compressor: true,
            ..Config::default()
        };
        let mut r = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
        let mut store = Unpacks(MemorySink::new(), Compressor::new());
        let (said, ended) = hear(&mut r, &mut store, &wire);
        if errors > 4 {
            assert!(matches!(ended, Outcome::Failed(_)), "{ended:?}");
            continue;
        }
        assert_eq!(ended, Outcome::Done, "{errors}");
        let got = store.0.received();
        assert_eq!(got.len(), 1);
        assert!(got[0].name == b"words.txt" && got[0].bytes == *words && got[0].complete);
        // It says how many there were.
        let told = [b'Y', b'=', b'!', b'!', b' ' + errors as u8];
        assert!(said.windows(5).any(|part| part == told), "{errors}: {}", said.escape_ascii());
    }
}

/// The frame of the page about the extension.
#[cfg(feature = "compress")]
#[test]
fn a_frame_of_another_program_is_undone() {
    let rows = wetstring_testkit::vectors("frame");
    let [[_, packed, records]] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(packed[0], b'K');
    let mut into = [0; 200];
    let request = Request::Unpack { bytes: &packed[1..], into: &mut into, begin: true };
    let reply = Compressor::new().answer(request).unwrap();
    let (used, made) = (packed.len() - 1, records.len());
    assert_eq!(reply, Reply::Unpacked { used, made, over: true });
    assert_eq!(into[..made], records[..]);
}

#[test]
fn a_session_of_another_program_is_received() {
    let rows = vectors("session");
    assert_eq!(rows.len(), 3);
    for (letter, wire, one) in rows {
        let config = Config { streaming: Switch::Off, bundle: Switch::On, ..Config::default() };
        let mut r = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
        let mut sink = MemorySink::new();
        let (said, ended) = hear(&mut r, &mut sink, &wire);
        let label = char::from(letter);
        assert_eq!(ended, Outcome::Done, "{label}");
        let got = sink.received();
        let names: Vec<&[u8]> = got.iter().map(|file| &file.name[..]).collect();
        let wanted = [&b"one.bin"[..], b"empty", b"lines.txt", b"not.bin", b"runs.bin"];
        assert_eq!(names, wanted, "{label}");
        assert!(got[0].bytes == one && got[0].verified, "{label}");
        let times = [got[0].modified, got[1].modified];
        assert_eq!(times, [Some(1_790_000_000), Some(1_789_996_400)]);
        assert_eq!(got[2].bytes, b"ab\ncd\nef");
        let runs = [&b"bb"[..], &[b'a'; 295], &[0; 3]].concat();
        assert!(got[4].bytes == runs && got[4].verified, "{label}");
        let complete: Vec<bool> = got.iter().map(|file| file.complete).collect();
        assert_eq!(complete, [true, true, true, false, true], "{label}");
        // Every packet is acknowledged, with those before it, and nothing is said of any file.
        let answers: Vec<&[u8]> = said.split(|byte| *byte == 1).skip(2).collect();
        let plain = |(before, packet): (u8, &&[u8])| match before {
            0 => packet[0] == b'%' && packet[2] == b'Y',
            _ => packet[0] == b'\'' && packet[2..5] == [b'Y', b'=', b' ' + before],
        };
        let (of_break, answers) = answers.split_last().unwrap();
        assert!(answers.len() >= 4 && (0..).zip(answers).all(plain), "{label} {answers:?}");
        assert!(plain((answers.len() as u8, of_break)), "{label} {of_break:?}");
    }
}
