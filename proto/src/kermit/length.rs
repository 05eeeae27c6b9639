//! Packet lengths that fit the errors of the line.
//!
//! A packet of L bytes with overhead h gets through with probability exp(-L/m) on a line that is
//! hit once in m bytes, and carries L-h bytes of data; the product is greatest near L = sqrt(h m).
//! C-Kermit's rule halves after every error and grows back by a third; this one knows where it is
//! going, stays there, and on a clean line grows without a bound but the partner's.

/// Learns how often the line is hit, and says how long a packet should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LengthPolicy {
    bytes: u64,
    losses: u64,
    /// Bytes that were acknowledged.
    carried: u64,
    /// Packets without data that were lost.
    stumbles: u32,
    enabled: bool,
}

/// Packets lost before the data from which on the line is doubted.
const DOUBT: u32 = 1;

/// Bytes of a packet that are not data, with the terminator: in the short form and in the long.
const OVERHEAD: [u64; 2] = [8, 11];
/// The longest packet in the short form, with the terminator.
const SHORT: u64 = 97;
/// Bytes a line is trusted for that has not been hit yet, and one that has.
const TRUST: [u64; 2] = [25_000, 4_000];
/// Lengths below this are all overhead.
const SHORTEST: u64 = 32;
/// Losses after which the older half of the record is forgotten, so that the policy follows a line
/// that changes.
const MEMORY: u64 = 64;

/// What a packet of this length loses, to its overhead and to errors, in millionths of its length.
fn cost(overhead: u64, len: u64, between: u64) -> u64 {
    overhead * 1_000_000 / len + len * 1_000_000 / between
}

impl LengthPolicy {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { bytes: 0, losses: 0, carried: 0, stumbles: 0, enabled }
    }

    /// Nothing has been acknowledged yet.
    pub(crate) fn is_untried(&self) -> bool {
        self.bytes == 0
    }

    /// So many bytes of packets were acknowledged.
    pub(crate) fn carried(&mut self, len: usize) {
        self.bytes += len as u64;
        self.carried += len as u64;
        // A long clean stretch must be able to outweigh early errors.
        if self.bytes > 4_000_000 {
            self.bytes /= 2;
            self.losses /= 2;
        }
    }

    /// The longest packet that what came through speaks for. A packet keeps its length for all its
    /// copies, since a NAK may have crossed with it: so the first ones have to be short where all
    /// waits for each of them.
    pub(crate) fn proven(&self) -> usize {
        if !self.enabled {
            return usize::MAX;
        }
        // Half of it, since a noisy line may have let so much through by luck.
        usize::try_from((self.carried / 2).max(SHORT)).unwrap_or(usize::MAX)
    }

    /// A packet without data was lost.
    pub(crate) fn stumbled(&mut self) {
        self.stumbles += 1;
    }

    /// Packets were lost before there was data: the first data is to be short, in a window too.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.stumbles >= DOUBT
    }

    /// A packet of so many bytes was lost.
    pub(crate) fn lost(&mut self, len: usize) {
        self.bytes += len as u64;
        self.losses += 1;
        if self.losses > MEMORY {
            self.losses /= 2;
            self.bytes /= 2;
        }
    }

    /// The best length of a whole packet with its terminator. `idle` is how many bytes of line time
    /// pass per packet without being used (waiting for an answer with a window of one).
    pub(crate) fn length(&self, idle: usize) -> usize {
        if !self.enabled {
            return usize::MAX;
        }
        let between = if self.losses == 0 {
            self.bytes * 10 + TRUST[0]
        } else {
            (self.bytes + TRUST[1]) / (self.losses + 1)
        };
        let [short, long] = OVERHEAD.map(|overhead| overhead + idle as u64);
        let best_short = (short * between).isqrt().clamp(SHORTEST, SHORT);
        let best_long = (long * between).isqrt().max(SHORT);
        let best = if cost(short, best_short, between) <= cost(long, best_long, between) {
            best_short
        } else {
            best_long
        };
        usize::try_from(best).unwrap_or(usize::MAX)
    }
}
