//! Compression of data that streams: on lines of known and of unknown rate, what it costs where there is nothing to gain,
//! and what a hostile peer can do with it.

use crate::kermit_compress::{OFF, attack, engines, files, frame, mixed, program};
use crate::swarm_run;

use wetstring_lab::compressor::Compressor;
use wetstring_lab::element::End;
use wetstring_lab::pair::{Act, Pair, PairReport};
use wetstring_lab::random::Random;
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource, Policy};
use wetstring_lab::swarm::{Ends, Swarm, any_line};
use wetstring_lab::trace::Recorder;
use wetstring_proto::kermit::decode::Decoder;
use wetstring_proto::kermit::encode::Shift;
use wetstring_proto::kermit::{Config, LineFacts};
use wetstring_proto::settings::Settings;
use wetstring_proto::{
    Command, Duration, FailureKind, FileKind, Outcome, Refusal, Reply, Request, StoreError,
};

/// An end that can compress, at a port that is said to deliver everything, at this rate.
fn config(rate_bps: u32, settings: &[(&str, &str)]) -> Config {
    let line = LineFacts { reliable: Some(true), clear: true, rate_bps, ..LineFacts::default() };
    let mut config = Config { line, compressor: true, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("kermit.{name}"), value).unwrap();
    }
    config
}

/// Whether an end knows the rate of the line.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rate {
    Known,
    Unknown,
}

/// Sends the files; gives the report and the thousandths of the line that they took.
fn run(
    line: &str,
    rate: Rate,
    files: &[MemoryFile],
    [ours, theirs]: [&[(&str, &str)]; 2],
    mut sink: MemorySink,
) -> (PairReport, u64) {
    let model: LineModel = line.parse().unwrap();
    let rate_bps = if rate == Rate::Known { u32::try_from(model.rate_bps).unwrap() } else { 0 };
    let (mut sender, mut receiver) = engines(&config(rate_bps, ours), &config(rate_bps, theirs));
    let mut source = MemorySource::new(files.to_vec());
    let mut element = Serial::new(&model);
    let report = Pair::new(&mut element).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        &mut Recorder::off(),
    );
    let label = format!("{line} {rate:?} {ours:?} {theirs:?}");
    assert!(report.is_done(), "{label}: {report:?}");
    let wanted: Vec<_> = files.iter().filter(|file| !sink.refuses(&file.name)).collect();
    assert_eq!(sink.complete().count(), wanted.len(), "{label}");
    for (got, sent) in sink.complete().zip(wanted) {
        assert!((&got.name, &got.bytes[..]) == (&sent.name, &sent.bytes[..]), "{label}");
    }
    let [sent, got] = [&report.sides[0].stats, &report.sides[1].stats];
    assert_eq!(sent.unpacked_bytes, got.unpacked_bytes, "{label}");
    assert_eq!(sent.packed_bytes, got.packed_bytes, "{label}");
    assert_eq!(sent.retransmissions, 0, "{label}");
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    let capacity = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    (report, (bytes as u128 * 1000 / capacity) as u64)
}

#[test]
fn text_goes_faster_than_the_line() {
    for (line, least) in [("9600", 3500), ("1000000", 3500), ("1000000,delay=250ms", 400)] {
        let (report, share) = run(line, Rate::Known, &[program()], [&[], &[]], MemorySink::new());
        let (_, without) = run(line, Rate::Known, &[program()], [OFF, &[]], MemorySink::new());
        println!("{line}: {share} thousandths of the line, {without} without");
        assert!(share >= least, "{line}: {share}");
        let stats = report.sides[0].stats;
        assert!(stats.packed_bytes * 2 < stats.unpacked_bytes);
    }
}

#[test]
fn the_rate_of_a_line_is_found_out() {
    let text = [MemoryFile::made("text", Content::Text(1), 8_000_000)];
    for (line, acts) in [("8000000", true), ("50000000", true), ("300000000", false)] {
        let (report, _) = run(line, Rate::Unknown, &text, [&[], &[]], MemorySink::new());
        let (other, _) = run(line, Rate::Unknown, &text, [OFF, &[]], MemorySink::new());
        println!("{line}: {:?}, {:?} without", report.elapsed, other.elapsed);
        assert_eq!(report.sides[0].stats.packed_bytes > 0, acts, "{line}");
        assert_eq!(report.elapsed < other.elapsed * 3 / 4, acts, "{line}");
    }
}

/// Short files go in bundles there, whose window no port shows to be slow.
#[test]
fn so_is_that_of_bundles() {
    let files: Vec<MemoryFile> = (0..400)
        .map(|index| MemoryFile::made(&format!("file-{index}"), Content::Text(index), 8000))
        .collect();
    let (on, off) = ([("bundle", "on")], [("bundle", "on"), ("compress", "off")]);
    for (line, acts) in [("8000000", true), ("8000000,delay=20ms", true), ("300000000", false)] {
        let (report, _) = run(line, Rate::Unknown, &files, [&on, &[]], MemorySink::new());
        let (other, _) = run(line, Rate::Unknown, &files, [&off, &[]], MemorySink::new());
        println!("{line}: {:?}, {:?} without", report.elapsed, other.elapsed);
        assert_eq!(report.sides[0].stats.packed_bytes > 0, acts, "{line}");
        assert_eq!(report.elapsed * 10 < other.elapsed * 7, acts, "{line}");
    }
}

#[test]
fn what_does_not_shrink_costs_nothing() {
    for (line, rate) in [("9600", Rate::Known), ("115200", Rate::Known), ("1000000", Rate::Unknown)]
    {
        let files = [MemoryFile::made("random.bin", Content::Random(1), 600_000)];
        let (on, _) = run(line, rate, &files, [&[], &[]], MemorySink::new());
        let (off, _) = run(line, rate, &files, [OFF, OFF], MemorySink::new());
        println!("random, {line}: {:?} with, {:?} without", on.elapsed, off.elapsed);
        assert!(on.elapsed * 1000 <= off.elapsed * 1005, "{line}");
    }
}

#[test]
fn it_is_left_and_entered_again() {
    let (one, several) = mixed();
    for files in [&one[..], &several] {
        for more in [&[][..], &[("receive-length", "94")], &[("clear-channel", "off")]] {
            let (report, _) = run("115200", Rate::Known, files, [&[], more], MemorySink::new());
            let stats = report.sides[0].stats;
            // Of the text all but what came before the next try, of the rest hardly any.
            assert!(stats.unpacked_bytes > 540_000, "{stats:?}");
            assert!(stats.unpacked_bytes < 860_000, "{stats:?}");
        }
    }
}

#[test]
fn either_end_can_do_without() {
    let files = [program()];
    for (ours, theirs, acts) in
        [("auto", "auto", true), ("on", "auto", true), ("off", "on", false), ("on", "off", false)]
    {
        let settings = [[("compress", ours)], [("compress", theirs)]];
        let ends = [&settings[0][..], &settings[1]];
        let (report, _) = run("9600", Rate::Known, &files, ends, MemorySink::new());
        assert_eq!(report.sides[0].stats.packed_bytes > 0, acts, "{ours} {theirs}");
    }
    // A fast line is faster than a compressor, unless the user knows better.
    let (report, _) = run("200000000", Rate::Known, &files, [&[], &[]], MemorySink::new());
    assert_eq!(report.sides[0].stats.packed_bytes, 0);
    let (report, _) =
        run("200000000", Rate::Known, &files, [&[("compress", "on")], &[]], MemorySink::new());
    assert!(report.sides[0].stats.packed_bytes > 0);
    // It has nothing to do with bundles.
    let alone = [("bundle", "off")];
    let (report, _) = run("9600", Rate::Known, &files, [&alone, &[]], MemorySink::new());
    assert!(report.sides[0].stats.packed_bytes > 0);
    // Lines of text end otherwise on the wire.
    let text = [MemoryFile { kind: FileKind::Text, ..program() }];
    let (report, _) = run("9600", Rate::Known, &text, [&[], &[]], MemorySink::new());
    assert_eq!(report.sides[0].stats.packed_bytes, 0);
    // Without attributes no length is announced.
    let bare = [("attributes", "off")];
    let (report, _) = run("9600", Rate::Known, &files, [&bare, &[]], MemorySink::new());
    assert_eq!(report.sides[0].stats.packed_bytes, 0);
}

#[test]
fn refusals_and_resumes() {
    let text = Content::Text(5).bytes(300_000);
    let files = [
        MemoryFile::made("unwanted.txt", Content::Text(6), 150_000),
        MemoryFile { resume: true, ..MemoryFile::new("long.c", text.clone()) },
        program(),
        MemoryFile::new("empty", Vec::new()),
        MemoryFile::made("short", Content::Text(7), 100),
    ];
    for rate in [Rate::Known, Rate::Unknown] {
        let sink = MemorySink::new()
            .with_policy(Policy::Resume)
            .with_partial("long.c", &text[..60_001])
            .without("unwanted.txt", Refusal::Exists);
        let (report, _) = run("115200", rate, &files, [&[], &[]], sink);
        assert_eq!(report.sides[1].files_skipped, 1);
    }
}

/// Two that stream and compress, whatever else a seed picks.
fn ends(random: &mut Random, line: &LineModel) -> Ends {
    let rate = u32::try_from(line.rate_bps).unwrap_or(0);
    let ends = [(); 2].map(|()| {
        let picked = [
            ("receive-length", random.pick(&["60", "94", "1000", "9024"])),
            ("compress", random.pick(&["on", "on", "auto"])),
            ("clear-channel", random.pick(&["on", "off", "auto"])),
            ("by-length", random.pick(&["on", "off"])),
            ("repeat", random.pick(&["on", "off"])),
            ("digest", random.pick(&["on", "on", "off"])),
            ("buffer", random.pick(&["32768", "262144"])),
        ];
        let rate = if random.one_in(4) { 0 } else { rate };
        (config(rate, &picked), format!("{picked:?}"))
    });
    let [(ours, first), (theirs, second)] = &ends;
    let (sender, receiver) = engines(ours, theirs);
    let description = format!("{first} {second}");
    Ends { sender: Box::new(sender), receiver: Box::new(receiver), description }
}

/// Lines that are called reliable and are not: what streams there fails, and never seems to succeed.
#[test]
fn lines_of_any_kind() {
    let replay = "WETSTRING_SEED={seed} cargo test kermit_streamed::lines -- --nocapture";
    let swarm = || {
        let times = [50_000, 100_000].map(Duration::from_secs);
        Swarm::new(&ends, replay).lines(&any_line).files(&files).times(times[0], times[1])
    };
    let runs = swarm_run::runs(300);
    let Some(tallies) = swarm_run::turn(swarm, runs) else { return };
    let done: u64 = tallies.iter().map(|tally| tally.done).sum();
    println!("{runs} runs, {done} done; {tallies:?}");
    assert!(done * 100 >= runs * 15, "{done} of {runs} came through");
}

#[test]
fn cancels_at_any_time() {
    let mut cut = 0;
    for seed in 0..swarm_run::runs(200) {
        let random = &mut Random::stream(seed, "cancels", "run");
        let files = [
            MemoryFile::made("a", Content::Text(seed), 60_000),
            MemoryFile::made("b", Content::Text(seed + 1), 60_000),
        ];
        let rate = random.pick(&[115_200, 0]);
        let (mut sender, mut receiver) = engines(&config(rate, &[]), &config(rate, &[]));
        let (mut source, mut sink) = (MemorySource::new(files.to_vec()), MemorySink::new());
        let mut element = Serial::new(&"115200,delay=20ms".parse().unwrap());
        let command = random.pick(&[Command::CancelFile, Command::CancelBatch, Command::Abort]);
        let end = random.pick(&[End::A, End::B]);
        let at = Duration::from_millis(random.between(0, 9000));
        let pair = Pair::new(&mut element).at(at, Act::Command(end, command));
        let report =
            pair.run((&mut sender, &mut source), (&mut receiver, &mut sink), &mut Recorder::off());
        for file in sink.complete() {
            let sent = files.iter().find(|sent| sent.name == file.name).unwrap();
            assert!(file.bytes[..] == sent.bytes[..], "seed {seed}: a file that is whole is wrong");
        }
        assert!(
            report.is_done() || command == Command::Abort || command == Command::CancelBatch,
            "seed {seed}: {report:?}"
        );
        cut += u64::from(sink.complete().count() < 2);
    }
    assert!(cut > 60, "{cut}");
}

#[test]
fn frames_that_expand_too_far_or_are_none() {
    let bomb = || frame(&vec![0; 20_000_000]);
    assert!(bomb().len() < 3000, "{}", bomb().len());
    let full = || MemorySink::new().with_space(60_000);
    for (bytes, size, sink, wanted) in [
        (bomb(), 100_000, MemorySink::new(), FailureKind::LengthDiffers),
        (bomb(), 10_000_000, full(), FailureKind::Store(StoreError::NoSpace)),
        (b"this is no frame, is it?".to_vec(), 100_000, MemorySink::new(), FailureKind::Violation),
        // Frames with nothing in them, and then bytes that are none.
        (frame(b"").repeat(300), 100_000, MemorySink::new(), FailureKind::Violation),
    ] {
        let (outcome, sink) = attack(&config(9600, &[("compress", "on")]), bytes, Some(size), sink);
        let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.kind, wanted);
        let most = 100_000 + 2 * Config::default().buffer_len;
        assert!(sink.received().iter().all(|file| !file.complete && file.bytes.len() < most));
    }
}

/// The packet of the page about the extension.
#[test]
fn a_packet_of_another_program_is_undone() {
    let rows = wetstring_testkit::vectors("streamed");
    let [[letter, field, bytes]] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(letter, b"K");
    let (mut packed, mut into) = ([0; 200], [0; 200]);
    let mut decoder = Decoder::new(b'#', None, Some(b'~'), Shift::Off, false);
    let (used, len) = decoder.decode(field, &mut packed);
    assert_eq!(used, field.len());
    let request = Request::Unpack { bytes: &packed[..len], into: &mut into, begin: true };
    let reply = Compressor::new().answer(request).unwrap();
    assert_eq!(reply, Reply::Unpacked { used: len, made: bytes.len(), over: true });
    assert_eq!(into[..bytes.len()], bytes[..]);
}
