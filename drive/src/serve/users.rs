//! Who may come in: names and passwords, and what it costs to guess.
//!
//! The file has a line for each user: `name:$argon2id$...`, the password's hash in the usual form
//! (PHC string). Empty lines and those that begin with `#` are passed over.

use crate::in_words;
use argon2::password_hash::SaltString;
use argon2::{Argon2, PasswordHash, PasswordHasher, PasswordVerifier};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong passwords from one address before it has to wait.
const TRIES: u32 = 5;
/// How long it has to wait then.
const LOCKED: Duration = Duration::from_secs(60);
/// How long the answer to a wrong password takes at least.
const DELAY: Duration = Duration::from_secs(1);
/// Addresses that are remembered; when there are more, the oldest are forgotten.
const ADDRESSES: usize = 4096;

/// Names, hashes of passwords, and who has guessed wrongly.
#[derive(Debug)]
pub struct Users {
    hashes: BTreeMap<Vec<u8>, String>,
    /// For names that nobody has, so that they take as long.
    nobody: String,
    failures: Mutex<BTreeMap<Option<IpAddr>, (u32, Instant)>>,
    /// Held while a password is judged, which takes 19 MiB: one at a time.
    judging: Mutex<()>,
    delay: Duration,
}

/// Why somebody does not come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotLoggedIn {
    /// Name or password is wrong.
    Wrong,
    /// Too many were wrong from that address.
    Locked,
}

impl Users {
    /// Reads a file of users.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::parse(&std::fs::read_to_string(path)?)
    }

    /// Reads the text of such a file.
    pub fn parse(text: &str) -> io::Result<Self> {
        let mut hashes = BTreeMap::new();
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
            PasswordHash::new(hash).map_err(|_| bad("something else than an argon2 hash"))?;
            hashes.insert(name.trim().as_bytes().to_vec(), hash.to_owned());
        }
        let nobody = hash(b"nobody has this password")?;
        let (failures, judging) = (Mutex::default(), Mutex::default());
        Ok(Self { hashes, nobody, failures, judging, delay: DELAY })
    }

    /// The same, with another delay after a wrong password.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Whether somebody comes in. It takes its time, and more if he does not.
    pub fn admit(
        &self,
        from: Option<IpAddr>,
        name: &[u8],
        password: &[u8],
    ) -> Result<(), NotLoggedIn> {
        if !self.may_try(from) {
            return Err(NotLoggedIn::Locked);
        }
        let known = self.hashes.get(name);
        let right = {
            let _alone = self.judging.lock().unwrap_or_else(PoisonError::into_inner);
            let hash = PasswordHash::new(known.unwrap_or(&self.nobody));
            hash.is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
        };
        if right && known.is_some() {
            self.failures().remove(&from);
            return Ok(());
        }
        std::thread::sleep(self.delay);
        Err(NotLoggedIn::Wrong)
    }

    fn failures(&self) -> std::sync::MutexGuard<'_, BTreeMap<Option<IpAddr>, (u32, Instant)>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an address may try once more. The try is counted at once, so that many sessions
    /// which guess at the same time have no more of them than one.
    fn may_try(&self, from: Option<IpAddr>) -> bool {
        let mut failures = self.failures();
        let now = Instant::now();
        if failures.len() >= ADDRESSES {
            let oldest = failures.iter().min_by_key(|(_, (_, last))| *last).map(|(from, _)| *from);
            oldest.and_then(|oldest| failures.remove(&oldest));
        }
        let (count, last) = failures.entry(from).or_insert((0, now));
        if last.elapsed() >= LOCKED {
            *count = 0;
        }
        if *count >= TRIES {
            return false;
        }
        *count += 1;
        *last = now;
        true
    }
}

/// The hash of a password, for a line of the file.
pub fn hash(password: &[u8]) -> io::Result<String> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|error| io::Error::other(in_words(&error)))?;
    let bad = |error: argon2::password_hash::Error| io::Error::other(in_words(&error));
    let salt = SaltString::encode_b64(&salt).map_err(bad)?;
    Ok(Argon2::default().hash_password(password, &salt).map_err(bad)?.to_string())
}
