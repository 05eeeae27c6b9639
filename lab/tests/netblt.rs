//! NETBLT over a datagram path in virtual time: what may be lost, doubled, overtaken and forged.

mod netblt_run;

use netblt_run::{Path, Plan, Report, Side, ends, receiver, run, sender};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_proto::netblt::packet::kind;
use wetstring_proto::netblt::{Config, Rate};

/// Fixed values: 5 packets every 10 ms.
fn fixed() -> Config {
    Config { rate: Rate::Fixed { burst: 5, interval_ms: 10 }, outstanding: 8, ..Config::default() }
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
