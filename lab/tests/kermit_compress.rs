//! Compression between two of ours, by zstd: what it gains on lines of the laboratory, what it costs where there is
//! nothing to gain, and what a hostile peer can do with it.

use crate::swarm_run;

use wetstring_lab::compressor::Compressor;
use wetstring_lab::corpus::Corpus;
use wetstring_lab::pair::{Pair, PairReport};
use wetstring_lab::random::Random;
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource, Policy};
use wetstring_lab::swarm::{Ends, Swarm, longer_files, noisy_line};
use wetstring_lab::trace::Recorder;
use wetstring_proto::kermit::{Config, LineFacts, Receiver, Sender, Switch};
use wetstring_proto::settings::Settings;
use wetstring_proto::{
    Cx, Duration, Engine, FailureKind, FileInfo, FileKind, Instant, NoTrace, Outcome, Refusal,
    Reply, Request, Status, Store, StoreError,
};

/// An end that can compress, on a line of this rate.
fn config(rate_bps: u32, settings: &[(&str, &str)]) -> Config {
    let line = LineFacts { reliable: Some(false), rate_bps, ..LineFacts::default() };
    let mut config = Config { line, bundle: Switch::On, compressor: true, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("kermit.{name}"), value).unwrap();
    }
    config
}

pub(crate) fn engines(ours: &Config, theirs: &Config) -> (Sender<Vec<u8>>, Receiver<Vec<u8>>) {
    let sender = Sender::new(ours.clone(), vec![0; ours.sender_memory()]).unwrap();
    (sender, Receiver::new(theirs.clone(), vec![0; theirs.receiver_memory()]).unwrap())
}

/// Sends the files; gives the report and the thousandths of the line that they took.
fn run(
    line: &str,
    files: &[MemoryFile],
    [ours, theirs]: [&[(&str, &str)]; 2],
    mut sink: MemorySink,
) -> (PairReport, u64) {
    let model: LineModel = line.parse().unwrap();
    let rate_bps = u32::try_from(model.rate_bps).unwrap();
    let (mut sender, mut receiver) = engines(&config(rate_bps, ours), &config(rate_bps, theirs));
    let mut source = MemorySource::new(files.to_vec());
    let mut element = Serial::new(&model);
    let report = Pair::new(&mut element).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        &mut Recorder::off(),
    );
    let label = format!("{line} {ours:?} {theirs:?}");
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

pub(crate) const OFF: &[(&str, &str)] = &[("compress", "off")];

fn corpus(name: &str) -> MemoryFile {
    MemoryFile::new(name, Corpus::named(name).unwrap().bytes(1))
}

/// The text of a program that people wrote.
pub(crate) fn program() -> MemoryFile {
    let parts: [&[u8]; 5] = [
        include_bytes!("../../proto/src/kermit/config.rs"),
        include_bytes!("../../proto/src/kermit/link.rs"),
        include_bytes!("../../proto/src/kermit/receiving.rs"),
        include_bytes!("../../proto/src/kermit/sending.rs"),
        include_bytes!("../../lab/src/pair.rs"),
    ];
    MemoryFile::new("program", parts.concat())
}

#[test]
fn text_goes_faster_than_the_line() {
    // The text of the corpus is made: zstd finds no more in it than 3.0 to 1.
    for (file, least) in [(program(), 3500), (corpus("c-source"), 2800), (corpus("manual"), 2400)] {
        for line in ["9600", "9600,delay=250ms"] {
            let files = [file.clone()];
            let (report, share) = run(line, &files, [&[], &[]], MemorySink::new());
            let (_, without) = run(line, &files, [OFF, &[]], MemorySink::new());
            let name = String::from_utf8_lossy(&file.name);
            println!("{name}, {line}: {share} thousandths of the line, {without} without");
            assert!(share >= least, "{name} {line}: {share}");
            let [ours, theirs] = report.sides.map(|side| side.stats);
            assert_eq!(ours.unpacked_bytes, theirs.unpacked_bytes);
            assert_eq!(ours.packed_bytes, theirs.packed_bytes);
            assert!(ours.packed_bytes * 2 < ours.unpacked_bytes);
        }
    }
}

#[test]
fn what_does_not_shrink_costs_nothing() {
    for line in ["9600", "9600,delay=250ms", "115200"] {
        let files = [MemoryFile::made("random.bin", Content::Random(1), 600_000)];
        let (on, _) = run(line, &files, [&[], &[]], MemorySink::new());
        let (off, _) = run(line, &files, [OFF, OFF], MemorySink::new());
        println!("random, {line}: {:?} with, {:?} without", on.elapsed, off.elapsed);
        assert!(on.elapsed * 1000 <= off.elapsed * 1005, "{line}");
    }
}

/// Text, then what does not shrink, then text, in one file and in several.
pub(crate) fn mixed() -> ([MemoryFile; 1], Vec<MemoryFile>) {
    let (text, random) = (Content::Text(1).bytes(400_000), Content::Random(1).bytes(400_000));
    let one = [MemoryFile::new("mixed", [&text[..], &random, &text, &random[..70_000]].concat())];
    let several = [text.clone(), random.clone(), text, random]
        .into_iter()
        .enumerate()
        .map(|(index, bytes)| MemoryFile::new(&format!("file-{index}"), bytes))
        .collect::<Vec<_>>();
    (one, several)
}

#[test]
fn it_is_left_and_entered_again() {
    let (one, several) = mixed();
    for files in [&one[..], &several] {
        let (report, _) = run("115200", files, [&[], &[]], MemorySink::new());
        let stats = report.sides[0].stats;
        // Of the text all but what came before the next try, of the rest hardly any.
        assert!(stats.unpacked_bytes > 540_000, "{stats:?}");
        assert!(stats.unpacked_bytes < 860_000, "{stats:?}");
    }
}

fn small(count: u32) -> Vec<MemoryFile> {
    let text = Corpus::named("c-source").unwrap().bytes(1);
    (0..count)
        .map(|index| {
            let at = index as usize * 97 % 70_000;
            let bytes = &text[at..at + 200 + index as usize * 31 % 1500];
            let kind = if index % 3 == 0 { FileKind::Text } else { FileKind::Binary };
            let name = format!("source-{index:04}.c");
            let modified = Some(1_790_000_000 + i64::from(index));
            MemoryFile { kind, modified, ..MemoryFile::new(&name, bytes) }
        })
        .collect()
}

#[test]
fn small_files_share_one_history() {
    let (_, with) = run("9600", &small(300), [&[], &[]], MemorySink::new());
    let (_, without) = run("9600", &small(300), [OFF, &[]], MemorySink::new());
    println!("300 small files: {with} thousandths of the line, {without} without");
    // Each by itself would shrink to a half at best.
    assert!(with > 4000 && without < 1000, "{with} {without}");
}

#[test]
fn either_end_can_do_without() {
    let files = small(20);
    for (ours, theirs, acts) in
        [("auto", "auto", true), ("on", "auto", true), ("off", "on", false), ("on", "off", false)]
    {
        let settings = [[("compress", ours)], [("compress", theirs)]];
        let ends = [&settings[0][..], &settings[1]];
        let (report, _) = run("9600", &files, ends, MemorySink::new());
        assert_eq!(report.sides[0].stats.packed_bytes > 0, acts, "{ours} {theirs}");
    }
    // A fast line is faster than a compressor, and bundles are what is compressed.
    let (report, _) = run("200000000", &files, [&[], &[]], MemorySink::new());
    assert_eq!(report.sides[0].stats.packed_bytes, 0);
    let alone = [("bundle", "off")];
    let (report, _) = run("9600", &files, [&alone, &[]], MemorySink::new());
    assert_eq!(report.sides[0].stats.packed_bytes, 0);
}

#[test]
fn refusals_and_resumes_in_stride() {
    let text = Content::Text(5).bytes(90_000);
    let mut files = small(40);
    files.insert(20, MemoryFile { resume: true, ..MemoryFile::new("long.c", text.clone()) });
    files.insert(10, MemoryFile::made("unwanted.txt", Content::Text(6), 50_000));
    for line in ["9600", "9600,delay=1s", "19200,burst=8@2s"] {
        let sink = MemorySink::new()
            .with_policy(Policy::Resume)
            .with_partial("long.c", &text[..60_001])
            .without("unwanted.txt", Refusal::Exists)
            .without("source-0031.c", Refusal::Exists);
        let (report, _) = run(line, &files, [&[], &[]], sink);
        assert_eq!(report.sides[1].files_skipped, 2, "{line}");
    }
}

/// Two of ours with compression, whatever else a seed picks.
fn ends(random: &mut Random, line: &LineModel) -> Ends {
    let rate = u32::try_from(line.rate_bps).unwrap_or(0);
    let ends = [(); 2].map(|()| {
        let window = random.pick(&["1", "2", "4", "31"]);
        let length = random.pick(&["60", "94", "1000", "9024"]);
        let compress = random.pick(&["on", "on", "auto"]);
        let rate = if random.one_in(4) { 0 } else { rate };
        let picked = [("window", window), ("receive-length", length), ("compress", compress)];
        (config(rate, &picked), format!("{picked:?}"))
    });
    let [(ours, first), (theirs, second)] = &ends;
    let (sender, receiver) = engines(ours, theirs);
    let description = format!("{first} {second}");
    Ends { sender: Box::new(sender), receiver: Box::new(receiver), description }
}

/// Files of the noisy swarm, and text among them.
pub(crate) fn files(random: &mut Random) -> Vec<MemoryFile> {
    let mut files = longer_files(random);
    let len = random.between(0, 60_000) as usize;
    files.push(MemoryFile::made("text", Content::Text(random.bits()), len));
    files.push(MemoryFile::made("runs", Content::Runs, len));
    files
}

#[test]
fn noisy_lines() {
    let replay = "WETSTRING_SEED={seed} cargo test kermit_compress::noisy -- --nocapture";
    let swarm = || {
        let times = [50_000, 100_000].map(Duration::from_secs);
        Swarm::new(&ends, replay).lines(&noisy_line).files(&files).times(times[0], times[1])
    };
    let runs = swarm_run::runs(300);
    let Some(tallies) = swarm_run::turn(swarm, runs) else { return };
    let done: u64 = tallies.iter().map(|tally| tally.done).sum();
    println!("{runs} runs, {done} done; {tallies:?}");
    assert!(done * 100 >= runs * 97, "{done} of {runs} came through");
}

/// A store with a compressor, as one that answers everything.
pub(crate) struct Host<S> {
    pub(crate) store: S,
    compressor: Compressor,
}

impl<S> Host<S> {
    pub(crate) fn new(store: S) -> Self {
        Self { store, compressor: Compressor::new() }
    }
}

impl<S: Store> Store for Host<S> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match self.compressor.answer(request) {
            Ok(reply) => reply,
            Err(request) => self.store.answer(request),
        }
    }
}

/// A peer that sends this instead of the first frame.
struct Hostile {
    frame: Vec<u8>,
    size: Option<u64>,
    sent: bool,
}

impl Hostile {
    fn new(frame: Vec<u8>, size: Option<u64>) -> Self {
        Self { frame, size, sent: false }
    }
}

impl Store for Hostile {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next if !self.sent => {
                self.sent = true;
                Reply::File(FileInfo { name: b"bomb", size: self.size, ..FileInfo::default() })
            }
            Request::Next => Reply::NoMoreFiles,
            Request::Read { into, .. } => {
                let len = into.len().min(16_000);
                into[..len].fill(0);
                Reply::Read(len)
            }
            Request::Pack { into, .. } => {
                let frame = core::mem::replace(&mut self.frame, vec![0]);
                into[..frame.len()].copy_from_slice(&frame);
                Reply::Packed(frame.len())
            }
            Request::Digest { .. } => Reply::Failed(StoreError::Unsupported),
            _ => Reply::Done,
        }
    }
}

/// What becomes of a receiver, and what it has stored.
pub(crate) fn attack(
    set: &Config,
    frame: Vec<u8>,
    size: Option<u64>,
    sink: MemorySink,
) -> (Outcome, MemorySink) {
    let (mut sender, mut receiver) = engines(set, set);
    attack_between([&mut sender, &mut receiver], frame, size, sink)
}

/// The same with these engines.
pub(crate) fn attack_between(
    [sender, receiver]: [&mut dyn Engine; 2],
    frame: Vec<u8>,
    size: Option<u64>,
    sink: MemorySink,
) -> (Outcome, MemorySink) {
    let (mut hostile, mut host) = (Hostile::new(frame, size), Host::new(sink));
    let mut now = Instant::ZERO;
    for _ in 0..20_000 {
        if let Status::Over(outcome) = receiver.status() {
            let unpacked = receiver.stats().unpacked_bytes;
            assert!(unpacked < 8_000_000, "{unpacked} bytes came out of frames");
            return (outcome, host.store);
        }
        let mut trace = NoTrace;
        let mut cx = Cx { now, trace: &mut trace };
        let mut moved = answer(sender, &mut hostile, &mut cx);
        moved |= carry(sender, receiver, &mut cx);
        moved |= answer(receiver, &mut host, &mut cx);
        moved |= carry(receiver, sender, &mut cx);
        if !moved {
            let next = [sender.deadline(), receiver.deadline()].into_iter().flatten().min();
            now = next.unwrap_or(now).max(now);
            let mut cx = Cx { now, trace: &mut trace };
            sender.tick(&mut cx);
            receiver.tick(&mut cx);
        }
    }
    panic!("it does not end")
}

pub(crate) fn answer(engine: &mut dyn Engine, store: &mut dyn Store, cx: &mut Cx<'_>) -> bool {
    let mut moved = false;
    while let Some(request) = engine.request() {
        let reply = store.answer(request);
        engine.reply(cx, reply);
        moved = true;
    }
    while engine.event().is_some() {
        moved = true;
    }
    moved
}

fn carry(from: &mut dyn Engine, to: &mut dyn Engine, cx: &mut Cx<'_>) -> bool {
    let bytes = from.transmit(cx).to_vec();
    let taken = to.receive(cx, &bytes);
    from.transmitted(cx, taken);
    taken > 0
}

/// A frame of these bytes.
pub(crate) fn frame(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new();
    let mut into = vec![0; bytes.len() + bytes.len() / 128 + 128];
    let request = Request::Pack { bytes, into: &mut into, begin: true, end: true, rate_bps: 9600 };
    let Ok(Reply::Packed(made)) = compressor.answer(request) else { panic!("packed") };
    into.truncate(made);
    into
}

/// A file's header, and this many data records of 8 KiB of zeros.
fn zeros(records: usize, size: Option<u64>) -> Vec<u8> {
    let mut bytes = vec![b'F'];
    match size {
        // The flag of a size, and the size in groups of seven bits.
        Some(size) => {
            let mut number = Vec::new();
            let mut rest = size;
            while rest > 127 {
                number.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            number.push(rest as u8);
            bytes.extend([5 + number.len() as u8, 1]);
            bytes.extend(number);
        }
        None => bytes.extend([5, 0]),
    }
    bytes.extend(b"bomb");
    for _ in 0..records {
        bytes.extend([b'D', 0x80, 0x40]);
        bytes.extend([0; 8192]);
    }
    bytes
}

#[test]
fn a_frame_that_never_ends_ends_the_session() {
    let refuses = || MemorySink::new().with_policy(Policy::Refuse(Refusal::Exists));
    // 24 MB in less than the first chunk of a sender.
    for (size, sink, wanted) in [
        // More than was announced, whether it is wanted or not.
        (Some(10_000), MemorySink::new(), FailureKind::LengthDiffers),
        (Some(10_000), refuses(), FailureKind::Violation),
        // Nothing was announced of a file that is passed over, or anything.
        (None, refuses(), FailureKind::Violation),
        (Some(1 << 50), refuses(), FailureKind::Violation),
        // More than there is room for.
        (None, MemorySink::new().with_space(1_000_000), FailureKind::Store(StoreError::NoSpace)),
    ] {
        let bomb = frame(&zeros(3_000, size));
        assert!(bomb.len() < 3_800, "{}", bomb.len());
        let (outcome, sink) = attack(&config(9600, &[]), bomb, Some(1_000_000), sink);
        let Outcome::Failed(failure) = outcome else { panic!("{size:?}: {outcome:?}") };
        assert_eq!(failure.kind, wanted, "{size:?}");
        let most = 1_000_000 + 2 * Config::default().buffer_len;
        assert!(sink.received().iter().all(|file| !file.complete && file.bytes.len() < most));
    }
}

#[test]
fn files_without_end_that_are_refused_end_the_session() {
    // Each of them has a name of 240 bytes.
    let one = [&b"F\xf1\x01\x00"[..], &[b'b'; 240], b"z"].concat();
    let bomb = frame(&one.repeat(100_000));
    assert!(bomb.len() < 3_800, "{}", bomb.len());
    let sink = MemorySink::new().with_policy(Policy::Refuse(Refusal::Exists));
    let (outcome, sink) = attack(&config(9600, &[]), bomb, None, sink);
    let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.kind, FailureKind::Violation);
    assert!(sink.refused().len() < 20_000, "{}", sink.refused().len());
}

/// What shrinks most, and is not wanted, does no harm to what follows: a sender's frames do not shrink so far.
#[test]
fn zeros_that_are_refused_harm_nothing() {
    let files = [
        MemoryFile::made("zeros", Content::Zeros, 30_000_000),
        MemoryFile::made("random.bin", Content::Random(1), 3000),
    ];
    let sink = MemorySink::new().without("zeros", Refusal::Exists);
    let (report, _) = run("115200,delay=250ms", &files, [&[], &[]], sink);
    let stats = report.sides[1].stats;
    let (unpacked, packed) = (stats.unpacked_bytes, stats.packed_bytes);
    println!("{unpacked} bytes out of {packed}");
    assert!(unpacked > 4_000_000 && unpacked < 2048 * packed, "{unpacked} out of {packed}");
}

#[test]
fn what_is_no_frame_ends_the_session() {
    let good = frame(&zeros(1, None));
    let inner = frame(&[b"K", &good[..]].concat());
    let mut garbage = good.clone();
    garbage[9..].fill(0xa5);
    // Its window is 2^21 bytes.
    let wide = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 11 << 3, 1, 0, 0];
    let records = frame(b"xyz");
    for (name, frame) in [
        ("garbage", garbage),
        ("no frame", b"it begins with something else".to_vec()),
        ("wide", wide),
        ("a frame in a frame", inner),
        ("no records", records),
        ("truncated", [&good[..good.len() - 3], b"more", b"that is none"].concat()),
    ] {
        let (outcome, sink) = attack(&config(9600, &[]), frame, Some(1_000_000), MemorySink::new());
        let Outcome::Failed(failure) = outcome else { panic!("{name}: {outcome:?}") };
        assert_eq!(failure.kind, FailureKind::Violation, "{name}");
        assert!(sink.received().iter().all(|file| !file.complete), "{name}");
    }
}
