//! Packet lengths that fit the errors of the line.
//!
//! A packet of L bytes with overhead h gets through with probability exp(-L/m) on a line that is
//! hit once in m bytes, carries L-h bytes of data, and takes the time of L+R bytes where R of them
//! pass while its answer is awaited. What arrives per time is most where (L-h)(L+R) = m(h+R): near
//! sqrt(h m) without waiting, never above m+h. C-Kermit's rule halves after every error and grows
//! back by a third; this one has a target, stays there, and on a clean line grows without
//! a bound but the peer's.

use super::check::Check;
use super::packet::{EOL, LONG_HEADER, LONGEST_SHORT_PACKET, SHORT_HEADER};
use crate::session::{ErrorRate, Prior, believed};

/// Finds the best packet length for the errors of the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketLengths {
    /// Good bytes are those of packets that came, and of those that were lost up to where they were
    /// probably hit.
    errors: ErrorRate,
    /// Bytes that were acknowledged.
    carried: u64,
    /// Packets were lost before there was data.
    doubtful: bool,
    /// A data packet was acknowledged, or lost.
    tried: bool,
    /// Bytes that may come through without a loss before the line is not taken for the one that was known; 0: it is, or none
    /// was.
    believed: u64,
    /// What is lost first is lost once: errors are corrected from then on.
    pub(crate) is_bold: bool,
    enabled: bool,
}

/// Bytes of a packet that are not data, with the terminator: in the short form and in the long.
const OVERHEAD: [u64; 2] = [(SHORT_HEADER + AFTER_DATA) as u64, (LONG_HEADER + AFTER_DATA) as u64];
/// The longest check, and the terminator.
const AFTER_DATA: usize = Check::Crc16.len() + EOL;
/// The longest packet in the short form, with the terminator.
const SHORT: u64 = LONGEST_SHORT_PACKET as u64;
/// What is assumed of a line.
const PRIOR: Prior = Prior { clean: 25_000, each: 10, lossy: 1_000 };
/// Bytes that are expected to come through before the first error, for each that did.
const BOLD: u64 = 30;
/// A packet of this length comes through one bit error in 1,000 with one copy of 20.
const BEARABLE: u64 = 300;
/// Shorter packets are mostly overhead.
const SHORTEST: u64 = 32;
/// Losses after which the older half of the record is dropped, so that the policy follows a line
/// that changes.
const MEMORY: u64 = 64;

/// The best length of a packet with this overhead on a line with one error in `between` bytes,
/// if the time of `idle` bytes passes with each.
fn best(overhead: u64, idle: u64, between: u64) -> u64 {
    let lost = overhead + idle;
    ((lost * lost + 4 * between * lost).isqrt() - lost) / 2 + overhead
}

/// What a packet of this length loses, to its overhead and to errors, in millionths of its length.
fn cost(overhead: u64, len: u64, between: u64) -> u64 {
    overhead * 1_000_000 / len + len * 1_000_000 / between
}

impl PacketLengths {
    /// `known`: bytes between two errors of the line; 0 if that is unknown.
    pub(crate) fn new(enabled: bool, known: u64) -> Self {
        Self {
            errors: ErrorRate::known(known, MEMORY),
            carried: 0,
            doubtful: false,
            tried: false,
            believed: believed(known),
            is_bold: false,
            enabled,
        }
    }

    /// Nothing has been acknowledged yet.
    pub(crate) fn is_untried(&self) -> bool {
        !self.tried
    }

    /// This many bytes of packets were acknowledged.
    pub(crate) fn carried(&mut self, len: usize) {
        self.errors.add_good(len as u64);
        self.tried |= len > 0;
        self.carried += len as u64;
        // A long clean stretch must be able to outweigh early errors.
        if self.errors.good() > 4_000_000 {
            self.errors.halve();
        }
    }

    /// Whether the line has just turned out to be cleaner than it was known to be, which is then forgotten.
    pub(crate) fn is_refuted(&mut self) -> bool {
        let is_cleaner = self.believed > 0 && self.carried > self.believed;
        if is_cleaner {
            self.believed = 0;
            self.errors = ErrorRate::default();
            self.errors.add_good(self.carried);
        }
        is_cleaner
    }

    /// An error was seen, though no packet was lost by it: the line is as it was known.
    pub(crate) fn confirm(&mut self) {
        self.believed = 0;
    }

    /// Bytes of packets that came through.
    pub(crate) fn bytes_carried(&self) -> u64 {
        self.carried
    }

    /// A packet without data was lost.
    pub(crate) fn stumbled(&mut self) {
        self.doubtful = true;
    }

    /// Longest packet justified by the bytes delivered so far. A retransmission keeps its length, so an
    /// oversized packet may never get through. The first packets are therefore short. In a window, where
    /// many are sent before the first acknowledgement and none of them waits, they are only as short as
    /// noise requires.
    pub(crate) fn proven(&self, window: usize) -> usize {
        if !self.enabled {
            return usize::MAX;
        }
        let proven = if window == 1 || self.doubtful {
            // Half of it: a noisy line may have delivered that by chance.
            (self.carried / 2).max(SHORT)
        } else {
            (self.carried * 2).max(BEARABLE)
        };
        usize::try_from(proven).unwrap_or(usize::MAX)
    }

    /// Estimated bytes between two errors.
    fn between(&self) -> u64 {
        let each = if self.is_bold { BOLD } else { PRIOR.each };
        self.errors.between(0, Prior { each, ..PRIOR })
    }

    /// A packet of this many bytes was lost.
    pub(crate) fn lost(&mut self, len: usize) {
        // Losing an overlong packet tells little about a line: the first error was after about `between`
        // bytes in a packet that is much longer than that, and in the middle of a short one.
        let (len, between) = (len as u64, self.between());
        let good = len * between / (4 * between * between + len * len).isqrt().max(1);
        self.errors.add_good(good);
        self.tried |= good > 0;
        self.believed = 0;
        self.errors.add_loss(MEMORY);
    }

    /// The best length of a whole packet with its terminator. `idle` is how many bytes of line time
    /// an answer takes to come, when nothing else is in flight; `window` is how many packets may be.
    pub(crate) fn length(&self, idle: usize, window: usize) -> usize {
        if !self.enabled {
            return usize::MAX;
        }
        let idle = idle as u64;
        let best = match window.saturating_sub(1) as u64 {
            0 => self.fitting(idle),
            // The estimate for a line without errors is high already.
            _ if !self.errors.has_losses() => self.fitting(0),
            // The line does not wait where the other packets fill that time. Where those that are best
            // for a busy line do not, longer ones are better, up to those that do.
            others => self.fitting(0).max(self.fitting(idle).min(idle / others)),
        };
        usize::try_from(best).unwrap_or(usize::MAX)
    }

    /// The best length where each packet costs the time of this many bytes.
    fn fitting(&self, idle: u64) -> u64 {
        let between = self.between();
        let [short, long] = OVERHEAD;
        let best = |overhead: u64, idle: u64, between: u64| {
            // The estimate for a line without errors is not measured: the simpler rule is enough.
            if self.errors.has_losses() {
                best(overhead, idle, between)
            } else {
                ((overhead + idle) * between).isqrt()
            }
        };
        let best_short = best(short, idle, between).clamp(SHORTEST, SHORT);
        let best_long = best(long, idle, between).max(SHORT);
        let costs = [(short, best_short), (long, best_long)]
            .map(|(overhead, len)| cost(overhead + idle, len, between));
        if costs[0] <= costs[1] { best_short } else { best_long }
    }
}
