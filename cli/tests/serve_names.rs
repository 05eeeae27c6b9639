//! Names with blanks, braces, quotes, wildcards, dashes and backslashes: each command means the one
//! file that it names and no other, on disk and in object storage.

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use wetstring_drive::disk::ReceiveOptions;
use wetstring_drive::serve::{LocalTree, Rules, Session, Tree};
use wetstring_proto::kermit::command::{Get, ServerCommand as C};
use wetstring_proto::{FileInfo, Remote, RemoteReply, Reply, Request, Store};

/// The names that are asked for.
const NAMES: [&str; 13] = [
    "one two",
    "file{one}.txt",
    "file {one} two.txt",
    "q\"x\".txt",
    "\"q x\"",
    "a*b",
    "[x]",
    "*",
    "-dash",
    "back\\slash",
    "{whole}",
    "{a b}",
    "{un",
];

/// What a wrong reading of one of them would find.
const DECOYS: [&str; 16] = [
    "one",
    "two",
    "fileone.txt",
    "file",
    "two.txt",
    "qx.txt",
    "q x",
    "q",
    "aXb",
    "x",
    "backslash",
    "whole",
    "a b",
    "a",
    "b",
    "un",
];

/// Whether a tree is on disk; the others are in object storage.
const TREES: &[bool] = if cfg!(feature = "objects") { &[true, false] } else { &[true] };

struct Scene {
    tree: Arc<dyn Tree>,
    _dir: tempfile::TempDir,
}

impl Scene {
    fn new(on_disk: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree: Arc<dyn Tree> = if on_disk {
            Arc::new(LocalTree::open(dir.path()).unwrap())
        } else {
            common::bucket("memory:names").expect("object storage")
        };
        Self { tree, _dir: dir }
    }

    /// A file of each name that says its name.
    fn with_files(self) -> Self {
        for name in NAMES.iter().chain(&DECOYS) {
            let bytes = name.as_bytes();
            let mut store = self.tree.receive(&[], ReceiveOptions::default()).unwrap();
            let info =
                FileInfo { name: b"new", size: Some(bytes.len() as u64), ..FileInfo::default() };
            assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
            assert_eq!(store.answer(Request::Write { offset: 0, bytes }), Reply::Done);
            let closed = store.answer(Request::Close { complete: true, verified: false });
            assert_eq!(closed, Reply::Done);
            drop(store);
            // What a receiver makes of a name on the wire is not what is tried here.
            self.tree.rename(&[b"new".to_vec()], &[bytes.to_vec()], &mut |_| Ok(())).unwrap();
        }
        self
    }

    fn with_directories(self) -> Self {
        for name in NAMES.iter().chain(&DECOYS) {
            self.tree.make_directory(&[name.as_bytes().to_vec()]).unwrap();
        }
        self
    }

    fn session(&self) -> Session {
        Session::new(self.tree.clone(), Rules { write: true, ..Rules::default() }, "x", None)
    }

    fn names(&self) -> BTreeSet<String> {
        let entries = self.tree.list(&[]).unwrap();
        entries.into_iter().map(|e| String::from_utf8(e.name).unwrap()).collect()
    }

    fn text(&self, name: &str) -> String {
        let (entry, mut content) = self.tree.open(&[name.as_bytes().to_vec()]).unwrap();
        let mut bytes = vec![0; usize::try_from(entry.size).unwrap()];
        let len = content.read(0, &mut bytes).unwrap();
        assert_eq!(len, bytes.len());
        String::from_utf8(bytes).unwrap()
    }
}

/// What a command answers: short text, long text, or names of files and what is in them.
#[derive(Debug, PartialEq)]
enum Answer {
    Text(String),
    Sent(Vec<(String, String)>),
    No(String),
}

fn ask(session: &mut Session, command: &C<'_>) -> Answer {
    let (mut words, mut answer) = ([0; 2000], [0; 2048]);
    let len = command.emit(&mut words).unwrap();
    let request = Request::Remote(Remote::Serve {
        kind: command.kind(),
        words: &words[..len],
        files: None,
        answer: &mut answer,
    });
    let (good, len) = match session.answer(request) {
        Reply::Remote(RemoteReply::Said(len)) => (true, len),
        Reply::Remote(RemoteReply::Denied(len)) => (false, len),
        Reply::Remote(RemoteReply::Follow { .. }) => return Answer::Sent(sent(session)),
        other => panic!("{other:?}"),
    };
    let text = String::from_utf8_lossy(&answer[..len]).into_owned();
    if good { Answer::Text(text) } else { Answer::No(text) }
}

fn sent(session: &mut Session) -> Vec<(String, String)> {
    let mut files = Vec::new();
    while let Reply::File(info) = session.answer(Request::Next) {
        let name = String::from_utf8_lossy(info.name).into_owned();
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        while let Reply::Read(len @ 1..) =
            session.answer(Request::Read { offset: bytes.len() as u64, into: &mut buffer })
        {
            bytes.extend_from_slice(&buffer[..len]);
        }
        session.answer(Request::Close { complete: true, verified: false });
        files.push((name, String::from_utf8_lossy(&bytes).into_owned()));
    }
    files
}

/// The ways in which clients write a name in the argument of a command: as it is, with its braces
/// quoted (C-Kermit 11), with all quoted that could be special.
fn written(name: &str) -> [String; 3] {
    let quoted = |what: &[char]| {
        name.chars()
            .flat_map(|c| what.contains(&c).then_some('\\').into_iter().chain([c]))
            .collect()
    };
    [name.to_owned(), quoted(&['{', '}']), quoted(&['{', '}', '*', '?', '[', ']', '\\'])]
}

fn everywhere(mut check: impl FnMut(bool, &str, &str)) {
    for &on_disk in TREES {
        for name in NAMES {
            for words in written(name) {
                check(on_disk, name, &words);
            }
        }
    }
}

#[test]
fn delete_deletes_the_file_that_is_named_and_no_other() {
    everywhere(|on_disk, name, words| {
        let scene = Scene::new(on_disk).with_files();
        let mut wanted = scene.names();
        let said = ask(&mut scene.session(), &C::Delete(words.as_bytes()));
        assert_eq!(said, Answer::Text("1 file deleted".into()), "{words} on disk {on_disk}");
        wanted.remove(name);
        assert_eq!(scene.names(), wanted, "{words} on disk {on_disk}");
        // Nothing of that name is there now: none of the others is it.
        if !words.contains(['*', '[']) {
            let said = ask(&mut scene.session(), &C::Delete(words.as_bytes()));
            assert!(matches!(said, Answer::No(_)), "{words}: {said:?}");
            assert_eq!(scene.names(), wanted, "{words} on disk {on_disk}");
        }
    });
}

#[test]
fn patterns_match_where_nothing_has_their_name() {
    for &on_disk in TREES {
        let scene = Scene::new(on_disk).with_files();
        let mut session = scene.session();
        assert_eq!(ask(&mut session, &C::Delete(b"o* *")), Answer::Text("1 file deleted".into()));
        assert!(!scene.names().contains("one two") && scene.names().contains("one"));
        assert_eq!(ask(&mut session, &C::Delete(b"\\*?")), Answer::No("No files match".into()));
        let said = ask(&mut session, &C::Delete(b"*\\{*"));
        assert_eq!(said, Answer::Text("5 files deleted".into()));
        assert!(scene.names().iter().all(|name| !name.contains('{')), "{:?}", scene.names());
    }
}

#[test]
fn type_and_directory_show_the_file_that_is_named() {
    everywhere(|on_disk, name, words| {
        let scene = Scene::new(on_disk).with_files();
        let mut session = scene.session();
        let Answer::Sent(shown) = ask(&mut session, &C::Type(words.as_bytes())) else {
            panic!("{words} on disk {on_disk}")
        };
        assert_eq!(shown.iter().map(|(_, text)| &text[..]).collect::<Vec<_>>(), [name]);
        let Answer::Sent(listed) = ask(&mut session, &C::Directory(words.as_bytes())) else {
            panic!("{words} on disk {on_disk}")
        };
        let last = format!("1 files, {} bytes\n", name.len());
        assert!(listed[0].1.ends_with(&last) && listed[0].1.contains(name), "{words}: {listed:?}");
    });
}

#[test]
fn get_sends_the_file_that_is_named() {
    everywhere(|on_disk, name, words| {
        let scene = Scene::new(on_disk).with_files();
        // Alone, in braces as in a list, and in a list with another.
        let quoted = format!("{{{}}}", written(name)[2]);
        let list = format!("one {quoted}");
        for (names, wanted) in [(words, &[name][..]), (&quoted, &[name]), (&list, &["one", name])] {
            let command = C::Get(Get { names: names.as_bytes(), ..Get::default() });
            let Answer::Sent(files) = ask(&mut scene.session(), &command) else {
                panic!("{names} on disk {on_disk}")
            };
            let wanted: Vec<_> = wanted.iter().map(|n| ((*n).into(), (*n).into())).collect();
            assert_eq!(files, wanted, "{names} on disk {on_disk}");
        }
    });
}

#[test]
fn a_list_is_split_where_nothing_has_its_name() {
    for &on_disk in TREES {
        let scene = Scene::new(on_disk).with_files();
        for (list, wanted) in [
            ("one two", &["one two"][..]),
            ("two one", &["two", "one"]),
            ("{one two} {one} two", &["one two", "one", "two"]),
            ("{a} {b}", &["a", "b"]),
            ("\"one two\" one", &["one two", "one"]),
            ("file{one}.txt {file {one} two.txt}", &["file{one}.txt", "file {one} two.txt"]),
            ("one\\ two x", &["one two", "x"]),
            ("t*.txt {o* *}", &["two.txt", "one two"]),
        ] {
            let command = C::Get(Get { names: list.as_bytes(), ..Get::default() });
            let said = ask(&mut scene.session(), &command);
            let wanted = wanted.iter().map(|n| ((*n).into(), (*n).into())).collect();
            assert_eq!(said, Answer::Sent(wanted), "{list} on disk {on_disk}");
        }
    }
}

#[test]
fn copy_and_rename_take_names_as_every_client_writes_them() {
    everywhere(|on_disk, name, words| {
        // C-Kermit 10 sends what groups the names with them.
        let grouped = [words.to_owned(), format!("{{{words}}}"), format!("\"{words}\"")];
        for from in grouped {
            // A brace that nothing closes cannot be written in braces.
            if from.starts_with("{{un") {
                continue;
            }
            let scene = Scene::new(on_disk).with_files();
            let before = scene.names();
            let command = C::Copy([from.as_bytes(), b"{new name}"]);
            let said = ask(&mut scene.session(), &command);
            assert!(matches!(said, Answer::Text(_)), "{from} on disk {on_disk}: {said:?}");
            assert_eq!(scene.text("new name"), name, "{from} on disk {on_disk}");
            let command = C::Rename([from.as_bytes(), b"new\\{er\\}"]);
            let said = ask(&mut scene.session(), &command);
            assert!(matches!(said, Answer::Text(_)), "{from} on disk {on_disk}: {said:?}");
            assert_eq!(scene.text("new{er}"), name, "{from} on disk {on_disk}");
            let mut wanted = before;
            wanted.remove(name);
            wanted.extend(["new name".into(), "new{er}".into()]);
            assert_eq!(scene.names(), wanted, "{from} on disk {on_disk}");
        }
    });
}

#[test]
fn directories_are_made_entered_and_removed_by_their_names() {
    everywhere(|on_disk, name, words| {
        let scene = Scene::new(on_disk).with_directories();
        let mut wanted = scene.names();
        let shown = |end: &str| Answer::Text(format!("/{name}{end}"));
        let words = words.as_bytes();
        assert_eq!(ask(&mut scene.session(), &C::ChangeDirectory(words)), shown(""));
        assert_eq!(ask(&mut scene.session(), &C::RemoveDirectory(words)), shown(": removed"));
        wanted.remove(name);
        assert_eq!(scene.names(), wanted, "{name} on disk {on_disk}");
        // A new name is taken as it is, but for quoted braces.
        let new = written(name)[1].clone();
        assert_eq!(ask(&mut scene.session(), &C::MakeDirectory(new.as_bytes())), shown(""));
        wanted.insert(name.into());
        assert_eq!(scene.names(), wanted, "{name} on disk {on_disk}");
    });
}
