//! The configuration of the X/YMODEM engines, and its rows in the table of settings.

use super::frame::{Check, LONG, SHORT, WANT_CRC, WANT_STREAM};
use crate::line::LineFacts;
use crate::settings::{BadSetting, Range, Setting, Settings};
use core::fmt;

/// Which of the family. A sender obeys the receiver's wish for checksum, CRC or stream whatever
/// its own variant; the variant says whether there is a block 0 and how long blocks are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Variant {
    /// One file, blocks of 128 bytes; as a receiver, checksums.
    Xmodem,
    /// One file, blocks of 128 bytes; as a receiver, CRCs, and checksums if nobody answers.
    XmodemCrc,
    /// One file, blocks of 1024 bytes; as a receiver like `XmodemCrc`.
    Xmodem1k,
    /// Several files with name, length, time and mode; blocks of 1024 bytes, CRCs.
    #[default]
    Ymodem,
    /// The same; as a receiver, without acknowledgements: for lines that lose nothing.
    YmodemG,
}

impl Variant {
    /// Whether there is a block 0.
    pub const fn is_batch(self) -> bool {
        matches!(self, Self::Ymodem | Self::YmodemG)
    }
}

/// What a receiver does with the first EOT, which may be a byte that noise made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FirstEot {
    /// Takes it if it confirms the announced length, else answers NAK and takes the second.
    #[default]
    Auto,
    /// Answers NAK, takes the second (\[XY88\] figures 3 to 5).
    Nak,
    /// Takes it if nothing follows for a second (as lrzsz does).
    Wait,
}

/// Everything that a person may choose, with the facts of the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The line.
    pub line: LineFacts,
    /// Which of the family.
    pub variant: Variant,
    /// Data bytes of a block to send: 128 or 1024; `None` goes by the variant, and in YMODEM by
    /// the receiver too: one that asks for checksums gets 128.
    pub block: Option<u16>,
    /// Send shorter blocks for a while after a long one was damaged.
    pub adapt_block: bool,
    /// How often one block may fail.
    pub retries: u8,
    /// How often `C` is sent before the receiver falls back to NAK and checksums; 0 is never.
    pub starts: u8,
    /// Time between start characters, in milliseconds.
    pub start_wait_ms: u16,
    /// A receiver's longest wait for a block before it asks for it, in seconds.
    pub timeout_s: u16,
    /// A sender's wait for an answer before it sends the block again, in seconds.
    pub answer_timeout_s: u16,
    /// How long to wait for the partner to begin, in seconds.
    pub patience_s: u16,
    /// Silence inside a block that ends it, in milliseconds.
    pub char_timeout_ms: u16,
    /// Silence that ends the passing over of a damaged block, in milliseconds.
    pub purge_ms: u16,
    /// What to do with the first EOT.
    pub first_eot: FirstEot,
    /// Pause before each block or answer, in milliseconds. A need for one is learnt, so 0 is right
    /// unless the partner is known to need it.
    pub pause_ms: u16,
    /// Pause before the first answer to a start character, in milliseconds.
    pub start_pause_ms: u16,
    /// The byte that fills the last block.
    pub pad: u8,
    /// Strip trailing 1A from the last block of a file whose length was not announced.
    pub truncate_pad: bool,
    /// Announce the count of 128-byte records in block 0, as lrzsz does for KMD and IMP.
    pub records: bool,
    /// How long a receiver stays to repeat its last acknowledgement, in milliseconds.
    pub linger_ms: u16,
    /// Bytes of file data kept between the engine and its store.
    pub buffer_len: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            line: LineFacts::default(),
            variant: Variant::Ymodem,
            block: None,
            adapt_block: true,
            retries: 10,
            starts: 4,
            start_wait_ms: 3000,
            timeout_s: 10,
            answer_timeout_s: 60,
            patience_s: 120,
            char_timeout_ms: 1000,
            purge_ms: 1000,
            first_eot: FirstEot::Auto,
            pause_ms: 0,
            start_pause_ms: 20,
            pad: super::frame::SUB,
            truncate_pad: false,
            records: false,
            linger_ms: 4000,
            buffer_len: 128 * 1024,
        }
    }
}

/// Room for a block on the wire.
const fn wire_len(data: usize) -> usize {
    super::frame::HEADER + data + 2
}

impl Config {
    /// Data bytes of the longest block that this end sends.
    pub(crate) fn send_block(&self) -> usize {
        match (self.block, self.variant) {
            (Some(128), _) => SHORT,
            (Some(_), _) => LONG,
            (None, Variant::Xmodem | Variant::XmodemCrc) => SHORT,
            (None, _) => LONG,
        }
    }

    /// Long blocks also to a receiver that asks for checksums, as lrzsz's `sx -k` sends them
    /// (docs/decisions/021).
    pub(crate) fn insists_on_long(&self) -> bool {
        self.send_block() == LONG && (self.block.is_some() || self.variant == Variant::Xmodem1k)
    }

    /// Data bytes of the longest block that this end can receive. Only XMODEM with 128-byte blocks
    /// and a buffer of less than 1024 bytes refuses long ones.
    pub(crate) fn receive_block(&self) -> usize {
        let short = matches!(self.variant, Variant::Xmodem | Variant::XmodemCrc);
        if short && self.buffer_len < LONG { SHORT } else { LONG }
    }

    pub(crate) fn source_len(&self) -> usize {
        self.buffer_len.max(self.send_block())
    }

    pub(crate) fn sink_len(&self) -> usize {
        // Padding is only known when the next block has come.
        let blocks = 1 + usize::from(self.truncate_pad);
        self.buffer_len.max(self.receive_block() * blocks)
    }

    /// The queue towards the port: one block, or many if nobody acknowledges them.
    pub(crate) fn queue_len(&self) -> usize {
        // Block 0 may be a long one whatever the blocks are.
        let block = wire_len(if self.variant.is_batch() { LONG } else { self.send_block() });
        match self.variant {
            Variant::YmodemG => self.buffer_len.clamp(block, 64 * wire_len(LONG)),
            _ => block,
        }
    }

    /// Room for the name of the current file.
    pub(crate) fn name_len(&self) -> usize {
        if self.variant.is_batch() { LONG } else { SHORT }
    }

    /// Bytes of memory a sender of this configuration lives in.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 3] {
        [self.source_len(), self.queue_len(), self.name_len()]
    }

    /// Bytes of memory a receiver of this configuration lives in.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn receiver_lengths(&self) -> [usize; 2] {
        [self.sink_len(), if self.variant.is_batch() { LONG } else { 0 }]
    }

    /// How a receiver of this variant begins.
    pub(crate) fn start(&self) -> (u8, Check) {
        match self.variant {
            Variant::Xmodem => (super::frame::NAK, Check::Sum),
            Variant::YmodemG => (WANT_STREAM, Check::Crc),
            _ => (WANT_CRC, Check::Crc),
        }
    }
}

const ON_OFF: Range = Range::Word(&["on", "off"]);

/// The rows of the table. The order is the order in which they are shown.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "xymodem.variant",
        range: Range::Word(&["xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"]),
        default: "ymodem",
        unit: "",
        doc: "Which of the family",
        source: "[XY88]",
    },
    Setting {
        name: "xymodem.block",
        range: Range::Word(&["auto", "128", "1024"]),
        default: "auto",
        unit: "bytes",
        doc: "Longest block to send; auto is 128 for xmodem and xmodem-crc, 1024 for the others, and 128 for ymodem where the receiver asks for checksums",
        source: "[XY88] chapter 4; lrzsz sx -k",
    },
    Setting {
        name: "xymodem.adapt-block",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Send 128-byte blocks for a while after a long one was damaged",
        source: "docs/decisions/020",
    },
    Setting {
        name: "xymodem.retries",
        range: Range::Number(1, 94),
        default: "10",
        unit: "",
        doc: "How often one block may fail before the transfer does",
        source: "[XY88] chapter 7",
    },
    Setting {
        name: "xymodem.starts",
        range: Range::Number(0, 94),
        default: "4",
        unit: "",
        doc: "How often an XMODEM receiver sends C before it falls back to NAK and checksums; 0 is never",
        source: "[XY88] figure 13",
    },
    Setting {
        name: "xymodem.start-wait",
        range: Range::Number(100, 60_000),
        default: "3000",
        unit: "milliseconds",
        doc: "Time between start characters",
        source: "[XY88] chapter 8",
    },
    Setting {
        name: "xymodem.timeout",
        range: Range::Number(1, 600),
        default: "10",
        unit: "seconds",
        doc: "A receiver's longest wait for a block before it asks for it again",
        source: "[XY88] chapter 7",
    },
    Setting {
        name: "xymodem.answer-timeout",
        range: Range::Number(1, 600),
        default: "60",
        unit: "seconds",
        doc: "A sender's wait for an answer before it sends the block again",
        source: "[XY88] chapter 7",
    },
    Setting {
        name: "xymodem.patience",
        range: Range::Number(1, 3600),
        default: "120",
        unit: "seconds",
        doc: "How long to wait for the partner to begin",
        source: "lrzsz rx, 140 s",
    },
    Setting {
        name: "xymodem.char-timeout",
        range: Range::Number(10, 60_000),
        default: "1000",
        unit: "milliseconds",
        doc: "Silence inside a block that ends it",
        source: "[XY88] chapter 7",
    },
    Setting {
        name: "xymodem.purge",
        range: Range::Number(10, 60_000),
        default: "1000",
        unit: "milliseconds",
        doc: "Silence that must follow a damaged block before it is asked for again",
        source: "[XY88] chapter 7",
    },
    Setting {
        name: "xymodem.first-eot",
        range: Range::Word(&["auto", "nak", "wait"]),
        default: "auto",
        unit: "",
        doc: "What a receiver does with the first EOT: take it if the announced length agrees, else NAK; NAK always; take it if a second of silence follows",
        source: "[XY88] figures 3 to 5; lrzsz",
    },
    Setting {
        name: "xymodem.pause",
        range: Range::Number(0, 1000),
        default: "0",
        unit: "milliseconds",
        doc: "Pause before each block or answer; a need for one is learnt from losses",
        source: "docs/decisions/020",
    },
    Setting {
        name: "xymodem.start-pause",
        range: Range::Number(0, 1000),
        default: "20",
        unit: "milliseconds",
        doc: "Pause before the first answer to a start character",
        source: "docs/decisions/020",
    },
    Setting {
        name: "xymodem.pad",
        range: Range::Number(0, 255),
        default: "26",
        unit: "",
        doc: "Code of the byte that fills the last block",
        source: "[XY88]: CPMEOF",
    },
    Setting {
        name: "xymodem.truncate-pad",
        range: ON_OFF,
        default: "off",
        unit: "",
        doc: "Strip trailing 1A from the last block of a file whose length was not announced",
        source: "lrzsz rx keeps it; docs/decisions/020",
    },
    Setting {
        name: "xymodem.records",
        range: ON_OFF,
        default: "off",
        unit: "",
        doc: "Put the count of 128-byte records into block 0, for KMD and IMP",
        source: "lrzsz sb",
    },
    Setting {
        name: "xymodem.linger",
        range: Range::Number(0, 60_000),
        default: "4000",
        unit: "milliseconds",
        doc: "How long a receiver stays to repeat its last acknowledgement",
        source: "docs/decisions/001",
    },
    Setting {
        name: "xymodem.buffer",
        range: Range::Number(128, 1_048_576),
        default: "131072",
        unit: "bytes",
        doc: "File data kept between the engine and its store",
        source: "docs/decisions/001",
    },
];

const VARIANTS: [(&str, Variant); 5] = [
    ("xmodem", Variant::Xmodem),
    ("xmodem-crc", Variant::XmodemCrc),
    ("xmodem-1k", Variant::Xmodem1k),
    ("ymodem", Variant::Ymodem),
    ("ymodem-g", Variant::YmodemG),
];
const BLOCKS: [(&str, Option<u16>); 3] = [("auto", None), ("128", Some(128)), ("1024", Some(1024))];
const FIRST_EOTS: [(&str, FirstEot); 3] =
    [("auto", FirstEot::Auto), ("nak", FirstEot::Nak), ("wait", FirstEot::Wait)];
const TRUTH: [(&str, bool); 2] = [("on", true), ("off", false)];

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
        let truth = || value_of(&TRUTH, value);
        // Each arm gives `None` for a value outside the row's range.
        let done = match name {
            "xymodem.variant" => value_of(&VARIANTS, value).map(|v| self.variant = v),
            "xymodem.block" => value_of(&BLOCKS, value).map(|v| self.block = v),
            "xymodem.adapt-block" => truth().map(|v| self.adapt_block = v),
            "xymodem.retries" => number().map(|v| self.retries = v as u8),
            "xymodem.starts" => number().map(|v| self.starts = v as u8),
            "xymodem.start-wait" => number().map(|v| self.start_wait_ms = v as u16),
            "xymodem.timeout" => number().map(|v| self.timeout_s = v as u16),
            "xymodem.answer-timeout" => number().map(|v| self.answer_timeout_s = v as u16),
            "xymodem.patience" => number().map(|v| self.patience_s = v as u16),
            "xymodem.char-timeout" => number().map(|v| self.char_timeout_ms = v as u16),
            "xymodem.purge" => number().map(|v| self.purge_ms = v as u16),
            "xymodem.first-eot" => value_of(&FIRST_EOTS, value).map(|v| self.first_eot = v),
            "xymodem.pause" => number().map(|v| self.pause_ms = v as u16),
            "xymodem.start-pause" => number().map(|v| self.start_pause_ms = v as u16),
            "xymodem.pad" => number().map(|v| self.pad = v as u8),
            "xymodem.truncate-pad" => truth().map(|v| self.truncate_pad = v),
            "xymodem.records" => truth().map(|v| self.records = v),
            "xymodem.linger" => number().map(|v| self.linger_ms = v as u16),
            "xymodem.buffer" => number().map(|v| self.buffer_len = v as usize),
            _ => None,
        };
        done.ok_or(BadSetting::Value(setting))
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match name {
            "xymodem.variant" => out.write_str(word_of(&VARIANTS, self.variant)),
            "xymodem.block" => out.write_str(word_of(&BLOCKS, self.block)),
            "xymodem.adapt-block" => out.write_str(word_of(&TRUTH, self.adapt_block)),
            "xymodem.retries" => write!(out, "{}", self.retries),
            "xymodem.starts" => write!(out, "{}", self.starts),
            "xymodem.start-wait" => write!(out, "{}", self.start_wait_ms),
            "xymodem.timeout" => write!(out, "{}", self.timeout_s),
            "xymodem.answer-timeout" => write!(out, "{}", self.answer_timeout_s),
            "xymodem.patience" => write!(out, "{}", self.patience_s),
            "xymodem.char-timeout" => write!(out, "{}", self.char_timeout_ms),
            "xymodem.purge" => write!(out, "{}", self.purge_ms),
            "xymodem.first-eot" => out.write_str(word_of(&FIRST_EOTS, self.first_eot)),
            "xymodem.pause" => write!(out, "{}", self.pause_ms),
            "xymodem.start-pause" => write!(out, "{}", self.start_pause_ms),
            "xymodem.pad" => write!(out, "{}", self.pad),
            "xymodem.truncate-pad" => out.write_str(word_of(&TRUTH, self.truncate_pad)),
            "xymodem.records" => out.write_str(word_of(&TRUTH, self.records)),
            "xymodem.linger" => write!(out, "{}", self.linger_ms),
            "xymodem.buffer" => write!(out, "{}", self.buffer_len),
            _ => Err(fmt::Error),
        }
    }
}
