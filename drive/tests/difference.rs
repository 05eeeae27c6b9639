//! Older versions on the disk: blocks are found and taken from them, the old file stays until the new one is complete, and
//! one that changes is an error.

use std::fs;
use std::path::Path;
use tempfile::TempDir;
use wetstring_drive::DiskStore;
use wetstring_drive::disk::{Collision, ReceiveOptions, SendOptions, Source};
use wetstring_proto::difference::SIGNATURE;
use wetstring_proto::file::{FileInfo, Reply, Request, Store, StoreError};
use wetstring_testkit::{random, vectors};

const BLOCK: u32 = 2048;
const LEN: usize = 200_000;

/// The new version, of which blocks 0, 50 and the tail are not in the old one, which begins otherwise.
fn versions() -> (Vec<u8>, Vec<u8>) {
    let new = random(LEN, 1);
    let mut old = random(777, 2);
    old.extend_from_slice(&new);
    old[777 + 5] ^= 1;
    old[777 + 50 * BLOCK as usize + 9] ^= 1;
    (old, new)
}

fn received_in(directory: &Path, collision: Collision) -> DiskStore {
    let options = ReceiveOptions { collision, ..ReceiveOptions::default() };
    DiskStore::receiving(directory, options).unwrap()
}

fn offer(store: &mut DiskStore, size: usize) -> Reply<'static> {
    let info = FileInfo { name: b"image", size: Some(size as u64), ..FileInfo::default() };
    match store.answer(Request::Offer { info }) {
        Reply::Accept { offset } => Reply::Accept { offset },
        other => panic!("{other:?}"),
    }
}

/// The signatures of the file that a sender's store has.
fn signatures(new: &[u8]) -> Vec<u8> {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("image");
    fs::write(&path, new).unwrap();
    let mut store = DiskStore::sending(vec![Source::path(path)], SendOptions::default());
    assert!(matches!(store.answer(Request::Next), Reply::File(_)));
    let mut list = Vec::new();
    loop {
        let mut into = [0; 10 * SIGNATURE];
        let from = (list.len() / SIGNATURE) as u64 * u64::from(BLOCK);
        let request = Request::Signatures { from, block: BLOCK, into: &mut into };
        let Reply::Read(len) = store.answer(request) else { panic!("no signatures") };
        list.extend_from_slice(&into[..len]);
        if len < into.len() {
            return list;
        }
    }
}

/// The record of the page about the extension, which begins with the lengths.
#[test]
fn signatures_are_those_of_another_program() {
    let rows = vectors("blocks");
    let [_, some, record] = rows.iter().find(|row| row[0] == b"H").unwrap();
    let file: Vec<u8> = (0..4096_u32).map(|n| (n * n / 64) as u8).collect();
    assert_eq!(file[64..80], some[..]);
    assert_eq!([&[b'H', 0x80, 0x10, 2], &signatures(&file)[..]].concat(), *record);
}

/// A receiver that has the old version, and has looked for the blocks of the new one.
fn searched(directory: &Path, collision: Collision) -> (DiskStore, [u8; 13]) {
    let (old, new) = versions();
    fs::write(directory.join("image"), &old).unwrap();
    let mut store = received_in(directory, collision);
    assert_eq!(offer(&mut store, LEN), Reply::Accept { offset: 0 });
    assert_eq!(store.answer(Request::Older), Reply::Done);
    for bytes in signatures(&new).chunks(100) {
        let learn = Request::Learn { from: 0, block: BLOCK, bytes };
        assert_eq!(store.answer(learn), Reply::Done);
    }
    let mut bits = [0; 13];
    assert_eq!(store.answer(Request::Find { first: 0, into: &mut bits }), Reply::Done);
    (store, bits)
}

fn write(store: &mut DiskStore, new: &[u8], from: usize, to: usize) {
    let request = Request::Write { offset: from as u64, bytes: &new[from..to] };
    assert_eq!(store.answer(request), Reply::Done);
}

fn copy(store: &mut DiskStore, from: usize, to: usize) -> Reply<'static> {
    match store.answer(Request::Copy { from: from as u64, to: to as u64 }) {
        Reply::Done => Reply::Done,
        Reply::Failed(error) => Reply::Failed(error),
        other => panic!("{other:?}"),
    }
}

/// Takes the new version as an engine does.
fn take(store: &mut DiskStore) {
    let ((_, new), block) = (versions(), BLOCK as usize);
    write(store, &new, 0, block);
    assert_eq!(copy(store, block, 50 * block), Reply::Done);
    write(store, &new, 50 * block, 51 * block);
    assert_eq!(copy(store, 51 * block, 97 * block), Reply::Done);
    write(store, &new, 97 * block, LEN);
}

#[test]
fn signatures_are_those_of_the_specification() {
    let list = signatures(&(0..3 * 2048).map(|at| (at % 2048 % 251) as u8).collect::<Vec<u8>>());
    // The beginning of the hash is that of BLAKE3's own vector of 2,048 bytes.
    let strong = [0xe7, 0x76, 0xb6, 0x02, 0x8c, 0x7c, 0xd2, 0x2a];
    assert_eq!(list.len(), 3 * SIGNATURE);
    for signature in list.chunks(SIGNATURE) {
        assert_eq!(signature[4..], strong);
    }
}

#[test]
fn the_old_file_stays_until_the_new_one_is_complete() {
    for (collision, aside) in [(Collision::Replace, false), (Collision::Backup, true)] {
        let directory = TempDir::new().unwrap();
        let (old, new) = versions();
        let (mut store, bits) = searched(directory.path(), collision);
        let there: Vec<usize> = (0..104).filter(|at| bits[at / 8] >> (at % 8) & 1 == 1).collect();
        assert_eq!(there, (1..50).chain(51..97).collect::<Vec<_>>());
        take(&mut store);
        assert_eq!(fs::read(directory.path().join("image")).unwrap(), old);
        let close = Request::Close { complete: true, verified: true };
        assert_eq!(store.answer(close), Reply::Done);
        assert!(fs::read(directory.path().join("image")).unwrap() == new);
        let kept = fs::read(directory.path().join("image.~1~"));
        assert_eq!(kept.is_ok_and(|kept| kept == old), aside, "{collision:?}");
    }
}

#[test]
fn one_that_is_not_replaced_is_not_looked_at() {
    let (old, new) = versions();
    let no = Reply::Failed(StoreError::Unsupported);
    let cases = [
        (Collision::Rename, &old[..], LEN),
        (Collision::Append, &old[..], LEN),
        (Collision::Replace, &old[..60_000], LEN),
        (Collision::Replace, &old[..], 60_000),
    ];
    for (collision, old, size) in cases {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("image"), old).unwrap();
        let mut store = received_in(directory.path(), collision);
        offer(&mut store, size);
        assert_eq!(store.answer(Request::Older), no, "{collision:?} {size}");
        let learn = Request::Learn { from: 0, block: BLOCK, bytes: &signatures(&new) };
        assert_eq!(store.answer(learn), no, "{collision:?} {size}");
    }
    // None is there.
    let directory = TempDir::new().unwrap();
    let mut store = received_in(directory.path(), Collision::Replace);
    offer(&mut store, LEN);
    assert_eq!(store.answer(Request::Older), no);
}

#[test]
fn what_was_not_found_is_not_taken() {
    let directory = TempDir::new().unwrap();
    let (mut store, _) = searched(directory.path(), Collision::Replace);
    let not_there = Reply::Failed(StoreError::NotFound);
    assert_eq!(copy(&mut store, 0, 2048), not_there);
    let (_, new) = versions();
    write(&mut store, &new, 0, 2048);
    assert_eq!(copy(&mut store, 2048, 98 * 2048), not_there);
    assert_eq!(copy(&mut store, 98 * 2048, 99 * 2048), not_there);
}

/// Windows lets no one write to a file that is being read.
#[cfg(not(windows))]
#[test]
fn an_old_file_that_changes_is_an_error_and_stays() {
    let changes: [fn(&Path); 2] = [
        |path| fs::write(path, wetstring_testkit::counted(LEN + 777)).unwrap(),
        |path| fs::File::options().write(true).open(path).unwrap().set_len(100_000).unwrap(),
    ];
    for change in changes {
        let directory = TempDir::new().unwrap();
        let (mut store, _) = searched(directory.path(), Collision::Replace);
        let (_, new) = versions();
        write(&mut store, &new, 0, 2048);
        let path = directory.path().join("image");
        change(&path);
        let changed = fs::read(&path).unwrap();
        let copied = copy(&mut store, 2048, 50 * 2048);
        let copied =
            if copied == Reply::Done { copy(&mut store, 51 * 2048, 97 * 2048) } else { copied };
        assert_eq!(copied, Reply::Failed(StoreError::Io));
        assert!(store.last_error().unwrap().contains("older version"), "{:?}", store.last_error());
        store.answer(Request::Close { complete: false, verified: true });
        assert!(fs::read(&path).unwrap() == changed);
    }
}

#[cfg(unix)]
#[test]
fn an_old_file_that_is_removed_is_still_there() {
    let directory = TempDir::new().unwrap();
    let (mut store, _) = searched(directory.path(), Collision::Replace);
    fs::remove_file(directory.path().join("image")).unwrap();
    take(&mut store);
    assert_eq!(store.answer(Request::Close { complete: true, verified: true }), Reply::Done);
    assert!(fs::read(directory.path().join("image")).unwrap() == versions().1);
}
