//! Digests that a shell can take of a file.

use super::wire::Broken;
use crate::hex;
use md5::Md5;
use sha2::{Digest as _, Sha256};

/// A way to compare a file, the best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    /// SHA-256.
    Sha256,
    /// MD5.
    Md5,
    /// The CRC of POSIX, and the length.
    Cksum,
    /// The 16-bit sum of BSD.
    Sum,
}

/// A command at the shell, as the body of a function that reads stdin.
pub(super) struct Tool {
    /// Its name for messages.
    pub(super) name: &'static str,
    pub(super) check: Check,
    pub(super) body: &'static str,
}

/// What is looked for, in this order.
pub(super) const TOOLS: &[Tool] = &[
    Tool { name: "sha256sum", check: Check::Sha256, body: "sha256sum" },
    Tool { name: "openssl sha256", check: Check::Sha256, body: "openssl dgst -sha256" },
    Tool { name: "md5sum", check: Check::Md5, body: "md5sum" },
    Tool { name: "openssl md5", check: Check::Md5, body: "openssl dgst -md5" },
    Tool { name: "cksum", check: Check::Cksum, body: "cksum" },
    Tool { name: "sum", check: Check::Sum, body: "sum" },
];

/// A digest of what has passed so far.
pub(super) struct Digest {
    state: State,
    len: u64,
}

enum State {
    /// Only the length is compared.
    Length,
    Sha256(Box<Sha256>),
    Md5(Box<Md5>),
    Cksum(u32),
    Sum(u16),
}

impl Digest {
    /// Of nothing yet.
    pub(super) fn new(check: Option<Check>) -> Self {
        let state = match check {
            None => State::Length,
            Some(Check::Sha256) => State::Sha256(Box::default()),
            Some(Check::Md5) => State::Md5(Box::default()),
            Some(Check::Cksum) => State::Cksum(0),
            Some(Check::Sum) => State::Sum(0),
        };
        Self { state, len: 0 }
    }

    /// More bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Length => {}
            State::Sha256(state) => state.update(bytes),
            State::Md5(state) => state.update(bytes),
            State::Cksum(state) => *state = bytes.iter().fold(*state, |state, b| crc(state, *b)),
            State::Sum(state) => {
                let add = |sum: u16, b: &u8| sum.rotate_right(1).wrapping_add(u16::from(*b));
                *state = bytes.iter().fold(*state, add);
            }
        }
        self.len += bytes.len() as u64;
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// As the tool prints it.
    fn printed(&self) -> String {
        match &self.state {
            State::Length => self.len.to_string(),
            State::Sha256(state) => hex(&state.as_ref().clone().finalize()),
            State::Md5(state) => hex(&state.as_ref().clone().finalize()),
            State::Cksum(state) => {
                let (mut value, mut len) = (*state, self.len);
                while len > 0 {
                    value = crc(value, len as u8);
                    len >>= 8;
                }
                format!("{} {}", !value, self.len)
            }
            State::Sum(state) => format!("{state:05}"),
        }
    }

    /// Whether a tool has printed this digest.
    fn is(&self, said: &[u8]) -> bool {
        let said = String::from_utf8_lossy(said);
        let mut words = said.split_ascii_whitespace();
        match &self.state {
            State::Sha256(_) | State::Md5(_) => {
                let hex = self.printed();
                words.any(|word| word.eq_ignore_ascii_case(&hex))
            }
            State::Cksum(_) => words.take(2).collect::<Vec<_>>().join(" ") == self.printed(),
            State::Sum(state) => words.next().and_then(|word| word.parse().ok()) == Some(*state),
            State::Length => words.next().and_then(|word| word.parse().ok()) == Some(self.len),
        }
    }

    /// An error unless this is what the shell has of a file, by `tool` or by its length.
    pub(super) fn compare(&self, tool: Option<&Tool>, got: Vec<u8>) -> Result<(), Broken> {
        if self.is(&got) {
            return Ok(());
        }
        let check = tool.map_or("length", |tool| tool.name).to_owned();
        Err(Broken::Differs { check, expected: self.printed(), got })
    }
}

/// The tool that a shell has, by its digest of a known text.
pub(super) fn is_known(check: Check, said: &[u8]) -> bool {
    let mut digest = Digest::new(Some(check));
    digest.add(KNOWN);
    digest.is(said)
}

/// What `echo hi` prints.
const KNOWN: &[u8] = b"hi\n";

/// One step of the CRC of POSIX's cksum: the polynomial of Ethernet, not reflected.
fn crc(value: u32, byte: u8) -> u32 {
    let mut value = value ^ u32::from(byte) << 24;
    for _ in 0..8 {
        let carry = value & 0x8000_0000 != 0;
        value <<= 1;
        if carry {
            value ^= 0x04C1_1DB7;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What coreutils 9.1 print for these.
    #[test]
    fn digests_are_those_of_the_tools() {
        for (check, said) in [
            (Check::Sha256, "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4  -"),
            (
                Check::Sha256,
                "SHA2-256(stdin)= 98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4",
            ),
            (Check::Md5, "764efa883dda1e11db47671c4a3bbd9e  -"),
            (Check::Cksum, "1479881546 3"),
            (Check::Sum, "32856     1"),
        ] {
            assert!(is_known(check, said.as_bytes()), "{said}");
            assert!(!is_known(check, b""), "nothing is no digest");
            let mut other = Digest::new(Some(check));
            other.add(b"ho\n");
            assert!(!other.is(said.as_bytes()), "{said}, {}", other.printed());
        }
        assert_eq!(Digest::new(Some(Check::Cksum)).printed(), "4294967295 0");
    }
}
