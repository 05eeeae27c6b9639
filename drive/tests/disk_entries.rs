//! Directories and symbolic links as a receiver's store makes them, and a sender's gives them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use wetstring_drive::disk::names::PathRule;
use wetstring_drive::disk::{
    Collision, DiskStore, FileOutcome, Links, ReceiveOptions, SendOptions, Source,
};
use wetstring_proto::{Entry, FileInfo, Refusal, Reply, Request, Store};

fn taking(at: &Path, collision: Collision) -> DiskStore {
    let options = ReceiveOptions {
        paths: PathRule::Relative,
        links: Links::Inside,
        collision,
        ..ReceiveOptions::default()
    };
    DiskStore::receiving(at, options).expect("a directory")
}

fn entry(name: &str, entry: Entry) -> FileInfo<'_> {
    FileInfo { name: name.as_bytes(), entry, mode: Some(0o750), ..FileInfo::default() }
}

/// Offers a link, and says where it leads.
fn link(store: &mut DiskStore, name: &str, target: &str) -> bool {
    let reply = store.answer(Request::Offer { info: entry(name, Entry::Link) });
    assert_eq!(reply, Reply::Accept { offset: 0 }, "{name}");
    let bytes = target.as_bytes();
    store.answer(Request::Write { offset: 0, bytes }) == Reply::Done
        && store.answer(Request::Close { complete: true, verified: true }) == Reply::Done
}

#[test]
fn a_hostile_link_is_not_made() {
    let place = tempfile::tempdir().unwrap();
    let inside = place.path().join("in");
    fs::create_dir(&inside).unwrap();
    for (name, target) in [
        ("x", "../secret"),
        ("a/x", "../../secret"),
        ("a/x", "/etc/passwd"),
        ("a/x", "y/../../../secret"),
        ("x", ""),
    ] {
        let mut store = taking(&inside, Collision::Rename);
        assert!(!link(&mut store, name, target), "{name} -> {target}");
        let said = store.last_error().unwrap_or_default();
        assert!(said.contains("expected a link that stays in the directory"), "{said}");
        assert!(fs::symlink_metadata(inside.join(name)).is_err(), "{name} -> {target}");
    }
    // Nor is one as long as no path is.
    let mut store = taking(&inside, Collision::Rename);
    assert!(!link(&mut store, "long", &"a/".repeat(3000)));
    // A file is not stored through a link, even one that stays inside.
    let mut store = taking(&inside, Collision::Rename);
    fs::create_dir(inside.join("real")).unwrap();
    assert!(link(&mut store, "way", "real"));
    let file = FileInfo { name: b"way/file", ..FileInfo::default() };
    let reply = store.answer(Request::Offer { info: file });
    assert_eq!(reply, Reply::Refuse(Refusal::Name));
    let left: Vec<_> = fs::read_dir(&inside).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".wst")), "{left:?}");
}

#[test]
fn what_has_the_name_is_kept_as_the_policy_says() {
    for (policy, names) in [
        (Collision::Rename, &["x", "x.~1~"][..]),
        (Collision::Backup, &["x", "x.~1~"]),
        (Collision::Replace, &["x"]),
    ] {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("x"), "mine").unwrap();
        let mut store = taking(place.path(), policy);
        assert!(link(&mut store, "x", "there"), "{policy:?}");
        // The same link again changes nothing.
        let link_at = if policy == Collision::Rename { "x.~1~" } else { "x" };
        assert!(link(&mut store, link_at, "there"), "{policy:?}");
        let mut left: Vec<_> = fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, names, "{policy:?}");
        assert_eq!(fs::read_link(place.path().join(link_at)).unwrap(), Path::new("there"));
        if policy != Collision::Replace {
            let other = if policy == Collision::Rename { "x" } else { "x.~1~" };
            assert_eq!(fs::read(place.path().join(other)).unwrap(), b"mine");
        }
    }
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("d"), "a file").unwrap();
    let mut store = taking(place.path(), Collision::Replace);
    let reply = store.answer(Request::Offer { info: entry("d", Entry::Directory) });
    assert_eq!(reply, Reply::Refuse(Refusal::Exists));
    assert_eq!(fs::read(place.path().join("d")).unwrap(), b"a file");
}

#[test]
fn a_directory_comes_only_when_it_is_whole() {
    let place = tempfile::tempdir().unwrap();
    let mut store = taking(place.path(), Collision::Rename);
    for complete in [false, true] {
        let reply = store.answer(Request::Offer { info: entry("a/b", Entry::Directory) });
        assert_eq!(reply, Reply::Accept { offset: 0 });
        assert_ne!(store.answer(Request::Write { offset: 0, bytes: b"x" }), Reply::Done);
        store.answer(Request::Close { complete, verified: false });
        assert_eq!(place.path().join("a/b").is_dir(), complete);
    }
    let mode = fs::metadata(place.path().join("a/b")).unwrap().permissions().mode();
    assert_eq!(mode & 0o700, 0o700);
    // A second time it is there already, and keeps its permissions.
    fs::set_permissions(place.path().join("a/b"), fs::Permissions::from_mode(0o711)).unwrap();
    store.answer(Request::Offer { info: entry("a/b", Entry::Directory) });
    assert_eq!(store.answer(Request::Close { complete: true, verified: false }), Reply::Done);
    let mode = fs::metadata(place.path().join("a/b")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o711);
    assert_eq!(store.files().last().unwrap().outcome, FileOutcome::Stored);
}

#[test]
fn without_a_choice_links_are_refused_and_directories_not_flattened() {
    let place = tempfile::tempdir().unwrap();
    let mut store = DiskStore::receiving(place.path(), ReceiveOptions::default()).unwrap();
    let reply = store.answer(Request::Offer { info: entry("t/l", Entry::Link) });
    assert_eq!(reply, Reply::Refuse(Refusal::NotPermitted));
    let reply = store.answer(Request::Offer { info: entry("t/d", Entry::Directory) });
    assert_eq!(reply, Reply::Accept { offset: 0 });
    assert_eq!(store.answer(Request::Close { complete: true, verified: false }), Reply::Done);
    assert_eq!(store.files().last().unwrap().outcome, FileOutcome::PassedOver);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_sender_reads_the_link_and_not_what_it_points_to() {
    let place = tempfile::tempdir().unwrap();
    symlink("nowhere", place.path().join("l")).unwrap();
    let sources = vec![
        Source::path(place.path().join("l")).as_entry(Entry::Link),
        Source::path(place.path()).as_entry(Entry::Directory),
    ];
    let mut store = DiskStore::sending(sources, SendOptions::default());
    assert!(store.has_entries());
    let Reply::File(info) = store.answer(Request::Next) else { panic!("a link") };
    assert_eq!((info.entry, info.size), (Entry::Link, Some(7)));
    let mut into = [0; 99];
    assert_eq!(store.answer(Request::Read { offset: 0, into: &mut into }), Reply::Read(7));
    assert_eq!(&into[..7], b"nowhere");
    assert_eq!(store.answer(Request::Read { offset: 7, into: &mut into }), Reply::Read(0));
    store.answer(Request::Close { complete: true, verified: true });
    let Reply::File(info) = store.answer(Request::Next) else { panic!("a directory") };
    assert_eq!((info.entry, info.size), (Entry::Directory, Some(0)));
    assert_eq!(store.answer(Request::PassOver), Reply::Done);
    assert_eq!(store.answer(Request::Next), Reply::NoMoreFiles);
    let outcomes: Vec<_> = store.files().iter().map(|file| file.outcome.clone()).collect();
    assert_eq!(outcomes, [FileOutcome::Sent, FileOutcome::PassedOver]);
}
