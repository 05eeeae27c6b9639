//! Every store, with writes in any order and of any known or unknown size: what is reported complete is the
//! union of the received data, and a file with a hole is never reported complete.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::disk::ReceiveOptions;
use wetstring_drive::serve::{LocalTree, Rules, Session};
use wetstring_drive::{DiskStore, SinkStore};
use wetstring_lab::store::MemorySink;
use wetstring_proto::file::{FileInfo, FileKind, Remote, RemoteReply, Reply, Request, Store};
use wetstring_proto::kermit::Charset;
use wetstring_proto::kermit::command::ServerCommand;
use wetstring_testkit::{Dice, counted};

/// Which bytes were received, and what the store reports as a complete file.
#[derive(Clone, Debug)]
struct Case {
    len: usize,
    announced: Option<usize>,
    /// What existed before this session, and what is written in it, in this order.
    before: Vec<(usize, usize)>,
    writes: Vec<(usize, usize)>,
    /// The store is asked what it has, so that it may take writes in any order.
    asks: bool,
}

impl Case {
    fn new(draw: &mut Dice) -> Self {
        // Now and then long enough for the thread that writes.
        let len = if draw.one_in(150) { 1_200_000 + draw.roll(900_000) } else { draw.roll(4000) };
        let mut cuts = vec![0, len];
        cuts.extend((0..draw.roll(12)).map(|_| draw.roll(len + 1)));
        cuts.sort_unstable();
        let mut writes: Vec<_> = cuts.windows(2).map(|cut| (cut[0], cut[1])).collect();
        if !draw.one_in(4) {
            draw.shuffle(&mut writes);
        }
        if draw.one_in(3) {
            // One is lost; or it comes last, which is the case that truncated files.
            let at = draw.roll(writes.len());
            let lost = writes.remove(at);
            if draw.one_in(2) {
                writes.push(lost);
            }
        }
        if draw.one_in(3) {
            // Some come twice, or overlap others.
            for _ in 0..draw.roll(4) {
                let from = draw.roll(len + 1);
                let to = (from + draw.roll(len / 2 + 1)).min(len);
                writes.insert(draw.roll(writes.len() + 1), (from, to));
            }
        }
        let split = if draw.one_in(3) { draw.roll(writes.len() + 1) } else { 0 };
        let before = writes.drain(..split).collect();
        let announced = match draw.roll(6) {
            0..3 => None,
            3 => Some(len + 1 + draw.roll(100)),
            4 => Some(len.saturating_sub(draw.roll(100))),
            _ => Some(len),
        };
        Self { len, announced, before, writes, asks: !draw.one_in(8) }
    }

    /// Which bytes there are, with those that were here before.
    fn came(&self, held: &[(usize, usize)]) -> Vec<bool> {
        let mut came = vec![false; self.len];
        for (from, to) in held.iter().chain(&self.writes) {
            came[*from..*to].fill(true);
        }
        came
    }
}

/// A store, and its complete files.
trait Bench {
    fn with(&mut self, work: &mut dyn FnMut(&mut dyn Store));
    fn whole(&self) -> Option<Vec<u8>>;
    /// Whether it remembers what came of a file that was closed before it was whole.
    fn remembers(&self) -> bool {
        false
    }
    fn kind(&self) -> FileKind {
        FileKind::Binary
    }
}

fn on_disk(dir: &Path) -> Option<Vec<u8>> {
    std::fs::read(dir.join("f")).ok()
}

struct Disk(tempfile::TempDir);

impl Bench for Disk {
    fn with(&mut self, work: &mut dyn FnMut(&mut dyn Store)) {
        work(&mut DiskStore::receiving(self.0.path(), ReceiveOptions::default()).unwrap());
    }
    fn whole(&self) -> Option<Vec<u8>> {
        on_disk(self.0.path())
    }
    fn remembers(&self) -> bool {
        true
    }
}

/// What a server's client sends.
struct Served(tempfile::TempDir);

impl Bench for Served {
    fn with(&mut self, work: &mut dyn FnMut(&mut dyn Store)) {
        let tree = Arc::new(LocalTree::open(self.0.path()).unwrap());
        let rules = Rules { write: true, ..Rules::default() };
        let mut session = Session::new(tree, rules, "127.0.0.1:1", None);
        let (command, mut words, mut answer) = (ServerCommand::Receive, [0; 64], [0; 64]);
        let len = command.emit(&mut words).unwrap();
        let (kind, words) = (command.kind(), &words[..len]);
        let request =
            Request::Remote(Remote::Serve { kind, words, files: None, answer: &mut answer });
        assert_eq!(session.answer(request), Reply::Remote(RemoteReply::Said(0)));
        work(&mut session);
    }
    fn whole(&self) -> Option<Vec<u8>> {
        on_disk(self.0.path())
    }
}

/// Text that is translated on its way to the disk; every byte of it is one there too.
struct Text(tempfile::TempDir);

impl Bench for Text {
    fn with(&mut self, work: &mut dyn FnMut(&mut dyn Store)) {
        let mut disk = DiskStore::receiving(self.0.path(), ReceiveOptions::default()).unwrap();
        let named = |name| Charset::named(name).unwrap();
        let sets = Sets {
            transfer: named("latin1-iso"),
            file: named("cp850"),
            keep_unknown: false,
            ..Sets::AS_IS
        };
        work(&mut Translated::new(&mut disk, sets));
    }
    fn whole(&self) -> Option<Vec<u8>> {
        on_disk(self.0.path())
    }
    fn kind(&self) -> FileKind {
        FileKind::Text
    }
}

#[derive(Clone, Default)]
struct Pipe(Rc<RefCell<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Stdout(Option<Vec<u8>>);

impl Bench for Stdout {
    fn with(&mut self, work: &mut dyn FnMut(&mut dyn Store)) {
        use wetstring_drive::disk::FileOutcome;
        let pipe = Pipe::default();
        let mut sink = SinkStore::new(pipe.clone());
        work(&mut sink);
        let stored = sink.files().last().is_some_and(|file| file.outcome == FileOutcome::Stored);
        self.0 = stored.then(|| pipe.0.borrow().clone());
    }
    fn whole(&self) -> Option<Vec<u8>> {
        self.0.clone()
    }
}

struct Memory(MemorySink);

impl Bench for Memory {
    fn with(&mut self, work: &mut dyn FnMut(&mut dyn Store)) {
        work(&mut self.0);
    }
    fn whole(&self) -> Option<Vec<u8>> {
        self.0.complete().last().map(|file| file.bytes.clone())
    }
}

/// Writes; false if the store has refused one.
fn write(store: &mut dyn Store, bytes: &[u8], spans: &[(usize, usize)]) -> bool {
    spans.iter().all(|(from, to)| {
        // As they come in packets.
        (*from..*to).step_by(1400).all(|at| {
            let bytes = &bytes[at..(at + 1400).min(*to)];
            let reply = store.answer(Request::Write { offset: at as u64, bytes });
            matches!(reply, Reply::Done)
        })
    })
}

/// A session: the offer, the writes, the end. Its final reply; whether it accepts any order; and what it had
/// before.
fn session(
    bench: &mut dyn Bench,
    case: &Case,
    spans: &[(usize, usize)],
    complete: bool,
) -> (bool, bool, Vec<(usize, usize)>) {
    let bytes: Vec<u8> = match bench.kind() {
        FileKind::Text => vec![b'x'; case.len],
        FileKind::Binary => counted(case.len),
    };
    let (size, kind, resume) =
        (case.announced.map(|len| len as u64), bench.kind(), bench.remembers());
    let (mut done, mut scattered, mut had) = (false, false, Vec::new());
    bench.with(&mut |store| {
        let info =
            FileInfo { name: b"f", size, kind, resume, compared: resume, ..Default::default() };
        let Reply::Accept { mut offset } = store.answer(Request::Offer { info }) else {
            panic!("not accepted: {case:?}");
        };
        had.push((0, offset as usize));
        // All existing data, as an engine requests it.
        loop {
            if !case.asks {
                break;
            }
            match store.answer(Request::Held { from: offset }) {
                Reply::Held { from, to } => {
                    scattered = true;
                    if to <= from {
                        break;
                    }
                    had.push((from as usize, to as usize));
                    offset = to;
                }
                _ => break,
            }
        }
        // A refused write ends the transaction, as with engines.
        let complete = write(store, &bytes, spans) && complete;
        let closed = store.answer(Request::Close { complete, verified: false });
        done = complete && matches!(closed, Reply::Done);
    });
    (done, scattered, had)
}

/// Runs each store in the same cases; counts complete and incomplete files.
fn judge(name: &str, mut make: impl FnMut() -> Box<dyn Bench>) -> (u32, u32) {
    let mut draw = Dice(17);
    let (mut counts, mut continued) = ((0, 0), 0);
    for number in 0..500 {
        let case = Case::new(&mut draw);
        let mut bench = make();
        if !case.before.is_empty() {
            session(&mut *bench, &case, &case.before, false);
            assert!(bench.whole().is_none(), "{name} {number}: whole after half, {case:?}");
        }
        let (done, scattered, had) = session(&mut *bench, &case, &case.writes, true);
        let mut before: Vec<_> = case.before.iter().flat_map(|(from, to)| *from..*to).collect();
        before.sort_unstable();
        let claimed = had.iter().flat_map(|(from, to)| *from..*to);
        assert!(
            { claimed }.all(|at| before.binary_search(&at).is_ok()),
            "{name} {number}: {had:?}, {case:?}"
        );
        continued += u32::from(had.iter().any(|(from, to)| to > from));
        let here = case.came(&had);
        let reached = here.iter().rposition(|came| *came).map_or(0, |at| at + 1);
        let hole = here[..reached].contains(&false);
        let whole = bench.whole();
        assert_eq!(
            done,
            whole.is_some(),
            "{name} {number}: what it says and what is there, {case:?}"
        );
        if scattered {
            let short = case.announced.is_some_and(|announced| announced > reached);
            assert_eq!(done, !hole && !short, "{name} {number}: {case:?}");
        }
        if let Some(whole) = whole {
            assert!(!hole, "{name} {number}: whole with a hole, {case:?}");
            let expected = match bench.kind() {
                FileKind::Text => vec![b'x'; reached],
                FileKind::Binary => counted(reached),
            };
            assert_eq!(whole.len(), reached, "{name} {number}: {case:?}");
            assert!(whole == expected, "{name} {number}: other bytes, {case:?}");
            counts.0 += 1;
        } else {
            counts.1 += 1;
        }
    }
    assert_eq!(continued > 20, make().remembers(), "{name}: {continued} continued");
    counts
}

#[test]
#[cfg_attr(windows, ignore = "thousands of files: minutes under Wine")]
fn complete_files_are_the_union_of_received_data_in_every_store() {
    let dir = || tempfile::tempdir().unwrap();
    let enough = |name: &str, (whole, broken): (u32, u32), least: u32| {
        println!("{name}: {whole} whole, {broken} not");
        assert!(whole >= least && broken >= 100, "{name}: {whole} whole, {broken} not");
    };
    enough("disk", judge("disk", || Box::new(Disk(dir()))), 150);
    enough("server", judge("server", || Box::new(Served(dir()))), 100);
    let scattered = || Box::new(Memory(MemorySink::new().scattered())) as Box<dyn Bench>;
    enough("memory", judge("memory", scattered), 100);
    // Sequential stores refuse the rest, and are never complete then.
    enough("text", judge("text", || Box::new(Text(dir()))), 50);
    enough("stdout", judge("stdout", || Box::<Stdout>::default()), 50);
    enough("in order", judge("in order", || Box::new(Memory(MemorySink::new()))), 50);
}

#[test]
fn a_hole_filled_last_does_not_truncate_the_file() {
    let bytes = counted(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    let mut store = DiskStore::receiving(dir.path(), ReceiveOptions::default()).unwrap();
    let info = FileInfo { name: b"f", ..FileInfo::default() };
    assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
    assert_eq!(store.answer(Request::Held { from: 0 }), Reply::Held { from: 0, to: 0 });
    assert!(write(&mut store, &bytes, &[(0, 992_258), (993_658, 1_000_000), (992_258, 993_658)]));
    assert_eq!(store.answer(Request::Close { complete: true, verified: false }), Reply::Done);
    assert!(on_disk(dir.path()).unwrap() == bytes);
    assert_eq!(store.files()[0].size, 1_000_000);
}
