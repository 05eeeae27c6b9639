//! What a listener allows: sessions, and how fast each partner may send.

use wetstring_proto::time::{Duration, Instant};

/// What a listener allows. Its memory is at most [`Limits::sessions`] engines with their stores, and
/// some hundred kilobytes for the rest, whoever knocks how often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Sessions at one time.
    pub sessions: usize,
    /// Sessions at one time of one address.
    pub per_address: usize,
    /// Bytes per second that are taken of one partner; what is above is dropped unread. `None` is no
    /// bound.
    pub bytes_per_s: Option<u64>,
    /// A session of which nothing authentic has come for so long is over.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 16, per_address: 8, bytes_per_s: None, idle: Duration::from_secs(120) }
    }
}

/// A bucket of tokens that fills with time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    per_s: u64,
    most: u64,
    left: u64,
    at: Instant,
}

impl Bucket {
    /// A full one that holds `most` and gets `per_s` each second.
    pub(super) fn new(per_s: u64, most: u64, now: Instant) -> Self {
        Self { per_s, most, left: most, at: now }
    }

    /// Takes so many, if they are there.
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
    fn it_gives_what_it_gets_and_no_more_than_it_holds() {
        let at = |ms: u64| Instant(ms * 1_000_000);
        let mut bucket = Bucket::new(1000, 100, at(0));
        assert!(bucket.take(100, at(0)) && !bucket.take(1, at(0)));
        assert!(bucket.take(10, at(10)) && !bucket.take(1, at(10)));
        let taken = (0..10_000).filter(|ms| bucket.take(1, at(20 + ms / 2))).count();
        assert!((5000..5200).contains(&taken), "{taken}");
        assert!(bucket.take(100, at(60_000)) && !bucket.take(1, at(60_000)));
    }

    #[test]
    fn small_steps_lose_nothing() {
        let mut bucket = Bucket::new(10, 5, Instant(0));
        assert!(bucket.take(5, Instant(0)));
        let taken = (1..=100_000_u64).filter(|i| bucket.take(1, Instant(i * 100_000))).count();
        // 10 s at 10 each.
        assert!((99..=100).contains(&taken), "{taken}");
    }
}
