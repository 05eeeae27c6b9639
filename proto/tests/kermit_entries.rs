//! Directories and symbolic links between files: they arrive where both ends take them, and nowhere else.

use crate::common;
use common::{Dice, File, Pair, Sink, Source};
use wetstring_proto::kermit::Config;
use wetstring_proto::{Entry, FileInfo, Outcome, Reply, Request, Store};

common::protocol!(kermit, Config { buffer_len: 8192, entries: true, ..Config::default() });

/// What a name stands for: `d` begins a directory, `l` a link.
fn entry_of(name: &[u8]) -> Entry {
    match name[0] {
        b'd' => Entry::Directory,
        b'l' => Entry::Link,
        _ => Entry::File,
    }
}

/// Files with directories and links between them.
fn tree() -> Vec<File> {
    let file = |name: &str, bytes: &[u8], mode| File { mode, ..File::new(name, bytes) };
    vec![
        file("one", b"the first", Some(0o644)),
        file("d/empty", b"", Some(0o755)),
        file("l/to", b"../one", Some(0o777)),
        file("two", &[7; 3000], Some(0o755)),
        file("d/other", b"", Some(0o700)),
        file("d/third", b"", None),
        file("three", b"", Some(0o600)),
    ]
}

/// A store that has them.
struct Outbox(Source, usize);

impl Store for Outbox {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::PassOver => {
                self.1 += 1;
                Reply::Done
            }
            Request::Next => match self.0.answer(Request::Next) {
                Reply::File(info) => Reply::File(FileInfo { entry: entry_of(info.name), ..info }),
                reply => reply,
            },
            request => self.0.answer(request),
        }
    }
}

/// A store that takes them, and notes what each was said to be.
struct Inbox(Sink, Vec<(Vec<u8>, Entry, Option<u32>)>);

impl Store for Inbox {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Offer { info } = &request {
            self.1.push((info.name.to_vec(), info.entry, info.mode));
        }
        self.0.answer(request)
    }
}

fn transfer(ours: &Config, theirs: &Config, noise: Option<u64>) -> (Outbox, Inbox, bool) {
    let (mut s, mut r) = (sender(ours), receiver(theirs));
    let (mut outbox, mut inbox) = (Outbox(Source::new(tree()), 0), Inbox(Sink::new(), Vec::new()));
    let mut pair = Pair::new(&mut s, &mut r, &mut outbox, &mut inbox);
    if let Some(seed) = noise {
        let mut dice = Dice(seed);
        pair.meddle = Box::new(move |_, bytes| {
            for byte in bytes.iter_mut() {
                if dice.roll(300) == 0 {
                    *byte ^= 1 << dice.roll(8);
                }
            }
        });
    }
    let ends = pair.run();
    let done = (ends.sender, ends.receiver) == (Outcome::Done, Outcome::Done);
    (outbox, inbox, done)
}

fn assert_arrived(outbox: &Outbox, inbox: &Inbox, entries: bool, label: &str) {
    let wanted: Vec<File> =
        tree().into_iter().filter(|file| entries || entry_of(&file.name) == Entry::File).collect();
    let names = |files: &[File]| files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&inbox.0.files), names(&wanted), "{label}");
    for (got, sent) in inbox.0.files.iter().zip(&wanted) {
        assert!(got.bytes == sent.bytes && got.complete, "{label}: {:?}", got.name);
    }
    for (name, entry, mode) in &inbox.1 {
        assert_eq!(*entry, entry_of(name), "{label}");
        let sent = wanted.iter().find(|file| file.name == *name).expect("a name that was sent");
        if entries {
            let said = if entry_of(name) == Entry::File { sent.mode } else { sent.mode.or(*mode) };
            assert_eq!(*mode, said, "{label}: {name:?}");
        }
    }
    assert_eq!(outbox.1, if entries { 0 } else { 4 }, "{label}");
}

#[test]
fn each_end_may_refuse_them_alone() {
    for streaming in ["on", "off"] {
        for mask in 0..64u8 {
            let pick = |bit: u8| if mask >> bit & 1 == 0 { "on" } else { "off" };
            let end = |at: u8| {
                let set = config(&[
                    ("streaming", streaming),
                    ("attributes", pick(at)),
                    ("bundle", pick(at + 1)),
                ]);
                Config { entries: mask >> (at + 2) & 1 == 0, ..set }
            };
            let label = format!("{streaming} {mask:06b}");
            let (outbox, inbox, done) = transfer(&end(0), &end(3), None);
            assert!(done, "{label}");
            assert_arrived(&outbox, &inbox, mask & 0b101_101 == 0, &label);
        }
    }
}

#[test]
fn noise_makes_no_file_of_a_directory() {
    let mut whole = 0;
    for seed in 0..200 {
        let bundle = if seed % 2 == 0 { "on" } else { "off" };
        let set = config(&[("streaming", "off"), ("bundle", bundle)]);
        let (outbox, inbox, done) = transfer(&set, &set, Some(seed));
        for (name, entry, _) in &inbox.1 {
            assert_eq!(*entry, entry_of(name), "{seed}");
        }
        if done {
            whole += 1;
            assert_arrived(&outbox, &inbox, true, &format!("seed {seed}"));
        }
    }
    assert!(whole > 150, "{whole} of 200 came through");
}
