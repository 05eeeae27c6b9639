//! The configuration of the UUCP engines.

use super::frame::HEADER;
use crate::line::LineFacts;
use crate::settings::{AsText, Range};
use crate::time::Span;
use core::fmt;

/// Longest command or message in bytes, its NUL included; longer ones are an error.
pub(crate) const TEXT: usize = 2048;
/// Bytes of a file's name.
pub(crate) const NAME: usize = 1024;
/// Packets in flight of a receiver, which sends only short commands.
const REPLIES: usize = 2;
/// The size that every implementation supports.
const USUAL: usize = 64;

crate::choice! {
    /// Which end calls.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Role {
        /// The sender calls, the receiver answers.
        #[default]
        Auto = "auto",
        /// This end calls: it sends its name and is master first.
        Call = "call",
        /// This end is called.
        Answer = "answer",
    }
}

/// The name of a system: 1 to 32 letters, digits, points, hyphens and underscores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemName {
    bytes: [u8; 32],
    len: usize,
}

impl SystemName {
    /// A name; `None` if it is too long or has other characters.
    pub fn new(name: &str) -> Option<Self> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let mut bytes = [0; 32];
        let room = bytes.get_mut(..name.len()).filter(|room| !room.is_empty())?;
        room.copy_from_slice(name.as_bytes());
        name.bytes().all(good).then_some(Self { bytes, len: name.len() })
    }

    /// Its letters.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Default for SystemName {
    fn default() -> Self {
        let mut bytes = [0; 32];
        bytes[..9].copy_from_slice(b"wetstring");
        Self { bytes, len: 9 }
    }
}

impl AsText for SystemName {
    fn parse(text: &str) -> Option<Self> {
        Self::new(text)
    }

    fn show(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl fmt::Debug for SystemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

crate::settings! {
    /// All settings, with the facts of the line.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Config {
        "uucp.role" role: Role[word] = "auto",
            "Who begins: auto is a sender that calls and a receiver that answers",
            "[TUUCP] 6.5.1";
        "uucp.name" name: SystemName[text Range::Text, SystemName::default()] = "wetstring",
            "Name of this system: 1 to 32 letters, digits, points, hyphens and underscores",
            "[TUUCP] 6.5.1";
        "uucp.window" window: u8[1..=7 "packets"] = 7,
            "Window in packets: what is announced to the peer, and the most to send",
            "[TUUCP] 6.6";
        "uucp.packet" packet: usize[32 | 64 | 128 | 256 | 512 | 1024 | 2048 | 4096 "bytes"] = 1024,
            "Data length of a packet: what is announced to the peer, and the most to send; old systems support only 64, and the check of short packets is weak",
            "[TUUCP] 6.6";
        "uucp.timeout" timeout: Span[1..=600 seconds] = 10,
            "Timeout for a packet or an acknowledgement",
            "Taylor UUCP 1.07";
        "uucp.retries" retries: u8[1..=94] = 10,
            "Retry limit of a packet",
            "Taylor UUCP 1.07, where it is 6";
        "uucp.patience" patience: Span[1..=3600 seconds] = 120,
            "Longest wait for the peer to start",
            "Taylor UUCP 1.07";
        "uucp.linger" linger: Span[0..=60_000 milliseconds] = 4000,
            "How long to linger for the peer's last packets",
            "Wetstring: the peer's last packets may be lost";
        "uucp.buffer" buffer_len: usize[4096..=1_048_576 "bytes"] = 65_536,
            "Buffer for file data between the engine and its store",
            "Wetstring: memory of an engine is fixed when it starts", no_flag;
    }
    also {
        /// The line.
        line: LineFacts = LineFacts::default(),
        /// A sender also receives the peer's files. Its store then receives as well. Not a
        /// setting: it follows from the engine's use.
        takes: bool = false,
    }
}

impl Config {
    /// The longest field received: at least 64 bytes, because some systems use no other
    /// size, whatever is announced.
    pub(crate) fn field_len(&self) -> usize {
        self.packet.max(USUAL)
    }

    /// Bytes of the field of a packet with a receiver's command.
    pub(crate) fn reply_len(&self) -> usize {
        self.packet.min(USUAL)
    }

    /// Packets that a receiver may have in flight.
    pub(crate) fn reply_slots(&self) -> usize {
        usize::from(self.window).min(REPLIES)
    }

    /// Lengths of the parts of a sender's memory: file, packets out, field in, text in, text out,
    /// name.
    pub(crate) fn sender_lengths(&self) -> [usize; 6] {
        let out = usize::from(self.window) * (HEADER + self.packet);
        [self.buffer_len.max(self.field_len()), out, self.field_len(), TEXT, TEXT, NAME]
    }

    /// Lengths of the parts of a receiver's memory, in the same order.
    pub(crate) fn receiver_lengths(&self) -> [usize; 6] {
        let out = self.reply_slots() * (HEADER + self.reply_len());
        [self.buffer_len.max(self.field_len()), out, self.field_len(), TEXT, 256, NAME]
    }

    /// Bytes of memory that a sender of this configuration needs.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Bytes of memory that a receiver of this configuration needs.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }
}
