//! The configuration of the engines, and its rows in the table of settings.

use super::ftp::{Form, Mode, Options, Structure, Text, Type};
use super::leader::Address;
use super::ncp::{self, Buffers};
use crate::settings::{BadSetting, Range, Setting, Settings};
use core::fmt;

/// Everything that a person may choose.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// The host's NCP.
    pub ncp: ncp::Config,
    /// The process.
    pub ftp: Options,
    /// The server's host.
    pub to: Address,
}

impl Config {
    /// Lengths of the parts of the memory: the NCP's, the process's.
    pub(crate) fn lengths(&self) -> [usize; 2] {
        [self.ncp.memory(), self.ftp.memory()]
    }

    /// Octets of memory that a sender of this configuration lives in.
    pub fn sender_memory(&self) -> usize {
        self.lengths().iter().sum()
    }

    /// Octets of memory that a receiver of this configuration lives in.
    pub fn receiver_memory(&self) -> usize {
        self.sender_memory()
    }
}

const SWITCH: &[&str] = &["off", "on"];

/// The rows of the table of settings.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "ncp.buffers",
        range: Range::Word(&["both", "small", "large"]),
        default: "both",
        unit: "",
        doc: "Output buffers: small ones are single packets, for people typing; large ones take the longest message, for files",
        source: "RFC 662",
    },
    Setting {
        name: "ncp.small",
        range: Range::Number(255, 968),
        default: "940",
        unit: "bits",
        doc: "Text that a small output buffer takes",
        source: "RFC 662",
    },
    Setting {
        name: "ncp.window",
        range: Range::Number(1, 8),
        default: "1",
        unit: "messages",
        doc: "Messages of a connection under way; with more than one, a message that is not delivered ends the connection",
        source: "RFC 660, 662",
    },
    Setting {
        name: "ncp.host-window",
        range: Range::Number(1, 8),
        default: "4",
        unit: "messages",
        doc: "Messages under way to one host: beyond 8 (4 until 1974) the IMP stops the interface",
        source: "RFC 660",
    },
    Setting {
        name: "ncp.buffer",
        range: Range::Number(1024, 1_048_576),
        default: "8192",
        unit: "octets",
        doc: "Kept for each connection; the other end is allowed as much",
        source: "docs/decisions/071",
    },
    Setting {
        name: "ncp.rfnm",
        range: Range::Number(1, 600),
        default: "30",
        unit: "seconds",
        doc: "How long a RFNM may take",
        source: "docs/decisions/071",
    },
    Setting {
        name: "ncp.retries",
        range: Range::Number(0, 100),
        default: "5",
        unit: "",
        doc: "How often a message is sent again that was not delivered",
        source: "docs/decisions/071",
    },
    Setting {
        name: "ncp.priority",
        range: Range::Word(SWITCH),
        default: "off",
        unit: "",
        doc: "What is typed, and what a server answers, carries the priority flag: IMPs send it before files",
        source: "BBN 1822",
    },
    Setting {
        name: "ncp.user",
        range: Range::Text,
        default: "anonymous",
        unit: "",
        doc: "USER for file transfer",
        source: "RFC 542",
    },
    Setting {
        name: "ncp.account",
        range: Range::Text,
        default: "",
        unit: "",
        doc: "ACCT for file transfer, where the server asks for it",
        source: "RFC 542",
    },
    Setting {
        name: "ncp.type",
        range: Range::Word(&["image", "ascii"]),
        default: "image",
        unit: "",
        doc: "TYPE for file transfer",
        source: "RFC 542",
    },
    Setting {
        name: "ncp.byte",
        range: Range::Number(1, 255),
        default: "8",
        unit: "bits",
        doc: "BYTE for file transfer: 36 is what machines with words of 36 bits want",
        source: "RFC 542",
    },
    Setting {
        name: "ncp.mode",
        range: Range::Word(&["stream", "block"]),
        default: "stream",
        unit: "",
        doc: "MODE for file transfer",
        source: "RFC 542",
    },
    Setting {
        name: "ncp.structure",
        range: Range::Word(&["file", "record"]),
        default: "file",
        unit: "",
        doc: "STRU for file transfer: records are lines",
        source: "RFC 542",
    },
    Setting {
        name: "ncp.timeout",
        range: Range::Number(1, 3600),
        default: "120",
        unit: "seconds",
        doc: "How long the other end's process may be silent",
        source: "docs/decisions/071",
    },
];

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
        let word = || match setting.range {
            Range::Word(words) => words.iter().position(|word| *word == value),
            _ => None,
        };
        let Form { kind, byte, mode, structure } = &mut self.ftp.form;
        // Each arm gives `None` for a value outside the row's range.
        let done = match name {
            "ncp.buffers" => word()
                .map(|v| self.ncp.buffers = [Buffers::Both, Buffers::Small, Buffers::Large][v]),
            "ncp.small" => number().map(|v| self.ncp.small_bits = v as u16),
            "ncp.window" => number().map(|v| self.ncp.window = v as u8),
            "ncp.host-window" => number().map(|v| self.ncp.host_window = v as u8),
            "ncp.buffer" => number().map(|v| self.ncp.buffer_len = v as usize),
            "ncp.rfnm" => number().map(|v| self.ncp.rfnm_s = v as u16),
            "ncp.retries" => number().map(|v| self.ncp.retries = v as u8),
            "ncp.priority" => word().map(|v| self.ncp.priority = v == 1),
            "ncp.user" => {
                Text::new(value.as_bytes()).filter(|v| *v != Text::EMPTY).map(|v| self.ftp.user = v)
            }
            "ncp.account" => Text::new(value.as_bytes()).map(|v| self.ftp.account = v),
            "ncp.type" => word().map(|v| *kind = [Type::Image, Type::Ascii][v]),
            "ncp.byte" => number().map(|v| *byte = v as u8),
            "ncp.mode" => word().map(|v| *mode = [Mode::Stream, Mode::Block][v]),
            "ncp.structure" => word().map(|v| *structure = [Structure::File, Structure::Record][v]),
            "ncp.timeout" => number().map(|v| self.ftp.timeout_s = v as u16),
            _ => None,
        };
        done.ok_or(BadSetting::Value(setting))
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let Form { kind, byte, mode, structure } = self.ftp.form;
        match name {
            "ncp.buffers" => out.write_str(match self.ncp.buffers {
                Buffers::Both => "both",
                Buffers::Small => "small",
                Buffers::Large => "large",
            }),
            "ncp.small" => write!(out, "{}", self.ncp.small_bits),
            "ncp.window" => write!(out, "{}", self.ncp.window),
            "ncp.host-window" => write!(out, "{}", self.ncp.host_window),
            "ncp.buffer" => write!(out, "{}", self.ncp.buffer_len),
            "ncp.rfnm" => write!(out, "{}", self.ncp.rfnm_s),
            "ncp.retries" => write!(out, "{}", self.ncp.retries),
            "ncp.priority" => out.write_str(SWITCH[usize::from(self.ncp.priority)]),
            "ncp.user" => self.ftp.user.show(out),
            "ncp.account" => self.ftp.account.show(out),
            "ncp.type" => out.write_str(if kind == Type::Ascii { "ascii" } else { "image" }),
            "ncp.byte" => write!(out, "{byte}"),
            "ncp.mode" => out.write_str(if mode == Mode::Block { "block" } else { "stream" }),
            "ncp.structure" => {
                out.write_str(if structure == Structure::Record { "record" } else { "file" })
            }
            "ncp.timeout" => write!(out, "{}", self.ftp.timeout_s),
            _ => Err(fmt::Error),
        }
    }
}

impl<const N: usize> Text<N> {
    fn show(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(core::str::from_utf8(self.as_bytes()).unwrap_or_default())
    }
}
