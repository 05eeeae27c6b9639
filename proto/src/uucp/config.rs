//! The configuration of the UUCP engines, and its rows in the table of settings.

use super::frame::{HEADER, LONGEST, SHORTEST};
use crate::line::LineFacts;
use crate::settings::{BadSetting, Range, Setting, Settings};
use crate::time::Duration;
use core::fmt;

/// Bytes of a command or of a message, its zero included: longer ones are an error.
pub(crate) const TEXT: usize = 2048;
/// Bytes of a file's name.
pub(crate) const NAME: usize = 1024;
/// Packets that a receiver, which only sends short commands, may have under way.
const REPLIES: usize = 2;
/// The size that every implementation knows.
const USUAL: usize = 64;

/// Who begins the conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// The sender calls, the receiver answers.
    #[default]
    Auto,
    /// This end calls: it says its name and has the first turn as master.
    Call,
    /// This end is called.
    Answer,
}

/// The name of a system: 1 to 32 letters, digits, points, hyphens and underscores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemName {
    bytes: [u8; 32],
    len: usize,
}

impl SystemName {
    /// A name; `None` if it is too long or has something else in it.
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

impl fmt::Debug for SystemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Everything that a person may choose, with the facts of the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The line.
    pub line: LineFacts,
    /// Who begins.
    pub role: Role,
    /// What this system calls itself.
    pub name: SystemName,
    /// Packets that may be under way: the other end is told so, and has its own say for ours.
    pub window: u8,
    /// Bytes of a data field: the other end is told so, and has its own say for ours. A power of two.
    pub packet: usize,
    /// Longest wait for a packet or an acknowledgement, in seconds.
    pub timeout_s: u16,
    /// How often one packet may fail.
    pub retries: u8,
    /// How long to wait for the partner to begin, in seconds.
    pub patience_s: u16,
    /// How long to stay for the partner's last words, in milliseconds.
    pub linger_ms: u16,
    /// Bytes of file data kept between the engine and its store.
    pub buffer_len: usize,
    /// A sender takes what the other end has for it, too. Its store then receives as well. No row of
    /// the table: it follows from what the engine is used for.
    pub takes: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            line: LineFacts::default(),
            role: Role::Auto,
            name: SystemName::default(),
            window: 7,
            packet: 1024,
            timeout_s: 10,
            retries: 10,
            patience_s: 120,
            linger_ms: 4000,
            buffer_len: 64 * 1024,
            takes: false,
        }
    }
}

impl Config {
    /// The longest field that is received: 64 bytes in any case, for there are systems that know no
    /// other size, whatever they are told.
    pub(crate) fn field_len(&self) -> usize {
        self.packet.max(USUAL)
    }

    /// Bytes of the field of a packet with a receiver's command.
    pub(crate) fn reply_len(&self) -> usize {
        self.packet.min(USUAL)
    }

    /// Packets that a receiver may have under way.
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

    /// Bytes of memory a sender of this configuration lives in.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Bytes of memory a receiver of this configuration lives in.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(u64::from(self.timeout_s))
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.patience_s))
    }

    pub(crate) fn linger(&self) -> Duration {
        Duration::from_millis(u64::from(self.linger_ms))
    }
}

/// The rows of the table of settings.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "uucp.role",
        range: Range::Word(&["auto", "call", "answer"]),
        default: "auto",
        unit: "",
        doc: "Who begins: auto is a sender that calls and a receiver that answers",
        source: "[TUUCP] 6.5.1",
    },
    Setting {
        name: "uucp.name",
        range: Range::Text,
        default: "wetstring",
        unit: "",
        doc: "What this system calls itself: 1 to 32 letters, digits, points, hyphens and underscores",
        source: "[TUUCP] 6.5.1",
    },
    Setting {
        name: "uucp.window",
        range: Range::Number(1, 7),
        default: "7",
        unit: "packets",
        doc: "How many packets may be under way: what the other end is told, and the most that is sent",
        source: "[TUUCP] 6.6",
    },
    Setting {
        name: "uucp.packet",
        range: Range::Word(&["32", "64", "128", "256", "512", "1024", "2048", "4096"]),
        default: "1024",
        unit: "bytes",
        doc: "Length of a packet's data: what the other end is told, and the most that is sent; old systems know only 64, and the check of short packets is weak",
        source: "[TUUCP] 6.6; docs/decisions/061",
    },
    Setting {
        name: "uucp.timeout",
        range: Range::Number(1, 600),
        default: "10",
        unit: "seconds",
        doc: "Longest wait for a packet or an acknowledgement before it is asked for, or sent, again",
        source: "Taylor UUCP 1.07",
    },
    Setting {
        name: "uucp.retries",
        range: Range::Number(1, 94),
        default: "10",
        unit: "",
        doc: "How often one packet may fail before the transfer does",
        source: "Taylor UUCP 1.07, where it is 6",
    },
    Setting {
        name: "uucp.patience",
        range: Range::Number(1, 3600),
        default: "120",
        unit: "seconds",
        doc: "How long to wait for the partner to begin",
        source: "Taylor UUCP 1.07",
    },
    Setting {
        name: "uucp.linger",
        range: Range::Number(0, 60_000),
        default: "4000",
        unit: "milliseconds",
        doc: "How long to stay for the partner's last words",
        source: "docs/decisions/061",
    },
    Setting {
        name: "uucp.buffer",
        range: Range::Number(4096, 1_048_576),
        default: "65536",
        unit: "bytes",
        doc: "File data kept between the engine and its store",
        source: "docs/decisions/001",
    },
];

const ROLES: [(&str, Role); 3] =
    [("auto", Role::Auto), ("call", Role::Call), ("answer", Role::Answer)];

impl Settings for Config {
    fn table() -> &'static [Setting] {
        TABLE
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        let setting = TABLE.iter().find(|s| s.name == name).ok_or(BadSetting::Unknown)?;
        let number = || -> Option<u64> {
            let Range::Number(low, high) = setting.range else { return None };
            value.parse().ok().filter(|n| (low..=high).contains(n))
        };
        let size = || match setting.range {
            Range::Word(words) if words.contains(&value) => value.parse::<usize>().ok(),
            _ => None,
        };
        let role = ROLES.iter().find(|(word, _)| *word == value).map(|(_, role)| *role);
        // Each arm gives `None` for a value outside the row's range.
        let done = match name {
            "uucp.role" => role.map(|v| self.role = v),
            "uucp.name" => SystemName::new(value).map(|v| self.name = v),
            "uucp.window" => number().map(|v| self.window = v as u8),
            "uucp.packet" => {
                size().filter(|v| (SHORTEST..=LONGEST).contains(v)).map(|v| self.packet = v)
            }
            "uucp.timeout" => number().map(|v| self.timeout_s = v as u16),
            "uucp.retries" => number().map(|v| self.retries = v as u8),
            "uucp.patience" => number().map(|v| self.patience_s = v as u16),
            "uucp.linger" => number().map(|v| self.linger_ms = v as u16),
            "uucp.buffer" => number().map(|v| self.buffer_len = v as usize),
            _ => None,
        };
        done.ok_or(BadSetting::Value(setting))
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match name {
            "uucp.role" => {
                let role = ROLES.iter().find(|(_, role)| *role == self.role);
                out.write_str(role.map_or("", |(word, _)| *word))
            }
            "uucp.name" => out.write_str(self.name.as_str()),
            "uucp.window" => write!(out, "{}", self.window),
            "uucp.packet" => write!(out, "{}", self.packet),
            "uucp.timeout" => write!(out, "{}", self.timeout_s),
            "uucp.retries" => write!(out, "{}", self.retries),
            "uucp.patience" => write!(out, "{}", self.patience_s),
            "uucp.linger" => write!(out, "{}", self.linger_ms),
            "uucp.buffer" => write!(out, "{}", self.buffer_len),
            _ => Err(fmt::Error),
        }
    }
}
