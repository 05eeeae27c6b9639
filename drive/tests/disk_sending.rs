//! The disk store of a sender, driven by requests as an engine makes them, and the sink that is no directory.

use crate::common;

use common::pattern;
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;
use wetstring_drive::SinkStore;
use wetstring_drive::disk::{DiskStore, FileOutcome, ReceiveOptions, SendOptions, Source};
use wetstring_proto::file::{DigestKind, FileInfo, Left, Reply, Request, Store, StoreError};

const TAKEN: Reply<'static> = Reply::Accept { offset: 0 };

fn named(name: &str) -> FileInfo<'_> {
    FileInfo { name: name.as_bytes(), ..FileInfo::default() }
}

/// Name, size, date and permissions.
type Announced = (String, Option<u64>, Option<i64>, Option<u32>);

fn next(store: &mut DiskStore) -> Option<Announced> {
    match store.answer(Request::Next) {
        Reply::File(info) => Some((
            String::from_utf8(info.name.to_vec()).unwrap(),
            info.size,
            info.modified,
            info.mode,
        )),
        Reply::NoMoreFiles => None,
        reply => panic!("{reply:?}"),
    }
}

fn read_all(store: &mut DiskStore) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 1000];
    loop {
        let request = Request::Read { offset: all.len() as u64, into: &mut buffer };
        let Reply::Read(len) = store.answer(request) else { panic!("{:?}", store.last_error()) };
        if len == 0 {
            return all;
        }
        all.extend_from_slice(&buffer[..len]);
    }
}

#[test]
fn files_are_sent_in_order_and_unreadable_ones_are_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let content = pattern(2500);
    let path = directory.path().join("a.bin");
    fs::write(&path, &content).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(directory.path().join("empty"), "").unwrap();
    let sources = vec![
        Source::path(directory.path().join("missing")),
        Source::path(&path),
        Source::path(directory.path()),
        Source::path("/dev/full"),
        Source::path(directory.path().join("empty")).named("other"),
    ];
    let mut store = DiskStore::sending(sources, SendOptions::default());
    let date = fs::metadata(&path).unwrap().modified().unwrap();
    let date = date.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64;
    // Windows has no permissions of this kind, but whether it may be written.
    let mode = Some(if cfg!(unix) { 0o640 } else { 0o644 });
    assert_eq!(next(&mut store), Some(("a.bin".into(), Some(2500), Some(date), mode)));
    assert_eq!(read_all(&mut store), content);
    let hash = xxhash_rust::xxh3::xxh3_128(&content).to_be_bytes();
    let Reply::Digest(digest) = store.answer(Request::Digest { kind: DigestKind::Xxh3, len: 2500 })
    else {
        panic!("no digest")
    };
    assert_eq!(digest[..16], hash);
    let crc = crc32fast::hash(&content[..1000]).to_be_bytes();
    let Reply::Digest(digest) =
        store.answer(Request::Digest { kind: DigestKind::Crc32, len: 1000 })
    else {
        panic!("no digest")
    };
    assert_eq!(digest[..4], crc);
    let longer = Request::Digest { kind: DigestKind::Crc32, len: 2501 };
    assert_eq!(store.answer(longer), Reply::Failed(StoreError::Io));
    store.answer(Request::Close { complete: true, verified: true });

    let (name, size, ..) = next(&mut store).unwrap();
    assert_eq!((name.as_str(), size), ("other", Some(0)));
    assert!(read_all(&mut store).is_empty());
    store.answer(Request::Close { complete: false, verified: false });
    assert_eq!(next(&mut store), None);

    let outcomes: Vec<_> = store.files().iter().map(|record| record.outcome.clone()).collect();
    // Windows has its own words, and no devices among its files.
    let (missing, device) = if cfg!(unix) { ("No such file", "got a device") } else { ("", "") };
    assert!(matches!(&outcomes[0], FileOutcome::Skipped(text) if text.contains(missing)));
    assert_eq!(outcomes[1], FileOutcome::Sent);
    assert!(matches!(&outcomes[2], FileOutcome::Skipped(text) if text.contains("got a directory")));
    assert!(matches!(&outcomes[3], FileOutcome::Skipped(text) if text.contains(device)));
    assert_eq!(outcomes[4], FileOutcome::Partial);
    assert!(store.files()[1].verified && !store.files()[1].changed);
}

#[test]
fn the_rest_of_a_batch_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a"), pattern(100)).unwrap();
    fs::write(path("b"), pattern(20)).unwrap();
    fs::write(path("c"), pattern(3)).unwrap();
    let sources = ["a", "missing", "b", "c"].map(|name| Source::path(path(name))).to_vec();
    let mut store = DiskStore::sending(sources, SendOptions::default());
    for (files, bytes) in [(4, 123), (2, 23), (1, 3)] {
        let Reply::File(info) = store.answer(Request::Next) else { panic!("a file") };
        assert_eq!(info.left, Some(Left { files, bytes }));
    }
    assert_eq!(store.answer(Request::Next), Reply::NoMoreFiles);
}

#[test]
fn a_file_that_changes_while_sent_is_detected() {
    let directory = tempfile::tempdir().unwrap();
    for (name, then, sent) in [("grows", "more", "0123456789"), ("shrinks", "", "")] {
        let path = directory.path().join(name);
        fs::write(&path, "0123456789").unwrap();
        let mut store = DiskStore::sending(vec![Source::path(&path)], SendOptions::default());
        assert_eq!(next(&mut store).unwrap().1, Some(10));
        let now = if then.is_empty() { String::new() } else { format!("0123456789{then}") };
        fs::write(&path, now).unwrap();
        // Never more than was announced.
        assert_eq!(read_all(&mut store), sent.as_bytes());
        store.answer(Request::Close { complete: true, verified: false });
        assert!(store.files()[0].changed, "{name}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "a path begins with a drive")]
fn names_on_the_wire_are_the_last_part_or_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    fs::write(&path, "x").unwrap();
    let mut store = DiskStore::sending(vec![Source::path(&path)], SendOptions::default());
    assert_eq!(next(&mut store).unwrap().0, "f");
    let options = SendOptions { paths: true, ..SendOptions::default() };
    let mut store = DiskStore::sending(vec![Source::path(&path)], options);
    assert_eq!(next(&mut store).unwrap().0, path.to_str().unwrap().trim_start_matches('/'));
}

#[cfg(unix)]
#[test]
fn a_fifo_is_sent_as_a_stream() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut store = DiskStore::sending(vec![Source::path(&path)], SendOptions::default());
    let (name, size, date, _) = next(&mut store).unwrap();
    assert_eq!((name.as_str(), size, date), ("fifo", None, None));
    let content = pattern(5000);
    let writer = std::thread::spawn({
        let (path, content) = (path.clone(), content.clone());
        move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            fs::write(path, content).unwrap();
        }
    });
    // The reader opens first: it waits for the writer, and does not take silence for the end.
    let mut all = Vec::new();
    let mut buffer = [0; 700];
    loop {
        let request = Request::Read { offset: all.len() as u64, into: &mut buffer };
        let Reply::Read(len) = store.answer(request) else { panic!("{:?}", store.last_error()) };
        if len == 0 {
            break;
        }
        all.extend_from_slice(&buffer[..len]);
    }
    writer.join().unwrap();
    assert_eq!(all, content);
    let again = Request::Read { offset: 0, into: &mut buffer };
    assert_eq!(store.answer(again), Reply::Failed(StoreError::Unsupported));
}

#[test]
fn a_store_does_only_its_own_direction() {
    let mut sender = DiskStore::sending(Vec::new(), SendOptions::default());
    let offer = Request::Offer { info: named("f") };
    assert_eq!(sender.answer(offer), Reply::Failed(StoreError::Unsupported));
    let directory = tempfile::tempdir().unwrap();
    let mut receiver = DiskStore::receiving(directory.path(), ReceiveOptions::default()).unwrap();
    assert_eq!(receiver.answer(Request::Next), Reply::NoMoreFiles);
    assert_eq!(receiver.answer(Request::Close { complete: true, verified: true }), Reply::Done);
    let write = Request::Write { offset: 0, bytes: b"x" };
    assert_eq!(receiver.answer(write), Reply::Failed(StoreError::NotFound));
}

#[test]
fn a_sink_writes_in_order_and_computes_its_digest() {
    let mut sink = SinkStore::new(Vec::new());
    assert_eq!(sink.answer(Request::Offer { info: named("../x") }), TAKEN);
    assert_eq!(sink.answer(Request::Write { offset: 0, bytes: b"ab" }), Reply::Done);
    let gap = Request::Write { offset: 5, bytes: b"x" };
    assert_eq!(sink.answer(gap), Reply::Failed(StoreError::Io));
    assert_eq!(sink.answer(Request::Write { offset: 2, bytes: b"cd" }), Reply::Done);
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(&xxhash_rust::xxh3::xxh3_128(b"abcd").to_be_bytes());
    let request = Request::Digest { kind: DigestKind::Xxh3, len: 4 };
    assert_eq!(sink.answer(request), Reply::Digest(digest));
    assert_eq!(sink.answer(Request::Close { complete: true, verified: true }), Reply::Done);
    let record = &sink.files()[0];
    assert_eq!((record.outcome.clone(), record.size), (FileOutcome::Stored, 4));
    assert_eq!(sink.into_inner(), b"abcd");

    // What is always full.
    #[cfg(unix)]
    {
        let mut full =
            SinkStore::new(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        assert_eq!(full.answer(Request::Offer { info: named("x") }), TAKEN);
        let write = Request::Write { offset: 0, bytes: b"x" };
        assert_eq!(full.answer(write), Reply::Failed(StoreError::NoSpace));
        assert!(full.last_error().unwrap().contains("No space left"));
    }
}
