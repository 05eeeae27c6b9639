//! X- and YMODEM where files are refused, on the swarm's lines. Neither protocol can leave a file out, so a
//! refusal ends all: the sender must not say that it is done, and what it counts as sent has arrived.
//!
//! `WETSTRING_SWARM=20000` runs more seeds, `WETSTRING_SEED=7` one, with its trace.

use crate::swarm_run;

use std::cell::Cell;

use wetstring_lab::pair::{Pair, Stop};
use wetstring_lab::random::Random;
use wetstring_lab::serial::Serial;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::swarm::any_line;
use wetstring_lab::trace::Recorder;
use wetstring_proto::settings::Settings;
use wetstring_proto::xymodem::{Config, Receiver, Sender};
use wetstring_proto::{
    Blame, Duration, Failure, FailureKind, FileInfo, LineFacts, Outcome, Refusal,
};
use wetstring_testkit::Picky;

#[derive(Default, Debug)]
struct Sum {
    refused: u64,
    /// Refused after other files of the batch had arrived.
    later: u64,
    /// The sender knows that it was a cancel, and not silence.
    told: u64,
    wanted: u64,
    done: u64,
}

fn one(variant: &str, seed: u64, sum: &mut Sum, recorder: &mut Recorder) {
    let random = &mut Random::stream(seed, "refusals", variant);
    let line = any_line(random);
    let mut config = Config {
        line: LineFacts {
            reliable: Some(false),
            rate_bps: if random.one_in(4) { 0 } else { u32::try_from(line.rate_bps).unwrap_or(0) },
            ..LineFacts::default()
        },
        buffer_len: random.pick(&[1024, 4096]),
        ..Config::default()
    };
    config.set("xymodem.variant", variant).unwrap();
    // A fall back to checksums is another swarm's.
    config.set("xymodem.starts", "0").unwrap();
    let batch = variant.starts_with('y');
    let count = if batch { random.between(2, 5) } else { 1 };
    let len = random.pick(&[1, 200, 3000]);
    let files: Vec<MemoryFile> = (0..count)
        .map(|index| MemoryFile::made(&format!("f{index}"), Content::Random(random.bits()), len))
        .collect();
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    let mut receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let mut source = MemorySource::new(files.clone());
    let unwanted = random.bits() & random.bits();
    let (offers, refused) = (Cell::new(0), Cell::new(false));
    // Refuses the files whose bits are set.
    let choose = |_: &FileInfo<'_>, _: &mut MemorySink| {
        let is_unwanted = unwanted >> offers.replace(offers.get() + 1) & 1 == 1;
        refused.set(refused.get() || is_unwanted);
        is_unwanted.then_some(Refusal::Exists)
    };
    let mut sink = Picky { inner: MemorySink::new(), choose };
    let report = Pair::new(&mut Serial::new(&line))
        .time_limit(Duration::from_secs(100_000))
        .event_limit(20_000_000)
        .run((&mut sender, &mut source), (&mut receiver, &mut sink), recorder);
    let label = format!("{variant} seed {seed} on {line}");
    assert_eq!(report.stop, Stop::Over, "{label}");
    let [ours, theirs] = &report.sides;
    let whole: Vec<_> = sink.inner.complete().collect();
    assert!(ours.files_done <= whole.len() as u64, "{label}: {} said", ours.files_done);
    for (file, got) in files.iter().zip(&whole) {
        let rest = got.bytes.strip_prefix(&file.bytes[..]);
        let padding = rest.is_some_and(|rest| {
            rest.len() < 1024 && (rest.is_empty() || !batch) && rest.iter().all(|b| *b == 0x1a)
        });
        assert!(padding, "{label}: {} differs", String::from_utf8_lossy(&file.name));
    }
    if !refused.get() {
        sum.wanted += 1;
        sum.done += u64::from(report.sides.iter().all(|s| s.outcome == Some(Outcome::Done)));
        return;
    }
    sum.refused += 1;
    sum.later += u64::from(!whole.is_empty());
    let failed = |blame, kind| Some(Outcome::Failed(Failure { blame, kind }));
    assert_eq!(theirs.outcome, failed(Blame::Local, FailureKind::Refused), "{label}");
    assert_eq!(theirs.files_skipped, 1, "{label}");
    assert!(matches!(ours.outcome, Some(Outcome::Failed(_))), "{label}: {:?}", ours.outcome);
    sum.told += u64::from(ours.outcome == failed(Blame::Peer, FailureKind::Aborted));
}

#[test]
fn a_refusal_ends_both_and_no_sender_is_fooled() {
    for variant in ["xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"] {
        let mut sum = Sum::default();
        if swarm_run::replayed(|seed, recorder| one(variant, seed, &mut sum, recorder)) {
            continue;
        }
        let runs = swarm_run::runs(1000);
        for seed in 0..runs {
            one(variant, seed, &mut sum, &mut Recorder::off());
        }
        println!("{variant}: {sum:?}");
        // A swarm in which nothing is refused, or no end learns of it, proves nothing.
        assert!(sum.refused * 5 > runs && sum.wanted * 20 > runs, "{variant}: {sum:?}");
        assert!(sum.told * 2 > sum.refused, "{variant}: {sum:?}");
        assert!(variant == "ymodem-g" || sum.done * 2 > sum.wanted, "{variant}: {sum:?}");
        assert!(!variant.starts_with('y') || sum.later > 0, "{variant}: {sum:?}");
    }
}
