//! The disk store in both directions, driven by requests as an engine makes them.

mod common;

use common::pattern;
#[cfg(unix)]
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;
use tempfile::TempDir;
use wetstring_drive::disk::{
    Collision, DiskStore, FileOutcome, FileRecord, Incomplete, NameRule, ReceiveOptions, Resume,
};
use wetstring_proto::file::{
    DigestKind, Extras, FileInfo, FileKind, Refusal, Reply, Request, Store, Wish, ZmodemExtras,
};

struct Inbox {
    directory: TempDir,
    store: DiskStore,
}

fn inbox(options: ReceiveOptions) -> Inbox {
    let directory = tempfile::tempdir().unwrap();
    let store = DiskStore::receiving(directory.path(), options).unwrap();
    Inbox { directory, store }
}

impl Inbox {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// All entries of the directory, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            // Wine has alternate streams as files, in which our marks are.
            .filter(|name| cfg!(unix) || !name.contains(':'))
            .collect();
        names.sort();
        names
    }

    fn offer(&mut self, info: FileInfo<'_>) -> Reply<'static> {
        match self.store.answer(Request::Offer { info }) {
            Reply::Accept { offset } => Reply::Accept { offset },
            Reply::Refuse(why) => Reply::Refuse(why),
            Reply::Failed(error) => Reply::Failed(error),
            Reply::TellCheck => Reply::TellCheck,
            reply => panic!("{reply:?} to an offer"),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> bool {
        self.store.answer(Request::Write { offset, bytes }) == Reply::Done
    }

    fn close(&mut self, complete: bool) -> bool {
        self.store.answer(Request::Close { complete, verified: false }) == Reply::Done
    }

    /// A whole file, as a sender gives it.
    fn receive(&mut self, name: &str, content: &str) -> Reply<'static> {
        self.receive_dated(name, content, None)
    }

    fn receive_dated(&mut self, name: &str, content: &str, date: Option<i64>) -> Reply<'static> {
        let info = FileInfo { modified: date, ..named(name) };
        let reply = self.offer(info);
        if let Reply::Accept { .. } = reply {
            assert!(self.write(0, content.as_bytes()));
            assert!(self.close(true), "{:?}", self.store.last_error());
        }
        reply
    }

    /// The state after an interrupted transfer.
    fn leave(&mut self, name: &str, content: &str) {
        assert_eq!(self.offer(named(name)), TAKEN);
        assert!(self.write(0, content.as_bytes()) && self.close(false));
    }

    fn last(&self) -> &FileRecord {
        self.store.files().last().unwrap()
    }
}

fn named(name: &str) -> FileInfo<'_> {
    FileInfo { name: name.as_bytes(), ..FileInfo::default() }
}

fn collision(collision: Collision) -> ReceiveOptions {
    ReceiveOptions { collision, ..ReceiveOptions::default() }
}

const TAKEN: Reply<'static> = Reply::Accept { offset: 0 };

#[cfg(unix)]
fn permissions(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode()
}

#[test]
fn a_file_gets_its_name_when_complete() {
    let mut inbox = inbox(ReceiveOptions::default());
    let info = FileInfo { modified: Some(1_000_000_000), mode: Some(0o4751), ..named("a.bin") };
    assert_eq!(inbox.offer(info), TAKEN);
    assert!(inbox.write(0, b"hello "));
    assert_eq!(inbox.names(), ["a.bin.part"]);
    #[cfg(unix)]
    assert_eq!(permissions(&inbox.path("a.bin.part")) & 0o777, 0o600);
    assert!(inbox.write(6, b"world"));
    assert!(inbox.close(true));

    assert_eq!(inbox.names(), ["a.bin"]);
    assert_eq!(inbox.text("a.bin"), "hello world");
    let stored = fs::metadata(inbox.path("a.bin")).unwrap();
    let date = stored.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH);
    assert_eq!(date.unwrap().as_secs(), 1_000_000_000);
    #[cfg(unix)]
    {
        let umask = std::process::Command::new("sh").args(["-c", "umask"]).output().unwrap().stdout;
        let umask = u32::from_str_radix(String::from_utf8(umask).unwrap().trim(), 8).unwrap();
        assert_eq!(permissions(&inbox.path("a.bin")) & 0o7777, 0o751 & !umask);
    }
    let record = inbox.last();
    assert_eq!((record.outcome.clone(), record.size), (FileOutcome::Stored, 11));
    assert_eq!(record.path.as_deref(), Some(inbox.path("a.bin").as_path()));
}

#[test]
fn collision_policies_work_as_documented() {
    // Policy, reply, result in the directory.
    let old_date = 2_000_000_000;
    for (policy, date, answer, names, texts) in [
        (Collision::Rename, None, TAKEN, &["f", "f.~1~"][..], &["old", "new"][..]),
        (Collision::Replace, None, TAKEN, &["f"], &["new"]),
        (Collision::Backup, None, TAKEN, &["f", "f.~1~"], &["new", "old"]),
        (Collision::Append, None, TAKEN, &["f"], &["oldnew"]),
        (Collision::Reject, None, Reply::Refuse(Refusal::Exists), &["f"], &["old"]),
        (Collision::Update, Some(old_date + 1), TAKEN, &["f"], &["new"]),
        (Collision::Update, Some(old_date), Reply::Refuse(Refusal::NotNewer), &["f"], &["old"]),
        (Collision::Update, None, TAKEN, &["f", "f.~1~"], &["old", "new"]),
    ] {
        let mut inbox = inbox(collision(policy));
        inbox.put("f", "old");
        let old = fs::File::options().write(true).open(inbox.path("f")).unwrap();
        let date_of = std::time::UNIX_EPOCH + std::time::Duration::from_secs(old_date as u64);
        old.set_modified(date_of).unwrap();
        drop(old);
        assert_eq!(inbox.receive_dated("f", "new", date), answer, "{policy:?} {date:?}");
        assert_eq!(inbox.names(), names, "{policy:?} {date:?}");
        let found: Vec<String> = names.iter().map(|name| inbox.text(name)).collect();
        assert_eq!(found, texts, "{policy:?} {date:?}");
    }
}

#[test]
fn backup_numbers_are_one_above_the_highest() {
    let mut inbox = inbox(ReceiveOptions::default());
    for name in ["f", "f.~3~", "f.~x~", "f.~7", "g.~9~"] {
        inbox.put(name, "old");
    }
    assert_eq!(inbox.receive("f", "new"), TAKEN);
    assert_eq!((inbox.text("f"), inbox.text("f.~4~")), ("new".into(), "old".into()));
    assert_eq!(inbox.last().path.as_deref(), Some(inbox.path("f").as_path()));
    assert_eq!(inbox.last().put_aside.as_deref(), Some(inbox.path("f.~4~").as_path()));
    // The highest possible number in the directory does not block.
    for name in ["h", "h.~1~", "h.~18446744073709551615~", "i", "i.~999999~", "i.~1000000~"] {
        inbox.put(name, "old");
    }
    for (name, aside) in [("h", "h.~2~"), ("h", "h.~3~"), ("i", "i.~1~"), ("i", "i.~2~")] {
        assert_eq!(inbox.receive(name, "new"), TAKEN);
        assert_eq!(inbox.last().put_aside.as_deref(), Some(inbox.path(aside).as_path()));
    }
    let long = "x".repeat(250);
    for _ in 0..12 {
        assert_eq!(inbox.receive(&long, "new"), TAKEN);
    }
    assert_eq!(inbox.names().iter().filter(|name| name.starts_with("xxx")).count(), 12);
}

#[test]
fn hostile_names_stay_inside() {
    let outside = tempfile::tempdir().unwrap();
    let mut inbox = inbox(ReceiveOptions::default());
    let escape = format!("{}/escaped", outside.path().display());
    for (wire, stored) in [
        (escape.as_str(), "escaped"),
        ("../../../../../../tmp/wetstring-escape", "wetstring-escape"),
        ("C:\\AUTOEXEC.BAT", "AUTOEXEC.BAT"),
        ("a\nb", "a_b"),
        ("NUL", "_NUL"),
    ] {
        assert_eq!(inbox.receive(wire, "x"), TAKEN, "{wire}");
        assert_eq!(inbox.text(stored), "x", "{wire}");
        assert!(inbox.last().name_rule.is_some(), "{wire}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    for (wire, rule) in [("..", NameRule::Dots), ("", NameRule::Empty), ("x/", NameRule::Empty)] {
        assert_eq!(inbox.receive(wire, "x"), Reply::Refuse(Refusal::Name));
        assert_eq!(inbox.last().outcome, FileOutcome::Refused(Refusal::Name));
        assert_eq!(inbox.last().name_rule, Some(rule));
    }
}

/// Makes a thing that is no plain file.
#[cfg(unix)]
fn obstacle(at: &Path, kind: &str, outside: &Path) {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let mode = Mode::from_raw_mode(0o600);
    match kind {
        "symlink" => symlink(outside, at).unwrap(),
        "directory" => fs::create_dir(at).unwrap(),
        "fifo" => mknodat(CWD, at, FileType::Fifo, mode, 0).unwrap(),
        // Needs root; the full device shows any write.
        "device" => mknodat(CWD, at, FileType::CharacterDevice, mode, makedev(1, 7)).unwrap(),
        _ => unreachable!(),
    }
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_not_written_through() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target");
    let root = rustix::process::geteuid().is_root();
    let policies = [
        Collision::Rename,
        Collision::Replace,
        Collision::Backup,
        Collision::Append,
        Collision::Reject,
        Collision::Update,
    ];
    let kinds = ["symlink", "directory", "fifo"].into_iter().chain(root.then_some("device"));
    for (kind, place) in kinds.flat_map(|kind| [(kind, "f"), (kind, "f.part")]) {
        for policy in policies {
            fs::write(&target, "untouched").unwrap();
            let mut inbox = inbox(ReceiveOptions { resume: Resume::Existing, ..collision(policy) });
            obstacle(&inbox.path(place), kind, &target);
            let info = FileInfo { resume: true, modified: Some(i64::MAX), ..named("f") };
            let answer = inbox.offer(info);
            if answer == TAKEN {
                assert!(inbox.write(0, b"new"));
                assert!(inbox.close(true), "{:?}", inbox.store.last_error());
                let path = inbox.last().path.clone().unwrap();
                let stored = fs::symlink_metadata(&path).unwrap();
                assert!(stored.is_file(), "{kind} at {place}, {policy:?}");
                assert_eq!(fs::read_to_string(path).unwrap(), "new");
            } else {
                assert!(matches!(answer, Reply::Refuse(Refusal::Exists)), "{kind} {policy:?}");
            }
            assert_eq!(fs::read_to_string(&target).unwrap(), "untouched", "{kind} {policy:?}");
            if place == "f.part" {
                assert_eq!(answer, TAKEN, "{kind} at {place}, {policy:?}");
                let left = fs::symlink_metadata(inbox.path(place)).unwrap();
                assert!(!left.is_file(), "{kind} at {place} was replaced");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn directories_of_a_path_are_created_and_links_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let mut inbox = inbox(ReceiveOptions {
        paths: wetstring_drive::disk::PathRule::Relative,
        ..ReceiveOptions::default()
    });
    assert_eq!(inbox.receive("a/b/c", "x"), TAKEN);
    assert_eq!(inbox.text("a/b/c"), "x");
    symlink(outside.path(), inbox.path("a/out")).unwrap();
    for wire in ["a/out/x", "a/b/c/x"] {
        assert_eq!(inbox.receive(wire, "x"), Reply::Refuse(Refusal::Name), "{wire}");
        assert_eq!(inbox.last().name_rule, Some(NameRule::NotADirectory), "{wire}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn incomplete_files_are_kept_or_discarded() {
    for (incomplete, names) in [(Incomplete::Keep, &["f.part"][..]), (Incomplete::Discard, &[])] {
        let mut inbox = inbox(ReceiveOptions { incomplete, ..ReceiveOptions::default() });
        assert_eq!(inbox.offer(named("f")), TAKEN);
        assert!(inbox.write(0, b"half"));
        assert!(inbox.close(false));
        assert_eq!(inbox.names(), names);
        assert_eq!(inbox.last().outcome, FileOutcome::Partial);
        assert_eq!(inbox.last().path.is_some(), incomplete == Incomplete::Keep);
        // An empty part is not kept.
        assert_eq!(inbox.offer(named("g")), TAKEN);
        assert!(inbox.close(false));
        assert_eq!(inbox.names(), names);
    }
}

#[test]
fn a_wrong_part_can_be_discarded_after_close() {
    let mut inbox = inbox(ReceiveOptions::default());
    assert!(!inbox.store.discard_partial(), "nothing came yet");
    for close_first in [true, false] {
        assert_eq!(inbox.offer(named("f")), TAKEN);
        assert!(inbox.write(0, b"wrong"));
        assert!(!close_first || inbox.close(false));
        assert_eq!(inbox.names(), ["f.part"]);
        assert!(inbox.store.discard_partial());
        assert!(inbox.names().is_empty());
        assert_eq!(
            (inbox.last().outcome.clone(), inbox.last().path.as_deref()),
            (FileOutcome::Partial, None)
        );
    }
    // A complete file is not affected.
    assert_eq!(inbox.receive("g", "good"), TAKEN);
    assert!(!inbox.store.discard_partial());
    assert_eq!(inbox.names(), ["g"]);
}

#[test]
fn file_records_are_bounded() {
    let mut inbox = inbox(ReceiveOptions::default());
    assert_eq!(inbox.receive("f", "x"), TAKEN);
    for _ in 0..20_000 {
        assert_eq!(inbox.offer(named("..")), Reply::Refuse(Refusal::Name));
    }
    assert_eq!(inbox.receive("g", "y"), TAKEN);
    let files = inbox.store.files();
    assert_eq!((files.len(), inbox.store.unlisted()), (10_000, 10_002));
    assert_eq!((&files[0].wire_name[..], &inbox.last().wire_name[..]), (&b"f"[..], &b"g"[..]));
    assert_eq!(inbox.last().outcome, FileOutcome::Stored);
}

#[test]
fn dropping_the_store_keeps_received_data() {
    let mut inbox = inbox(ReceiveOptions::default());
    assert_eq!(inbox.offer(named("f")), TAKEN);
    assert!(inbox.write(0, b"half"));
    let Inbox { directory, store } = inbox;
    drop(store);
    assert_eq!(fs::read_to_string(directory.path().join("f.part")).unwrap(), "half");
}

#[test]
fn a_part_is_resumed_only_when_offered() {
    let content = pattern(300_000);
    let mut inbox = inbox(ReceiveOptions::default());
    let modified = Some(1_000_000_000);
    let info = FileInfo { size: Some(300_000), modified, resume: true, ..named("f") };
    assert_eq!(inbox.offer(info), TAKEN);
    for (index, chunk) in content[..100_000].chunks(999).enumerate() {
        assert!(inbox.write(index as u64 * 999, chunk));
    }
    assert!(inbox.close(false));

    assert_eq!(inbox.offer(info), Reply::Accept { offset: 100_000 });
    assert!(inbox.write(100_000, &content[100_000..]));
    // The digest covers the bytes that were there before, too.
    let digest = inbox.store.answer(Request::Digest { kind: DigestKind::Crc32, len: 300_000 });
    let mut expected = [0; 32];
    expected[..4].copy_from_slice(&crc32fast::hash(&content).to_be_bytes());
    assert_eq!(digest, Reply::Digest(expected));
    assert!(inbox.close(true));
    assert_eq!(fs::read(inbox.path("f")).unwrap(), content);
    assert_eq!(inbox.last().resumed_from, 100_000);

    // Not offered, too long, or text: from the start, and the stale part is gone.
    for info in [
        FileInfo { size: Some(4), ..named("g") },
        FileInfo { size: Some(4), resume: true, ..named("g") },
        FileInfo { size: None, resume: true, kind: FileKind::Text, ..named("g") },
    ] {
        inbox.leave("g", "stale and long");
        assert_eq!(inbox.offer(info), TAKEN);
        assert!(inbox.write(0, b"new!") && inbox.close(true));
        assert_eq!(inbox.text("g"), "new!");
        fs::remove_file(inbox.path("g")).unwrap();
        assert_eq!(inbox.names(), ["f"]);
    }
}

#[test]
fn a_file_under_its_own_name_is_resumed_only_if_configured() {
    let info = FileInfo { size: Some(6), resume: true, ..named("f") };
    let mut careful = inbox(ReceiveOptions::default());
    careful.put("f", "abc");
    assert_eq!(careful.offer(info), TAKEN);
    assert!(careful.write(0, b"abcdef") && careful.close(true));
    assert_eq!((careful.text("f"), careful.text("f.~1~")), ("abcdef".into(), "abc".into()));

    let mut told = inbox(ReceiveOptions { resume: Resume::Existing, ..ReceiveOptions::default() });
    told.put("f", "abc");
    assert_eq!(told.offer(info), Reply::Accept { offset: 3 });
    assert!(told.write(3, b"d") && told.close(false));
    // Cut short it is a copy, and nothing has happened to the file.
    assert_eq!((told.text("f"), told.text("f.part")), ("abc".into(), "abcd".into()));
    assert_eq!(told.offer(info), Reply::Accept { offset: 4 });
    assert!(told.write(4, b"ef") && told.close(true));
    // It was not confirmed to be the beginning of this one.
    assert_eq!((told.text("f"), told.text("f.~1~")), ("abcdef".into(), "abc".into()));
    assert_eq!(told.offer(info), Reply::Accept { offset: 6 });
    assert!(told.close(true));
    assert_eq!(
        (told.text("f"), told.names()),
        ("abcdef".into(), ["f", "f.~1~"].map(String::from).into())
    );
}

/// The existing data is the beginning of another file, as both ends have determined: it is offered again while
/// it is open, and counts once.
#[test]
fn a_part_of_another_file_is_replaced() {
    let resume = FileInfo { size: Some(6), resume: true, compared: true, ..named("f") };
    let afresh = FileInfo { resume: false, ..resume };
    let mut parts = inbox(ReceiveOptions::default());
    parts.leave("f", "xyz");
    assert_eq!(parts.offer(resume), Reply::Accept { offset: 3 });
    assert_eq!(parts.offer(afresh), TAKEN);
    assert!(parts.write(0, b"abc") && parts.close(false));
    // Interrupted, it can be continued with.
    assert_eq!((parts.text("f.part"), parts.store.files().len()), ("abc".into(), 2));
    assert_eq!(parts.offer(resume), Reply::Accept { offset: 3 });
    assert!(parts.write(3, b"def") && parts.close(true));
    assert_eq!((parts.text("f"), parts.names()), ("abcdef".into(), vec!["f".to_owned()]));
    assert_eq!(parts.last().outcome, FileOutcome::Stored);

    // A file under its own name is left as it is.
    let options = ReceiveOptions { resume: Resume::Existing, ..collision(Collision::Rename) };
    let mut told = inbox(options);
    told.put("f", "xyz");
    assert_eq!(told.offer(resume), Reply::Accept { offset: 3 });
    assert_eq!(told.offer(afresh), TAKEN);
    assert!(told.write(0, b"abcdef") && told.close(true));
    assert_eq!((told.text("f"), told.text("f.~1~")), ("xyz".into(), "abcdef".into()));
    assert_eq!(
        (told.names(), told.store.files().len()),
        (["f", "f.~1~"].map(String::from).into(), 1)
    );
}

#[test]
fn a_file_is_replaced_only_if_its_check_differs() {
    let wish = Wish::DifferentCheck;
    let info = FileInfo { size: Some(3), wish, ..named("f") };
    let checked = |check: &[u8]| {
        let check = Some(crc32fast::hash(check));
        FileInfo { extras: Extras::Zmodem(ZmodemExtras { check, ..Default::default() }), ..info }
    };
    let mut inbox = inbox(collision(Collision::Replace));
    // Nothing is here, so there is nothing to compare.
    assert_eq!(inbox.offer(info), TAKEN);
    assert!(inbox.write(0, b"abc") && inbox.close(true));
    assert_eq!(inbox.offer(info), Reply::TellCheck);
    assert_eq!(inbox.offer(checked(b"abc")), Reply::Refuse(Refusal::Exists));
    assert_eq!(inbox.offer(info), Reply::TellCheck);
    assert_eq!(inbox.offer(checked(b"abd")), TAKEN);
    assert!(inbox.write(0, b"abd") && inbox.close(true));
    // Another length is another file.
    assert_eq!(inbox.offer(FileInfo { size: Some(4), ..info }), TAKEN);
    assert!(inbox.write(0, b"long") && inbox.close(true));
    assert_eq!((inbox.text("f"), inbox.names()), ("long".into(), vec!["f".to_owned()]));
    assert_eq!(inbox.store.files().len(), 4);
}

#[test]
fn two_receivers_of_one_name_are_independent() {
    let mut first = inbox(ReceiveOptions::default());
    let path = first.directory.path().to_owned();
    let mut second = DiskStore::receiving(&path, ReceiveOptions::default()).unwrap();
    assert_eq!(first.offer(named("f")), TAKEN);
    assert_eq!(second.answer(Request::Offer { info: named("f") }), TAKEN);
    assert!(first.write(0, b"first"));
    assert_eq!(second.answer(Request::Write { offset: 0, bytes: b"second" }), Reply::Done);
    assert!(first.close(true));
    let close = Request::Close { complete: true, verified: false };
    let closed = second.answer(close) == Reply::Done;
    assert!(closed, "{:?}", second.last_error());
    assert_eq!(first.names(), ["f", "f.~1~"]);
    assert_eq!((first.text("f"), first.text("f.~1~")), ("second".into(), "first".into()));
}

#[test]
fn a_file_that_cannot_fit_is_refused_at_once() {
    let mut inbox = inbox(ReceiveOptions::default());
    let info = FileInfo { size: Some(1 << 60), ..named("huge") };
    assert_eq!(inbox.offer(info), Reply::Refuse(Refusal::NoSpace));
    assert!(inbox.names().is_empty());
}

#[cfg(unix)]
#[test]
fn reserved_blocks_are_given_back() {
    let mut inbox = inbox(ReceiveOptions::default());
    let info = FileInfo { size: Some(8 << 20), ..named("f") };
    assert_eq!(inbox.offer(info), TAKEN);
    assert!(inbox.write(0, b"short") && inbox.close(false));
    let part = fs::metadata(inbox.path("f.part")).unwrap();
    assert_eq!(part.len(), 5);
    assert!(part.blocks() * 512 < 1 << 20, "{} blocks", part.blocks());
}

/// A file-size limit stands in for a full disk: it needs no root and hits no other test, since
/// this test runs again in a process of its own.
#[cfg(unix)]
#[test]
fn a_full_disk_is_a_clear_failure() {
    if std::env::var_os("WST_TEST_LIMITED").is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_full_disk_is_a_clear_failure", "--nocapture"])
            .env("WST_TEST_LIMITED", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("limited run done"));
        return;
    }
    wetstring_drive::Signals::install().unwrap();
    let limit = 200_000;
    setrlimit(Resource::Fsize, Rlimit { current: Some(limit), maximum: Some(limit) }).unwrap();
    let content = pattern(300_000);
    for (incomplete, chunk) in
        [(Incomplete::Keep, 1000), (Incomplete::Keep, 100_000), (Incomplete::Discard, 1000)]
    {
        let mut inbox = inbox(ReceiveOptions { incomplete, ..ReceiveOptions::default() });
        assert_eq!(inbox.offer(FileInfo { size: Some(300_000), ..named("f") }), TAKEN);
        let mut offset = 0;
        let mut reply = Reply::Done;
        while reply == Reply::Done && offset < content.len() {
            let bytes = &content[offset..(offset + chunk).min(content.len())];
            reply = match inbox.store.answer(Request::Write { offset: offset as u64, bytes }) {
                Reply::Done => Reply::Done,
                Reply::Failed(error) => Reply::Failed(error),
                reply => panic!("{reply:?}"),
            };
            offset += bytes.len();
        }
        assert_eq!(reply, Reply::Failed(wetstring_proto::StoreError::NoSpace));
        assert!(inbox.store.last_error().unwrap().contains("f.part: File too large"));
        // A digest of the whole does not help.
        assert!(!inbox.close(true));
        match incomplete {
            Incomplete::Keep => {
                let kept = fs::read(inbox.path("f.part")).unwrap();
                assert_eq!(kept.len() as u64, limit);
                assert_eq!(kept, content[..kept.len()]);
            }
            Incomplete::Discard => assert!(inbox.names().is_empty()),
        }
    }
    println!("limited run done");
}

#[test]
fn writes_of_any_size_arrive() {
    let content = pattern(1_000_000);
    let mut inbox = inbox(ReceiveOptions::default());
    assert_eq!(inbox.offer(named("f")), TAKEN);
    let mut offset = 0;
    for len in [1, 100, 40_000, 7, 31_999, 200_000, 90, 128 * 1024, 5].into_iter().cycle() {
        let end = (offset + len).min(content.len());
        assert!(inbox.write(offset as u64, &content[offset..end]));
        offset = end;
        if offset == content.len() {
            break;
        }
    }
    assert!(inbox.close(true));
    assert_eq!(fs::read(inbox.path("f")).unwrap(), content);
    let hash = xxhash_rust::xxh3::xxh3_128(&content).to_be_bytes();
    let (kind, digest) = inbox.last().digest.unwrap();
    assert_eq!((kind, &digest[..16], &digest[16..]), (DigestKind::Xxh3, &hash[..], &[0; 16][..]));
}

#[test]
fn backward_offsets_fail_and_gaps_are_not_resumed() {
    let mut inbox = inbox(ReceiveOptions::default());
    assert_eq!(inbox.offer(named("f")), TAKEN);
    assert!(inbox.write(0, b"abc"));
    assert!(!inbox.write(1, b"x"));
    assert!(inbox.write(10, b"def"));
    assert!(inbox.close(false));
    assert_eq!(inbox.text("f.part"), "abc");
}
