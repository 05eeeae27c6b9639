//! Every byte that a session stores or is sent counts while it moves, whichever command causes it; and what a
//! client may not do to a file is possible by no command, setting or sender's request.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use wetstring_drive::disk::Collision;
use wetstring_drive::serve::{Action, LocalTree, Quota, Rules, Session, Tree};
use wetstring_proto::file::{FileInfo, Remote, RemoteReply, Reply, Request, Store, Wish};
use wetstring_proto::kermit::command::{Get, ServerCommand as C};

fn root() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for index in 0..50 {
        fs::write(dir.path().join(format!("f{index:02}")), [b'x'; 100]).unwrap();
    }
    dir
}

fn session(root: &Path, rules: Rules) -> Session {
    let tree: Arc<dyn Tree> = Arc::new(LocalTree::open(root).unwrap());
    Session::new(tree, rules, "x", None)
}

fn ask(session: &mut Session, command: &C<'_>) -> Result<(), String> {
    let (mut words, mut answer) = ([0; 500], [0; 500]);
    let len = command.emit(&mut words).unwrap();
    let (kind, words) = (command.kind(), &words[..len]);
    match session.answer(Request::Remote(Remote::Serve {
        kind,
        words,
        files: None,
        answer: &mut answer,
    })) {
        Reply::Remote(RemoteReply::Said(_) | RemoteReply::Follow { .. }) => Ok(()),
        Reply::Remote(RemoteReply::Denied(len)) => {
            Err(String::from_utf8_lossy(&answer[..len]).into_owned())
        }
        other => panic!("{other:?}"),
    }
}

/// Takes all that follows; how many bytes that were, and whether it ended well.
fn take(session: &mut Session) -> (u64, bool) {
    let (mut all, mut piece) = (0, [0; 64]);
    loop {
        match session.answer(Request::Next) {
            Reply::File(_) => {}
            Reply::NoMoreFiles => return (all, true),
            _ => return (all, false),
        }
        let mut offset = 0;
        loop {
            match session.answer(Request::Read { offset, into: &mut piece }) {
                Reply::Read(0) => break,
                Reply::Read(len) => offset += len as u64,
                _ => return (all + offset, false),
            }
        }
        all += offset;
        session.answer(Request::Close { complete: true, verified: false });
    }
}

fn get(names: &[u8]) -> C<'_> {
    C::Get(Get { names, ..Get::default() })
}

fn quota(text: &str) -> Rules {
    let mut rules = Rules { write: true, ..Rules::default() };
    rules.quotas.session = text.parse::<Quota>().unwrap();
    rules
}

/// Bytes in files of the root.
fn stored(root: &Path) -> u64 {
    fs::read_dir(root).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn sent_bytes_count_while_they_are_sent() {
    let dir = root();
    let commands: [&[C<'_>]; 5] = [
        &[get(b"f*")],
        &[get(b"f00 f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12")],
        &[C::Type(b"f*")],
        &[C::Directory(b"f*")],
        // The files of several commands add up.
        &[C::Type(b"f0*"), C::Directory(b"f0*"), get(b"f1*")],
    ];
    for all in commands {
        let mut session = session(dir.path(), quota("sent=1030"));
        let (mut bytes, mut ended) = (0, false);
        for command in all {
            if ask(&mut session, command).is_err() {
                ended = true;
                break;
            }
            let (came, well) = take(&mut session);
            bytes += came;
            ended |= !well;
        }
        assert!(ended, "{all:?}: {bytes} bytes");
        assert!(bytes <= 1030, "{all:?}: {bytes} bytes");
        assert!(bytes > 900, "{all:?}: {bytes} bytes");
        // Nothing is left for another command.
        let said = ask(&mut session, &get(b"f00")).map(|()| take(&mut session));
        assert!(!matches!(said, Ok((_, true))), "{all:?}: {said:?}");
    }
}

#[test]
fn stored_bytes_count_while_they_are_stored() {
    for announced in [None, Some(0), Some(100), Some(100_000)] {
        let dir = root();
        let before = stored(dir.path());
        let mut session = session(dir.path(), quota("stored=1030"));
        ask(&mut session, &C::Receive).unwrap();
        let info = FileInfo { name: b"new", size: announced, ..FileInfo::default() };
        let mut offset = 0;
        if matches!(session.answer(Request::Offer { info }), Reply::Accept { .. }) {
            // More than was announced, and than may be.
            while offset < 5000
                && session.answer(Request::Write { offset, bytes: &[b'y'; 50] }) == Reply::Done
            {
                offset += 50;
            }
            let close = Request::Close { complete: true, verified: false };
            assert!(matches!(session.answer(close), Reply::Failed(_) | Reply::Done));
        }
        assert!(offset <= 1030, "{announced:?}: {offset}");
        // Copies count with it.
        let copies = (0..30)
            .map(|n| format!("copy{n}"))
            .filter(|name| ask(&mut session, &C::Copy([b"f00", name.as_bytes()])).is_ok());
        let copies = copies.count() as u64;
        assert_eq!(copies, (1030 - offset) / 100, "{announced:?}: {offset}");
        drop(session);
        let more = stored(dir.path()) - before;
        assert!(more <= 1030, "{announced:?}: {more}");
        assert!(!dir.path().join("new").exists(), "{announced:?}");
    }
}

/// What may happen to files of one name, and the value of REMOTE SET 302 that says so.
const ALL: [(Collision, u8); 7] = [
    (Collision::Rename, b'0'),
    (Collision::Replace, b'1'),
    (Collision::Backup, b'2'),
    (Collision::Append, b'3'),
    (Collision::Reject, b'4'),
    (Collision::Update, b'6'),
    (Collision::Differing, b'7'),
];
/// A sender's requests.
const WISHES: [Wish; 9] = [
    Wish::Unsaid,
    Wish::NewerOrLonger,
    Wish::DifferentCheck,
    Wish::Append,
    Wish::Overwrite,
    Wish::Newer,
    Wish::Different,
    Wish::Protect,
    Wish::Rename,
];

/// The effect on an existing file: none, or what its right allows.
#[test]
#[cfg_attr(windows, ignore = "thousands of files: a minute under Wine")]
fn no_setting_or_request_bypasses_rights() {
    for disabled in
        [vec![Action::Delete], vec![Action::Rename], vec![Action::Delete, Action::Rename]]
    {
        for (collision, code) in ALL {
            for by_client in [false, true] {
                for wish in WISHES {
                    for (resume, compared) in [(false, false), (true, false), (true, true)] {
                        let dir = tempfile::tempdir().unwrap();
                        fs::write(dir.path().join("f"), "old old old").unwrap();
                        let first = if by_client { Collision::Reject } else { collision };
                        let rules = Rules {
                            write: true,
                            collision: first,
                            disabled: disabled.clone(),
                            ..Rules::default()
                        };
                        let mut session = session(dir.path(), rules);
                        let set = C::Set { code: 302, value: &[code] };
                        let set = by_client.then(|| ask(&mut session, &set));
                        let say = format!(
                            "{disabled:?}, {collision:?} {set:?}, {wish:?}, resume {resume} {compared}"
                        );
                        ask(&mut session, &C::Receive).unwrap();
                        let info = FileInfo {
                            name: b"f",
                            size: Some(20),
                            modified: Some(4_000_000_000),
                            wish,
                            resume,
                            compared,
                            ..FileInfo::default()
                        };
                        if let Reply::Accept { offset } = session.answer(Request::Offer { info }) {
                            let bytes = &[b'n'; 20][offset as usize..];
                            session.answer(Request::Write { offset, bytes });
                            session.answer(Request::Close { complete: true, verified: compared });
                        }
                        drop(session);
                        let at = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
                        let may = |action| !disabled.contains(&action);
                        // It is unchanged, or its right allows the change.
                        let stays = at("f").as_deref() == Some("old old old");
                        let aside = at("f.~1~").as_deref() == Some("old old old");
                        let done = stays || aside && may(Action::Rename) || may(Action::Delete);
                        assert!(done, "{say}: {:?}, {:?}", at("f"), at("f.~1~"));
                    }
                }
            }
        }
    }
}
