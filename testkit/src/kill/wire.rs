//! The line between the two ends: it counts what the sender's end gives, stops at a given count, and can
//! be slow.
//!
//! One thread moves the bytes, so that no byte passes while the line is stopped.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes that the line holds in each direction.
const DEPTH: usize = 16 * 1024;

/// What the dead end has written still arrives, then the line ends.
const DRAIN: u8 = 1;
const CUT: u8 = 2;

/// How long the line stays for the other when one end has left, and when it was killed: a terminal that goes
/// takes with it what has not been read.
const GRACE: [Duration; 2] = [Duration::from_secs(3), Duration::from_millis(50)];

/// How the line behaves.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// This many bytes of the sender pass.
    pub(super) stops_at: u64,
    /// Bytes of the sender in a millisecond.
    pub(super) pace: Option<u64>,
}

impl Manner {
    /// Bytes of the sender that may have passed by now.
    fn allows(self, began: Instant) -> u64 {
        let paced = self.pace.map_or(u64::MAX, |pace| {
            pace.saturating_mul(began.elapsed().as_micros() as u64) / 1000
        });
        self.stops_at.min(paced)
    }
}

#[derive(Default)]
struct Shared {
    passed: AtomicU64,
    end: AtomicU8,
}

/// A running line.
pub(super) struct Wire {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    /// Between two descriptors of streams: what comes from `sender` is counted.
    pub(super) fn of_bytes(sender: OwnedFd, receiver: OwnedFd, manner: Manner) -> io::Result<Self> {
        for end in [&sender, &receiver] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let (sender, receiver) = (Side::new(sender), Side::new(receiver));
        Ok(Self::start(move |shared| carry(sender, receiver, manner, shared)))
    }

    /// Between a socket that the sender talks to, and one that is connected to the receiver.
    pub(super) fn of_datagrams(
        near: UdpSocket,
        far: UdpSocket,
        manner: Manner,
    ) -> io::Result<Self> {
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        Ok(Self::start(move |shared| relay(&near, &far, manner, shared)))
    }

    fn start(run: impl FnOnce(&Shared) + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let own = shared.clone();
        Self { shared, thread: Some(thread::spawn(move || run(&own))) }
    }

    /// Bytes of the sender that have passed.
    pub(super) fn passed(&self) -> u64 {
        self.shared.passed.load(Ordering::Acquire)
    }

    /// One end is dead. With `drains` what it has written before still arrives.
    pub(super) fn lose(&self, drains: bool) {
        self.shared.end.store(if drains { DRAIN } else { CUT }, Ordering::Release);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.end.store(CUT, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One end of a stream, and what is to be written to it.
struct Side {
    file: File,
    pending: Vec<u8>,
    over: bool,
}

impl Side {
    fn new(descriptor: OwnedFd) -> Self {
        Self { file: File::from(descriptor), pending: Vec::new(), over: false }
    }

    /// Reads at most N bytes for the other side.
    fn read(&mut self, most: usize, into: &mut Vec<u8>) {
        let mut chunk = [0; 4096];
        let most = most.min(chunk.len());
        if most == 0 {
            return;
        }
        match self.file.read(&mut chunk[..most]) {
            Ok(0) => self.over = true,
            Ok(len) => into.extend_from_slice(&chunk[..len]),
            Err(error) if is_later(&error) => {}
            // A PTY whose other side is closed returns EIO.
            Err(_) => self.over = true,
        }
    }

    /// Writes what it can; returns how much. Bytes without a reader are dropped.
    fn write(&mut self) -> u64 {
        match self.file.write(&self.pending) {
            Ok(len) => {
                self.pending.drain(..len);
                len as u64
            }
            Err(error) if is_later(&error) => 0,
            // What it has written itself may still be read.
            Err(_) => {
                self.pending.clear();
                0
            }
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

fn carry(mut sender: Side, mut receiver: Side, manner: Manner, shared: &Shared) {
    let (began, mut taken, mut alone) = (Instant::now(), 0, None);
    loop {
        let end = shared.end.load(Ordering::Acquire);
        let allowed = if end == DRAIN { u64::MAX } else { manner.allows(began) };
        let quiet = (sender.over && receiver.pending.is_empty())
            || (receiver.over && sender.pending.is_empty());
        if quiet {
            alone.get_or_insert_with(Instant::now);
        }
        let both = sender.over && receiver.over;
        if end == CUT
            || both
            || alone
                .is_some_and(|since: Instant| since.elapsed() > GRACE[usize::from(end == DRAIN)])
        {
            return;
        }
        let room = (DEPTH - receiver.pending.len().min(DEPTH)) as u64;
        let most = if sender.over { 0 } else { room.min(allowed.saturating_sub(taken)) as usize };
        let back = !receiver.over && sender.pending.len() < DEPTH;
        for side in [&mut sender, &mut receiver] {
            if side.over {
                side.pending.clear();
            }
        }
        let wants = |reads: bool, side: &Side| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, reads);
            flags.set(PollFlags::OUT, !side.pending.is_empty());
            flags
        };
        let (at_sender, at_receiver) = (wants(most > 0, &sender), wants(back, &receiver));
        let mut polled = Vec::with_capacity(2);
        // A side that is asked for nothing would still report that it hung up, again and again.
        for (side, flags) in [(&sender, at_sender), (&receiver, at_receiver)] {
            if !flags.is_empty() {
                polled.push(PollFd::from_borrowed_fd(side.file.as_fd(), flags));
            }
        }
        let _ = poll(&mut polled, Some(&TICK));
        drop(polled);
        if most > 0 {
            let before = receiver.pending.len();
            sender.read(most, &mut receiver.pending);
            taken += (receiver.pending.len() - before) as u64;
        }
        if back {
            receiver.read(DEPTH, &mut sender.pending);
        }
        if !receiver.pending.is_empty() {
            shared.passed.fetch_add(receiver.write(), Ordering::AcqRel);
        }
        if !sender.pending.is_empty() {
            sender.write();
        }
    }
}

fn relay(near: &UdpSocket, far: &UdpSocket, manner: Manner, shared: &Shared) {
    let began = Instant::now();
    let (mut sender, mut taken): (Option<SocketAddr>, u64) = (None, 0);
    let mut datagram = vec![0; 65_536];
    while shared.end.load(Ordering::Acquire) != CUT {
        let paused = manner.pace.is_some() && manner.allows(began) <= taken;
        let mut polled = vec![PollFd::new(far, PollFlags::IN)];
        if !paused {
            polled.push(PollFd::new(near, PollFlags::IN));
        }
        let _ = poll(&mut polled, Some(&TICK));
        if !paused && let Ok((len, from)) = near.recv_from(&mut datagram) {
            sender = Some(from);
            if taken + len as u64 <= manner.stops_at {
                taken += len as u64;
                // A receiver that is dead takes none.
                let _ = far.send(&datagram[..len]);
                shared.passed.store(taken, Ordering::Release);
            } else {
                // A thread that waits for the stop sees that it was reached.
                taken = manner.stops_at;
                shared.passed.store(taken, Ordering::Release);
            }
        }
        if let (Some(to), Ok(len)) = (sender, far.recv(&mut datagram)) {
            let _ = near.send_to(&datagram[..len], to);
        }
    }
}

/// Waits until `holds` returns true, at most `limit`; returns whether it did.
pub(super) fn wait(limit: Duration, every: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + limit;
    while !holds() {
        if Instant::now() > until {
            return false;
        }
        if every.is_zero() {
            std::hint::spin_loop();
        } else {
            thread::sleep(every);
        }
    }
    true
}
