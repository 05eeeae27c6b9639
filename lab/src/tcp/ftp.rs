//! FTP as comparator: the data connection of a transfer, between the same hosts over the same
//! network as everything else.
//!
//! FTP in image mode is a stream of bytes on a connection of its own, which the sender closes at
//! the end [RFC 959 §3.4.1]; a program reads a block of the file and writes it. The costs of both
//! are those of the hosts (`block`, `disk`, `write`, `read`). The dialogue on the control
//! connection is not part of it, nor of the rates that FTP programs report.

use crate::element::{Element, End};
use wetstring_proto::{Cx, Duration, Instant, Trace};

/// Bytes in one direction, as many and as fast as they go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bulk {
    /// The end that sends.
    pub from: End,
    /// How many bytes.
    pub bytes: u64,
    /// When to give up.
    pub time_limit: Duration,
}

/// Why a bulk transfer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopBulk {
    /// All bytes have come.
    Done,
    /// Nothing is under way and bytes are missing.
    Stalled,
    /// The time is over.
    TimeLimit,
    /// Other bytes have come than were sent.
    Damaged,
}

/// What came of a bulk transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BulkReport {
    /// Why it ended.
    pub stop: StopBulk,
    /// Bytes that the program at the far end has read.
    pub bytes: u64,
    /// Until the last of them.
    pub elapsed: Duration,
    /// How many different moments there were.
    pub events: u64,
}

impl BulkReport {
    /// Bytes per second, rounded down; 0 if no time passed.
    pub fn bytes_per_s(&self) -> u64 {
        let ns = self.elapsed.as_nanos();
        let rate = (u128::from(self.bytes) * 1_000_000_000).checked_div(ns);
        rate.and_then(|rate| u64::try_from(rate).ok()).unwrap_or(0)
    }

    /// Bytes per second as a program of the time would say it: by whole seconds.
    pub fn cps(&self) -> u64 {
        self.bytes.checked_div(self.elapsed.as_secs()).unwrap_or(self.bytes)
    }
}

/// Bytes that are offered at a time.
const CHUNK: usize = 1 << 15;
/// A prime, so that a lost or doubled packet of any usual length shows.
const PERIOD: usize = 65_521;

impl Bulk {
    /// A transfer from A to B of so many bytes, of a day at most.
    pub fn new(bytes: u64) -> Self {
        Self { from: End::A, bytes, time_limit: Duration::from_secs(86_400) }
    }

    /// Runs it over an element that carries bytes. Every byte that comes is compared.
    pub fn run(&self, element: &mut dyn Element, trace: &mut dyn Trace) -> BulkReport {
        let mut run = Run { bulk: *self, pattern: pattern(), sent: 0, came: 0 };
        let mut into = vec![0; CHUNK];
        let mut now = Instant::ZERO;
        let mut events = 0;
        let stop = loop {
            events += 1;
            if !run.exchange(&mut Cx { now, trace: &mut *trace }, element, &mut into) {
                break StopBulk::Damaged;
            }
            if run.came == self.bytes {
                break StopBulk::Done;
            }
            let room = element.room(self.from).filter(|_| run.sent < self.bytes);
            let inside = End::BOTH.into_iter().filter_map(|end| element.next(end));
            let Some(next) = inside.chain(room).min() else { break StopBulk::Stalled };
            if next > Instant::ZERO + self.time_limit {
                break StopBulk::TimeLimit;
            }
            now = now.max(next);
        };
        BulkReport { stop, bytes: run.came, elapsed: now.since(Instant::ZERO), events }
    }
}

/// A byte's value follows from its place, so that what comes can be checked.
fn pattern() -> Vec<u8> {
    let value = |place: usize| ((place % PERIOD) as u32).wrapping_mul(0x9e37_79b1).to_be_bytes();
    (0..PERIOD + CHUNK).map(|place| value(place)[0]).collect()
}

struct Run {
    bulk: Bulk,
    pattern: Vec<u8>,
    sent: u64,
    came: u64,
}

impl Run {
    /// Offers and takes at one time, until nothing moves; false if a wrong byte came.
    fn exchange(&mut self, cx: &mut Cx<'_>, element: &mut dyn Element, into: &mut [u8]) -> bool {
        loop {
            let want = (self.bulk.bytes - self.sent).min(CHUNK as u64) as usize;
            let place = (self.sent % PERIOD as u64) as usize;
            let chunk = &self.pattern[place..place + want];
            let taken = if want == 0 { 0 } else { element.offer(cx, self.bulk.from, chunk) };
            self.sent += taken as u64;
            let len = element.emit(cx, self.bulk.from.other(), into);
            let place = (self.came % PERIOD as u64) as usize;
            self.came += len as u64;
            if into[..len] != self.pattern[place..place + len] || self.came > self.sent {
                return false;
            }
            if taken + len == 0 {
                return true;
            }
        }
    }
}
