//! The cost of guessing a password: counted per source, per account and in total, without locking any user out.
//!
//! * Attempts of one **source** queue up: each wrong one doubles the delay before the next.
//! * A source that has logged in to an **account** before has a queue of its own for it, in which no one
//!   else's attempts count. Only that queue is cleared by success.
//! * Strangers to an account with many wrong passwords, or to a server with many, wait a bounded extra time,
//!   each for itself: a client that knows the password always gets in.

use super::places::Source;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum sources, accounts, and pairs of both that are remembered.
pub const REMEMBERED: usize = 4096;
/// Maximum delay, as a multiple of the first.
const MOST: u32 = 30;
/// Wrong passwords at an account before strangers to it wait longer.
const FREE_AT_ACCOUNT: u32 = 5;
/// Wrong passwords in total, less one per elapsed first delay, before all strangers wait longer; each further
/// such number doubles the delay.
const FREE_FOR_ALL: f64 = 20.0;
const DOUBLES_FOR_ALL: f64 = 10.0;

/// Timing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Delay after the first wrong password, and the time an answer takes.
    pub first: Duration,
    /// Maximum delay.
    pub most: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self::of(Duration::from_secs(1))
    }
}

impl Pace {
    /// From the delay after the first wrong password.
    pub fn of(first: Duration) -> Self {
        Self { first, most: first * MOST }
    }

    /// After this many wrong passwords.
    fn after(&self, failures: u32, most: Duration) -> Duration {
        match failures {
            0 => Duration::ZERO,
            n => (self.first * (1 << (n - 1).min(16))).min(most),
        }
    }

    /// Longest time that an attempt is delayed rather than refused.
    pub fn patience(&self) -> Duration {
        self.most / 3
    }

    /// Maximum wait of a stranger caused by others.
    fn crowd(&self) -> Duration {
        self.most / 4
    }

    /// A source without wrong passwords for this long is forgotten.
    fn forgets(&self) -> Duration {
        self.most * 30
    }
}

/// A queue of attempts.
#[derive(Clone, Copy, Default, Debug)]
struct Line {
    failures: u32,
    last: Duration,
    /// When the next one may be checked.
    next: Duration,
}

impl Line {
    /// Failures that still count.
    fn failures(&self, now: Duration, pace: &Pace) -> u32 {
        if now.saturating_sub(self.last) >= pace.forgets() { 0 } else { self.failures }
    }

    /// Counts an attempt as wrong before it is checked, so that many at once have no more attempts than one.
    fn take(&mut self, at: Duration, pace: &Pace) {
        self.failures = self.failures(at, pace).saturating_add(1);
        self.last = at;
        self.next = at + pace.after(self.failures, pace.most);
    }
}

#[derive(Debug, Default)]
struct Counts {
    sources: BTreeMap<Option<Source>, Line>,
    accounts: BTreeMap<u64, Line>,
    /// Pairs that have logged in before.
    friends: BTreeMap<(u64, Option<Source>), Line>,
    /// Recent wrong passwords, as of when.
    all: (f64, Duration),
}

/// Who has guessed wrongly. Times are relative to any fixed start.
#[derive(Debug)]
pub struct Guesses {
    pace: Pace,
    /// Names can be of any length; what is stored is not.
    names: RandomState,
    counts: Mutex<Counts>,
}

/// An attempt that may be checked.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Try {
    /// When.
    pub at: Duration,
    source: Option<Source>,
    account: u64,
    friend: bool,
}

impl Guesses {
    /// No attempts yet.
    pub fn new(pace: Pace) -> Self {
        Self { pace, names: RandomState::new(), counts: Mutex::default() }
    }

    /// The timing.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt from `source` at an account: when it may be checked, or for how long none is allowed.
    pub fn knock(
        &self,
        now: Duration,
        source: Option<Source>,
        name: &[u8],
    ) -> Result<Try, Duration> {
        let account = self.names.hash_one(name);
        let mut counts = self.counts();
        let counts = &mut *counts;
        let friend = counts.friends.contains_key(&(account, source));
        let crowd = if friend { Duration::ZERO } else { counts.crowd(now, account, &self.pace) };
        let line = if friend {
            counts.friends.entry((account, source)).or_default()
        } else {
            make_room(&mut counts.sources, &source, now, &self.pace);
            counts.sources.entry(source).or_default()
        };
        let at = line.next.max(now + crowd);
        let wait = at.saturating_sub(now);
        if wait > self.pace.patience() {
            return Err(wait);
        }
        line.take(at, &self.pace);
        Ok(Try { at, source, account, friend })
    }

    /// The attempt was wrong.
    pub fn failed(&self, knock: Try) {
        let mut counts = self.counts();
        let now = knock.at;
        make_room(&mut counts.accounts, &knock.account, now, &self.pace);
        let account = counts.accounts.entry(knock.account).or_default();
        account.failures = account.failures(now, &self.pace).saturating_add(1);
        account.last = account.last.max(now);
        if knock.friend {
            make_room(&mut counts.sources, &knock.source, now, &self.pace);
            counts.sources.entry(knock.source).or_default().take(now, &self.pace);
        }
        let (level, since) = (counts.level(now, &self.pace), counts.all.1.max(now));
        counts.all = (level + 1.0, since);
    }

    /// The attempt was right. The source's attempts at other accounts still count.
    pub fn succeeded(&self, knock: Try) {
        let mut counts = self.counts();
        if !knock.friend
            && let Some(line) = counts.sources.get_mut(&knock.source)
        {
            // This one was counted before it was checked.
            line.failures = line.failures.saturating_sub(1);
            // Attempts queued behind it keep their times.
            if line.last == knock.at {
                line.next = knock.at + self.pace.after(line.failures, self.pace.most);
            }
        }
        let key = (knock.account, knock.source);
        make_room(&mut counts.friends, &key, knock.at, &self.pace);
        counts.friends.insert(key, Line { last: knock.at, ..Line::default() });
    }

    /// Number of sources, accounts and pairs remembered.
    pub fn remembered(&self) -> [usize; 3] {
        let counts = self.counts();
        [counts.sources.len(), counts.accounts.len(), counts.friends.len()]
    }
}

impl Counts {
    /// How long a stranger waits because of others.
    fn crowd(&self, now: Duration, account: u64, pace: &Pace) -> Duration {
        let failures = self.accounts.get(&account).map_or(0, |line| line.failures(now, pace));
        let here = pace.after(failures.saturating_sub(FREE_AT_ACCOUNT), pace.crowd());
        let over = (self.level(now, pace) - FREE_FOR_ALL) / DOUBLES_FOR_ALL;
        let everywhere = if over <= 0.0 { 0 } else { over.min(16.0) as u32 + 1 };
        here.max(pace.after(everywhere, pace.crowd()))
    }

    /// Recent wrong passwords.
    fn level(&self, now: Duration, pace: &Pace) -> f64 {
        let (level, since) = self.all;
        let passed = now.saturating_sub(since).as_secs_f64() / pace.first.as_secs_f64().max(1e-6);
        (level - passed).max(0.0)
    }
}

/// Makes room for a new entry. The one with the fewest wrong guesses is removed first: a flood of new entries
/// displaces itself, not the others.
fn make_room<K: Ord + Copy>(lines: &mut BTreeMap<K, Line>, key: &K, now: Duration, pace: &Pace) {
    if lines.len() < REMEMBERED || lines.contains_key(key) {
        return;
    }
    let least = lines.iter().min_by_key(|(_, line)| (line.failures(now, pace), line.last));
    if let Some(key) = least.map(|(key, _)| *key) {
        lines.remove(&key);
    }
}
