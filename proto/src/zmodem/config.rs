//! The configuration of the two ZMODEM engines, and its rows in the table of settings.

use super::escape::{Dropping, Escaping};
use super::info::Conversion;
use super::link::MAX_NAME;
use super::packet::{capability, subpacket_room};
use crate::file::Wish;
use crate::line::LineFacts;
use crate::settings::{BadSetting, Range, Setting, Settings};
use core::fmt;

/// What a receiver does with a command for its operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Commands {
    /// Answers that it failed.
    #[default]
    Refuse,
    /// Shows it to the person and answers that it was done.
    Announce,
    /// Shows it, and asks the store to run it ([`Request::Run`](crate::file::Request::Run)); answers
    /// what came of it. The sender of the files is then master of this machine.
    Run,
}

/// The bytes that a sender asks to be interrupted with (ZSINIT), at most 31.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attention {
    bytes: [u8; 32],
    len: u8,
}

impl Attention {
    /// None.
    pub const NONE: Self = Self { bytes: [0; 32], len: 0 };
    /// Stands for a break.
    pub const BREAK: u8 = 0xDD;
    /// Stands for a pause of a second.
    pub const PAUSE: u8 = 0xDE;

    /// The bytes up to the first NUL, at most 31.
    pub fn new(bytes: &[u8]) -> Self {
        let len = bytes.iter().take(31).take_while(|byte| **byte != 0).count();
        let mut attention = Self { len: len as u8, ..Self::NONE };
        attention.bytes[..len].copy_from_slice(&bytes[..len]);
        attention
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The bytes with the NUL that ends them.
    pub fn with_nul(&self) -> &[u8] {
        &self.bytes[..=usize::from(self.len)]
    }
}

/// Everything that a person may choose, with the facts of the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The line.
    pub line: LineFacts,
    /// What is escaped. [`Escaping::Controls`] at a receiver asks the sender for it.
    pub escape: Escaping,
    /// Longest subpacket to send, 32..=8192; 0 is what partner and line suggest.
    pub send_length: u16,
    /// Longest subpacket to take, 1024..=8192.
    pub receive_length: u16,
    /// Fit the length of subpackets to the errors of the line.
    pub adapt_length: bool,
    /// CRC-32 where the partner can, else CRC-16.
    pub crc32: bool,
    /// Bytes that may be under way without acknowledgement; 0 is no bound where the rate of the line
    /// is known, else what the acknowledgements show that the line holds.
    pub window: u32,
    /// Receiver: bytes the sender may send before it must wait for an acknowledgement; 0 is no
    /// bound.
    pub receive_buffer: u16,
    /// Run-length coding where both ends want it.
    pub rle: bool,
    /// Headers of variable length where both ends want it.
    pub variable_headers: bool,
    /// Sender: what to tell about the bytes of a binary file: `Unsaid` or `Binary`.
    pub conversion: Conversion,
    /// Sender: what to wish about a file that exists.
    pub wish: Wish,
    /// Sender: skip files that the receiver does not have.
    pub skip_if_absent: bool,
    /// Receiver: store the bytes as they come, whatever the sender says of line ends.
    pub receive_binary: bool,
    /// Receiver: offer to resume whatever the sender says.
    pub resume: bool,
    /// Receiver: compare what is here with the sender's CRC before it is continued.
    pub resume_check: bool,
    /// Sender: begin with `rz` and CR, which starts a receiver at a prompt.
    pub autostart: bool,
    /// Sender: how the receiver is to interrupt us.
    pub attention: Attention,
    /// Receiver: a number the sender must give back before anything else; 0 is none.
    pub challenge: u32,
    /// Receiver: what to answer when asked for free space; 0 is no bound.
    pub free_bytes: u32,
    /// Receiver: what to do with commands.
    pub commands: Commands,
    /// Receiver: most files of one batch.
    pub max_files: u32,
    /// Longest wait for an answer before it is asked for again, in seconds.
    pub timeout_s: u8,
    /// Silence after which the transfer fails, in seconds.
    pub patience_s: u16,
    /// Faults in a row, without any progress, after which the transfer fails.
    pub retries: u8,
    /// How long a receiver waits for the sender's last word, in milliseconds.
    pub linger_ms: u16,
    /// Bytes of file data kept between the engine and its store.
    pub buffer_len: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            line: LineFacts::default(),
            escape: Escaping::Normal,
            send_length: 0,
            receive_length: 8192,
            adapt_length: true,
            crc32: true,
            window: 0,
            receive_buffer: 0,
            rle: false,
            variable_headers: false,
            conversion: Conversion::Binary,
            wish: Wish::Unsaid,
            skip_if_absent: false,
            receive_binary: false,
            resume: false,
            resume_check: true,
            autostart: true,
            attention: Attention::NONE,
            challenge: 0,
            free_bytes: 0,
            commands: Commands::Refuse,
            max_files: 100_000,
            timeout_s: 10,
            patience_s: 60,
            retries: 20,
            linger_ms: 1000,
            buffer_len: 128 * 1024,
        }
    }
}

/// Longest subpacket that anybody sends (ZedZap).
pub(crate) const LONGEST: usize = 8192;
/// Longest subpacket of the standard.
pub(crate) const STANDARD: usize = 1024;
/// Bytes a receiver needs behind the longest subpacket while it undoes escapes.
const SCRATCH: usize = 128;

impl Config {
    /// What a receiver passes over in binary frames.
    pub(crate) fn dropping(&self) -> Dropping {
        match self.escape {
            Escaping::Controls => Dropping::Controls,
            Escaping::Normal | Escaping::Turbo => Dropping::FlowControl,
            Escaping::Zdle => Dropping::Nothing,
        }
    }

    /// The longest subpacket that this sender may ever send.
    pub(crate) fn longest_sent(&self) -> usize {
        match self.send_length {
            0 => LONGEST,
            len => usize::from(len).clamp(32, LONGEST),
        }
    }

    /// The longest subpacket for a line of this rate: an error is found at its end, which must not
    /// be long in coming.
    pub(crate) fn fits_line(&self) -> usize {
        match (self.line.reliable, self.line.rate_bps) {
            (Some(true), _) | (None, 0) => LONGEST,
            (Some(false), 0) => STANDARD,
            // One second.
            (_, rate) => (rate as usize / 10).clamp(256, LONGEST) & !15,
        }
    }

    /// The longest subpacket that this receiver takes.
    pub(crate) fn longest_taken(&self) -> usize {
        usize::from(self.receive_length).clamp(STANDARD, LONGEST)
    }

    /// Bytes to keep queued towards the port: what the line carries in a few milliseconds, so that
    /// a change of position or a cancel does not wait behind kilobytes.
    pub(crate) fn output_chunk(&self) -> usize {
        match self.line.rate_bps {
            0 => usize::MAX,
            // 20 ms of line.
            rate => (rate as usize / 10 / 50).max(1),
        }
    }

    /// Bytes of a sender's file buffer.
    pub(crate) fn source_len(&self) -> usize {
        // One byte more than a subpacket tells whether it is the last.
        self.buffer_len.max(self.longest_sent() + 1)
    }

    /// Bytes of a sender's queue towards the port.
    pub(crate) fn sender_queue(&self) -> usize {
        let one = subpacket_room(self.longest_sent().max(MAX_NAME + super::info::ROOM)) + 128;
        self.buffer_len.clamp(one, one.max(128 * 1024))
    }

    /// Bytes of a receiver's queue: headers only.
    pub(crate) const fn receiver_queue() -> usize {
        512
    }

    /// Bytes of a receiver's file buffer.
    pub(crate) fn sink_len(&self) -> usize {
        self.buffer_len.max(self.longest_taken() + SCRATCH)
    }

    /// Bytes of run-coded data that wait to be decoded.
    pub(crate) fn hold_len(&self) -> usize {
        if self.rle { self.longest_taken() + SCRATCH } else { 0 }
    }

    /// Bytes of memory a sender of this configuration lives in.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 4] {
        [self.source_len(), self.sender_queue(), self.coded_len(), MAX_NAME]
    }

    /// Bytes of one run-coded subpacket.
    pub(crate) fn coded_len(&self) -> usize {
        if self.rle { self.longest_sent() } else { 0 }
    }

    /// Bytes of memory a receiver of this configuration lives in.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn receiver_lengths(&self) -> [usize; 4] {
        [self.sink_len(), Self::receiver_queue(), self.hold_len(), MAX_NAME]
    }

    /// The data bytes of ZRINIT.
    pub(crate) fn receiver_init(&self) -> [u8; 4] {
        let mut can = capability::CANFDX | capability::CANOVIO;
        let mut set = |bit: u8, on: bool| can |= if on { bit } else { 0 };
        set(capability::CANFC32, self.crc32);
        set(capability::CANRLE, self.rle);
        set(capability::ESCCTL, self.escape == Escaping::Controls);
        let mut more = if self.longest_taken() == LONGEST { capability::OWN_LONG } else { 0 };
        more |= if self.variable_headers { capability::CANVHDR } else { 0 };
        let [low, high] = self.receive_buffer.to_le_bytes();
        [low, high, more, can]
    }
}

const ON_OFF: Range = Range::Word(&["on", "off"]);

/// The rows of the table. The order is the order in which they are shown.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "zmodem.escape",
        range: Range::Word(&["normal", "controls", "turbo", "zdle"]),
        default: "normal",
        unit: "",
        doc: "What is escaped: flow control and CR after @, all control characters, flow control only, nothing but the escape itself",
        source: "[Z88] ESCCTL; sz -e, sz -E; DirZap",
    },
    Setting {
        name: "zmodem.send-length",
        range: Range::Number(0, 8192),
        default: "0",
        unit: "bytes",
        doc: "Longest data subpacket to send; 0 goes by the partner (1024 unless it is a Wetstring) and the line",
        source: "[Z88]; 8192 is ZedZap's",
    },
    Setting {
        name: "zmodem.receive-length",
        range: Range::Number(1024, 8192),
        default: "8192",
        unit: "bytes",
        doc: "Longest data subpacket to take",
        source: "ZedZap",
    },
    Setting {
        name: "zmodem.adapt-length",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Fit the length of data subpackets to the errors of the line",
        source: "docs/decisions/031",
    },
    Setting {
        name: "zmodem.crc32",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Use CRC-32 where the partner can",
        source: "[Z88] CANFC32",
    },
    Setting {
        name: "zmodem.window",
        range: Range::Number(0, 4_000_000),
        default: "0",
        unit: "bytes",
        doc: "Bytes that may be under way without acknowledgement; 0 leaves it to the line",
        source: "sz -w",
    },
    Setting {
        name: "zmodem.receive-buffer",
        range: Range::Number(0, 65535),
        default: "0",
        unit: "bytes",
        doc: "Bytes the sender may send before it waits for an acknowledgement; 0 is no bound",
        source: "[Z88] ZRINIT buffer length",
    },
    Setting {
        name: "zmodem.rle",
        range: ON_OFF,
        default: "off",
        unit: "",
        doc: "Code runs of equal bytes if the partner offers it too",
        source: "Omen rz/sz 2002",
    },
    Setting {
        name: "zmodem.variable-headers",
        range: ON_OFF,
        default: "off",
        unit: "",
        doc: "Use headers of variable length if the partner offers it too",
        source: "Omen rz/sz 2002",
    },
    Setting {
        name: "zmodem.conversion",
        range: Range::Word(&["unsaid", "binary"]),
        default: "binary",
        unit: "",
        doc: "What the receiver is told of a binary file: nothing, or to leave its bytes alone",
        source: "[Z88] ZCBIN",
    },
    Setting {
        name: "zmodem.wish",
        range: Range::Word(&[
            "unsaid",
            "newer-or-longer",
            "different-check",
            "append",
            "overwrite",
            "newer",
            "different",
            "protect",
            "rename",
        ]),
        default: "unsaid",
        unit: "",
        doc: "What the sender wishes about a file that the receiver has",
        source: "[Z88] ZMNEWL, ZMCRC, ZMAPND, ZMCLOB, ZMNEW, ZMDIFF, ZMPROT, ZMCHNG",
    },
    Setting {
        name: "zmodem.skip-if-absent",
        range: ON_OFF,
        default: "off",
        unit: "",
        doc: "Send only files that the receiver has already",
        source: "[Z88] ZMSKNOLOC",
    },
    Setting {
        name: "zmodem.receive-binary",
        range: ON_OFF,
        default: "off",
        unit: "",
        doc: "Receiver: store the bytes as they come, whatever the sender says of line ends",
        source: "[Z88] ZCNL; rz -b",
    },
    Setting {
        name: "zmodem.resume",
        range: ON_OFF,
        default: "off",
        unit: "",
        doc: "Receiver: continue files that are here in part, whatever the sender says",
        source: "rz -r",
    },
    Setting {
        name: "zmodem.resume-check",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Receiver: ask for a CRC of what is here in part before it is continued; not all senders know how",
        source: "docs/decisions/030; off: rz -r",
    },
    Setting {
        name: "zmodem.autostart",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Begin with `rz` and CR, which starts a receiver at a prompt",
        source: "[Z88] 8.1",
    },
    Setting {
        name: "zmodem.challenge",
        range: Range::Number(0, 0xFFFF_FFFF),
        default: "0",
        unit: "",
        doc: "A number that the sender must give back before anything else; 0 is none",
        source: "[Z88] ZCHALLENGE",
    },
    Setting {
        name: "zmodem.free",
        range: Range::Number(0, 0xFFFF_FFFF),
        default: "0",
        unit: "bytes",
        doc: "What a receiver answers when asked for free space; 0 is no bound",
        source: "[Z88] ZFREECNT",
    },
    Setting {
        name: "zmodem.commands",
        range: Range::Word(&["refuse", "announce", "run"]),
        default: "refuse",
        unit: "",
        doc: "What a receiver does with a command: nothing, show it, or run it, which makes the sender master of this machine",
        source: "[Z88] ZCOMMAND",
    },
    Setting {
        name: "zmodem.max-files",
        range: Range::Number(1, 0xFFFF_FFFF),
        default: "100000",
        unit: "files",
        doc: "Most files a receiver takes in one batch",
        source: "docs/decisions/030",
    },
    Setting {
        name: "zmodem.timeout",
        range: Range::Number(1, 60),
        default: "10",
        unit: "seconds",
        doc: "Longest wait for an answer before it is asked for again",
        source: "[Z88]",
    },
    Setting {
        name: "zmodem.patience",
        range: Range::Number(1, 3600),
        default: "60",
        unit: "seconds",
        doc: "Silence after which the transfer fails",
        source: "sz",
    },
    Setting {
        name: "zmodem.retries",
        range: Range::Number(1, 255),
        default: "20",
        unit: "",
        doc: "Faults in a row, without any progress, after which the transfer fails",
        source: "rz",
    },
    Setting {
        name: "zmodem.linger",
        range: Range::Number(0, 60000),
        default: "1000",
        unit: "milliseconds",
        doc: "How long a receiver waits for the sender's last word",
        source: "docs/decisions/030",
    },
    Setting {
        name: "zmodem.buffer",
        range: Range::Number(1024, 1_048_576),
        default: "131072",
        unit: "bytes",
        doc: "File data kept between the engine and its store",
        source: "docs/decisions/001",
    },
];

/// The word of each value, once, for both directions.
const ESCAPES: &[(&str, Escaping)] = &[
    ("normal", Escaping::Normal),
    ("controls", Escaping::Controls),
    ("turbo", Escaping::Turbo),
    ("zdle", Escaping::Zdle),
];
const CONVERSIONS: &[(&str, Conversion)] =
    &[("unsaid", Conversion::Unsaid), ("binary", Conversion::Binary)];
const WISHES: &[(&str, Wish)] = &[
    ("unsaid", Wish::Unsaid),
    ("newer-or-longer", Wish::NewerOrLonger),
    ("different-check", Wish::DifferentCheck),
    ("append", Wish::Append),
    ("overwrite", Wish::Overwrite),
    ("newer", Wish::Newer),
    ("different", Wish::Different),
    ("protect", Wish::Protect),
    ("rename", Wish::Rename),
];
const COMMANDS: &[(&str, Commands)] =
    &[("refuse", Commands::Refuse), ("announce", Commands::Announce), ("run", Commands::Run)];
const TRUTHS: &[(&str, bool)] = &[("on", true), ("off", false)];

fn value_of<T: Copy>(words: &[(&str, T)], value: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == value).map(|(_, v)| *v)
}

fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, v)| *v == value).map_or("", |(word, _)| *word)
}

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
        let truth = || value_of(TRUTHS, value);
        // Each arm gives `None` for a value outside the row's range.
        let done = match name {
            "zmodem.escape" => value_of(ESCAPES, value).map(|v| self.escape = v),
            "zmodem.send-length" => {
                number().filter(|v| *v == 0 || *v >= 32).map(|v| self.send_length = v as u16)
            }
            "zmodem.receive-length" => number().map(|v| self.receive_length = v as u16),
            "zmodem.adapt-length" => truth().map(|v| self.adapt_length = v),
            "zmodem.crc32" => truth().map(|v| self.crc32 = v),
            "zmodem.window" => number().map(|v| self.window = v as u32),
            "zmodem.receive-buffer" => number().map(|v| self.receive_buffer = v as u16),
            "zmodem.rle" => truth().map(|v| self.rle = v),
            "zmodem.variable-headers" => truth().map(|v| self.variable_headers = v),
            "zmodem.conversion" => value_of(CONVERSIONS, value).map(|v| self.conversion = v),
            "zmodem.wish" => value_of(WISHES, value).map(|v| self.wish = v),
            "zmodem.skip-if-absent" => truth().map(|v| self.skip_if_absent = v),
            "zmodem.receive-binary" => truth().map(|v| self.receive_binary = v),
            "zmodem.resume" => truth().map(|v| self.resume = v),
            "zmodem.resume-check" => truth().map(|v| self.resume_check = v),
            "zmodem.autostart" => truth().map(|v| self.autostart = v),
            "zmodem.challenge" => number().map(|v| self.challenge = v as u32),
            "zmodem.free" => number().map(|v| self.free_bytes = v as u32),
            "zmodem.commands" => value_of(COMMANDS, value).map(|v| self.commands = v),
            "zmodem.max-files" => number().map(|v| self.max_files = v as u32),
            "zmodem.timeout" => number().map(|v| self.timeout_s = v as u8),
            "zmodem.patience" => number().map(|v| self.patience_s = v as u16),
            "zmodem.retries" => number().map(|v| self.retries = v as u8),
            "zmodem.linger" => number().map(|v| self.linger_ms = v as u16),
            "zmodem.buffer" => number().map(|v| self.buffer_len = v as usize),
            _ => None,
        };
        done.ok_or(BadSetting::Value(setting))
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let truth = |on: bool| word_of(TRUTHS, on);
        match name {
            "zmodem.escape" => out.write_str(word_of(ESCAPES, self.escape)),
            "zmodem.send-length" => write!(out, "{}", self.send_length),
            "zmodem.receive-length" => write!(out, "{}", self.receive_length),
            "zmodem.adapt-length" => out.write_str(truth(self.adapt_length)),
            "zmodem.crc32" => out.write_str(truth(self.crc32)),
            "zmodem.window" => write!(out, "{}", self.window),
            "zmodem.receive-buffer" => write!(out, "{}", self.receive_buffer),
            "zmodem.rle" => out.write_str(truth(self.rle)),
            "zmodem.variable-headers" => out.write_str(truth(self.variable_headers)),
            "zmodem.conversion" => out.write_str(word_of(CONVERSIONS, self.conversion)),
            "zmodem.wish" => out.write_str(word_of(WISHES, self.wish)),
            "zmodem.skip-if-absent" => out.write_str(truth(self.skip_if_absent)),
            "zmodem.receive-binary" => out.write_str(truth(self.receive_binary)),
            "zmodem.resume" => out.write_str(truth(self.resume)),
            "zmodem.resume-check" => out.write_str(truth(self.resume_check)),
            "zmodem.autostart" => out.write_str(truth(self.autostart)),
            "zmodem.challenge" => write!(out, "{}", self.challenge),
            "zmodem.free" => write!(out, "{}", self.free_bytes),
            "zmodem.commands" => out.write_str(word_of(COMMANDS, self.commands)),
            "zmodem.max-files" => write!(out, "{}", self.max_files),
            "zmodem.timeout" => write!(out, "{}", self.timeout_s),
            "zmodem.patience" => write!(out, "{}", self.patience_s),
            "zmodem.retries" => write!(out, "{}", self.retries),
            "zmodem.linger" => write!(out, "{}", self.linger_ms),
            "zmodem.buffer" => write!(out, "{}", self.buffer_len),
            _ => Err(fmt::Error),
        }
    }
}
