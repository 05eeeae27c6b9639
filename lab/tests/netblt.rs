//! NETBLT over a datagram path in virtual time: what may be lost, doubled, overtaken and forged.

use crate::netblt_run;

use netblt_run::{Path, Plan, Report, Side, ends, receiver, run, sender};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_proto::netblt::Config;
use wetstring_proto::netblt::packet::kind;
use wetstring_proto::{BitRate, Blame, Duration, Outcome, Refusal, Span};

/// Fixed values: 5 packets every 10 ms.
fn fixed() -> Config {
    Config { burst: 5, interval: Span::from_millis(10), outstanding: 8, ..Config::default() }
}

fn files(sizes: &[usize]) -> Vec<MemoryFile> {
    let name = |index: usize| format!("file {index}.bin");
    let made = |(index, size): (usize, &usize)| {
        MemoryFile::made(&name(index), Content::Random(index as u64 + 1), *size)
    };
    sizes.iter().enumerate().map(made).collect()
}

/// Moves files and compares what came; whatever the outcomes are, success must be true.
fn transfer(config: &Config, write: bool, path: &Path, plan: &Plan, sizes: &[usize]) -> Report {
    let (ours, theirs) = ends(config, write);
    let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
    let files = files(sizes);
    let mut source = MemorySource::new(files.clone());
    // Both kinds of stores, by turns.
    let turn = sizes.len() + sizes.iter().sum::<usize>() + path.seed as usize;
    let mut sink =
        if turn.is_multiple_of(2) { MemorySink::new() } else { MemorySink::new().scattered() };
    let a = Side { engine: &mut sending, store: &mut source };
    let b = Side { engine: &mut receiving, store: &mut sink };
    let report = run(path, plan, a, b);
    assert!(!report.storm, "the time goes on");
    assert!(!sink.broken_order(), "the store's contract is kept");
    for (index, came) in sink.complete().enumerate() {
        let file = files.iter().find(|file| file.name == came.name);
        let file = file.unwrap_or_else(|| panic!("file {index} has a name that was sent"));
        assert!(came.bytes == file.bytes[..], "file {index} is what was sent");
    }
    let whole = sink.complete().count() as u64;
    let told = source.closed().iter().flatten().filter(|closed| closed.0).count() as u64;
    assert!(told <= whole, "the sender believes in {told} files, {whole} are whole");
    report
}

fn must_move(config: &Config, write: bool, path: &Path, sizes: &[usize]) -> Report {
    let report = transfer(config, write, path, &Plan::default(), sizes);
    let say = || format!("{path:?} {sizes:?} write={write}: {report:?}");
    assert!(report.is_done(), "{}", say());
    assert_eq!(
        (report.a.done, report.b.done),
        (sizes.len() as u64, sizes.len() as u64),
        "{}",
        say()
    );
    assert_eq!(report.a.verified, sizes.len() as u64, "{}", say());
    report
}

#[test]
fn files_move_both_ways_round() {
    for write in [true, false] {
        must_move(&fixed(), write, &Path::new(10_000_000, 20), &[100_000]);
        must_move(&fixed(), write, &Path::new(10_000_000, 20), &[0, 1, 3000, 0, 50_000]);
    }
}

#[test]
fn sizes_at_every_edge() {
    let packet = 1408;
    let buffer = packet * 32;
    for size in
        [0, 1, packet - 1, packet, packet + 1, buffer - 21, buffer - 20, buffer - 19, buffer]
    {
        must_move(&fixed(), true, &Path::new(10_000_000, 10), &[size]);
        let bare = Config { files: false, digest: false, ..fixed() };
        let report = transfer(&bare, true, &Path::new(10_000_000, 10), &Plan::default(), &[size]);
        assert!(
            report.is_done() && report.b.done == 1 && report.b.verified == 0,
            "{size} {report:?}"
        );
    }
}

#[test]
fn each_kind_of_packet_may_be_lost() {
    let kinds = [
        (true, kind::OPEN),
        (false, kind::RESPONSE),
        (false, kind::CONTROL),
        (true, kind::DATA),
        (true, kind::LDATA),
        (true, kind::NULL_ACK),
        (false, kind::DONE),
        (false, kind::REFUSED),
    ];
    for (from_sender, kind) in kinds {
        for count in [1, 3] {
            let path = Path::new(10_000_000, 40).doom(from_sender, kind, count);
            must_move(&fixed(), true, &path, &[200_000, 3000]);
            let turned = |kind| match kind {
                kind::OPEN | kind::RESPONSE | kind::REFUSED => !from_sender,
                _ => from_sender,
            };
            let path = Path::new(10_000_000, 40).doom(turned(kind), kind, count);
            must_move(&fixed(), false, &path, &[200_000, 3000]);
        }
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn overtaken_doubled_and_damaged_packets() {
    for seed in 1..6 {
        let mut path = Path::new(10_000_000, 60).loss(200).seed(seed);
        path.reorder = 500;
        path.hold = ms(80);
        path.twice = 300;
        path.damage = 3000;
        for write in [true, false] {
            must_move(&fixed(), write, &path, &[150_000, 0, 70_000]);
            must_move(&Config::default(), write, &path, &[150_000, 0, 70_000]);
        }
    }
}

#[test]
fn two_to_thirty_buffers_over_a_satellite() {
    // RFC 1030 section 7: 1.8 s, 5 packets every 55 ms, buffers of ten packets.
    let wideband = |outstanding| Config {
        burst: 5,
        interval: Span::from_millis(55),
        max_datagram: 1456,
        buffer_size: 14_320,
        outstanding,
        ..Config::default()
    };
    let time = |outstanding| {
        let path = Path::new(3_000_000, 1800).loss(50);
        must_move(&wideband(outstanding), true, &path, &[400_000]).b.settled
    };
    let times = [1, 2, 8, 30].map(time);
    assert!(times.is_sorted_by(|a, b| a > b), "more buffers are faster: {times:?}");
    // At the rate the data alone takes 3.1 s; one buffer at a time takes a round trip for each.
    assert!(times[3] < Duration::from_secs(11) && times[0] > Duration::from_secs(50), "{times:?}");
}

#[test]
fn bursts_start_an_interval_apart() {
    let config = Config { burst: 5, interval: Span::from_millis(30), ..fixed() };
    // 300 packets in 60 bursts take at least 59 intervals, however fast the path is.
    let report = must_move(&config, true, &Path::new(1_000_000_000, 2), &[300 * 1408 - 20]);
    let least = ms(59 * 30);
    assert!(report.b.settled >= least && report.b.settled < least + ms(200), "{report:?}");
}

#[test]
fn the_more_restrictive_end_has_its_way() {
    let (mut ours, mut theirs) = ends(&fixed(), true);
    theirs.burst = 2;
    theirs.interval = Span::from_millis(40);
    theirs.max_datagram = 700;
    theirs.outstanding = 2;
    ours.checksum = false;
    for _ in 0..2 {
        let mut source = MemorySource::new(files(&[60_000]));
        let mut sink = MemorySink::new();
        let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
        let a = Side { engine: &mut sending, store: &mut source };
        let b = Side { engine: &mut receiving, store: &mut sink };
        let report = run(&Path::new(100_000_000, 10), &Plan::default(), a, b);
        assert!(report.is_done() && report.a.verified == 1, "{report:?}");
        // 60,000 bytes in packets of 676 by twos every 40 ms.
        assert!(report.b.settled >= ms(44 * 40), "{report:?}");
        assert!(report.a.stats.longest_packet_bytes <= 700, "{report:?}");
        assert_eq!(sending.burst(), (2, 40));
        // The other way round.
        std::mem::swap(&mut ours, &mut theirs);
        std::mem::swap(&mut ours.role, &mut theirs.role);
        std::mem::swap(&mut ours.local_port, &mut theirs.local_port);
        theirs.foreign_port = 7000;
        ours.foreign_port = 7000;
    }
}

#[test]
fn the_ceiling_holds() {
    for max_rate_bps in [200_000, 5_000_000] {
        let config = Config { max_rate: BitRate::from_bps(max_rate_bps), ..Config::default() };
        let size = max_rate_bps as usize;
        let report = must_move(&config, true, &Path::new(50_000_000, 20), &[size]);
        let least = Duration::from_secs_f64(size as f64 * 8.0 / max_rate_bps as f64 * 0.97);
        assert!(report.b.settled > least, "{max_rate_bps}: {report:?}");
        assert!(report.b.settled < least.mul_f64(1.2) + ms(500), "{max_rate_bps}: {report:?}");
    }
}

#[test]
fn silence_ends_at_both_ends() {
    let config = Config { death: Span::from_millis(5000), ..fixed() };
    for write in [true, false] {
        let plan = Plan { cut: Some(ms(300)), ..Plan::default() };
        let report = transfer(&config, write, &Path::new(2_000_000, 20), &plan, &[1_000_000]);
        for side in [&report.a, &report.b] {
            assert!(matches!(side.outcome, Some(Outcome::Failed(_))), "{report:?}");
            assert!(side.settled > ms(5000) && side.settled < ms(6000), "{report:?}");
        }
    }
}

#[test]
fn no_peer() {
    for write in [true, false] {
        let plan = Plan { cut: Some(ms(0)), limit: Some(ms(700_000)), ..Plan::default() };
        let report = transfer(&fixed(), write, &Path::new(2_000_000, 20), &plan, &[1000]);
        let active = if write { &report.a } else { &report.b };
        // Five OPENs, two seconds apart.
        assert!(matches!(active.outcome, Some(Outcome::Failed(_))), "{report:?}");
        assert_eq!((active.settled, active.stats.packets_out), (ms(10_000), 5), "{report:?}");
    }
}

#[test]
fn the_user_can_end_a_transfer() {
    use wetstring_proto::Command::{Abort, CancelBatch, CancelFile};
    for write in [true, false] {
        for to_a in [true, false] {
            for command in [Abort, CancelBatch, CancelFile] {
                let plan = Plan { acts: vec![(ms(400), to_a, command)], ..Plan::default() };
                let path = Path::new(5_000_000, 40);
                let report = transfer(&fixed(), write, &path, &plan, &[2_000_000, 3000]);
                let say = || format!("write={write} to_a={to_a} {command:?} {report:?}");
                assert!(report.elapsed < ms(60_000), "{}", say());
                let failed = matches!(report.a.outcome, Some(Outcome::Failed(_)));
                assert_eq!(failed, command == Abort, "{}", say());
                let done = u64::from(command == CancelFile);
                assert_eq!((report.a.done, report.b.done), (done, done), "{}", say());
                let cancelled = u64::from(command != Abort);
                assert_eq!(report.a.cancelled, cancelled, "{}", say());
                assert_eq!(report.b.cancelled, cancelled, "{}", say());
            }
        }
    }
}

#[test]
fn refused_files_are_passed_over() {
    for write in [true, false] {
        let (ours, theirs) = ends(&fixed(), write);
        let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
        let mut source = MemorySource::new(files(&[5000, 6000, 7000]));
        let mut sink = MemorySink::new().without("file 1.bin", Refusal::Exists);
        let a = Side { engine: &mut sending, store: &mut source };
        let b = Side { engine: &mut receiving, store: &mut sink };
        let report = run(&Path::new(5_000_000, 40), &Plan::default(), a, b);
        assert!(report.is_done(), "{report:?}");
        assert_eq!((report.a.done, report.a.refused, report.b.refused), (2, 1, 1), "{report:?}");
        assert_eq!(sink.complete().count(), 2);
    }
}

#[test]
fn existing_data_is_not_sent_again() {
    let mut file = files(&[500_000]).remove(0);
    file.resume = true;
    for (write, right) in [(true, true), (false, true), (true, false), (false, false)] {
        let (ours, theirs) = ends(&fixed(), write);
        let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
        let mut here = file.bytes.to_vec();
        let pieces = [(0, 100_000), (150_001, 300_000), (499_000, 500_000)];
        here[100_000..150_001].fill(0);
        if !right {
            // It is of another file.
            here[7] ^= 1;
        }
        let mut source = MemorySource::one(file.clone());
        let mut sink = MemorySink::new().with_pieces("file 0.bin", &here, &pieces);
        let a = Side { engine: &mut sending, store: &mut source };
        let b = Side { engine: &mut receiving, store: &mut sink };
        let report = run(&Path::new(5_000_000, 40).loss(100), &Plan::default(), a, b);
        assert!(report.is_done() && report.a.verified == 1, "{write} {right} {report:?}");
        let came = sink.complete().next().expect("the file is whole");
        assert!(came.bytes == file.bytes[..] && !sink.broken_order(), "{write} {right}");
        let moved = report.a.stats.file_bytes;
        let missing = 500_000 - 100_000 - 149_999 - 1000;
        let all = if right { missing } else { missing + 500_000 };
        assert!(moved >= all && moved < all + 100, "{write} {right}: {moved} of {all}");
    }
}

#[test]
fn stores_fail_and_both_ends_know() {
    for write in [true, false] {
        let (ours, theirs) = ends(&fixed(), write);
        let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
        let mut source = MemorySource::new(files(&[300_000]));
        let mut sink = MemorySink::new().with_space(100_000);
        let a = Side { engine: &mut sending, store: &mut source };
        let b = Side { engine: &mut receiving, store: &mut sink };
        let report = run(&Path::new(5_000_000, 40), &Plan::default(), a, b);
        assert!(matches!(report.a.outcome, Some(Outcome::Failed(f)) if f.blame == Blame::Peer));
        assert!(matches!(report.b.outcome, Some(Outcome::Failed(f)) if f.blame == Blame::Store));
        let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
        let mut source = MemorySource::new(files(&[300_000])).failing_at(100_000);
        let mut sink = MemorySink::new();
        let a = Side { engine: &mut sending, store: &mut source };
        let b = Side { engine: &mut receiving, store: &mut sink };
        let report = run(&Path::new(5_000_000, 40), &Plan::default(), a, b);
        assert!(matches!(report.a.outcome, Some(Outcome::Failed(f)) if f.blame == Blame::Store));
        assert!(matches!(report.b.outcome, Some(Outcome::Failed(f)) if f.blame == Blame::Peer));
    }
}
