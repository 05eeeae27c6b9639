//! The file under the final name is what was received: parts that others move, replace or change are not called
//! complete, parts being received are inaccessible to the clients of a server, and nothing is resumed that may
//! be another file's.

use std::fs::{self, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;
use wetstring_drive::disk::{
    Collision, DiskStore, FileOutcome, Incomplete, ReceiveOptions, Resume, Verify,
};
use wetstring_drive::serve::{LocalTree, Rules, Session, Tree};
use wetstring_proto::file::{
    DigestKind, FileInfo, Refusal, Remote, RemoteReply, Reply, Request, Store,
};
use wetstring_proto::kermit::command::ServerCommand;

const TAKEN: Reply<'static> = Reply::Accept { offset: 0 };

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn store(directory: &TempDir, options: ReceiveOptions) -> DiskStore {
    DiskStore::receiving(directory.path(), options).unwrap()
}

fn named(name: &str) -> FileInfo<'_> {
    FileInfo { name: name.as_bytes(), ..FileInfo::default() }
}

fn offer(store: &mut dyn Store, info: FileInfo<'_>) -> Reply<'static> {
    match store.answer(Request::Offer { info }) {
        Reply::Accept { offset } => Reply::Accept { offset },
        Reply::Refuse(why) => Reply::Refuse(why),
        other => panic!("{other:?}"),
    }
}

fn write(store: &mut dyn Store, offset: u64, bytes: &[u8]) {
    assert_eq!(store.answer(Request::Write { offset, bytes }), Reply::Done);
}

/// The digest of `len` bytes, or none.
fn digest(store: &mut dyn Store, len: u64) -> Option<[u8; 32]> {
    match store.answer(Request::Digest { kind: DigestKind::Xxh3, len }) {
        Reply::Digest(value) => Some(value),
        _ => None,
    }
}

fn close(store: &mut dyn Store, complete: bool) -> bool {
    store.answer(Request::Close { complete, verified: complete }) == Reply::Done
}

/// Names and contents, sorted.
fn all(directory: &Path) -> Vec<(String, String)> {
    let mut all: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        // Wine has alternate streams as files, in which our marks are.
        .filter(|e| cfg!(unix) || !e.file_name().to_string_lossy().contains(':'))
        .map(|e| (e.file_name().into_string().unwrap(), fs::read_to_string(e.path()).unwrap()))
        .collect();
    all.sort();
    all
}

fn texts(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

/// Another process with write access to the directory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hand {
    /// Puts its own file in the part's place.
    Replaces,
    /// Takes it away.
    Removes,
    /// Gives it another name.
    Renames,
    /// Makes it longer.
    Appends,
    /// Makes it shorter.
    Cuts,
    /// Changes a byte in it.
    Changes,
}

fn write_at(mut file: fs::File, bytes: &[u8], offset: u64) {
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

impl Hand {
    const ALL: [Self; 6] =
        [Self::Replaces, Self::Removes, Self::Renames, Self::Appends, Self::Cuts, Self::Changes];

    fn on(self, part: &PathBuf) {
        let file = || OpenOptions::new().write(true).open(part).unwrap();
        match self {
            Self::Replaces => {
                let other = part.with_extension("other");
                fs::write(&other, "evil").unwrap();
                fs::rename(other, part).unwrap();
            }
            Self::Removes => fs::remove_file(part).unwrap(),
            Self::Renames => fs::rename(part, part.with_extension("moved")).unwrap(),
            Self::Appends => write_at(file(), b"more", 100_000),
            Self::Cuts => file().set_len(50_000).unwrap(),
            Self::Changes => write_at(file(), b"X", 77),
        }
    }
}

/// The received data was complete, and the stored file is not: a failure, before and after the digest was sent.
#[test]
#[cfg_attr(windows, ignore = "the system keeps other writers out of an open file")]
fn a_part_changed_by_others_is_not_complete() {
    let content = vec![b'.'; 100_000];
    for collision in [Collision::Rename, Collision::Replace, Collision::Backup, Collision::Append] {
        for hand in Hand::ALL {
            for late in [false, true] {
                // Changes after the comparison would need checks without end.
                if late && hand == Hand::Changes {
                    continue;
                }
                let verify = Verify::Stored;
                let directory = directory();
                let at = directory.path().join("f");
                fs::write(&at, "old").unwrap();
                let options = ReceiveOptions { collision, verify, ..ReceiveOptions::default() };
                let mut store = store(&directory, options);
                assert_eq!(offer(&mut store, named("f")), TAKEN);
                write(&mut store, 0, &content);
                if late {
                    assert!(digest(&mut store, 100_000).is_some());
                }
                hand.on(&directory.path().join("f.part"));
                let told = late || digest(&mut store, 100_000).is_some();
                let case = format!("{collision:?} {hand:?} {late}");
                // One that only has grown is found at the end.
                assert!(late || !told || hand == Hand::Appends, "{case}");
                assert!(!close(&mut store, true), "{case}");
                let record = store.files().last().unwrap();
                assert_ne!(record.outcome, FileOutcome::Stored, "{case}");
                assert!(!record.verified, "{case}");
                assert_eq!(fs::read_to_string(&at).unwrap(), "old", "{case}");
                // The other process's own file stays.
                let part = fs::read_to_string(directory.path().join("f.part")).ok();
                let expected = (hand == Hand::Replaces).then(|| "evil".to_owned());
                assert_eq!(part, expected, "{case}");
            }
        }
    }
}

/// Data received in order, and in any order.
#[test]
#[cfg_attr(windows, ignore = "the system keeps other writers out of an open file")]
fn stored_data_is_read_again_if_requested_or_cheap() {
    let content = vec![b'.'; 100_000];
    for (verify, wait, found) in [
        (Verify::Stream, 0, false),
        (Verify::Stored, 0, true),
        // 100 kB are read in a tenth of a millisecond.
        (Verify::Auto, 50, true),
    ] {
        for any_order in [false, true] {
            let directory = directory();
            let options = ReceiveOptions { verify, ..ReceiveOptions::default() };
            let mut store = store(&directory, options);
            assert_eq!(offer(&mut store, named("f")), TAKEN);
            if any_order {
                let held = store.answer(Request::Held { from: 0 });
                assert_eq!(held, Reply::Held { from: 0, to: 0 });
            }
            write(&mut store, 0, &content);
            // It is on the disk by now: the digest of a part is made by reading.
            assert!(digest(&mut store, 99_999).is_some());
            Hand::Changes.on(&directory.path().join("f.part"));
            sleep(Duration::from_millis(wait));
            let good = digest(&mut store, 100_000).is_some();
            assert_eq!(good, !found, "{verify:?} {any_order}");
            assert_eq!(close(&mut store, true), !found, "{verify:?} {any_order}");
            assert_eq!(directory.path().join("f").exists(), !found);
        }
    }
}

/// A protocol without a digest requests none: the store compares by itself.
#[test]
#[cfg_attr(windows, ignore = "the system keeps other writers out of an open file")]
fn without_a_digest_stored_data_is_compared_with_received_data() {
    let directory = directory();
    let options = ReceiveOptions { verify: Verify::Stored, ..ReceiveOptions::default() };
    let mut store = store(&directory, options);
    assert_eq!(offer(&mut store, named("f")), TAKEN);
    write(&mut store, 0, &vec![b'.'; 200_000]);
    Hand::Changes.on(&directory.path().join("f.part"));
    assert!(!close(&mut store, true));
    assert!(store.last_error().unwrap().contains("expected the received bytes"));
    assert_eq!(all(directory.path()), texts(&[]), "nor is it kept to be continued");
}

/// A kept part is removed only if it is still the same file.
#[test]
#[cfg_attr(windows, ignore = "the system keeps other writers out of an open file")]
fn only_the_kept_part_is_discarded() {
    let directory = directory();
    let mut store = store(&directory, ReceiveOptions::default());
    assert_eq!(offer(&mut store, named("f")), TAKEN);
    write(&mut store, 0, b"half");
    assert!(close(&mut store, false));
    Hand::Replaces.on(&directory.path().join("f.part"));
    assert!(!store.discard_partial());
    assert_eq!(all(directory.path()), texts(&[("f.part", "evil")]));

    let options = ReceiveOptions { incomplete: Incomplete::Discard, ..ReceiveOptions::default() };
    let mut store = self::store(&directory, options);
    assert_eq!(offer(&mut store, named("g")), TAKEN);
    write(&mut store, 0, b"half");
    Hand::Replaces.on(&directory.path().join("g.part"));
    assert!(close(&mut store, false));
    assert_eq!(all(directory.path()), texts(&[("f.part", "evil"), ("g.part", "evil")]));
}

/// A stranger compares nothing. The stated length and date tell one file from another.
#[test]
fn a_part_is_resumed_uncompared_only_for_the_same_file() {
    let first = FileInfo { size: Some(8), modified: Some(1_000), resume: true, ..named("f") };
    let cases = [
        ("the same", first, 4),
        ("of another length", FileInfo { size: Some(9), ..first }, 0),
        ("of another date", FileInfo { modified: Some(1_001), ..first }, 0),
        ("of no date", FileInfo { modified: None, ..first }, 0),
        ("of no length", FileInfo { size: None, ..first }, 0),
        ("compared now", FileInfo { size: Some(9), compared: true, ..first }, 4),
        ("compared at the end", FileInfo { proved: true, ..first }, 4),
        ("compared at the end, of no date", FileInfo { modified: None, proved: true, ..first }, 4),
        ("another, compared at the end", FileInfo { size: Some(9), proved: true, ..first }, 0),
    ];
    for resume in [Resume::Part, Resume::Compared, Resume::Existing, Resume::Never] {
        for (case, second, from) in cases {
            let directory = directory();
            let options = ReceiveOptions { resume, ..ReceiveOptions::default() };
            let mut store = store(&directory, options);
            assert_eq!(offer(&mut store, first), TAKEN);
            write(&mut store, 0, b"abcd");
            assert!(close(&mut store, false));
            let offset = match resume {
                Resume::Never => 0,
                // What would fail at the end is not begun.
                Resume::Existing if !second.proved => 4,
                _ => from,
            };
            assert_eq!(offer(&mut store, second), Reply::Accept { offset }, "{resume:?} {case}");
        }
    }
}

/// A complete file keeps nothing of what its sender stated.
#[test]
fn a_server_resumes_a_file_under_its_name_only_if_compared() {
    let info = FileInfo { size: Some(6), modified: Some(1), resume: true, ..named("f") };
    for (info, resume, offset) in [
        (info, Resume::Part, 0),
        (info, Resume::Compared, 0),
        (info, Resume::Existing, 3),
        (FileInfo { proved: true, ..info }, Resume::Part, 0),
        (FileInfo { proved: true, ..info }, Resume::Compared, 3),
        (FileInfo { compared: true, ..info }, Resume::Compared, 3),
    ] {
        let directory = directory();
        fs::write(directory.path().join("f"), "abc").unwrap();
        let mut store = store(&directory, ReceiveOptions { resume, ..ReceiveOptions::default() });
        assert_eq!(offer(&mut store, info), Reply::Accept { offset }, "{resume:?} {info:?}");
    }
}

/// A file being sent by one client cannot be deleted, renamed, replaced, appended to or moved aside by another.
#[test]
fn a_part_being_received_is_inaccessible() {
    let directory = directory();
    let tree = Arc::new(LocalTree::open(directory.path()).unwrap());
    let session = |collision| {
        let rules = Rules { write: true, collision, ..Rules::default() };
        Session::new(tree.clone(), rules, "10.0.0.1:9", "10.0.0.1".parse().ok())
    };
    let session = |collision| {
        let mut session = session(collision);
        let mut answer = [0; 200];
        let (kind, files) = (ServerCommand::Receive.kind(), None);
        let request =
            Request::Remote(Remote::Serve { kind, words: &[], files, answer: &mut answer });
        assert_eq!(session.answer(request), Reply::Remote(RemoteReply::Said(0)));
        session
    };
    let mut first = session(Collision::Backup);
    assert_eq!(offer(&mut first, named("f")), TAKEN);
    write(&mut first, 0, &vec![b'.'; 200_000]);

    let place = |name: &str| vec![name.as_bytes().to_vec()];
    for done in
        [tree.remove(&place("f.part")), tree.rename(&place("f.part"), &place("g"), &mut |_| Ok(()))]
    {
        assert_eq!(done.unwrap_err().to_string(), "it is being received");
    }
    for collision in [
        Collision::Rename,
        Collision::Replace,
        Collision::Backup,
        Collision::Append,
        Collision::Reject,
        Collision::Update,
    ] {
        let said = offer(&mut session(collision), named("f.part"));
        assert_eq!(said, Reply::Refuse(Refusal::Exists), "{collision:?}");
    }
    assert!(digest(&mut first, 200_000).is_some());
    assert!(close(&mut first, true));
    assert_eq!(all(directory.path()), texts(&[("f", &".".repeat(200_000))]));

    // A part that is no longer being written is a file like any other.
    let mut second = session(Collision::Backup);
    assert_eq!(offer(&mut second, named("h")), TAKEN);
    write(&mut second, 0, b"half");
    assert!(close(&mut second, false));
    tree.remove(&place("h.part")).unwrap();
}

/// A name that becomes busy after the offer is found at the end.
#[test]
fn a_file_received_by_another_session_is_not_replaced() {
    for collision in [Collision::Replace, Collision::Backup, Collision::Append] {
        let directory = directory();
        let options = || ReceiveOptions { collision, ..ReceiveOptions::default() };
        let mut second = store(&directory, options());
        assert_eq!(offer(&mut second, named("f.part")), TAKEN);
        write(&mut second, 0, b"evil");
        let mut first = store(&directory, options());
        assert_eq!(offer(&mut first, named("f")), TAKEN);
        write(&mut first, 0, b"good");
        assert!(!close(&mut second, true), "{collision:?}");
        assert!(second.last_error().unwrap().contains("another file is received under it"));
        assert!(close(&mut first, true), "{collision:?}");
        assert_eq!(fs::read_to_string(directory.path().join("f")).unwrap(), "good");
    }
}

/// A file with other names, perhaps outside, is not written through them.
#[test]
#[cfg_attr(windows, ignore = "Wine 8 replaces no file that is open")]
fn appending_does_not_follow_hard_links() {
    let (directory, outside) = (directory(), directory());
    let (at, other) = (directory.path().join("f"), outside.path().join("theirs"));
    fs::write(&other, "old,").unwrap();
    fs::hard_link(&other, &at).unwrap();
    let options = ReceiveOptions { collision: Collision::Append, ..ReceiveOptions::default() };
    let mut store = store(&directory, options);
    for text in ["new,", "newer"] {
        assert_eq!(offer(&mut store, named("f")), TAKEN);
        write(&mut store, 0, text.as_bytes());
        assert!(close(&mut store, true), "{:?}", store.last_error());
    }
    assert_eq!(all(directory.path()), texts(&[("f", "old,new,newer")]));
    assert_eq!(fs::read_to_string(other).unwrap(), "old,");
}

#[test]
#[cfg_attr(windows, ignore = "Wine 8 replaces no file that is open")]
fn hard_linked_files_are_not_appended_to() {
    for quota in [None, Some(100), Some(30)] {
        let (inside, outside) = (directory(), directory());
        let secret = outside.path().join("secret");
        fs::write(&secret, "what stands outside of the root").unwrap();
        fs::hard_link(&secret, inside.path().join("log")).unwrap();
        let tree: Arc<dyn Tree> = Arc::new(LocalTree::open(inside.path()).unwrap());
        let mut rules = Rules { write: true, collision: Collision::Append, ..Rules::default() };
        rules.quotas.session.stored = quota;
        let mut session = Session::new(tree, rules, "x", None);
        let (mut words, mut answer) = ([0; 100], [0; 100]);
        let len = ServerCommand::Receive.emit(&mut words).unwrap();
        let kind = ServerCommand::Receive.kind();
        let words = &words[..len];
        session.answer(Request::Remote(Remote::Serve {
            kind,
            words,
            files: None,
            answer: &mut answer,
        }));
        assert_eq!(offer(&mut session, named("log")), TAKEN);
        write(&mut session, 0, b" and more");
        // The copy of what stands there is stored, too: 31 bytes, and 9 that came.
        let fits = quota != Some(30);
        assert_eq!(close(&mut session, true), fits, "{quota:?}");
        drop(session);
        let text = "what stands outside of the root";
        assert_eq!(fs::read_to_string(&secret).unwrap(), text, "{quota:?}");
        let log = fs::read_to_string(inside.path().join("log")).unwrap();
        assert_eq!(
            log,
            if fits { format!("{text} and more") } else { text.to_owned() },
            "{quota:?}"
        );
    }
}

/// A program that another thread is just starting has all our files open until it runs: the lock is given up all the same.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_closed_is_not_locked_by_a_program_that_starts() {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let directory = directory();
    let options = ReceiveOptions { resume: Resume::Existing, ..ReceiveOptions::default() };
    let mut told = store(&directory, options);
    let info = FileInfo { size: Some(6), resume: true, ..named("f") };
    assert_eq!(offer(&mut told, info), TAKEN);
    write(&mut told, 0, b"abcdef");
    let part = directory.path().join("f.part");
    let mut open = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let ours = open.find(|fd| fs::read_link(fd).is_ok_and(|at| at == part)).expect("it is open");
    let number = ours.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let theirs = pidfd_getfd(own, number, PidfdGetfdFlags::empty()).unwrap();
    assert!(close(&mut told, true));
    assert_eq!(offer(&mut told, info), Reply::Accept { offset: 6 });
    drop(theirs);
}
