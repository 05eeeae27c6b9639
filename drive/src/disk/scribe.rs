//! Writes a file received in any order, on its own thread if it is large enough.
//!
//! Disk writes can block: pages must be found, blocks be mapped, and now and then everything waits for the
//! device. Meanwhile datagrams arrive, and unread ones are lost. So the network's thread hands over blocks, and
//! this one writes them and updates the map and the digest. At most [`QUEUE`] blocks are queued; then the
//! network thread blocks.

use super::digest::Running;
use super::error::Failed;
use super::part;
use super::pieces::Pieces;
use super::reserve::Reservation;
use crate::os::fd::OwnedFd;
use crate::os::io::Errno;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Bytes gathered before they are written.
const BLOCK: usize = 128 * 1024;
/// Maximum queued blocks: 4 MiB.
const QUEUE: usize = 32;
/// A shorter file is not worth a thread.
const WORTH: u64 = 1 << 20;
/// The block map is stored each time this many bytes have arrived.
const MAP_EVERY: u64 = 16 << 20;

/// A file, and its state.
pub(super) struct Notes {
    pub(super) file: OwnedFd,
    pub(super) path: PathBuf,
    pub(super) pieces: Pieces,
    pub(super) running: Running,
    pub(super) reservation: Reservation,
    /// Bytes received since the map was stored.
    pub(super) unmapped: u64,
    /// Where a write failed, and why. Nothing is written afterwards.
    pub(super) failed: Option<(u64, Failed)>,
}

impl Notes {
    /// Writes all bytes.
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let error: io::Error = match self.reservation.write(&self.file, rest, at) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(len) => {
                    self.note(at, len as u64);
                    at += len as u64;
                    rest = &rest[len..];
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(error) => error.into(),
            };
            self.failed = Some((at, Failed::new(&self.path, error)));
            return;
        }
        self.running.pass_early(offset, bytes);
        let prefix = self.pieces.prefix();
        if self.running.reached().is_some_and(|reached| prefix > reached) {
            // Twice as fast as data arrives, so that little is left to read at the end.
            self.running.catch_up(&self.file, prefix, 2 * bytes.len() as u64);
        }
    }

    /// These bytes are on the disk. The map is stored now and then, so that a crash loses little.
    fn note(&mut self, from: u64, len: u64) {
        self.pieces.add(from, from + len);
        self.unmapped += len;
        if self.unmapped >= MAP_EVERY {
            self.unmapped = 0;
            let _ = part::put_pieces(&self.file, &self.pieces);
        }
    }
}

/// A queued block, and its offset.
type Block = (u64, Vec<u8>);

/// The writer.
enum Hand {
    /// The calling thread.
    Own(Box<Notes>),
    /// A thread.
    Thread {
        blocks: SyncSender<Block>,
        spare: Receiver<Vec<u8>>,
        broken: Arc<AtomicBool>,
        thread: JoinHandle<Notes>,
    },
}

/// Gathers incoming data, and has it written.
pub(super) struct Scribe {
    block: Vec<u8>,
    /// Offset of the block.
    at: u64,
    /// Bytes written, as far as this end knows.
    passed: u64,
    hand: Option<Hand>,
}

/// Writes until the queue is closed.
fn scribble(
    mut notes: Notes,
    blocks: &Receiver<Block>,
    spare: &Sender<Vec<u8>>,
    broken: &AtomicBool,
) -> Notes {
    while let Ok((offset, mut block)) = blocks.recv() {
        notes.write(offset, &block);
        if notes.failed.is_some() {
            broken.store(true, Ordering::Release);
        }
        block.clear();
        let _ = spare.send(block);
    }
    notes
}

impl Hand {
    /// A thread that continues with this state.
    fn thread(notes: Notes) -> Self {
        let (blocks, to_write) = sync_channel(QUEUE);
        let (written, spare) = channel();
        let broken = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&broken);
        let run = move || scribble(notes, &to_write, &written, &tell);
        let thread = std::thread::spawn(run);
        Self::Thread { blocks, spare, broken, thread }
    }
}

impl Scribe {
    pub(super) fn new(notes: Notes) -> Self {
        let hand = Some(Hand::Own(Box::new(notes)));
        Self { block: Vec::with_capacity(BLOCK), at: 0, passed: 0, hand }
    }

    /// Takes bytes; false after a failure, which [`stop`](Self::stop) returns.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let follows = offset == self.at + self.block.len() as u64;
        let fits = follows && self.block.len() + bytes.len() <= BLOCK;
        if !fits && !self.flush() {
            return false;
        }
        if self.block.is_empty() {
            self.at = offset;
        }
        self.block.extend_from_slice(bytes);
        true
    }

    /// Passes the gathered bytes to the writer thread.
    fn flush(&mut self) -> bool {
        if self.block.is_empty() {
            return true;
        }
        self.passed += self.block.len() as u64;
        self.hand = match self.hand.take() {
            Some(Hand::Own(notes)) if self.passed > WORTH => Some(Hand::thread(*notes)),
            hand => hand,
        };
        match &mut self.hand {
            Some(Hand::Own(notes)) => {
                notes.write(self.at, &self.block);
                self.block.clear();
                notes.failed.is_none()
            }
            Some(Hand::Thread { blocks, spare, broken, .. }) => {
                let next = spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(BLOCK));
                let block = std::mem::replace(&mut self.block, next);
                blocks.send((self.at, block)).is_ok() && !broken.load(Ordering::Acquire)
            }
            None => false,
        }
    }

    /// Finishes writing, and returns the state.
    ///
    /// # Panics
    ///
    /// If the thread has panicked.
    pub(super) fn stop(mut self) -> Notes {
        self.flush();
        match self.hand.take() {
            Some(Hand::Own(notes)) => *notes,
            Some(Hand::Thread { blocks, thread, .. }) => {
                drop(blocks);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            None => unreachable!("the writer is taken here only"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fs::{Mode, OFlags};
    use std::path::Path;
    use wetstring_proto::file::DigestKind;

    fn notes(path: &Path) -> Notes {
        let flags = OFlags::RDWR | OFlags::CREATE;
        Notes {
            file: crate::os::fs::open(path, flags, Mode::from_raw_mode(0o600)).unwrap(),
            path: path.to_owned(),
            pieces: Pieces::default(),
            running: Running::new(Some(DigestKind::Xxh3)),
            reservation: Reservation::default(),
            unmapped: 0,
            failed: None,
        }
    }

    #[test]
    fn writes_in_any_order_give_file_map_and_digest() {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> =
            (0..5_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 9) as u8).collect();
        let digest = xxhash_rust::xxh3::xxh3_128(&bytes).to_be_bytes();
        for packet in [700, 1408, 40_000, 300_000] {
            let path = dir.path().join(packet.to_string());
            let mut scribe = Scribe::new(notes(&path));
            let mut chunks: Vec<usize> = (0..bytes.len().div_ceil(packet)).collect();
            // Neighbouring blocks are swapped, and some come at the end.
            let mut dice = wetstring_testkit::Dice(packet as u64);
            for at in 1..chunks.len() {
                match dice.below(30) {
                    0 => chunks.swap(at - 1, at),
                    1 => {
                        let late = chunks.remove(at);
                        chunks.push(late);
                    }
                    _ => {}
                }
            }
            for index in chunks {
                let from = index * packet;
                let to = (from + packet).min(bytes.len());
                assert!(scribe.write(from as u64, &bytes[from..to]));
            }
            let mut notes = scribe.stop();
            assert!(std::fs::read(&path).unwrap() == bytes, "{packet}");
            assert_eq!(notes.pieces.prefix(), 5_000_000);
            notes.running.catch_up(&notes.file, 5_000_000, u64::MAX);
            let value = notes.running.value(DigestKind::Xxh3, 5_000_000).expect("it has kept up");
            assert_eq!(value[..16], digest);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_failure_is_reported_once_and_stops_writing() {
        let mut notes = notes(&tempfile::tempdir().unwrap().path().join("x"));
        notes.file = crate::os::fs::open("/dev/full", OFlags::RDWR, Mode::empty()).unwrap();
        let mut scribe = Scribe::new(notes);
        let block = vec![1; BLOCK];
        let told = (0..100_u64).position(|at| !scribe.write(at * BLOCK as u64, &block));
        assert!(told.is_some());
        let (at, failed) = scribe.stop().failed.expect("it failed");
        assert_eq!((at, failed.kind), (0, wetstring_proto::StoreError::NoSpace));
    }
}
