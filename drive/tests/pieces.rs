//! Files received in any order: what is remembered of them, and how it is used later.

use std::path::Path;
use wetstring_drive::DiskStore;
use wetstring_drive::disk::ReceiveOptions;
use wetstring_proto::file::{FileInfo, Reply, Request, Store};

const LEN: usize = 1_000_000;

fn content() -> Vec<u8> {
    (0..LEN).map(|at| (at * 7 + at / 251) as u8).collect()
}

fn offer(store: &mut DiskStore, resume: bool) -> u64 {
    let info = FileInfo {
        name: b"a.bin",
        size: Some(LEN as u64),
        resume,
        compared: resume,
        ..FileInfo::default()
    };
    match store.answer(Request::Offer { info }) {
        Reply::Accept { offset } => offset,
        other => panic!("{other:?}"),
    }
}

fn held(store: &mut DiskStore, from: u64) -> (u64, u64) {
    match store.answer(Request::Held { from }) {
        Reply::Held { from, to } => (from, to),
        other => panic!("{other:?}"),
    }
}

fn write(store: &mut DiskStore, from: usize, to: usize) {
    let all = content();
    // In packets, as they come.
    for start in (from..to).step_by(1400) {
        let bytes = &all[start..(start + 1400).min(to)];
        let reply = store.answer(Request::Write { offset: start as u64, bytes });
        assert_eq!(reply, Reply::Done);
    }
}

fn close(store: &mut DiskStore, complete: bool) {
    assert_eq!(store.answer(Request::Close { complete, verified: complete }), Reply::Done);
}

fn open(dir: &Path) -> DiskStore {
    DiskStore::receiving(dir, ReceiveOptions::default()).unwrap()
}

#[test]
fn pieces_arrive_in_any_order_and_are_complete_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    assert_eq!(offer(&mut store, false), 0);
    assert_eq!(held(&mut store, 0), (0, 0));
    write(&mut store, 500_000, LEN);
    write(&mut store, 0, 200_000);
    write(&mut store, 200_000, 500_000);
    assert_eq!(held(&mut store, 0).0, 0);
    close(&mut store, true);
    assert!(std::fs::read(dir.path().join("a.bin")).unwrap() == content());
}

#[test]
fn the_rest_of_a_longer_file_is_truncated() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    offer(&mut store, true);
    held(&mut store, 0);
    write(&mut store, 300_000, 900_000);
    close(&mut store, false);
    // Another file of that name now.
    let mut store = open(dir.path());
    let info = FileInfo {
        name: b"a.bin",
        size: Some(400_000),
        resume: true,
        compared: true,
        ..FileInfo::default()
    };
    assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
    assert_eq!(held(&mut store, 0), (300_000, 400_000), "no piece goes beyond its end");
    assert_eq!(held(&mut store, 400_000), (400_000, 400_000));
    write(&mut store, 0, 300_000);
    close(&mut store, true);
    let came = std::fs::read(dir.path().join("a.bin")).unwrap();
    assert_eq!(came.len(), 400_000);
    assert!(came == content()[..400_000]);
}

#[test]
fn a_failure_is_reported_to_every_later_request() {
    use wetstring_proto::file::{DigestKind, StoreError};
    // Writes of a mebibyte go to a thread, whose failure comes later.
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let info = FileInfo { name: b"a.bin", ..FileInfo::default() };
    assert!(matches!(store.answer(Request::Offer { info }), Reply::Accept { .. }));
    held(&mut store, 0);
    let block = vec![7; 1 << 20];
    for at in 0..4_u64 {
        assert_eq!(store.answer(Request::Write { offset: at << 20, bytes: &block }), Reply::Done);
    }
    // Nothing can be written so far out, whatever the file system.
    let failed = |store: &mut DiskStore, request| matches!(store.answer(request), Reply::Failed(error) if error != StoreError::Unsupported);
    failed(&mut store, Request::Write { offset: i64::MAX as u64 - 1000, bytes: &block });
    assert!(failed(&mut store, Request::Digest { kind: DigestKind::Xxh3, len: 5 << 20 }));
    assert!(failed(&mut store, Request::Close { complete: true, verified: true }));
    assert!(!store.last_error().unwrap().contains("earlier"), "{:?}", store.last_error());
    assert!(!dir.path().join("a.bin").exists());
}

#[test]
fn existing_pieces_are_not_requested_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    offer(&mut store, true);
    held(&mut store, 0);
    write(&mut store, 100_000, 300_000);
    write(&mut store, 600_000, 700_000);
    close(&mut store, false);
    assert_eq!(store.files()[0].size, 300_000);
    let mut store = open(dir.path());
    // Nothing is here in order.
    assert_eq!(offer(&mut store, true), 0);
    assert_eq!(held(&mut store, 0), (100_000, 300_000));
    assert_eq!(held(&mut store, 300_000), (600_000, 700_000));
    assert_eq!(held(&mut store, 700_000), (700_000, 700_000));
    write(&mut store, 0, 100_000);
    write(&mut store, 300_000, 600_000);
    write(&mut store, 700_000, LEN);
    close(&mut store, true);
    assert!(std::fs::read(dir.path().join("a.bin")).unwrap() == content());
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing is left beside it");
}

#[test]
fn a_sequential_store_sees_no_holes() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    offer(&mut store, true);
    held(&mut store, 0);
    write(&mut store, 0, 50_000);
    write(&mut store, 600_000, 700_000);
    close(&mut store, false);
    let mut store = open(dir.path());
    let offset = offer(&mut store, true);
    assert_eq!(offset, 50_000);
    write(&mut store, 50_000, 300_000);
    close(&mut store, false);
    let len = std::fs::metadata(dir.path().join("a.bin.part")).unwrap().len();
    assert_eq!(len, 300_000, "what lay behind the hole is gone");
    let mut store = open(dir.path());
    assert_eq!(offer(&mut store, true), 300_000);
    write(&mut store, 300_000, LEN);
    close(&mut store, true);
    assert!(std::fs::read(dir.path().join("a.bin")).unwrap() == content());
}
