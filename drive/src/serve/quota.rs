//! How much clients may store and be sent, counted byte by byte.
//!
//! ```text
//! a write, a copy, a text, a file read -> Meter --> the session's account, and its quota
//!                                               '-> the user's, shared by all sessions of the user
//! ```
//!
//! The count is of bytes written to and read from files: a few bytes on the line can be many in a file. An
//! account is never credited: deleting files frees no quota.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wetstring_proto::file::StoreError;

/// Direction of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Into the tree.
    Stored,
    /// To the client.
    Sent,
}

/// Maximum bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Both directions together.
    pub moved: Option<u64>,
    /// Into the tree.
    pub stored: Option<u64>,
    /// To the client.
    pub sent: Option<u64>,
}

/// File system space that stays free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepFree {
    /// This many bytes.
    Bytes(u64),
    /// This share of the total, in hundredths.
    Percent(u8),
}

/// The quotas of a server.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Quotas {
    /// Of each session.
    pub session: Quota,
    /// Of each user, over all sessions while the server runs. Clients that do not log in are one user.
    pub user: Quota,
    /// Space not available to clients.
    pub keep_free: Option<KeepFree>,
}

/// An exceeded quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Over {
    whose: &'static str,
    what: &'static str,
    most: u64,
    left: u64,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whose, what, most, left } = self;
        write!(f, "Quota of this {whose}: at most {most} bytes may be {what}, {left} left")
    }
}

impl std::error::Error for Over {}

impl From<Over> for StoreError {
    fn from(over: Over) -> Self {
        Self::Quota { most: over.most }
    }
}

impl From<Over> for io::Error {
    fn from(over: Over) -> Self {
        Self::new(io::ErrorKind::QuotaExceeded, over)
    }
}

/// The quota that an error reports, if it does.
pub(super) fn over(error: &io::Error) -> Option<Over> {
    error.get_ref()?.downcast_ref().copied()
}

/// The usage of an account.
#[derive(Clone, Copy, Default, Debug)]
struct Moved {
    stored: u64,
    sent: u64,
}

impl Moved {
    fn add(&mut self, direction: Direction, bytes: u64) {
        let of = match direction {
            Direction::Stored => &mut self.stored,
            Direction::Sent => &mut self.sent,
        };
        *of = of.saturating_add(bytes);
    }
}

impl Quota {
    /// The limits in this direction, and how much is left of each.
    fn limits(
        self,
        direction: Direction,
        had: Moved,
        whose: &'static str,
    ) -> impl Iterator<Item = Over> + use<> {
        let one = match direction {
            Direction::Stored => (self.stored, had.stored, "stored"),
            Direction::Sent => (self.sent, had.sent, "sent"),
        };
        let both = (self.moved, had.stored.saturating_add(had.sent), "moved");
        [one, both].into_iter().filter_map(move |(most, had, what)| {
            most.map(|most| Over { whose, what, most, left: most.saturating_sub(had) })
        })
    }
}

/// Usage of users since the server started.
#[derive(Default, Debug)]
pub struct Accounts(Mutex<BTreeMap<Option<String>, Arc<Mutex<Moved>>>>);

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Accounts {
    fn of(&self, user: Option<&str>) -> Arc<Mutex<Moved>> {
        lock(&self.0).entry(user.map(str::to_owned)).or_default().clone()
    }
}

/// Counts the bytes of a session.
#[derive(Debug)]
pub(super) struct Meter {
    quotas: Quotas,
    accounts: Arc<Accounts>,
    own: Mutex<Moved>,
    user: Mutex<Arc<Mutex<Moved>>>,
}

impl Meter {
    pub(super) fn new(quotas: Quotas, accounts: Arc<Accounts>) -> Self {
        let user = Mutex::new(accounts.of(None));
        Self { quotas, accounts, own: Mutex::default(), user }
    }

    /// From now on this is the user's session.
    pub(super) fn is_of(&self, user: Option<&str>) {
        *lock(&self.user) = self.accounts.of(user);
    }

    /// Calls `with` with the tightest limit, and counts the bytes that it returns. These accounts are locked
    /// meanwhile.
    fn count<T>(&self, direction: Direction, with: impl FnOnce(Option<Over>) -> (u64, T)) -> T {
        let user = lock(&self.user).clone();
        let (mut own, mut user) = (lock(&self.own), lock(&user));
        let of_session = self.quotas.session.limits(direction, *own, "session");
        let of_user = self.quotas.user.limits(direction, *user, "user");
        let (bytes, result) = with(of_session.chain(of_user).min_by_key(|over| over.left));
        own.add(direction, bytes);
        user.add(direction, bytes);
        result
    }

    /// Counts all of these bytes, or returns the exceeded quota.
    pub(super) fn take(&self, direction: Direction, bytes: u64) -> Result<(), Over> {
        self.count(direction, |limit| match limit {
            Some(over) if over.left < bytes => (0, Err(over)),
            _ => (bytes, Ok(())),
        })
    }

    /// Counts as many of them as allowed; an error if none is.
    pub(super) fn take_some(&self, direction: Direction, bytes: u64) -> Result<u64, Over> {
        self.count(direction, |limit| match limit {
            Some(over) if over.left == 0 && bytes > 0 => (0, Err(over)),
            limit => {
                let bytes = limit.map_or(bytes, |over| over.left.min(bytes));
                (bytes, Ok(bytes))
            }
        })
    }

    /// Counts bytes unconditionally.
    pub(super) fn add(&self, direction: Direction, bytes: u64) {
        self.count(direction, |_| (bytes, ()));
    }

    /// Whether this many could be counted now. Nothing is counted.
    pub(super) fn fits(&self, direction: Direction, bytes: u64) -> Result<(), Over> {
        self.count(direction, |limit| {
            (0, limit.filter(|over| over.left < bytes).map_or(Ok(()), Err))
        })
    }

    /// The limits, and what is left of each, as text.
    pub(super) fn shown(&self) -> String {
        let user = lock(&self.user).clone();
        let (own, user) = (*lock(&self.own), *lock(&user));
        let all = [Direction::Stored, Direction::Sent].into_iter().flat_map(|direction| {
            let of_session = self.quotas.session.limits(direction, own, "session");
            of_session.chain(self.quotas.user.limits(direction, user, "user"))
        });
        let mut lines: Vec<String> = all.map(|over| format!("{over}\n")).collect();
        lines.sort();
        lines.dedup();
        lines.concat()
    }

    pub(super) fn keep_free(&self) -> Option<KeepFree> {
        self.quotas.keep_free
    }
}

impl KeepFree {
    /// Its size in bytes, on a file system of this size.
    pub fn bytes(self, total: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => total / 100 * u64::from(percent),
        }
    }
}

/// `4096`, `500K`, `20M`, `3G`, `1T`.
fn amount(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        b'T' | b't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(1 << shift)
}

impl FromStr for Quota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("expected SIZE, stored=SIZE or sent=SIZE, such as 500M, got {text}");
        let mut quota = Self::default();
        for part in text.split(',') {
            let (of, size) = match part.split_once('=') {
                None => (&mut quota.moved, part),
                Some(("stored", size)) => (&mut quota.stored, size),
                Some(("sent", size)) => (&mut quota.sent, size),
                Some(_) => return Err(bad()),
            };
            *of = Some(amount(size).ok_or_else(bad)?);
        }
        Ok(quota)
    }
}

impl FromStr for KeepFree {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("expected SIZE or PERCENT%, such as 2G or 10%, got {text}");
        match text.strip_suffix('%') {
            Some(percent) => {
                let percent = percent.parse().ok().filter(|percent| *percent <= 100);
                percent.map(Self::Percent).ok_or_else(bad)
            }
            None => amount(text).map(Self::Bytes).ok_or_else(bad),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_applies() {
        let quotas = Quotas {
            session: "100,sent=30".parse().unwrap(),
            user: "stored=80".parse().unwrap(),
            keep_free: None,
        };
        let accounts = Arc::new(Accounts::default());
        let meter = Meter::new(quotas, accounts.clone());
        assert_eq!(meter.take(Direction::Stored, 70), Ok(()));
        let over = meter.take(Direction::Stored, 11).unwrap_err();
        assert_eq!(over.to_string(), "Quota of this user: at most 80 bytes may be stored, 10 left");
        assert_eq!(StoreError::from(over), StoreError::Quota { most: 80 });
        assert_eq!(meter.take_some(Direction::Stored, 11), Ok(10));
        assert!(meter.take_some(Direction::Stored, 1).is_err());
        assert_eq!(meter.take_some(Direction::Stored, 0), Ok(0));
        assert_eq!(meter.take_some(Direction::Sent, 50), Ok(20), "100 both ways");
        // Another session of the same user, and one of another user.
        let second = Meter::new(quotas, accounts);
        assert!(second.fits(Direction::Stored, 1).is_err());
        assert_eq!(second.take_some(Direction::Sent, 50), Ok(30));
        second.is_of(Some("anna"));
        assert_eq!(second.take_some(Direction::Stored, 500), Ok(70), "100 both ways");
        second.add(Direction::Sent, 1000);
        assert!(second.fits(Direction::Stored, 1).is_err());
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(
            "stored=2K,sent=1m".parse(),
            Ok(Quota { moved: None, stored: Some(2048), sent: Some(1 << 20) })
        );
        assert_eq!("3G".parse::<Quota>().unwrap().moved, Some(3 << 30));
        assert_eq!("10%".parse(), Ok(KeepFree::Percent(10)));
        assert_eq!("1T".parse(), Ok(KeepFree::Bytes(1 << 40)));
        assert_eq!(KeepFree::Percent(10).bytes(5000), 500);
        for bad in ["", "K", "-1", "+1", "1.5G", "kept=1", "stored", "99999999999T", "1,"] {
            assert!(bad.parse::<Quota>().is_err(), "{bad}");
        }
        for bad in ["101%", "%", "-1%", "x"] {
            assert!(bad.parse::<KeepFree>().is_err(), "{bad}");
        }
    }
}
