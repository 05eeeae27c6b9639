//! Two engines in virtual time: exact times, limits, faults, stores.

use crate::toy;

use std::collections::BTreeSet;
use toy::{Defect, Toy};
use wetstring_lab::pair::{Act, Stop};
use wetstring_lab::store::{Content, Policy};
use wetstring_lab::trace::twice;
use wetstring_lab::{
    Element, End, LineModel, MemoryFile, MemorySink, MemorySource, Pair, PairReport, Recorder,
    Serial,
};
use wetstring_proto::engine::{Blame, Command, Failure, FailureKind, Outcome};
use wetstring_proto::file::{DigestKind, Refusal, Reply, Request, Store, StoreError};
use wetstring_proto::{Duration, Instant, TraceEvent};

fn files() -> Vec<MemoryFile> {
    vec![
        MemoryFile::made("random", Content::Random(1), 1000),
        MemoryFile::made("empty", Content::Zeros, 0),
        MemoryFile::made("text", Content::Text(1), 500),
    ]
}

fn line(text: &str) -> Serial {
    Serial::new(&text.parse::<LineModel>().expect("a good line"))
}

fn transfer(text: &str, sink: &mut MemorySink, recorder: &mut Recorder) -> PairReport {
    let mut element = line(text);
    Pair::new(&mut element).run(
        (&mut Toy::sender(Defect::None), &mut MemorySource::new(files())),
        (&mut Toy::receiver(Defect::None), sink),
        recorder,
    )
}

fn arrived(sink: &MemorySink) -> Vec<Vec<u8>> {
    sink.complete().map(|file| file.bytes.clone()).collect()
}

fn failed(blame: Blame, kind: FailureKind) -> Outcome {
    Outcome::Failed(Failure { blame, kind })
}

#[test]
fn a_clean_transfer_takes_exactly_its_time() {
    let mut sink = MemorySink::new();
    let report = transfer("9600,delay=100ms", &mut sink, &mut Recorder::off());
    assert!(report.is_done(), "{report:?}");
    assert_eq!(report.stop, Stop::Over);
    let sent: Vec<Vec<u8>> = files().iter().map(|file| file.bytes.to_vec()).collect();
    assert_eq!(arrived(&sink), sent);
    // 3 F, 18 D, 3 Z and a B; each frame and each answer crosses the line alone.
    let frames: Vec<u64> = [6u64, 5, 4, 8, 8, 8, 0]
        .into_iter()
        .chain([90; 11])
        .chain([10])
        .chain([90; 5])
        .chain([50])
        .collect();
    let exact = |len: u64| 100_000_000 + (len + 8) * 10 * 1_000_000_000 / 9600;
    let total: u64 = frames.iter().map(|len| exact(*len) + exact(0)).sum();
    assert_eq!(report.elapsed, Duration::from_nanos(total));
    // The receiver stays for three timeouts after the end.
    let linger = report.ended_at.since(Instant::ZERO + report.elapsed);
    assert_eq!(linger + Duration::from_nanos(exact(0)), Duration::from_secs(45));
    let usage = report.sides[0].usage;
    assert_eq!(usage.bits, 10 * frames.iter().map(|len| len + 8).sum::<u64>());
    assert_eq!(report.sides[0].stats.wire_out_bytes, usage.bytes_in);
    assert_eq!(report.sides[1].stats.wire_in_bytes, usage.bytes_out);
    assert_eq!(report.idle_ns(End::A) + usage.busy_ns, total);
    assert_eq!(report.sides[0].files_done, 3);
}

const NOISY: &str = "9600,delay=50ms,ber=3e-5,burst=8@4s,drop=1e-4,dup=1e-4,seed=11";

#[test]
fn a_noisy_transfer_is_whole_and_the_same_twice() {
    let run = |recorder: &mut Recorder| {
        let mut sink = MemorySink::new();
        (transfer(NOISY, &mut sink, recorder), arrived(&sink))
    };
    let ((report, got), recorder) = twice(run).unwrap_or_else(|difference| panic!("{difference}"));
    assert!(report.is_done(), "{report:?}");
    assert!(report.sides[0].stats.retransmissions > 0);
    let sent: Vec<Vec<u8>> = files().iter().map(|file| file.bytes.to_vec()).collect();
    assert_eq!(got, sent);
    assert!(recorder.lines().iter().any(|line| line.contains(" line value ")));
    assert!(recorder.lines().iter().any(|line| line.contains(" A sent D ")));
    assert!(recorder.lines().iter().any(|line| line.contains(" B damaged ")));
    assert!(recorder.lines().is_sorted_by_key(|line| line.split(' ').next().map(str::len)));
    let mut digest = Recorder::digest_only();
    transfer(NOISY, &mut MemorySink::new(), &mut digest);
    assert_eq!((digest.digest(), digest.count()), (recorder.digest(), recorder.count()));
    let mut other = Recorder::digest_only();
    transfer(&NOISY.replace("seed=11", "seed=12"), &mut MemorySink::new(), &mut other);
    assert_ne!(other.digest(), recorder.digest());
}

#[test]
fn twice_finds_a_difference() {
    let mut count = 0;
    let difference = twice(|recorder| {
        recorder.note(Instant(1), "A", &TraceEvent::Stopped("same"));
        count += 1;
        recorder.note(Instant(2), "A", &TraceEvent::Value { name: "run", value: count });
    });
    let difference = difference.expect_err("the second line differs");
    assert_eq!(difference.line, 1);
    assert_eq!(
        difference.to_string(),
        "expected the same trace twice, line 2 is `0.000000002 A value run=1` first and \
         `0.000000002 A value run=2` then"
    );
}

#[test]
fn port_size_changes_writes_but_not_a_clean_result() {
    let mut reports = Vec::new();
    for size in [1, 7, 64, 10_000] {
        let mut element = line("9600,delay=10ms");
        let mut sink = MemorySink::new();
        let report = Pair::new(&mut element).port_buffer(size).run(
            (&mut Toy::sender(Defect::None), &mut MemorySource::new(files())),
            (&mut Toy::receiver(Defect::None), &mut sink),
            &mut Recorder::off(),
        );
        reports.push((report.elapsed, report.sides));
    }
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
}

#[test]
fn limits_stop_a_run() {
    let run = |pair: Pair<'_>, a: Defect| {
        pair.run(
            (&mut Toy::sender(a), &mut MemorySource::new(files())),
            (&mut Toy::receiver(Defect::None), &mut MemorySink::new()),
            &mut Recorder::off(),
        )
    };
    let mut clean = line("9600");
    let report = run(Pair::new(&mut clean).time_limit(Duration::from_secs(1)), Defect::None);
    assert_eq!((report.stop, report.elapsed), (Stop::TimeLimit, Duration::from_secs(1)));
    let mut clean = line("9600");
    let report = run(Pair::new(&mut clean).event_limit(50), Defect::None);
    assert_eq!((report.stop, report.events), (Stop::EventLimit, 50));
    let mut dead = line("9600,drop=1");
    let report = run(Pair::new(&mut dead), Defect::None);
    assert_eq!(report.stop, Stop::Over);
    let outcomes = report.sides.map(|side| side.outcome);
    let silence = failed(Blame::Line, FailureKind::Silence);
    assert_eq!(outcomes, [Some(failed(Blame::Line, FailureKind::TooManyRetries)), Some(silence)]);
    let mut dead = line("9600,drop=1");
    let report = run(Pair::new(&mut dead), Defect::TimerStays);
    assert_eq!(report.stop, Stop::Storm);
}

#[test]
fn the_user_can_act_at_a_time() {
    let mut element = line("9600");
    let when = Duration::from_millis(700);
    let report = Pair::new(&mut element).at(when, Act::Command(End::A, Command::Abort)).run(
        (&mut Toy::sender(Defect::None), &mut MemorySource::new(files())),
        (&mut Toy::receiver(Defect::None), &mut MemorySink::new()),
        &mut Recorder::off(),
    );
    assert_eq!(report.sides[0].settled_at, Some(Instant::ZERO + when));
    assert_eq!(report.sides[0].outcome, Some(failed(Blame::Local, FailureKind::Aborted)));
    assert_eq!(report.stop, Stop::Over);
    assert_eq!(report.sides[1].outcome, Some(failed(Blame::Line, FailureKind::Silence)));
}

#[test]
fn calm_lets_a_dead_line_live() {
    let mut element = line("9600,drop=1");
    let mut sink = MemorySink::new();
    let report = Pair::new(&mut element).at(Duration::from_secs(100), Act::Calm).run(
        (&mut Toy::sender(Defect::None), &mut MemorySource::new(files())),
        (&mut Toy::receiver(Defect::None), &mut sink),
        &mut Recorder::off(),
    );
    assert!(report.is_done());
    assert_eq!(sink.complete().count(), 3);
    assert!(element.usage(End::A).dropped_bytes > 0);
}

#[test]
fn stores_refuse_resume_and_fail() {
    let mut sink = MemorySink::new().with_policy(Policy::Refuse(Refusal::Exists));
    let report = transfer("0", &mut sink, &mut Recorder::off());
    assert!(report.is_done());
    assert_eq!(report.sides.map(|side| side.files_skipped), [3, 3]);
    assert_eq!(sink.refused().len(), 3);

    let mut sink = MemorySink::new().with_space(300);
    let report = transfer("0", &mut sink, &mut Recorder::off());
    let no_space = failed(Blame::Store, FailureKind::Store(StoreError::NoSpace));
    assert_eq!(report.sides[1].outcome, Some(no_space));
    assert_eq!(sink.received()[0].bytes.len(), 270);
    assert_eq!(sink.complete().count(), 0);

    let mut source = MemorySource::new(files()).failing_at(100);
    assert!(matches!(source.answer(Request::Next), Reply::File(info) if info.name == b"random"));
    let mut read = |offset| match source.answer(Request::Read { offset, into: &mut [0; 90] }) {
        Reply::Read(len) => Ok(len),
        other => Err(format!("{other:?}")),
    };
    assert_eq!(read(0), Ok(90));
    assert_eq!(read(90), Ok(10));
    assert_eq!(read(100), Err("Failed(Io)".to_owned()));

    let mut sink = MemorySink::new().with_policy(Policy::Resume).with_partial("a", b"1234");
    let info = wetstring_proto::FileInfo { name: b"a", ..Default::default() };
    assert_eq!(sink.answer(Request::Offer { info }), Reply::Accept { offset: 4 });
    assert_eq!(sink.answer(Request::Write { offset: 4, bytes: b"56789" }), Reply::Done);
    // The check value of CRC-32 for the digits 1 to 9.
    let mut crc = [0; 32];
    crc[..4].copy_from_slice(&0xcbf4_3926_u32.to_be_bytes());
    let digest = |sink: &mut MemorySink, kind, len| match sink.answer(Request::Digest { kind, len })
    {
        Reply::Digest(bytes) => Some(bytes),
        _ => None,
    };
    assert_eq!(digest(&mut sink, DigestKind::Crc32, 9), Some(crc));
    assert_eq!(digest(&mut sink, DigestKind::Crc32, 10), None);
    let other = digest(&mut sink, DigestKind::Xxh3, 8).expect("a digest");
    assert_ne!(digest(&mut sink, DigestKind::Xxh3, 9), Some(other));
    assert!(!sink.broken_order());
    sink.answer(Request::Write { offset: 3, bytes: b"x" });
    assert!(sink.broken_order());
}

#[test]
fn made_content_is_what_it_says() {
    assert_eq!(Content::Ramp.bytes(300)[254..258], [254, 255, 0, 1]);
    let text = Content::Text(1).bytes(100_000);
    assert!(text.iter().all(|byte| byte.is_ascii_lowercase() || b" \n".contains(byte)));
    let lines = text.split(|byte| *byte == b'\n').count();
    assert!((40..55).contains(&(100_000 / lines)), "{}", 100_000 / lines);
    assert_eq!(Content::Random(1).bytes(99), Content::Random(1).bytes(100)[..99]);
    assert_ne!(Content::Random(1).bytes(99), Content::Random(2).bytes(99));
    let runs = Content::Runs.bytes(Content::runs_len());
    let found: BTreeSet<(u8, usize)> =
        runs.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    for value in 0..=255u8 {
        for len in [1, 2, 3, 4, 5, 93, 94, 95, 188, 189] {
            assert!(found.contains(&(value, len)), "{value} x {len}");
        }
    }
}
