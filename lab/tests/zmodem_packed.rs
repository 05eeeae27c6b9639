//! Compression by ZMODEM between two of ours: on lines of known and of unknown rate, through noise, and what a hostile peer can
//! do with it.

use crate::kermit_compress::{Host, answer, attack_between, frame, program};
use crate::swarm_run;

use wetstring_lab::element::End;
use wetstring_lab::pair::{Act, Pair, PairReport};
use wetstring_lab::random::Random;
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource, Policy};
use wetstring_lab::swarm::{Ends, Swarm, longer_files, noisy_line};
use wetstring_lab::trace::Recorder;
use wetstring_proto::settings::Settings;
use wetstring_proto::zmodem::{Config, Receiver, Sender};
use wetstring_proto::{
    Command, Cx, Duration, Engine, FailureKind, Instant, LineFacts, NoTrace, Outcome, Refusal,
    Status, StoreError,
};

/// An end that can compress, on a line of this rate.
fn config(rate_bps: u32, settings: &[(&str, &str)]) -> Config {
    let line = LineFacts { reliable: Some(false), rate_bps, ..LineFacts::default() };
    let mut config = Config { line, compressor: true, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("zmodem.{name}"), value).unwrap();
    }
    config
}

fn engines(ours: &Config, theirs: &Config) -> (Sender<Vec<u8>>, Receiver<Vec<u8>>) {
    let sender = Sender::new(ours.clone(), vec![0; ours.sender_memory()]).unwrap();
    (sender, Receiver::new(theirs.clone(), vec![0; theirs.receiver_memory()]).unwrap())
}

/// Sends the files; gives the report and the thousandths of the line that they took.
fn run(
    line: &str,
    knows_rate: bool,
    files: &[MemoryFile],
    [ours, theirs]: [&[(&str, &str)]; 2],
    mut sink: MemorySink,
) -> (PairReport, u64) {
    let model: LineModel = line.parse().unwrap();
    let rate_bps = if knows_rate { u32::try_from(model.rate_bps).unwrap() } else { 0 };
    let (mut sender, mut receiver) = engines(&config(rate_bps, ours), &config(rate_bps, theirs));
    let mut source = MemorySource::new(files.to_vec());
    let mut element = Serial::new(&model);
    let report = Pair::new(&mut element).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        &mut Recorder::off(),
    );
    let label = format!("{line} {knows_rate} {ours:?} {theirs:?}");
    assert!(report.is_done(), "{label}: {report:?}");
    let wanted: Vec<_> = files.iter().filter(|file| !sink.refuses(&file.name)).collect();
    assert_eq!(sink.complete().count(), wanted.len(), "{label}");
    for (got, sent) in sink.complete().zip(wanted) {
        assert!((&got.name, &got.bytes[..]) == (&sent.name, &sent.bytes[..]), "{label}");
    }
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    let capacity = report.elapsed.as_nanos() * u128::from(model.rate_bps) / 10_000_000_000;
    (report, (bytes as u128 * 1000 / capacity) as u64)
}

const OFF: &[(&str, &str)] = &[("compress", "off")];

#[test]
fn text_goes_faster_than_the_line() {
    for (line, least) in [
        ("9600", 3500),
        ("9600,delay=250ms", 3300),
        ("115200", 3700),
        ("1000000", 3700),
        ("19200,burst=8@2s", 1400),
        ("19200,ber=1e-5", 1400),
    ] {
        for knows_rate in [true, false] {
            let files = [program()];
            let (report, share) = run(line, knows_rate, &files, [&[], &[]], MemorySink::new());
            let (_, without) = run(line, knows_rate, &files, [OFF, &[]], MemorySink::new());
            let stats = report.sides[0].stats;
            println!(
                "{line}, {knows_rate}: {share} thousandths of the line, {without} without; {} of {}",
                stats.packed_bytes, stats.unpacked_bytes
            );
            assert!(share >= if knows_rate { least } else { without }, "{line}: {share}");
            assert!(!knows_rate || stats.packed_bytes * 2 < stats.unpacked_bytes);
        }
    }
}

#[test]
fn what_does_not_shrink_costs_nothing() {
    for line in ["9600", "9600,delay=250ms", "115200"] {
        let files = [MemoryFile::made("random.bin", Content::Random(1), 600_000)];
        let (on, _) = run(line, true, &files, [&[], &[]], MemorySink::new());
        let (off, _) = run(line, true, &files, [OFF, OFF], MemorySink::new());
        println!("random, {line}: {:?} with, {:?} without", on.elapsed, off.elapsed);
        assert!(on.elapsed * 1000 <= off.elapsed * 1005, "{line}");
    }
}

/// Text, then what does not shrink, then text, in one file and in several.
#[test]
fn it_is_left_and_entered_again() {
    let (text, random) = (Content::Text(1).bytes(400_000), Content::Random(1).bytes(400_000));
    let one = [MemoryFile::new("mixed", [&text[..], &random, &text, &random[..70_000]].concat())];
    let several = [text.clone(), random.clone(), text, random]
        .into_iter()
        .enumerate()
        .map(|(index, bytes)| MemoryFile::new(&format!("file-{index}"), bytes))
        .collect::<Vec<_>>();
    for files in [&one[..], &several] {
        for more in [&[][..], &[("receive-length", "1024")], &[("escape", "controls")]] {
            let (report, _) = run("115200", true, files, [&[], more], MemorySink::new());
            let stats = report.sides[0].stats;
            assert!(stats.unpacked_bytes > 540_000, "{stats:?}");
            assert!(stats.unpacked_bytes < 860_000, "{stats:?}");
        }
    }
}

/// Acknowledgements of what shrinks to nothing look like those of a fast line.
#[test]
fn what_shrinks_most_does_not_hide_a_slow_line() {
    let zeros = Content::Zeros.bytes(1_500_000);
    let random = Content::Random(1).bytes(100_000);
    let files = [MemoryFile::new("zeros", [&zeros[..], &random, &zeros].concat())];
    for line in ["100000,buffer=1048576", "100000,delay=300ms,buffer=1048576"] {
        let (report, _) = run(line, false, &files, [&[], &[]], MemorySink::new());
        println!("{line}: {:?}", report.elapsed);
        assert!(report.elapsed < Duration::from_secs(20), "{line}: {:?}", report.elapsed);
        assert_eq!(report.sides[0].stats.timeouts, 0, "{line}");
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
        let (report, _) = run("9600", true, &files, ends, MemorySink::new());
        assert_eq!(report.sides[0].stats.packed_bytes > 0, acts, "{ours} {theirs}");
    }
    let (report, _) = run("200000000", true, &files, [&[], &[]], MemorySink::new());
    assert_eq!(report.sides[0].stats.packed_bytes, 0);
    for other in [[("crc32", "off")], [("receive-buffer", "4096")]] {
        let (report, _) = run("9600", true, &files, [&[], &other], MemorySink::new());
        assert_eq!(report.sides[0].stats.packed_bytes, 0, "{other:?}");
    }
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
    for (line, knows_rate) in [
        ("115200", true),
        ("115200", false),
        ("115200,delay=50ms", false),
        ("19200,burst=8@2s", true),
    ] {
        let sink = MemorySink::new()
            .with_policy(Policy::Resume)
            .with_partial("long.c", &text[..60_001])
            .without("unwanted.txt", Refusal::Exists);
        let (report, _) = run(line, knows_rate, &files, [&[], &[]], sink);
        assert_eq!(report.sides[1].files_skipped, 1);
        let stats = report.sides[0].stats;
        let least = if line.contains("burst") { 50_000 } else { 200_000 };
        assert!(stats.unpacked_bytes > least, "{line} {knows_rate}: {stats:?}");
        assert!(line.contains("burst") || stats.timeouts == 0, "{line} {knows_rate}: {stats:?}");
    }
}

/// Two with compression, whatever else a seed picks.
fn ends(random: &mut Random, line: &LineModel) -> Ends {
    let rate = u32::try_from(line.rate_bps).unwrap_or(0);
    let ends = [(); 2].map(|()| {
        let picked = [
            ("compress", random.pick(&["on", "on", "auto"])),
            ("receive-length", random.pick(&["1024", "4096", "8192"])),
            ("window", random.pick(&["0", "0", "2000", "20000"])),
            ("send-length", random.pick(&["0", "0", "300", "1024"])),
            ("rle", random.pick(&["off", "off", "on"])),
            ("escape", random.pick(&["normal", "controls"])),
            ("buffer", random.pick(&["1024", "16384", "131072"])),
        ];
        let rate = if random.one_in(4) { 0 } else { rate };
        (config(rate, &picked), format!("{picked:?}"))
    });
    let [(ours, first), (theirs, second)] = &ends;
    let (sender, receiver) = engines(ours, theirs);
    let description = format!("{first} {second}");
    Ends { sender: Box::new(sender), receiver: Box::new(receiver), description }
}

/// Files of the noisy swarm, and text among them.
fn files(random: &mut Random) -> Vec<MemoryFile> {
    let mut files = longer_files(random);
    let len = random.between(0, 60_000) as usize;
    files.push(MemoryFile::made("text", Content::Text(random.bits()), len));
    files.push(MemoryFile::made("runs", Content::Runs, len));
    files
}

#[test]
fn noisy_lines() {
    let replay = "WETSTRING_SEED={seed} cargo test zmodem_packed::noisy -- --nocapture";
    let swarm = || {
        let times = [50_000, 100_000].map(Duration::from_secs);
        Swarm::new(&ends, replay).lines(&noisy_line).files(&files).times(times[0], times[1])
    };
    let runs = swarm_run::runs(300);
    let Some(tallies) = swarm_run::turn(swarm, runs) else { return };
    let done: u64 = tallies.iter().map(|tally| tally.done).sum();
    println!("{runs} runs, {done} done; {tallies:?}");
    assert!(done * 100 >= runs * 90, "{done} of {runs} came through");
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
        pair.run((&mut sender, &mut source), (&mut receiver, &mut sink), &mut Recorder::off());
        for file in sink.complete() {
            let sent = files.iter().find(|sent| sent.name == file.name).unwrap();
            assert!(file.bytes[..] == sent.bytes[..], "seed {seed}: a file that is whole is wrong");
        }
        cut += u64::from(sink.complete().count() < 2);
    }
    assert!(cut > 60, "{cut}");
}

#[test]
fn frames_that_expand_too_far_or_are_none() {
    let bomb = || frame(&vec![0; 4_000_000]);
    assert!(bomb().len() < 800, "{}", bomb().len());
    let full = || MemorySink::new().with_space(60_000);
    // Its window is 2^21 bytes.
    let wide = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 11 << 3, 1, 0, 0];
    for (bytes, size, sink, wanted) in [
        (bomb(), 100_000, MemorySink::new(), FailureKind::LengthDiffers),
        (bomb(), 10_000_000, full(), FailureKind::Store(StoreError::NoSpace)),
        (b"this is no frame, is it?".to_vec(), 100_000, MemorySink::new(), FailureKind::Violation),
        (wide, 100_000, MemorySink::new(), FailureKind::Violation),
        // Frames with nothing in them, and then bytes that are none.
        (frame(b"").repeat(80), 100_000, MemorySink::new(), FailureKind::Violation),
    ] {
        let set = config(9600, &[("compress", "on"), ("send-length", "8192")]);
        let (mut sender, mut receiver) = engines(&set, &set);
        let ends: [&mut dyn Engine; 2] = [&mut sender, &mut receiver];
        let (outcome, sink) = attack_between(ends, bytes, Some(size), sink);
        let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.kind, wanted);
        let most = 100_000 + 2 * 131_072;
        assert!(sink.received().iter().all(|file| !file.complete && file.bytes.len() < most));
    }
}

/// Each `s` is what the sender wrote before the receiver's `r` came.
#[test]
fn sessions_of_another_program() {
    let sessions = include_str!("../../vectors/zmodem/packed.txt");
    let unhex = |text: &str| -> Vec<u8> {
        let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digits).collect()
    };
    let mut count = 0;
    for session in sessions.split("\nsession ").skip(1) {
        let title = session.lines().next().unwrap();
        let set = config(0, &[]);
        let mut receiver = Receiver::new(set.clone(), vec![0; set.receiver_memory()]).unwrap();
        let mut host = Host::new(MemorySink::new());
        let mut trace = NoTrace;
        let mut cx = Cx { now: Instant::ZERO, trace: &mut trace };
        let (mut said, mut files) = (Vec::new(), Vec::new());
        for line in session.lines().skip(1) {
            let (word, rest) = line.split_once(' ').unwrap();
            match word {
                "got" => {
                    let (name, bytes) = rest.split_once(' ').unwrap();
                    files.push((name.as_bytes().to_vec(), unhex(bytes)));
                }
                "s" => {
                    let bytes = unhex(rest);
                    let mut at = 0;
                    loop {
                        let taken = receiver.receive(&mut cx, &bytes[at..]);
                        at += taken;
                        let moved = answer(&mut receiver, &mut host, &mut cx);
                        let sent = receiver.transmit(&mut cx).to_vec();
                        receiver.transmitted(&mut cx, sent.len());
                        said.extend_from_slice(&sent);
                        if taken == 0 && !moved && sent.is_empty() {
                            break;
                        }
                    }
                    assert_eq!(at, bytes.len(), "{title}");
                }
                _ => {
                    let wanted = unhex(rest);
                    let rest = said.split_off(wanted.len().min(said.len()));
                    assert_eq!(said, wanted, "{title}");
                    said = rest;
                }
            }
        }
        assert_eq!(receiver.status(), Status::Over(Outcome::Done), "{title}");
        let got: Vec<_> = host.store.complete().collect();
        assert_eq!(got.len(), files.len(), "{title}");
        for (got, (name, bytes)) in got.iter().zip(&files) {
            assert!((&got.name, &got.bytes[..]) == (name, &bytes[..]), "{title}");
        }
        assert!(receiver.stats().unpacked_bytes > 1000, "{title}");
        count += 1;
    }
    assert_eq!(count, 3);
}
