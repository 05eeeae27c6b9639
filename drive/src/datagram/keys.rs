//! Keys and their files: this host's key pair, the hosts that are known, the keys that may come in.
//!
//! All of them are text in one folder, one key to a line:
//!
//! ```text
//! host.key          this host's own pair, for this user's eyes only (0600):
//!                   wst1-private HEX
//!                   wst1-public HEX
//! known-keys        LINE KEY         what answered there when it was first dialled, and was trusted
//! authorized-keys   KEY [NAME]       who may send to a listener of this user
//! ```
//!
//! A key is written `wst1-` and 64 hexadecimal digits. A user compares the [fingerprint].
//!
//! [fingerprint]: PublicKey::fingerprint

use crate::os::files;
use crate::os::fs::{Mode, OFlags};
use crate::{hex, in_words};
use sha2::{Digest, Sha256};
use snow::Builder;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Bytes in a key.
pub const KEY_LEN: usize = 32;
/// Prefix of a written public key.
const PREFIX: &str = "wst1-";
/// Minimum length of a shared secret, in bytes. A shorter one can be found by brute force.
pub const SECRET_MIN: usize = 16;
/// Maximum bytes read from a secret file.
const SECRET_MAX: u64 = 64 * 1024;

/// A host's public key (X25519).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PublicKey(pub [u8; KEY_LEN]);

impl PublicKey {
    /// A short form to compare by eye or voice: eight groups of four digits, 128 bits of SHA-256.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.0);
        let groups = digest[..16].chunks(2).map(hex);
        groups.collect::<Vec<_>>().join("-")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex(&self.0))
    }
}

impl FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix(PREFIX).and_then(unhex);
        digits.map(Self).ok_or_else(|| {
            format!("expected a key ({PREFIX} and 64 hexadecimal digits), got {text:?}")
        })
    }
}

fn unhex(text: &str) -> Option<[u8; KEY_LEN]> {
    let mut bytes = [0; KEY_LEN];
    // The number parser below would also accept a sign.
    if text.len() != 2 * KEY_LEN || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

/// A host's own key pair.
#[derive(Clone)]
pub struct Identity {
    pub(super) private: [u8; KEY_LEN],
    /// The public half.
    pub public: PublicKey,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("public", &self.public).finish_non_exhaustive()
    }
}

/// A secret shared by both ends, in the form Noise needs.
#[derive(Clone)]
pub struct Secret(pub(super) [u8; KEY_LEN]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// From its bytes; trailing blanks and line ends are ignored.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.trim_ascii_end();
        if bytes.len() < SECRET_MIN {
            let got = bytes.len();
            return Err(format!("expected a secret of at least {SECRET_MIN} bytes, got {got}"));
        }
        let mut hash = Sha256::new();
        hash.update(b"wetstring netblt shared secret 1\0");
        hash.update(bytes);
        Ok(Self(hash.finalize().into()))
    }

    /// A new one, as text: 64 hexadecimal digits.
    pub fn make() -> Result<String, String> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| format!("no random bytes: {}", in_words(&error)))?;
        Ok(hex(&bytes))
    }

    /// From a file that only its owner can read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let at = |say: String| format!("{}: {say}", path.display());
        let file = File::open(path).map_err(|e| at(in_words(&e)))?;
        let found = file.metadata().map_err(|e| at(in_words(&e)))?;
        let mode = files::permissions(&found) & 0o777;
        if found.is_file() && mode & 0o077 != 0 {
            return Err(at(format!(
                "expected a file that only its owner may read, got mode {mode:o}"
            )));
        }
        let mut bytes = Vec::new();
        file.take(SECRET_MAX).read_to_end(&mut bytes).map_err(|e| at(in_words(&e)))?;
        Self::new(&bytes).map_err(at)
    }
}

/// Result of looking up a host's key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Known {
    /// The same key as before.
    Same,
    /// Unknown for this line, but known for these lines.
    Elsewhere(Vec<String>),
    /// An unknown key.
    New,
}

/// The folder of the keys.
#[derive(Clone, Debug)]
pub struct KeyFolder {
    path: PathBuf,
}

/// Reads a file of lines; a missing file has none.
fn lines(path: &Path) -> io::Result<Vec<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The fields of a line that is no comment.
fn words(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    Some(line.split_once(char::is_whitespace).map_or((line, ""), |(a, b)| (a, b.trim())))
}

impl KeyFolder {
    /// Keys in this folder, which is created when it is first needed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn say(&self, name: &str, error: impl fmt::Display) -> String {
        format!("{}: {}", self.at(name).display(), in_words(&error))
    }

    /// This host's key pair, created on first use.
    pub fn identity(&self) -> Result<Identity, String> {
        const NAME: &str = "host.key";
        match self.read_identity(NAME) {
            Ok(None) => {}
            Ok(Some(found)) => return Ok(found),
            Err(say) => return Err(say),
        }
        let made = generate()?;
        let private = hex(&made.private);
        let text = format!("wst1-private {private}\nwst1-public {}\n", hex(&made.public.0));
        match self.put_private(NAME, text.as_bytes()) {
            Ok(()) => Ok(made),
            // Another process created one at the same time.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.read_identity(NAME)?.ok_or_else(|| self.say(NAME, error))
            }
            Err(error) => Err(self.say(NAME, error)),
        }
    }

    fn read_identity(&self, name: &str) -> Result<Option<Identity>, String> {
        let path = self.at(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.say(name, error)),
        };
        let mode = files::permissions(&fs::metadata(&path).map_err(|e| self.say(name, e))?) & 0o777;
        if mode & 0o077 != 0 {
            let say = format!("expected a file that only its owner may read (0600), got {mode:o}");
            return Err(self.say(name, say));
        }
        let half = |what: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(what));
            line.and_then(|digits| unhex(digits.trim()))
        };
        match (half("wst1-private "), half("wst1-public ")) {
            (Some(private), Some(public)) => {
                Ok(Some(Identity { private, public: PublicKey(public) }))
            }
            _ => Err(self.say(name, "expected wst1-private and wst1-public, got something else")),
        }
    }

    /// Creates the folder, and a file that did not exist, atomically.
    fn put_private(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        let aside = self.at(&format!("{name}.{}", std::process::id()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let file = crate::os::fs::open(&aside, flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(file);
        let made = file.write_all(bytes).and_then(|()| file.sync_all());
        let linked = made.and_then(|()| fs::hard_link(&aside, self.at(name)));
        let _ = fs::remove_file(&aside);
        linked
    }

    /// Appends a line to a file whose last line may lack its line end: people edit these files.
    fn append(&self, name: &str, line: &str) -> Result<(), String> {
        let put = || -> io::Result<()> {
            fs::create_dir_all(&self.path)?;
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND;
            let file = crate::os::fs::open(self.at(name), flags, Mode::from_raw_mode(0o600))?;
            let mut file = File::from(file);
            let mut last = [b'\n'];
            if file.seek(SeekFrom::End(0))? > 0 {
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
            }
            let end = if last == [b'\n'] { "" } else { "\n" };
            file.write_all(format!("{end}{line}\n").as_bytes())
        };
        put().map_err(|error| self.say(name, error))
    }

    /// Removes lines from a file; returns how many.
    fn remove(&self, name: &str, gone: impl Fn(&str) -> bool) -> Result<usize, String> {
        let all = lines(&self.at(name)).map_err(|e| self.say(name, e))?;
        let kept: Vec<&String> = all.iter().filter(|line| !gone(line)).collect();
        let count = all.len() - kept.len();
        if count > 0 {
            let text = kept.iter().fold(String::new(), |text, line| text + line + "\n");
            let aside = self.at(&format!("{name}.{}", std::process::id()));
            let put = || -> io::Result<()> {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
                let file = crate::os::fs::open(&aside, flags, Mode::from_raw_mode(0o600))?;
                File::from(file).write_all(text.as_bytes())?;
                fs::rename(&aside, self.at(name))
            };
            put().map_err(|error| self.say(name, error))?;
        }
        Ok(count)
    }

    /// Looks up `key`, which `host` has answered with. A host is the line by which it is dialed; the same key
    /// seen under another line is found too.
    ///
    /// # Errors
    ///
    /// If the host had another key.
    pub fn look_up(&self, host: &str, key: &PublicKey) -> Result<Known, String> {
        let (mut other, mut elsewhere) = (None, Vec::new());
        for (at, known) in self.known()? {
            match (at.eq_ignore_ascii_case(host), known == *key) {
                (true, true) => return Ok(Known::Same),
                (true, false) => other = Some(known),
                (false, true) => elsewhere.push(at),
                (false, false) => {}
            }
        }
        if let Some(known) = other {
            let (old, new) = (known.fingerprint(), key.fingerprint());
            return Err(format!(
                "expected the known key {old} of {host}, got {new}: another host may be answering \
                 there; if the key has changed on purpose, wst key forget {host}"
            ));
        }
        Ok(if elsewhere.is_empty() { Known::New } else { Known::Elsewhere(elsewhere) })
    }

    /// Stores this as the key of the host.
    pub fn remember(&self, host: &str, key: &PublicKey) -> Result<(), String> {
        self.append("known-keys", &format!("{host} {key}"))
    }

    /// Removes the keys of a host; returns how many.
    pub fn forget(&self, host: &str) -> Result<usize, String> {
        self.remove("known-keys", |line| {
            words(line).is_some_and(|(at, _)| at.eq_ignore_ascii_case(host))
        })
    }

    /// Whether this key may send to our listener.
    pub fn may_enter(&self, key: &PublicKey) -> Result<bool, String> {
        Ok(self.authorized()?.iter().any(|(known, _)| known == key))
    }

    /// The authorized keys, with their names.
    pub fn authorized(&self) -> Result<Vec<(PublicKey, String)>, String> {
        const NAME: &str = "authorized-keys";
        let all = lines(&self.at(NAME)).map_err(|e| self.say(NAME, e))?;
        let mut keys = Vec::new();
        for (key, name) in all.iter().filter_map(|line| words(line)) {
            keys.push((key.parse().map_err(|e| self.say(NAME, e))?, name.to_owned()));
        }
        Ok(keys)
    }

    /// The known hosts, with their keys.
    pub fn known(&self) -> Result<Vec<(String, PublicKey)>, String> {
        const NAME: &str = "known-keys";
        let all = lines(&self.at(NAME)).map_err(|e| self.say(NAME, e))?;
        let mut hosts = Vec::new();
        for (host, key) in all.iter().filter_map(|line| words(line)) {
            hosts.push((host.to_owned(), key.parse().map_err(|e| self.say(NAME, e))?));
        }
        Ok(hosts)
    }

    /// Authorizes a key; false if it was already authorized.
    pub fn authorize(&self, key: &PublicKey, name: &str) -> Result<bool, String> {
        if self.may_enter(key)? {
            return Ok(false);
        }
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        self.append("authorized-keys", format!("{key} {name}").trim_end())?;
        Ok(true)
    }

    /// Revokes a key; false if it was not authorized.
    pub fn revoke(&self, key: &PublicKey) -> Result<bool, String> {
        let gone = |line: &str| words(line).is_some_and(|(word, _)| word.parse() == Ok(*key));
        Ok(self.remove("authorized-keys", gone)? > 0)
    }
}

/// A new key pair.
fn generate() -> Result<Identity, String> {
    let make = || {
        let name = "Noise_XX_25519_ChaChaPoly_SHA256";
        Builder::new(name.parse()?).generate_keypair()
    };
    let pair = make()
        .map_err(|error: snow::Error| format!("could not make a key: {}", in_words(&error)))?;
    let half = |bytes: &[u8]| -> Result<[u8; KEY_LEN], String> {
        bytes.try_into().map_err(|_| "expected a key of 32 bytes".to_owned())
    };
    Ok(Identity { private: half(&pair.private)?, public: PublicKey(half(&pair.public)?) })
}
