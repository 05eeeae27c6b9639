//! How much clients may store and be sent, counted byte by byte while it moves.
//!
//! ```text
//! a write, a copy, a text, a file read -> Meter --> the session's account, and its quota
//!                                               '-> the user's, which all his sessions share
//! ```
//!
//! What is counted is what the files get and what is taken from them: a few bytes on the line can be many in a
//! file. An account is never given anything back: deleting makes no room in it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wetstring_proto::file::StoreError;

/// Where bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Into the tree.
    Stored,
    /// To the client.
    Sent,
}

/// How many bytes may go.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Both ways together.
    pub moved: Option<u64>,
    /// Into the tree.
    pub stored: Option<u64>,
    /// To the client.
    pub sent: Option<u64>,
}

/// What stays free on the file system whatever clients want.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepFree {
    /// So many bytes.
    Bytes(u64),
    /// So much of all there is, in hundredths.
    Percent(u8),
}

/// The quotas of a server.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Quotas {
    /// Of each session.
    pub session: Quota,
    /// Of each user, over all his sessions as long as the server runs. Who does not log in is the same user
    /// as everybody else who does not.
    pub user: Quota,
    /// What is not for clients.
    pub keep_free: Option<KeepFree>,
}

/// A quota that is passed.
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
        write!(f, "Quota of this {whose}: {most} bytes may be {what}, {left} are left")
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

/// The quota that an error tells of, if it does.
pub(super) fn over(error: &io::Error) -> Option<Over> {
    error.get_ref()?.downcast_ref().copied()
}

/// What an account has had.
#[derive(Clone, Copy, Default, Debug)]
struct Moved {
    stored: u64,
    sent: u64,
}

impl Moved {
    fn add(&mut self, way: Way, bytes: u64) {
        let of = match way {
            Way::Stored => &mut self.stored,
            Way::Sent => &mut self.sent,
        };
        *of = of.saturating_add(bytes);
    }
}

impl Quota {
    /// The limits for bytes on this way, and how much is left of each.
    fn limits(
        self,
        way: Way,
        had: Moved,
        whose: &'static str,
    ) -> impl Iterator<Item = Over> + use<> {
        let one = match way {
            Way::Stored => (self.stored, had.stored, "stored"),
            Way::Sent => (self.sent, had.sent, "sent"),
        };
        let both = (self.moved, had.stored.saturating_add(had.sent), "moved");
        [one, both].into_iter().filter_map(move |(most, had, what)| {
            most.map(|most| Over { whose, what, most, left: most.saturating_sub(had) })
        })
    }
}

/// What users have had since the server began.
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

/// Counts what a session moves.
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

    /// From now on it is this user's session.
    pub(super) fn is_of(&self, user: Option<&str>) {
        *lock(&self.user) = self.accounts.of(user);
    }

    /// What `with` says of the tightest limit, and the bytes that it wants counted. Nothing else is counted
    /// meanwhile in these accounts.
    fn count<T>(&self, way: Way, with: impl FnOnce(Option<Over>) -> (u64, T)) -> T {
        let user = lock(&self.user).clone();
        let (mut own, mut user) = (lock(&self.own), lock(&user));
        let of_session = self.quotas.session.limits(way, *own, "session");
        let of_user = self.quotas.user.limits(way, *user, "user");
        let (bytes, result) = with(of_session.chain(of_user).min_by_key(|over| over.left));
        own.add(way, bytes);
        user.add(way, bytes);
        result
    }

    /// Counts all of these bytes, or says why they may not go.
    pub(super) fn take(&self, way: Way, bytes: u64) -> Result<(), Over> {
        self.count(way, |limit| match limit {
            Some(over) if over.left < bytes => (0, Err(over)),
            _ => (bytes, Ok(())),
        })
    }

    /// Counts as many of them as may go; an error if none may.
    pub(super) fn take_some(&self, way: Way, bytes: u64) -> Result<u64, Over> {
        self.count(way, |limit| match limit {
            Some(over) if over.left == 0 && bytes > 0 => (0, Err(over)),
            limit => {
                let bytes = limit.map_or(bytes, |over| over.left.min(bytes));
                (bytes, Ok(bytes))
            }
        })
    }

    /// Counts bytes that go in any case.
    pub(super) fn add(&self, way: Way, bytes: u64) {
        self.count(way, |_| (bytes, ()));
    }

    /// Whether so many could go now. Nothing is counted.
    pub(super) fn fits(&self, way: Way, bytes: u64) -> Result<(), Over> {
        self.count(way, |limit| (0, limit.filter(|over| over.left < bytes).map_or(Ok(()), Err)))
    }

    /// The limits, and what is left of each, for people.
    pub(super) fn shown(&self) -> String {
        let user = lock(&self.user).clone();
        let (own, user) = (*lock(&self.own), *lock(&user));
        let all = [Way::Stored, Way::Sent].into_iter().flat_map(|way| {
            let of_session = self.quotas.session.limits(way, own, "session");
            of_session.chain(self.quotas.user.limits(way, user, "user"))
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
    /// How many bytes that are on a file system of so many.
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
    fn the_tightest_limit_counts_and_nothing_passes_it() {
        let quotas = Quotas {
            session: "100,sent=30".parse().unwrap(),
            user: "stored=80".parse().unwrap(),
            keep_free: None,
        };
        let accounts = Arc::new(Accounts::default());
        let meter = Meter::new(quotas, accounts.clone());
        assert_eq!(meter.take(Way::Stored, 70), Ok(()));
        let over = meter.take(Way::Stored, 11).unwrap_err();
        assert_eq!(over.to_string(), "Quota of this user: 80 bytes may be stored, 10 are left");
        assert_eq!(StoreError::from(over), StoreError::Quota { most: 80 });
        assert_eq!(meter.take_some(Way::Stored, 11), Ok(10));
        assert!(meter.take_some(Way::Stored, 1).is_err());
        assert_eq!(meter.take_some(Way::Stored, 0), Ok(0));
        assert_eq!(meter.take_some(Way::Sent, 50), Ok(20), "100 both ways");
        // Another session of the same user, and one of somebody else.
        let second = Meter::new(quotas, accounts);
        assert!(second.fits(Way::Stored, 1).is_err());
        assert_eq!(second.take_some(Way::Sent, 50), Ok(30));
        second.is_of(Some("anna"));
        assert_eq!(second.take_some(Way::Stored, 500), Ok(70), "100 both ways");
        second.add(Way::Sent, 1000);
        assert!(second.fits(Way::Stored, 1).is_err());
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
