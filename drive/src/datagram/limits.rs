//! Limits of a listener: sessions, and the rate of each peer.

use wetstring_proto::time::{Duration, Instant};

/// Limits of a listener. Its memory is at most [`Limits::sessions`] engines with their stores, and some hundred
/// kilobytes for the rest, however many connection attempts there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum concurrent sessions.
    pub sessions: usize,
    /// Maximum concurrent sessions per address.
    pub per_address: usize,
    /// Maximum bytes per second accepted from one peer; anything above is dropped unread. `None` is no limit.
    pub bytes_per_s: Option<u64>,
    /// A session ends after nothing authentic has been received for this long.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 16, per_address: 8, bytes_per_s: None, idle: Duration::from_secs(120) }
    }
}

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    per_s: u64,
    most: u64,
    left: u64,
    at: Instant,
}

impl Bucket {
    /// A full bucket that holds `most` and is refilled at `per_s`.
    pub(super) fn new(per_s: u64, most: u64, now: Instant) -> Self {
        Self { per_s, most, left: most, at: now }
    }

    /// Takes `n` tokens, if available.
    pub(super) fn take(&mut self, count: u64, now: Instant) -> bool {
        let gained = u128::from(self.per_s) * now.since(self.at).as_nanos() / 1_000_000_000;
        if gained > 0 {
            let gained = u64::try_from(gained).unwrap_or(u64::MAX);
            self.left = self.left.saturating_add(gained).min(self.most);
            self.at = now;
        }
        let enough = self.left >= count;
        if enough {
            self.left -= count;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_never_exceeds_its_size_or_rate() {
        let at = |ms: u64| Instant(ms * 1_000_000);
        let mut bucket = Bucket::new(1000, 100, at(0));
        assert!(bucket.take(100, at(0)) && !bucket.take(1, at(0)));
        assert!(bucket.take(10, at(10)) && !bucket.take(1, at(10)));
        let taken = (0..10_000).filter(|ms| bucket.take(1, at(20 + ms / 2))).count();
        assert!((5000..5200).contains(&taken), "{taken}");
        assert!(bucket.take(100, at(60_000)) && !bucket.take(1, at(60_000)));
    }

    #[test]
    fn small_steps_lose_no_tokens() {
        let mut bucket = Bucket::new(10, 5, Instant(0));
        assert!(bucket.take(5, Instant(0)));
        let taken = (1..=100_000_u64).filter(|i| bucket.take(1, Instant(i * 100_000))).count();
        // 10 s at 10 each.
        assert!((99..=100).contains(&taken), "{taken}");
    }
}
