//! What a server takes from clients that may not delete, or not make directories: on disk and in object storage.

use crate::common;

use std::sync::Arc;

use wetstring_drive::disk::{Collision, ReceiveOptions};
use wetstring_drive::serve::{Action, LocalTree, Rules, Session, Tree};
use wetstring_proto::kermit::command::ServerCommand as C;
use wetstring_proto::{FileInfo, Refusal, Remote, RemoteReply, Reply, Request, Store};

/// 2001, and 2096: later than any object is made.
const OLD: i64 = 1_000_000_000;
const NEW: i64 = 4_000_000_000;

fn on_both(check: impl Fn(&str, Arc<dyn Tree>)) {
    let dir = tempfile::tempdir().unwrap();
    check("disk", Arc::new(LocalTree::open(dir.path()).unwrap()));
    if let Some(bucket) = common::bucket("memory:rights") {
        check("objects", bucket);
    }
}

/// Offers a file with these bytes, and puts it there if it is taken.
fn put(store: &mut dyn Store, name: &str, modified: i64, bytes: &[u8]) -> Result<(), Refusal> {
    let size = Some(bytes.len() as u64);
    let info =
        FileInfo { name: name.as_bytes(), size, modified: Some(modified), ..FileInfo::default() };
    match store.answer(Request::Offer { info }) {
        Reply::Accept { .. } => {
            assert_eq!(store.answer(Request::Write { offset: 0, bytes }), Reply::Done);
            let close = Request::Close { complete: true, verified: false };
            assert_eq!(store.answer(close), Reply::Done);
            Ok(())
        }
        Reply::Refuse(why) => Err(why),
        other => panic!("{other:?}"),
    }
}

/// A client sends one file.
fn sent(
    tree: &Arc<dyn Tree>,
    rules: Rules,
    name: &str,
    at: i64,
    bytes: &[u8],
) -> Result<(), Refusal> {
    let mut session = Session::new(tree.clone(), rules, "x", None);
    let (mut words, mut answer) = ([0; 100], [0; 100]);
    let len = C::Receive.emit(&mut words).unwrap();
    let kind = C::Receive.kind();
    let request = Request::Remote(Remote::Serve {
        kind,
        words: &words[..len],
        files: None,
        answer: &mut answer,
    });
    assert!(matches!(
        session.answer(request),
        Reply::Remote(RemoteReply::Said(0) | RemoteReply::Follow { .. })
    ));
    put(&mut session, name, at, bytes)
}

fn text(tree: &Arc<dyn Tree>, name: &str) -> String {
    let (entry, mut content) = tree.open(&[name.as_bytes().to_vec()]).unwrap();
    let mut bytes = vec![0; usize::try_from(entry.size).unwrap()];
    content.read(0, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn who_may_not_delete_replaces_nothing() {
    for (collision, modified, wanted, files) in [
        (Collision::Replace, NEW, Ok(()), 2),
        (Collision::Update, NEW, Ok(()), 2),
        (Collision::Update, OLD - 1, Err(Refusal::NotNewer), 1),
        (Collision::UpdateOrLonger, NEW, Ok(()), 2),
        (Collision::Differing, NEW, Ok(()), 2),
        (Collision::Rename, NEW, Ok(()), 2),
        (Collision::Reject, NEW, Err(Refusal::Exists), 1),
    ] {
        for may in [false, true] {
            on_both(|where_, tree| {
                let mut store = tree.receive(&[], ReceiveOptions::default()).unwrap();
                put(&mut *store, "f", OLD, b"old").unwrap();
                drop(store);
                let disabled = if may { Vec::new() } else { vec![Action::Delete] };
                let rules = Rules { write: true, collision, disabled, ..Rules::default() };
                let say = format!("{where_}: {collision:?}, {modified}, may delete: {may}");
                assert_eq!(sent(&tree, rules, "f", modified, b"newer"), wanted, "{say}");
                let replaces = may && wanted.is_ok() && collision != Collision::Rename;
                assert_eq!(text(&tree, "f"), if replaces { "newer" } else { "old" }, "{say}");
                let there = tree.list(&[]).unwrap().len();
                assert_eq!(there, if replaces { 1 } else { files }, "{say}");
            });
        }
    }
}

#[test]
fn who_may_not_make_directories_makes_none_by_names() {
    on_both(|where_, tree| {
        let rules = |disabled: &[Action]| Rules {
            write: true,
            disabled: disabled.to_vec(),
            ..Rules::default()
        };
        let no = Err(Refusal::NotPermitted);
        assert_eq!(sent(&tree, rules(&[Action::Mkdir]), "d/e/f", OLD, b"1"), no, "{where_}");
        assert_eq!(tree.list(&[]).unwrap().len(), 0, "{where_}");
        assert_eq!(sent(&tree, rules(&[Action::Mkdir]), "./f", OLD, b"1"), Ok(()), "{where_}");
        assert_eq!(sent(&tree, rules(&[]), "d/e/f", OLD, b"1"), Ok(()), "{where_}");
        // What is there already may be used.
        assert_eq!(sent(&tree, rules(&[Action::Mkdir]), "d/e/g", OLD, b"1"), Ok(()), "{where_}");
        let none = Rules { no_directories: true, ..rules(&[]) };
        assert_eq!(sent(&tree, none.clone(), "d/e/h", OLD, b"1"), no, "{where_}");
        assert_eq!(sent(&tree, none, "h", OLD, b"1"), Ok(()), "{where_}");
        let place = [b"d".to_vec(), b"e".to_vec()];
        assert_eq!(tree.list(&place).unwrap().len(), 2, "{where_}");
    });
}
