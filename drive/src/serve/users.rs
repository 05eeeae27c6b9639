//! Logins: names and passwords, and the cost of guessing.
//!
//! The file has a line for each user: `name:$argon2id$...`, the password's hash in the usual form
//! (PHC string). Empty lines and those that begin with `#` are passed over.

use super::guesses::{Guesses, Pace};
use super::places::Source;
use crate::event::Interest;
use crate::in_words;
use crate::signals::Signals;
use argon2::password_hash::SaltString;
use argon2::{Argon2, Params, PasswordHash, PasswordHasher, PasswordVerifier};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Names, password hashes, and wrong guesses.
#[derive(Debug)]
pub struct Users {
    hashes: BTreeMap<Vec<u8>, String>,
    /// A hash for unknown names, so that they take as long.
    dummy: String,
    guesses: Guesses,
    /// Start of its clock.
    epoch: Instant,
    /// Held while a password is checked, which takes 19 MiB: one at a time.
    judging: Mutex<()>,
}

/// Why a login fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotLoggedIn {
    /// Name or password is wrong.
    Wrong,
    /// Too many wrong passwords: no attempt is checked for this long.
    Wait(Duration),
}

impl Users {
    /// Reads a file of users.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::parse(&std::fs::read_to_string(path)?)
    }

    /// Parses the text of such a file.
    pub fn parse(text: &str) -> io::Result<Self> {
        let mut hashes = BTreeMap::new();
        let mut costs = Params::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |what: &str| {
                let say = format!("line {}: expected NAME:HASH, got {what}", number + 1);
                io::Error::new(io::ErrorKind::InvalidData, say)
            };
            let (name, hash) = line.split_once(':').ok_or_else(|| bad("no colon"))?;
            let read = PasswordHash::new(hash).and_then(|hash| Params::try_from(&hash));
            let own = read.map_err(|_| bad("another format than an argon2 hash"))?;
            if hashes.is_empty() || work(&own) > work(&costs) {
                costs = own;
            }
            hashes.insert(name.trim().as_bytes().to_vec(), hash.to_owned());
        }
        let dummy = hash_by(b"no user has this password", costs)?;
        let (guesses, judging) = (Guesses::new(Pace::default()), Mutex::default());
        Ok(Self { hashes, dummy, guesses, epoch: Instant::now(), judging })
    }

    /// The same, with another delay after the first wrong password; later delays scale with it.
    #[must_use]
    pub fn with_delay(self, first: Duration) -> Self {
        Self { guesses: Guesses::new(Pace::of(first)), ..self }
    }

    /// Whether a login is right. It takes its time, and more if it is wrong; less if the server ends.
    pub fn admit(
        &self,
        from: Option<IpAddr>,
        name: &[u8],
        password: &[u8],
        stop: Option<&Signals>,
    ) -> Result<(), NotLoggedIn> {
        let source = from.map(Source::from);
        let knock = self.guesses.knock(self.epoch.elapsed(), source, name);
        let knock = knock.map_err(NotLoggedIn::Wait)?;
        self.wait_until(knock.at, stop);
        let known = self.hashes.get(name);
        let right = {
            let _alone = self.judging.lock().unwrap_or_else(PoisonError::into_inner);
            let hash = PasswordHash::new(known.unwrap_or(&self.dummy));
            hash.is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
        };
        if right && known.is_some() {
            self.guesses.succeeded(knock);
            return Ok(());
        }
        self.guesses.failed(knock);
        // From before the check, so that the answer does not reveal how long that took.
        self.wait_until(knock.at + self.guesses.pace().first, stop);
        Err(NotLoggedIn::Wrong)
    }

    /// Waits; returns early if the server ends.
    fn wait_until(&self, at: Duration, stop: Option<&Signals>) {
        let left = at.saturating_sub(self.epoch.elapsed());
        match stop {
            _ if left.is_zero() => {}
            None => std::thread::sleep(left),
            Some(stop) => {
                let _ = Signals::wait(Some(stop), Interest::end(stop.source()), Some(left));
            }
        }
    }
}

/// Memory times passes: the cost of checking such a hash.
fn work(costs: &Params) -> u64 {
    u64::from(costs.m_cost()) * u64::from(costs.t_cost())
}

/// The hash of a password, for a line of the file.
pub fn hash(password: &[u8]) -> io::Result<String> {
    hash_by(password, Params::default())
}

fn hash_by(password: &[u8], costs: Params) -> io::Result<String> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|error| io::Error::other(in_words(&error)))?;
    let bad = |error: argon2::password_hash::Error| io::Error::other(in_words(&error));
    let salt = SaltString::encode_b64(&salt).map_err(bad)?;
    let by = Argon2::new(argon2::Algorithm::default(), argon2::Version::default(), costs);
    Ok(by.hash_password(password, &salt).map_err(bad)?.to_string())
}
