//! Files called `NAME.part`: ours are resumed or replaced, the user's never.

#[cfg(unix)]
use rustix::fs::{FlockOperation, flock, getxattr};
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use wetstring_drive::disk::{Collision, DiskStore, Incomplete, PathRule, ReceiveOptions, Resume};
use wetstring_proto::file::{FileInfo, Reply, Request, Store, Wish};

const TAKEN: Reply<'static> = Reply::Accept { offset: 0 };

fn store(directory: &Path) -> DiskStore {
    DiskStore::receiving(directory, ReceiveOptions::default()).unwrap()
}

fn named(name: &str) -> FileInfo<'_> {
    FileInfo { name: name.as_bytes(), ..FileInfo::default() }
}

fn offer(store: &mut DiskStore, info: FileInfo<'_>) -> Option<u64> {
    match store.answer(Request::Offer { info }) {
        Reply::Accept { offset } => return Some(offset),
        reply => eprintln!("{reply:?}"),
    }
    eprintln!("{:?}", store.last_error());
    None
}

fn write(store: &mut DiskStore, offset: u64, bytes: &[u8]) {
    assert_eq!(store.answer(Request::Write { offset, bytes }), Reply::Done);
}

fn close(store: &mut DiskStore, complete: bool) {
    let close = Request::Close { complete, verified: false };
    let done = store.answer(close) == Reply::Done;
    assert!(done, "{:?}", store.last_error());
}

fn receive(store: &mut DiskStore, name: &str, content: &str) {
    assert_eq!(store.answer(Request::Offer { info: named(name) }), TAKEN, "{name}");
    write(store, 0, content.as_bytes());
    close(store, true);
}

fn path(directory: &TempDir, name: &str) -> PathBuf {
    directory.path().join(name)
}

/// Names and contents, sorted.
fn all(directory: &TempDir) -> Vec<(String, String)> {
    let mut all: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        // Wine has alternate streams as files, in which our marks are.
        .filter(|e| cfg!(unix) || !e.file_name().to_string_lossy().contains(':'))
        .map(|e| (e.file_name().into_string().unwrap(), fs::read_to_string(e.path()).unwrap()))
        .collect();
    all.sort();
    all
}

fn is(directory: &TempDir, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(n, c)| (n.to_string(), c.to_string())).collect();
    assert_eq!(all(directory), expected);
}

/// Tests of marks need a file system that supports them, and must not pass without one.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    #[cfg(unix)]
    {
        let probe = directory.path().join("probe");
        fs::write(&probe, "").unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&probe, "user.wetstring.test", b"", flags).unwrap();
        fs::remove_file(probe).unwrap();
    }
    directory
}

#[test]
fn a_users_file_is_not_removed_because_of_its_name() {
    for collision in [Collision::Rename, Collision::Replace, Collision::Backup, Collision::Append] {
        for resume in [Resume::Never, Resume::Part, Resume::Existing] {
            let directory = directory();
            fs::write(path(&directory, "b.part"), "precious").unwrap();
            // As an earlier version left its own, and as many users' files are named.
            #[cfg(unix)]
            fs::set_permissions(path(&directory, "b.part"), fs::Permissions::from_mode(0o600))
                .unwrap();
            let options = ReceiveOptions { collision, resume, ..ReceiveOptions::default() };
            let mut store = DiskStore::receiving(directory.path(), options).unwrap();
            receive(&mut store, "b", "new");
            is(&directory, &[("b", "new"), ("b.part", "precious")]);
        }
    }
}

#[test]
fn a_part_received_in_the_same_batch_stays() {
    let directory = directory();
    let mut store = store(directory.path());
    for (name, content) in [("a.part", "1"), ("a", "2"), ("a.part.part", "3"), ("a.part", "4")] {
        receive(&mut store, name, content);
    }
    is(&directory, &[("a", "2"), ("a.part", "4"), ("a.part.part", "3"), ("a.part.~1~", "1")]);
    // A complete file bears no mark, so that its owner may name it freely.
    fs::rename(path(&directory, "a"), path(&directory, "a.part")).unwrap();
    receive(&mut store, "a", "5");
    assert_eq!(fs::read_to_string(path(&directory, "a.part")).unwrap(), "2");
    #[cfg(unix)]
    for entry in fs::read_dir(directory.path()).unwrap() {
        let marked = getxattr(entry.unwrap().path(), "user.wetstring.part", &mut [0_u8; 256][..]);
        assert!(marked.is_err(), "{marked:?}");
    }
}

/// A part of ours that was renamed is the user's file.
#[test]
fn a_renamed_part_is_the_users_file() {
    let directory = directory();
    let mut store = store(directory.path());
    assert_eq!(offer(&mut store, named("f")), Some(0));
    write(&mut store, 0, b"half");
    close(&mut store, false);
    is(&directory, &[("f.part", "half")]);
    fs::rename(path(&directory, "f.part"), path(&directory, "g.part")).unwrap();
    receive(&mut store, "g", "new");
    is(&directory, &[("g", "new"), ("g.part", "half")]);
    let resumed = FileInfo { resume: true, size: Some(9), ..named("g") };
    assert_eq!(offer(&mut store, resumed), Some(0), "nor is it gone on with");
}

#[cfg(unix)]
#[test]
fn our_part_is_resumed_or_replaced_beside_a_users_file() {
    let directory = directory();
    fs::write(path(&directory, "f.part"), "precious").unwrap();
    // Long enough to be written at once.
    let content = "0123456789".repeat(4000) + "abc";
    let (bytes, half) = (content.as_bytes(), 40_000);
    let size = Some(bytes.len() as u64);
    let resumed = FileInfo { resume: true, size, modified: Some(1), ..named("f") };
    let mut first = store(directory.path());
    assert_eq!(offer(&mut first, resumed), Some(0), "it is not compared");
    write(&mut first, 0, &bytes[..half]);
    // Killed: nothing is closed.
    std::mem::forget(first);
    unlock(&directory);
    is(&directory, &[("f.part", "precious"), ("f.part.~1~", &content[..half])]);

    let mut second = store(directory.path());
    assert_eq!(offer(&mut second, resumed), Some(40_000));
    write(&mut second, 40_000, b"a");
    close(&mut second, false);
    assert_eq!(offer(&mut second, resumed), Some(40_001));
    write(&mut second, 40_001, b"bc");
    close(&mut second, true);
    is(&directory, &[("f", &content), ("f.part", "precious")]);

    // Without resuming our part is replaced, and nothing else is.
    assert_eq!(offer(&mut second, named("g")), Some(0));
    write(&mut second, 0, b"stale and long");
    close(&mut second, false);
    receive(&mut second, "g", "new");
    is(&directory, &[("f", &content), ("f.part", "precious"), ("g", "new")]);
}

/// The descriptor of a store that was forgotten holds its lock as long as this process lives; a
/// process that is killed lets go. A new file with the same mark stands for that.
#[cfg(unix)]
fn unlock(directory: &TempDir) {
    for entry in fs::read_dir(directory.path()).unwrap() {
        let at = entry.unwrap().path();
        let copy = at.with_extension("copy");
        fs::write(&copy, fs::read(&at).unwrap()).unwrap();
        for name in ["user.wetstring.part", "user.wetstring.sender"] {
            let mut mark = [0_u8; 256];
            let Ok(len) = getxattr(&at, name, &mut mark[..]) else { continue };
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(&copy, name, &mark[..len], flags).unwrap();
        }
        fs::rename(copy, at).unwrap();
    }
}

/// An earlier version left no marks. A part that the peer has found to be the beginning of its file is resumed
/// as a copy; the file itself stays, because it may be the user's.
#[test]
fn an_unmarked_part_is_resumed_as_a_copy_if_compared() {
    let directory = directory();
    let part = path(&directory, "f.part");
    fs::write(&part, "01234").unwrap();
    let resumed = FileInfo { resume: true, size: Some(10), ..named("f") };
    let compared = FileInfo { compared: true, ..resumed };
    let mut store = store(directory.path());
    assert_eq!(offer(&mut store, compared), Some(5));
    // It was of another file: offered again while it is open.
    assert_eq!(offer(&mut store, FileInfo { resume: false, ..compared }), Some(0));
    write(&mut store, 0, b"ABC");
    close(&mut store, false);
    is(&directory, &[("f.part", "01234"), ("f.part.~1~", "ABC")]);
    // Our own goes before.
    assert_eq!(offer(&mut store, compared), Some(3));
    assert!(store.discard_partial());
    is(&directory, &[("f.part", "01234")]);

    assert_eq!(offer(&mut store, compared), Some(5));
    write(&mut store, 5, b"56789");
    close(&mut store, true);
    is(&directory, &[("f", "0123456789"), ("f.part", "01234")]);
    assert_eq!(store.files().last().unwrap().resumed_from, 5);
    fs::remove_file(path(&directory, "f")).unwrap();

    // A user who declares that the existing file is the beginning is believed, and keeps it.
    let options = ReceiveOptions { resume: Resume::Existing, ..ReceiveOptions::default() };
    let mut told = DiskStore::receiving(directory.path(), options).unwrap();
    assert_eq!(offer(&mut told, resumed), Some(5));
    close(&mut told, true);
    is(&directory, &[("f", "01234"), ("f.part", "01234")]);
}

#[test]
fn only_our_parts_are_discarded() {
    let directory = directory();
    fs::write(path(&directory, "f.part"), "01234").unwrap();
    let options = ReceiveOptions { incomplete: Incomplete::Discard, ..ReceiveOptions::default() };
    let mut store = DiskStore::receiving(directory.path(), options).unwrap();
    let info = FileInfo { resume: true, compared: true, size: Some(10), ..named("f") };
    assert_eq!(offer(&mut store, info), Some(5));
    close(&mut store, false);
    is(&directory, &[("f.part", "01234")]);
    assert!(!store.discard_partial());
    is(&directory, &[("f.part", "01234")]);
}

/// A part of ours that another process is still writing is left alone, and so is one that another process
/// else has locked.
#[cfg(unix)]
#[test]
fn a_locked_part_is_left_alone() {
    let directory = directory();
    let mut store = store(directory.path());
    assert_eq!(offer(&mut store, named("f")), Some(0));
    write(&mut store, 0, b"half");
    close(&mut store, false);
    let other = fs::File::open(path(&directory, "f.part")).unwrap();
    flock(&other, FlockOperation::NonBlockingLockExclusive).unwrap();
    receive(&mut store, "f", "whole");
    is(&directory, &[("f", "whole"), ("f.part", "half")]);
}

/// A file that could not get its name is still a leftover of ours.
#[test]
fn a_part_that_could_not_be_placed_stays_marked() {
    let directory = directory();
    let options = ReceiveOptions { collision: Collision::Append, ..ReceiveOptions::default() };
    let mut store = DiskStore::receiving(directory.path(), options).unwrap();
    fs::write(path(&directory, "f"), "old").unwrap();
    assert_eq!(offer(&mut store, FileInfo { mode: Some(0o444), ..named("f") }), Some(0));
    write(&mut store, 0, b"new");
    fs::remove_file(path(&directory, "f")).unwrap();
    fs::create_dir(path(&directory, "f")).unwrap();
    let close = Request::Close { complete: true, verified: false };
    assert!(matches!(store.answer(close), Reply::Failed(_)));
    fs::remove_dir(path(&directory, "f")).unwrap();
    is(&directory, &[("f.part", "new")]);
    receive(&mut store, "f", "again");
    is(&directory, &[("f", "again")]);
}

/// As with C-Kermit the old file is renamed, and nothing is lost.
#[cfg(unix)]
#[test]
fn files_put_aside_are_recorded() {
    let directory = directory();
    let mut store = store(directory.path());
    for text in ["one", "two", "three"] {
        receive(&mut store, "f", text);
    }
    is(&directory, &[("f", "three"), ("f.~1~", "one"), ("f.~2~", "two")]);
    // Each record leads to its own file, also when a later one has taken its name.
    for (record, text) in store.files().iter().zip(["one", "two", "three"]) {
        assert_eq!(fs::read_to_string(record.path.as_ref().unwrap()).unwrap(), text);
    }
    // A link is put aside, not followed; a directory stays.
    std::os::unix::fs::symlink("f", path(&directory, "link")).unwrap();
    receive(&mut store, "link", "new");
    let read = |name: &str| fs::read_to_string(path(&directory, name)).unwrap();
    assert_eq!((read("link"), read("f")), ("new".into(), "three".into()));
    assert!(fs::symlink_metadata(path(&directory, "link.~1~")).unwrap().is_symlink());
    fs::create_dir(path(&directory, "d")).unwrap();
    receive(&mut store, "d", "new");
    assert!(path(&directory, "d").is_dir());
    assert_eq!(read("d.~1~"), "new");
    assert_eq!(store.files().last().unwrap().put_aside, None);
    // An incomplete file puts nothing aside.
    assert_eq!(store.answer(Request::Offer { info: named("f") }), TAKEN);
    write(&mut store, 0, b"fo");
    close(&mut store, false);
    assert_eq!(read("f"), "three");
}

/// A store in which `f` is "abc", and which takes the first bytes of a longer file from there.
fn continuing(directory: &TempDir, collision: Collision, keeps: bool) -> DiskStore {
    fs::write(path(directory, "f"), "abc").unwrap();
    let resume = Resume::Existing;
    let options = ReceiveOptions { collision, keeps, resume, ..ReceiveOptions::default() };
    DiskStore::receiving(directory.path(), options).unwrap()
}

fn longer() -> FileInfo<'static> {
    FileInfo { size: Some(6), resume: true, ..named("f") }
}

/// The policy for an incoming file also applies to a resumed one.
#[test]
fn resumed_files_follow_the_collision_policy() {
    let renamed = &[("f", "abc"), ("f.~1~", "abcdef")][..];
    let (aside, alone) = (&[("f", "abcdef"), ("f.~1~", "abc")][..], &[("f", "abcdef")][..]);
    let cases = [
        // The policy; whether nothing may be deleted; what is left without and with a comparison.
        (Collision::Rename, false, [renamed, renamed]),
        (Collision::Backup, true, [aside, aside]),
        (Collision::Backup, false, [aside, alone]),
        (Collision::Replace, false, [aside, alone]),
        (Collision::Replace, true, [renamed, renamed]),
    ];
    for (policy, keeps, left) in cases {
        for (verified, left) in [false, true].into_iter().zip(left) {
            let directory = directory();
            let mut store = continuing(&directory, policy, keeps);
            assert_eq!(offer(&mut store, longer()), Some(3));
            write(&mut store, 3, b"def");
            store.answer(Request::Close { complete: true, verified });
            is(&directory, left);
        }
    }
    let refusing = directory();
    assert_eq!(offer(&mut continuing(&refusing, Collision::Reject, false), longer()), None);
    is(&refusing, &[("f", "abc")]);
    // Unless it is known to be the same file.
    let same = FileInfo { compared: true, ..longer() };
    let mut store = continuing(&refusing, Collision::Reject, false);
    assert_eq!(offer(&mut store, same), Some(3));
    write(&mut store, 3, b"def");
    close(&mut store, true);
    is(&refusing, &[("f", "abcdef")]);
    // Both ends have determined that it is another one.
    let mut store = continuing(&refusing, Collision::Reject, false);
    assert_eq!(offer(&mut store, same), Some(3));
    assert_eq!(offer(&mut store, FileInfo { resume: false, ..same }), None);
    is(&refusing, &[("f", "abc")]);
    let protect = FileInfo { wish: Wish::Protect, ..same };
    assert_eq!(offer(&mut continuing(&refusing, Collision::Reject, false), protect), None);
    assert_eq!(offer(&mut continuing(&refusing, Collision::Reject, true), same), None);
    // What is appended to another file does not begin with it.
    let appending = directory();
    let mut store = continuing(&appending, Collision::Append, false);
    assert_eq!(offer(&mut store, longer()), Some(0));
    write(&mut store, 0, b"abcdef");
    close(&mut store, true);
    is(&appending, &[("f", "abcabcdef")]);
}

/// A part that was compared and differs is not resumed again, and the existing file is untouched.
#[test]
fn a_part_that_differs_is_dropped() {
    let directory = directory();
    let mut store = continuing(&directory, Collision::Replace, false);
    assert_eq!(offer(&mut store, longer()), Some(3));
    write(&mut store, 3, b"def");
    is(&directory, &[("f", "abc"), ("f.part", "abc")]);
    store.answer(Request::Close { complete: false, verified: true });
    is(&directory, &[("f", "abc")]);
    let last = store.files().last().unwrap();
    assert!(!last.verified && last.path.is_none());
}

/// A file that changes while a copy of it is resumed is kept.
#[test]
fn a_file_that_changes_while_resumed_is_kept() {
    let directory = directory();
    let mut store = continuing(&directory, Collision::Backup, false);
    assert_eq!(offer(&mut store, FileInfo { compared: true, ..longer() }), Some(3));
    fs::write(path(&directory, "f"), "mine now").unwrap();
    write(&mut store, 3, b"def");
    close(&mut store, true);
    is(&directory, &[("f", "abcdef"), ("f.~1~", "mine now")]);
}

/// What the first sender has stated would vouch for the second one's bytes.
#[test]
fn a_part_that_another_sender_has_continued_is_not_the_first_ones() {
    let directory = directory();
    let first = FileInfo { size: Some(300_000), modified: Some(5), ..named("f") };
    let other = FileInfo { modified: None, resume: true, ..first };
    let mut begun = store(directory.path());
    assert_eq!(offer(&mut begun, first), Some(0));
    write(&mut begun, 0, &vec![1; 100_000]);
    drop(begun);
    let again = FileInfo { resume: true, ..first };
    let mut same = store(directory.path());
    assert_eq!(offer(&mut same, again), Some(100_000));
    drop(same);
    let options = ReceiveOptions { resume: Resume::Existing, ..ReceiveOptions::default() };
    let mut continued = DiskStore::receiving(directory.path(), options).unwrap();
    assert_eq!(offer(&mut continued, other), Some(100_000));
    write(&mut continued, 100_000, &vec![2; 100_000]);
    drop(continued);
    assert_eq!(offer(&mut store(directory.path()), again), Some(0));
}

#[test]
fn a_directory_that_is_moved_in_between_is_made_again() {
    let (directory, elsewhere) = (directory(), tempfile::tempdir().unwrap());
    let options = ReceiveOptions { paths: PathRule::Relative, ..ReceiveOptions::default() };
    let mut store = DiskStore::receiving(directory.path(), options).unwrap();
    for name in ["a/b/1", "a/b/2"] {
        receive(&mut store, name, name);
    }
    fs::rename(path(&directory, "a/b"), path(&elsewhere, "b")).unwrap();
    receive(&mut store, "a/b/3", "3");
    assert_eq!(fs::read_dir(path(&directory, "a/b")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(path(&elsewhere, "b")).unwrap().count(), 2);
    fs::remove_dir_all(path(&directory, "a")).unwrap();
    receive(&mut store, "a/b/4", "4");
    assert_eq!(fs::read_to_string(path(&directory, "a/b/4")).unwrap(), "4");
    #[cfg(unix)]
    for level in ["a/b", "a"] {
        let moved = path(&elsewhere, "link");
        fs::rename(path(&directory, level), &moved).unwrap();
        std::os::unix::fs::symlink(&moved, path(&directory, level)).unwrap();
        let refused = store.answer(Request::Offer { info: named("a/b/5") });
        assert_eq!(refused, Reply::Refuse(wetstring_proto::file::Refusal::Name), "{level}");
        fs::remove_file(path(&directory, level)).unwrap();
        fs::rename(moved, path(&directory, level)).unwrap();
    }
    receive(&mut store, "a/b/5", "5");
    assert_eq!(fs::read_to_string(path(&directory, "a/b/5")).unwrap(), "5");
}
