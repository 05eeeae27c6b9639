//! The tree over a store in memory: what a server asks of it, and what must not happen.

use std::io::ErrorKind;
use wetstring_drive::disk::{Collision, PathRule, ReceiveOptions};
use wetstring_drive::serve::{Entry, Tree};
use wetstring_objects::{MARKER, ObjectTree};
use wetstring_proto::file::{DigestKind, FileInfo, Refusal, Reply, Request, StoreError};

fn tree() -> ObjectTree {
    ObjectTree::open("memory:some/prefix").unwrap()
}

fn place(path: &str) -> Vec<Vec<u8>> {
    path.split('/').filter(|part| !part.is_empty()).map(Into::into).collect()
}

/// Puts a file, in pieces; the reply to its offer if that is not yes.
fn put(
    tree: &ObjectTree,
    at: &str,
    name: &str,
    bytes: &[u8],
    collision: Collision,
) -> Result<(), Reply<'static>> {
    let options = ReceiveOptions { collision, paths: PathRule::Relative, ..Default::default() };
    let mut store = tree.receive(&place(at), options).unwrap();
    let size = Some(bytes.len() as u64);
    let info = FileInfo { name: name.as_bytes(), size, ..FileInfo::default() };
    match store.answer(Request::Offer { info }) {
        Reply::Accept { offset: 0 } => {}
        Reply::Refuse(why) => return Err(Reply::Refuse(why)),
        Reply::Failed(error) => return Err(Reply::Failed(error)),
        other => panic!("{other:?}"),
    }
    let mut offset = 0;
    for piece in bytes.chunks(70_000) {
        assert_eq!(store.answer(Request::Write { offset, bytes: piece }), Reply::Done);
        offset += piece.len() as u64;
    }
    let request = Request::Digest { kind: DigestKind::Xxh3, len: offset };
    assert!(matches!(store.answer(request), Reply::Digest(_)));
    let closed = store.answer(Request::Close { complete: true, verified: false });
    assert_eq!(closed, Reply::Done);
    Ok(())
}

fn read(tree: &ObjectTree, path: &str) -> Vec<u8> {
    let (entry, mut content) = tree.open(&place(path)).unwrap();
    let (mut bytes, mut into) = (Vec::new(), vec![0; 50_001]);
    loop {
        let len = content.read(bytes.len() as u64, &mut into).unwrap();
        if len == 0 {
            assert_eq!(entry.size, bytes.len() as u64);
            return bytes;
        }
        bytes.extend(&into[..len]);
    }
}

fn names(tree: &ObjectTree, path: &str) -> Vec<String> {
    let entries = tree.list(&place(path)).unwrap();
    let name = |entry: &Entry| {
        let slash = if entry.is_directory { "/" } else { "" };
        format!("{}{slash}", String::from_utf8_lossy(&entry.name))
    };
    let mut names: Vec<String> = entries.iter().map(name).collect();
    names.sort();
    names
}

fn kind<T>(result: std::io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn files_come_and_go() {
    let tree = tree();
    assert_eq!(names(&tree, ""), [""; 0]);
    // Several parts of an object, and one that is empty.
    let long: Vec<u8> = (0..12_000_000_u32).map(|n| (n >> 7) as u8).collect();
    for (name, bytes) in [("long.bin", &long[..]), ("a b/%41 \u{e9}*.txt", b"text"), ("none", b"")]
    {
        put(&tree, "", name, bytes, Collision::Reject).unwrap();
        assert_eq!(read(&tree, name), bytes, "{name}");
    }
    assert_eq!(names(&tree, ""), ["a b/", "long.bin", "none"]);
    assert_eq!(names(&tree, "a b"), ["%41 \u{e9}*.txt"]);
    assert!(tree.entry(&place("a b")).unwrap().is_directory);
    assert!(tree.entry(&[]).unwrap().is_directory);
    tree.copy(&place("none"), &place("a b/none"), &mut |_| Ok(())).unwrap();
    tree.rename(&place("a b"), &place("c"), &mut |_| Ok(())).unwrap();
    assert_eq!(names(&tree, ""), ["c/", "long.bin", "none"]);
    assert_eq!(read(&tree, "c/%41 \u{e9}*.txt"), b"text");
    tree.remove(&place("none")).unwrap();
    assert_eq!(names(&tree, ""), ["c/", "long.bin"]);
    // Reading goes back and forth.
    let (_, mut content) = tree.open(&place("long.bin")).unwrap();
    for offset in [0, 11_999_990, 5, 7_000_000, 12_000_000, u64::MAX] {
        let mut into = [0; 10];
        let len = content.read(offset, &mut into).unwrap();
        let from = usize::try_from(offset).unwrap().min(long.len());
        assert_eq!(into[..len], long[from..(from.saturating_add(10)).min(long.len())]);
    }
}

#[test]
fn directories_are_kept_while_they_are_empty() {
    let tree = tree();
    tree.make_directory(&place("d")).unwrap();
    assert_eq!((names(&tree, ""), names(&tree, "d")), (vec!["d/".to_owned()], Vec::new()));
    assert_eq!(kind(tree.make_directory(&place("d"))), Some(ErrorKind::AlreadyExists));
    put(&tree, "d", "x", b"1", Collision::Reject).unwrap();
    assert_eq!(kind(tree.remove_directory(&place("d"))), Some(ErrorKind::DirectoryNotEmpty));
    tree.remove(&place("d/x")).unwrap();
    tree.remove_directory(&place("d")).unwrap();
    assert_eq!(names(&tree, ""), [""; 0]);
    assert_eq!(kind(tree.remove_directory(&place("d"))), Some(ErrorKind::NotFound));
}

#[test]
fn nothing_is_overwritten_unless_configured() {
    let tree = tree();
    let with = |collision| put(&tree, "", "f", b"new", collision);
    put(&tree, "", "f", b"old", Collision::Reject).unwrap();
    assert_eq!(with(Collision::Reject), Err(Reply::Refuse(Refusal::Exists)));
    assert_eq!(with(Collision::Append), Err(Reply::Refuse(Refusal::Exists)));
    assert_eq!(with(Collision::UpdateOrLonger), Err(Reply::Refuse(Refusal::NotNewer)));
    with(Collision::Rename).unwrap();
    assert_eq!((read(&tree, "f"), read(&tree, "f.~1~")), (b"old".to_vec(), b"new".to_vec()));
    with(Collision::Backup).unwrap();
    assert_eq!((read(&tree, "f"), read(&tree, "f.~2~")), (b"new".to_vec(), b"old".to_vec()));
    put(&tree, "", "f", b"third", Collision::Replace).unwrap();
    assert_eq!(read(&tree, "f"), b"third");
    assert_eq!(
        kind(tree.rename(&place("f"), &place("f.~1~"), &mut |_| Ok(()))),
        Some(ErrorKind::AlreadyExists)
    );
    assert_eq!(
        kind(tree.copy(&place("f"), &place("f.~1~"), &mut |_| Ok(()))),
        Some(ErrorKind::AlreadyExists)
    );
}

#[test]
fn incomplete_object_is_invisible() {
    let tree = tree();
    let mut store = tree.receive(&[], ReceiveOptions::default()).unwrap();
    for (len, complete) in [(10, false), (10, true), (6_000_000, false), (6_000_000, true)] {
        let info = FileInfo { name: b"half", ..FileInfo::default() };
        store.answer(Request::Offer { info });
        store.answer(Request::Write { offset: 0, bytes: &vec![7; len] });
        // A place out of order is not made up for.
        let request = Request::Write { offset: 3, bytes: b"x" };
        assert_eq!(store.answer(request), Reply::Failed(StoreError::Unsupported));
        let closed = store.answer(Request::Close { complete, verified: false });
        // A client that takes it to be complete is told that it is not.
        assert_eq!(closed == Reply::Done, !complete);
        assert_eq!(names(&tree, ""), [""; 0]);
    }
}

#[test]
fn names_that_no_object_can_have_are_refused() {
    let tree = tree();
    for bad in [&b"\xE9"[..], MARKER.as_bytes(), b""] {
        assert_eq!(kind(tree.entry(&[bad.to_vec()])), Some(ErrorKind::InvalidInput), "{bad:?}");
    }
    for above in ["../x", "/etc/../../x", ".."] {
        let refused = put(&tree, "", above, b"x", Collision::Reject);
        assert_eq!(refused, Err(Reply::Refuse(Refusal::Name)), "{above}");
    }
    assert_eq!(kind(tree.remove(&[])), Some(ErrorKind::PermissionDenied));
    assert_eq!(kind(tree.open(&place("nothing")).map(drop)), Some(ErrorKind::NotFound));
    assert_eq!(kind(tree.list(&place("nothing"))), Some(ErrorKind::NotFound));
    assert_eq!(
        kind(tree.copy(&place("nothing"), &place("x"), &mut |_| Ok(()))),
        Some(ErrorKind::NotFound)
    );
    put(&tree, "", "d/x", b"1", Collision::Reject).unwrap();
    assert_eq!(
        kind(tree.rename(&place("d"), &place("d/e"), &mut |_| Ok(()))),
        Some(ErrorKind::InvalidInput)
    );
    assert!(ObjectTree::open("s3:///").is_err());
}
