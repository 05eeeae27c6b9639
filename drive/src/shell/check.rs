//! Digests that a shell can take of a file.

use md5::Md5;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A way to compare a file, the best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
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

/// All of them over what has passed so far.
#[derive(Clone, Default)]
pub struct Digest {
    sha256: Sha256,
    md5: Md5,
    crc: u32,
    sum: u16,
    len: u64,
}

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut digest = Self::default();
        digest.add(bytes);
        digest
    }

    /// More bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        self.md5.update(bytes);
        for byte in bytes {
            self.crc = crc(self.crc, *byte);
            self.sum = self.sum.rotate_right(1).wrapping_add(u16::from(*byte));
        }
        self.len += bytes.len() as u64;
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// As the tool prints it.
    pub fn by(&self, check: Check) -> String {
        match check {
            Check::Sha256 => hex(&self.sha256.clone().finalize()),
            Check::Md5 => hex(&self.md5.clone().finalize()),
            Check::Cksum => {
                let (mut value, mut len) = (self.crc, self.len);
                while len > 0 {
                    value = crc(value, len as u8);
                    len >>= 8;
                }
                format!("{} {}", !value, self.len)
            }
            Check::Sum => format!("{:05}", self.sum),
        }
    }

    /// Whether a tool has printed this digest.
    pub fn is(&self, check: Check, said: &[u8]) -> bool {
        let said = String::from_utf8_lossy(said);
        let mut words = said.split_ascii_whitespace();
        match check {
            Check::Sha256 | Check::Md5 => {
                let hex = self.by(check);
                words.any(|word| word.eq_ignore_ascii_case(&hex))
            }
            Check::Cksum => words.take(2).collect::<Vec<_>>().join(" ") == self.by(check),
            Check::Sum => words.next().and_then(|word| word.parse().ok()) == Some(self.sum),
        }
    }
}

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
        let digest = Digest::of(b"hi\n");
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
            assert!(digest.is(check, said.as_bytes()), "{said}, ours {}", digest.by(check));
            assert!(!Digest::of(b"ho\n").is(check, said.as_bytes()), "{said}");
            assert!(!digest.is(check, b""), "nothing is no digest");
        }
        assert_eq!(Digest::default().by(Check::Cksum), "4294967295 0");
    }
}
