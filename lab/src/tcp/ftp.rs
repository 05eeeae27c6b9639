//! FTP as comparator: the data connection of a transfer, between the same hosts over the same
//! network as everything else.
//!
//! FTP in image mode is a stream of bytes on a connection of its own, which the sender closes at the end [RFC
//! 959 §3.4.1]; a program reads a block of the file and writes it. The costs of both are those of the hosts
//! (`block`, `disk`, `write`, `read`). The control connection is not included, nor is it in the rates that FTP
//! programs report.

use crate::element::{Element, End};
use crate::pattern::{Pattern, Stream};
use crate::window::{Meter, Window};
use wetstring_proto::{Cx, Duration, Instant, Trace};

/// Bytes in one direction, as many and as fast as possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bulk {
    /// The end that sends.
    pub from: End,
    /// How many bytes.
    pub bytes: u64,
    /// When to give up.
    pub time_limit: Duration,
    /// When to measure; the run ends with it.
    pub window: Option<Window>,
}

/// Why a bulk transfer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopBulk {
    /// All bytes have arrived.
    Done,
    /// Nothing is under way and bytes are missing.
    Stalled,
    /// The time limit was reached.
    TimeLimit,
    /// The measurement is complete.
    Measured,
    /// Wrong bytes were received.
    Damaged,
}

/// The result of a bulk transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BulkReport {
    /// Why it ended.
    pub stop: StopBulk,
    /// Bytes that the receiving program has read.
    pub bytes: u64,
    /// Until the last of them.
    pub elapsed: Duration,
    /// How many different moments there were.
    pub events: u64,
    /// Bytes that were read in the window, if it was over before the run was.
    pub window_bytes: Option<u64>,
}

impl BulkReport {
    /// Bytes per second, rounded down; 0 if no time passed.
    pub fn bytes_per_s(&self) -> u64 {
        let ns = self.elapsed.as_nanos();
        let rate = (u128::from(self.bytes) * 1_000_000_000).checked_div(ns);
        rate.and_then(|rate| u64::try_from(rate).ok()).unwrap_or(0)
    }

    /// Bytes per second as a program of the time would report it: by whole seconds.
    pub fn cps(&self) -> u64 {
        self.bytes.checked_div(self.elapsed.as_secs()).unwrap_or(self.bytes)
    }
}

/// Bytes that are offered at a time.
const CHUNK: usize = 1 << 15;

impl Bulk {
    /// A transfer from A to B of this many bytes, of a day at most.
    pub fn new(bytes: u64) -> Self {
        Self { from: End::A, bytes, time_limit: Duration::from_secs(86_400), window: None }
    }

    /// Runs it with bytes of the pattern over an element that carries bytes.
    pub fn run(&self, element: &mut dyn Element, trace: &mut dyn Trace) -> BulkReport {
        self.run_with(Stream::Pattern(Pattern::new()), element, trace)
    }

    /// Runs it with these bytes, of at least that length. Every received byte is compared.
    pub fn run_with(
        &self,
        stream: Stream,
        element: &mut dyn Element,
        trace: &mut dyn Trace,
    ) -> BulkReport {
        let mut run = Run { bulk: *self, stream, sent: 0, came: 0 };
        let mut into = vec![0; CHUNK];
        let mut now = Instant::ZERO;
        let mut events = 0;
        let mut meter = self.window.map(Meter::new);
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
            if let Some(meter) = &mut meter {
                meter.pass(next, run.came);
                if meter.is_over() {
                    break StopBulk::Measured;
                }
            }
            if next > Instant::ZERO + self.time_limit {
                break StopBulk::TimeLimit;
            }
            now = now.max(next);
        };
        let window_bytes = meter.and_then(|meter| meter.bytes());
        BulkReport {
            stop,
            bytes: run.came,
            elapsed: now.since(Instant::ZERO),
            events,
            window_bytes,
        }
    }
}

struct Run {
    bulk: Bulk,
    stream: Stream,
    sent: u64,
    came: u64,
}

impl Run {
    /// Moves all bytes that can move at one instant; false if a wrong byte arrived.
    fn exchange(&mut self, cx: &mut Cx<'_>, element: &mut dyn Element, into: &mut [u8]) -> bool {
        loop {
            let want = (self.bulk.bytes - self.sent).min(CHUNK as u64) as usize;
            let chunk = self.stream.at(self.sent, want);
            let taken = if want == 0 { 0 } else { element.offer(cx, self.bulk.from, chunk) };
            self.sent += taken as u64;
            let len = element.emit(cx, self.bulk.from.other(), into);
            let right = self.stream.is(self.came, &into[..len]);
            self.came += len as u64;
            if !right || self.came > self.sent {
                return false;
            }
            if taken + len == 0 {
                return true;
            }
        }
    }
}
