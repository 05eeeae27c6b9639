//! The net under changes that must not change behaviour: normalised digests of 1,000 seeds of every protocol of
//! the swarm, as they are committed in `lab/tests/digests`.
//!
//! A digest covers the bytes that both ends put on the wire, the virtual time of each, and the outcomes, and no
//! message texts (see [`wetstring_lab::digest`]). A difference names the seeds, and the command that runs
//! one. `WETSTRING_UPDATE_DIGESTS=1 cargo test -p wetstring-lab digests::` regenerates the files from what
//! the code does now. A commit that does so says why behaviour had to change, and of which protocols.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wetstring_lab::digest::{Tap, Wire};
use wetstring_lab::pair::Pair;
use wetstring_lab::scenario::Protocol;
use wetstring_lab::swarm::Kind;
use wetstring_lab::swarm::protocols::ends;
use wetstring_lab::{
    Element, End, LineModel, MemoryFile, MemorySink, MemorySource, Random, Recorder, Serial,
};
use wetstring_proto::{Cx, Instant, Outcome};

const SEEDS: u64 = 1000;
/// Seeds on a line of a file.
const ON_A_LINE: u64 = 10;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/digests").join(format!("{name}.txt"))
}

/// The digests of these seeds as a line of a file: the first seed, then 32 bits of each.
fn line(kind: Kind, first: u64) -> String {
    let mut line = format!("{first:04}");
    for seed in first..first + ON_A_LINE {
        // Writing into a string does not fail.
        let _ = write!(line, " {:08x}", kind.digest(seed) as u32);
    }
    line
}

/// The lines of all kinds, computed on two cores.
fn compute(kinds: &[Kind]) -> Vec<Vec<String>> {
    let lines = (SEEDS / ON_A_LINE) as usize;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![vec![String::new(); lines]; kinds.len()]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let job = next.fetch_add(1, Relaxed);
                    // Kinds differ in what they cost, so each thread takes the next line of any.
                    let Some(kind) = kinds.get(job / lines) else { return };
                    let line = line(*kind, (job % lines) as u64 * ON_A_LINE);
                    done.lock().expect("no thread panics with it")[job / lines][job % lines] = line;
                }
            });
        }
    });
    done.into_inner().expect("no thread panics with it")
}

/// The seeds whose digests differ between two lines of the same seeds.
fn differing(first: u64, was: &str, is: &str) -> Vec<u64> {
    let was: Vec<&str> = was.split(' ').skip(1).collect();
    let seeds = is.split(' ').skip(1).enumerate();
    seeds.filter(|(at, is)| was.get(*at) != Some(is)).map(|(at, _)| first + at as u64).collect()
}

#[test]
fn every_seed_has_its_digest() {
    let kinds: Vec<_> = Kind::all().collect();
    let computed = compute(&kinds);
    println!("{SEEDS} seeds of each of {} protocols", kinds.len());
    let update = std::env::var_os("WETSTRING_UPDATE_DIGESTS").is_some();
    let mut wrong = String::new();
    for (kind, lines) in kinds.into_iter().zip(computed) {
        let path = file(kind.name());
        if update {
            std::fs::write(&path, lines.join("\n") + "\n").expect("a file of the repository");
            continue;
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let mut committed = committed.lines();
        let mut seeds = Vec::new();
        for (index, is) in lines.iter().enumerate() {
            let was = committed.next().unwrap_or_default();
            seeds.extend(differing(index as u64 * ON_A_LINE, was, is));
        }
        assert_eq!(committed.next(), None, "{} has more lines than seeds", path.display());
        if let Some(seed) = seeds.first() {
            let (count, name) = (seeds.len(), kind.name());
            let shown = &seeds[..seeds.len().min(10)];
            let _ = writeln!(
                wrong,
                "{name}: {count} of {SEEDS} seeds differ, first {shown:?}\n  replay: wst lab swarm \
                 --protocol {name} --seed {seed} --trace FILE"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Changes one bit of one byte of all that A sends.
struct Flip<E> {
    inner: E,
    position: u64,
    at: u64,
}

impl<E: Element> Element for Flip<E> {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let mut bytes = bytes.to_vec();
        if end == End::A
            && let Some(byte) = usize::try_from(self.at.wrapping_sub(self.position))
                .ok()
                .and_then(|index| bytes.get_mut(index))
        {
            *byte ^= 1;
        }
        let taken = self.inner.offer(cx, end, &bytes);
        self.position += if end == End::A { taken as u64 } else { 0 };
        taken
    }

    wetstring_lab::forward_element!(inner);
}

/// A transfer by XMODEM with this byte changed; the digest, and how many bytes A sent.
fn transfer(flip: u64, port: usize) -> (u64, u64) {
    let model = LineModel { rate_bps: 9600, ..LineModel::default() };
    let protocol = Protocol::named("xmodem-crc");
    let mut ends = ends(protocol, &mut Random::stream(1, "swarm", "protocol"), &model);
    let mut source = MemorySource::new(vec![MemoryFile::new("f", vec![b'x'; 500])]);
    let mut sink = MemorySink::new();
    let mut serial = Serial::new(&model);
    let mut recorder = Recorder::off();
    let tap = Tap::new(&mut serial, recorder.wire().clone());
    let mut element = Flip { inner: tap, position: 0, at: flip };
    let report = Pair::new(&mut element).port_buffer(port).run(
        (ends.sender.as_mut(), &mut source),
        (ends.receiver.as_mut(), &mut sink),
        &mut recorder,
    );
    (recorder.wire().digest(), report.sides[0].usage.bytes_in)
}

#[test]
fn one_changed_byte_changes_the_digest() {
    let (plain, sent) = transfer(u64::MAX, 64);
    assert!(sent > 500, "{sent} bytes are a transfer");
    assert_eq!(transfer(u64::MAX, 64).0, plain, "the same run twice");
    let mut digests = vec![plain];
    for flip in 0..sent {
        let digest = transfer(flip, 64).0;
        assert!(!digests.contains(&digest), "byte {flip} of {sent} does not count");
        digests.push(digest);
    }
}

#[test]
fn digests_cover_bytes_times_and_outcomes_but_not_chunks() {
    use wetstring_lab::Unit::{Bytes, Datagrams};
    let digest = |make: &dyn Fn(&Wire)| {
        let wire = Wire::default();
        make(&wire);
        wire.digest()
    };
    let (now, later) = (Instant(1000), Instant(1001));
    let plain = digest(&|wire| wire.sent(now, End::A, b"abcd", Bytes));
    let cut = digest(&|wire| {
        wire.sent(now, End::A, b"a", Bytes);
        wire.sent(now, End::A, b"", Bytes);
        wire.sent(now, End::A, b"bcd", Bytes);
    });
    assert_eq!(plain, cut, "writes of one moment are one");
    let others: [&dyn Fn(&Wire); 8] = [
        &|_| {},
        &|wire| wire.sent(now, End::A, b"abce", Bytes),
        &|wire| wire.sent(now, End::A, b"abc", Bytes),
        &|wire| wire.sent(later, End::A, b"abcd", Bytes),
        &|wire| wire.sent(now, End::B, b"abcd", Bytes),
        &|wire| {
            wire.sent(now, End::A, b"abc", Bytes);
            wire.sent(later, End::A, b"d", Bytes);
        },
        &|wire| {
            wire.sent(now, End::A, b"a", Datagrams);
            wire.sent(now, End::A, b"bcd", Datagrams);
        },
        &|wire| {
            wire.sent(now, End::A, b"abcd", Bytes);
            wire.settled(now, 0, Outcome::Done);
        },
    ];
    let mut digests = vec![plain];
    for other in others {
        let digest = digest(other);
        assert!(!digests.contains(&digest), "{digests:x?} has {digest:x} already");
        digests.push(digest);
    }
}

#[test]
fn a_difference_names_its_seeds() {
    let (was, is) = ("0020 00000001 00000002 00000003", "0020 00000001 00000000 00000003");
    assert_eq!(differing(20, was, is), [21]);
    assert_eq!(differing(20, "", is), [20, 21, 22]);
    assert_eq!(differing(20, is, is), [0; 0]);
}
