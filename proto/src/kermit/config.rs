//! The configuration of the two Kermit engines, and its rows in the table of settings.

use super::attributes::Tags;
use super::charset::Charset;
use super::check::Check;
use super::encode::Shift;
use super::frame::Parity;
use super::packet::{LONG_HEADER, SLACK};
use super::params::{self, Params};
use super::prefix::PrefixTable;
use super::zone::Zone;
use crate::file::FileKind;
pub use crate::line::LineFacts;
use crate::settings::{BadSetting, Range, Setting, Settings};
use core::fmt;

/// ON, OFF, or left to the program (Kermit streaming (1998): SET RELIABLE, SET STREAMING, SET CLEARCHANNEL).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Switch {
    /// Decided by what is known of the line.
    #[default]
    Auto,
    /// Yes, whatever the line seems to be.
    On,
    /// No.
    Off,
}

/// Which control characters get a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prefixing {
    /// As few as the agreement with the partner allows: none that need not be on a clear channel,
    /// CAUTIOUS to a partner that tells what it is, ALL to one that does not.
    #[default]
    Auto,
    /// All of them.
    All,
    /// Those that are known to cause trouble somewhere.
    Cautious,
    /// Those that nearly always cause trouble.
    Minimal,
    /// None but what the protocol itself needs.
    None,
}

/// Everything that a person may choose, with the facts of the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The line.
    pub line: LineFacts,
    /// Overrides what is known of the line's reliability.
    pub reliable: Switch,
    /// Streaming: data packets without acknowledgements.
    pub streaming: Switch,
    /// Bare control characters in both directions.
    pub clear_channel: Switch,
    /// Window slots to offer, 1..=31.
    pub window: u8,
    /// Longest packet to receive, 10..=9024 bytes.
    pub receive_length: u16,
    /// Longest packet to send, whatever the partner can take, 10..=9024 bytes.
    pub send_length: u16,
    /// Fit the length of packets to the errors of the line.
    pub adapt_length: bool,
    /// Block check to ask for: `1`, `2`, `3`, `B` or `5`.
    pub check: u8,
    /// Control prefixing.
    pub prefixing: Prefixing,
    /// Codes to prefix in any case.
    pub prefixed: PrefixTable,
    /// Codes never to prefix.
    pub unprefixed: PrefixTable,
    /// Parity, or `None` to sense it.
    pub parity: Option<Parity>,
    /// Repeat counts.
    pub repeat: bool,
    /// Attribute packets.
    pub attributes: bool,
    /// Which of them are told.
    pub sent_tags: Tags,
    /// Which of them are heeded.
    pub taken_tags: Tags,
    /// Locking shifts.
    pub locking_shift: Shift,
    /// Digests of whole files, with partners of our own kind.
    pub digest: bool,
    /// The longest wait for a packet before it is asked for or sent again, in seconds; what the
    /// partner is told as TIME.
    pub timeout_s: u8,
    /// How often one packet may fail.
    pub retries: u8,
    /// Kind of a file that comes without attributes.
    pub receive_kind: FileKind,
    /// Set of text on the wire, where it is to be another than that of the files.
    pub transfer_set: Charset,
    /// Set of text files here.
    pub file_set: Charset,
    /// Files of UCS-2 have the low byte first: when they are written, and read without a mark.
    pub ucs2_little: bool,
    /// A mark of the order of bytes stands before a UCS-2 file that is written.
    pub ucs2_mark: bool,
    /// A text in a set that is not known is stored as it is; else it is refused.
    pub keep_unknown_set: bool,
    /// The byte that begins a packet.
    pub mark: u8,
    /// The byte that ends one, as the partner is asked to send it.
    pub eol: u8,
    /// Line turn-around character of a half-duplex line; 0 is none.
    pub handshake: u8,
    /// Padding bytes the partner is asked for.
    pub pad_count: u8,
    /// How much of the parameter string to send; less than 40 for partners that choke on it.
    pub init_length: u8,
    /// Raw Ctrl-C in a row, between packets, that end the transaction; 0 is never.
    pub interrupts: u8,
    /// How long a receiver stays to repeat its last acknowledgement, in milliseconds.
    pub linger_ms: u16,
    /// Names in common form: upper case and plain on the wire, lower case here.
    pub convert_names: bool,
    /// Bytes of file data kept between the engine and its store.
    pub buffer_len: usize,
    /// Local time: attribute dates are local. UTC unless set.
    pub zone: Zone,
    /// System id to show; `U1` is Unix.
    pub system: [u8; 2],
    /// The file mode is what the person has set, and servers go by it.
    pub manual_mode: bool,
    /// Between two systems of one id text goes as it is.
    pub alike_as_is: bool,
    /// Lines of text files here end with CR and LF, as on the line.
    pub crlf_files: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            line: LineFacts::default(),
            reliable: Switch::Auto,
            streaming: Switch::Auto,
            clear_channel: Switch::Auto,
            window: 31,
            receive_length: 9024,
            send_length: 9024,
            adapt_length: true,
            check: b'3',
            prefixing: Prefixing::Auto,
            prefixed: PrefixTable::NOTHING,
            unprefixed: PrefixTable::NOTHING,
            parity: None,
            repeat: true,
            attributes: true,
            sent_tags: Tags::ALL,
            taken_tags: Tags::ALL,
            locking_shift: Shift::Negotiated,
            digest: true,
            timeout_s: 15,
            retries: 10,
            receive_kind: FileKind::Binary,
            transfer_set: Charset::TRANSPARENT,
            file_set: Charset::UTF8,
            ucs2_little: true,
            ucs2_mark: true,
            keep_unknown_set: false,
            mark: 1,
            eol: b'\r',
            handshake: 0,
            pad_count: 0,
            init_length: 40,
            interrupts: 3,
            linger_ms: 1500,
            convert_names: false,
            buffer_len: 256 * 1024,
            zone: Zone::UTC,
            system: *b"U1",
            manual_mode: false,
            alike_as_is: false,
            crlf_files: false,
        }
    }
}

/// Longest name of a file on the wire, decoded.
pub(crate) const MAX_NAME: usize = 1024;

impl Config {
    /// Bytes of one packet of up to `len` bytes with slack, padding and terminator.
    pub(crate) const fn slot_len(len: usize) -> usize {
        // A short packet is taken, and an error message sent, whatever length was set.
        let len = if len < 112 { 112 } else { len };
        len + LONG_HEADER + SLACK
    }

    /// Window slots after the rule that a half-duplex line has one.
    pub(crate) fn slots(&self) -> usize {
        if self.handshake != 0 { 1 } else { usize::from(self.window.clamp(1, 31)) }
    }

    /// The most that one packet of up to `len` bytes takes in the queue towards the port, with
    /// padding, terminator and turn-around character.
    pub(crate) const fn queued_len(len: usize) -> usize {
        Self::slot_len(len) + 94 + 2
    }

    /// Bytes of a sender's queue towards the port: two of its longest packets, or a chunk that a
    /// socket likes.
    pub(crate) fn sender_queue(&self) -> usize {
        let two = 2 * Self::queued_len(usize::from(self.send_length));
        self.buffer_len.clamp(two, two.max(128 * 1024))
    }

    /// Bytes of a receiver's queue: acknowledgements of a whole window.
    pub(crate) const fn receiver_queue() -> usize {
        4 * Self::queued_len(0)
    }

    /// Bytes of memory a sender of this configuration lives in.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 5] {
        let source = self.buffer_len.max(1024);
        let slots = self.slots() * Self::slot_len(usize::from(self.send_length));
        let frame = Self::slot_len(usize::from(self.receive_length));
        [source, self.sender_queue(), slots, frame, MAX_NAME]
    }

    /// Bytes of memory a receiver of this configuration lives in.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn receiver_lengths(&self) -> [usize; 6] {
        let (file, out) = (self.buffer_len.max(1024), Self::receiver_queue());
        let packet = Self::slot_len(usize::from(self.receive_length));
        [file, out, self.slots() * packet, packet, packet, MAX_NAME]
    }

    /// Whether this end offers to stream (Kermit streaming (1998), COMMANDS).
    pub fn offers_streaming(&self) -> bool {
        match (self.streaming, self.reliable, self.line.reliable) {
            (Switch::On, _, _) => true,
            (Switch::Off, _, _) | (Switch::Auto, Switch::Off, _) => false,
            (Switch::Auto, Switch::On, _) => true,
            // An end that cannot know offers, and the end that made the connection decides; but a line on which
            // somebody has set a parity is a serial line, and those make mistakes.
            (Switch::Auto, Switch::Auto, None) => !self.parity.is_some_and(Parity::is_seven_bit),
            (Switch::Auto, Switch::Auto, Some(reliable)) => reliable,
        }
    }

    /// Whether this end says that its channel is clear.
    pub fn offers_clear_channel(&self) -> bool {
        match self.clear_channel {
            Switch::On => true,
            Switch::Off => false,
            Switch::Auto => self.line.clear,
        }
    }

    /// Whether the line is known, or declared, to deliver everything.
    pub fn is_reliable(&self) -> bool {
        match self.reliable {
            Switch::On => true,
            Switch::Off => false,
            Switch::Auto => self.line.reliable == Some(true),
        }
    }

    /// The parameter string this end sends. `kind` is the file mode it announces.
    pub fn params(&self, kind: FileKind) -> Params {
        let seven_bit = self.parity.is_some_and(Parity::is_seven_bit);
        let forced = self.locking_shift == Shift::Forced;
        let length = self.receive_length.clamp(10, 9024);
        let window = self.slots() as u8;
        let mut capas = 0;
        let mut set = |bit: u8, on: bool| capas |= if on { bit } else { 0 };
        set(params::CAP_LONG, length > 94);
        set(params::CAP_WINDOW, window > 1);
        set(params::CAP_ATTRIBUTES, self.attributes);
        set(params::CAP_RESEND, self.attributes);
        set(params::CAP_SHIFT, self.locking_shift == Shift::Negotiated);
        let mut whatami = params::WMI_VALID;
        if kind == FileKind::Binary {
            whatami |= params::WMI_BINARY;
        }
        if self.offers_streaming() {
            whatami |= params::WMI_STREAM;
        }
        if self.offers_clear_channel() {
            whatami |= params::WMI_CLEAR;
        }
        Params {
            max_short: length.min(94) as u8,
            time_s: Some(self.timeout_s.min(94)),
            pad_count: self.pad_count.min(94),
            pad: 0,
            eol: self.eol,
            qctl: b'#',
            qbin: match (forced, seven_bit) {
                (true, _) => b'N',
                (false, true) => b'&',
                (false, false) => b'Y',
            },
            check: self.check,
            rept: if self.repeat { b'~' } else { b' ' },
            capas,
            window,
            max_long: Some(length),
            whatami: Some(whatami),
            system: self.system,
            manual: self.manual_mode,
            own: Some(params::OWN_LENGTH | if self.digest { params::OWN_DIGEST } else { 0 }),
        }
    }

    /// Bytes to keep queued towards the port: what the line carries in a few milliseconds, so that
    /// a repeated packet or a cancel does not wait behind kilobytes.
    pub(crate) fn output_chunk(&self) -> usize {
        match self.line.rate_bps {
            0 => usize::MAX,
            // 20 ms of line.
            rate => (rate as usize / 10 / 50).max(1),
        }
    }

    /// The check type asked for, as the codec knows it.
    pub fn check_type(&self) -> Check {
        Check::from_char(self.check).unwrap_or(Check::Crc16)
    }
}

const SWITCH: Range = Range::Word(&["auto", "on", "off"]);
const ON_OFF: Range = Range::Word(&["on", "off"]);

/// The rows of the table. The order is the order in which they are shown.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "kermit.reliable",
        range: SWITCH,
        default: "auto",
        unit: "",
        doc: "Whether the line delivers everything unchanged; auto goes by the kind of line",
        source: "Kermit streaming (1998), SET RELIABLE",
    },
    Setting {
        name: "kermit.streaming",
        range: SWITCH,
        default: "auto",
        unit: "",
        doc: "Send data packets without waiting for acknowledgements; auto offers it unless the line is known to lose data",
        source: "Kermit streaming (1998), SET STREAMING",
    },
    Setting {
        name: "kermit.clear-channel",
        range: SWITCH,
        default: "auto",
        unit: "",
        doc: "Leave control characters bare in both directions; auto goes by the kind of line",
        source: "Kermit streaming (1998), SET CLEARCHANNEL",
    },
    Setting {
        name: "kermit.window",
        range: Range::Number(1, 31),
        default: "31",
        unit: "packets",
        doc: "Packets that may be under way without acknowledgement",
        source: "[KPM] sliding windows; C-Kermit offers 30",
    },
    Setting {
        name: "kermit.receive-length",
        range: Range::Number(10, 9024),
        default: "9024",
        unit: "bytes",
        doc: "Longest packet the partner may send",
        source: "[KPM] long packets",
    },
    Setting {
        name: "kermit.send-length",
        range: Range::Number(10, 9024),
        default: "9024",
        unit: "bytes",
        doc: "Longest packet to send, even if the partner takes longer ones",
        source: "[KPM] long packets",
    },
    Setting {
        name: "kermit.adapt-length",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Fit the length of packets to the errors of the line",
        source: "docs/decisions/003",
    },
    Setting {
        name: "kermit.check",
        range: Range::Word(&["1", "2", "3", "B", "5"]),
        default: "3",
        unit: "",
        doc: "Block check: 6-bit sum, 12-bit sum, CRC-16, 12-bit sum without blanks, CRC-16 on every packet",
        source: "[KPM] block checks",
    },
    Setting {
        name: "kermit.prefixing",
        range: Range::Word(&["auto", "all", "cautious", "minimal", "none"]),
        default: "auto",
        unit: "",
        doc: "Which control characters are sent with a prefix; auto goes by the agreement with the partner",
        source: "C-Kermit SET PREFIXING",
    },
    Setting {
        name: "kermit.prefixed",
        range: Range::Text,
        default: "",
        unit: "",
        doc: "Codes (decimal, separated by commas) to prefix in any case",
        source: "C-Kermit SET CONTROL PREFIXED",
    },
    Setting {
        name: "kermit.unprefixed",
        range: Range::Text,
        default: "",
        unit: "",
        doc: "Codes (decimal, separated by commas) never to prefix; MARK and the packet end stay prefixed",
        source: "C-Kermit SET CONTROL UNPREFIXED",
    },
    Setting {
        name: "kermit.parity",
        range: Range::Word(&["auto", "none", "even", "odd", "mark", "space"]),
        default: "auto",
        unit: "",
        doc: "Parity of every byte on the line; auto senses it from the partner's first packet",
        source: "[KPM] parity",
    },
    Setting {
        name: "kermit.repeat",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Compress runs of equal bytes",
        source: "[KPM] repeat counts",
    },
    Setting {
        name: "kermit.attributes",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Tell and take size, date, mode and type of files",
        source: "[KPM] attributes",
    },
    Setting {
        name: "kermit.locking-shift",
        range: Range::Word(&["on", "off", "forced"]),
        default: "on",
        unit: "",
        doc: "Shift in and out for 8-bit data on a 7-bit line",
        source: "C-Kermit SET TRANSFER LOCKING-SHIFT",
    },
    Setting {
        name: "kermit.digest",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Compare a digest of each whole file when the partner is a Wetstring too",
        source: "docs/decisions/002",
    },
    Setting {
        name: "kermit.timeout",
        range: Range::Number(1, 94),
        default: "15",
        unit: "seconds",
        doc: "Longest wait for a packet before it is asked for, or sent, again",
        source: "[KPM] TIME",
    },
    Setting {
        name: "kermit.retries",
        range: Range::Number(1, 94),
        default: "10",
        unit: "",
        doc: "How often one packet may fail before the transfer does",
        source: "C-Kermit SET RETRY",
    },
    Setting {
        name: "kermit.receive-kind",
        range: Range::Word(&["binary", "text"]),
        default: "binary",
        unit: "",
        doc: "Kind of a file whose sender does not say",
        source: "C-Kermit SET FILE TYPE",
    },
    Setting {
        name: "kermit.transfer-set",
        range: Range::Word(Charset::WIRE_NAMES),
        default: "transparent",
        unit: "",
        doc: "Character set of text on the wire: what a sender translates to and names; what a receiver takes for text whose sender names none",
        source: "C-Kermit SET TRANSFER CHARACTER-SET",
    },
    Setting {
        name: "kermit.file-set",
        range: Range::Word(Charset::NAMES),
        default: "utf8",
        unit: "",
        doc: "Character set of text files here; transparent never translates",
        source: "C-Kermit SET FILE CHARACTER-SET",
    },
    Setting {
        name: "kermit.ucs2-order",
        range: Range::Word(&["little-endian", "big-endian"]),
        default: "little-endian",
        unit: "",
        doc: "Order of bytes of UCS-2 files that are written, or that have no mark when they are read",
        source: "C-Kermit SET FILE UCS BYTE-ORDER",
    },
    Setting {
        name: "kermit.ucs2-mark",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Write a mark of the order of bytes before a UCS-2 file",
        source: "C-Kermit SET FILE UCS BOM",
    },
    Setting {
        name: "kermit.unknown-set",
        range: Range::Word(&["discard", "keep"]),
        default: "discard",
        unit: "",
        doc: "A text file in a character set that is not known: refuse it, or store it as it is",
        source: "C-Kermit SET UNKNOWN-CHAR-SET",
    },
    Setting {
        name: "kermit.names",
        range: Range::Word(&["literal", "converted"]),
        default: "literal",
        unit: "",
        doc: "Names of files as they are, or in the common form that every system can store",
        source: "C-Kermit SET FILE NAMES",
    },
    Setting {
        name: "kermit.mark",
        range: Range::Number(0, 31),
        default: "1",
        unit: "",
        doc: "Code of the byte that begins a packet",
        source: "C-Kermit SET SEND START-OF-PACKET",
    },
    Setting {
        name: "kermit.handshake",
        range: Range::Number(0, 31),
        default: "0",
        unit: "",
        doc: "Code of the line turn-around character of a half-duplex line (17 is XON); 0 is none",
        source: "C-Kermit SET HANDSHAKE; Kermit streaming (1998), half-duplex connections",
    },
    Setting {
        name: "kermit.padding",
        range: Range::Number(0, 94),
        default: "0",
        unit: "bytes",
        doc: "NUL bytes the partner is asked to send before each packet",
        source: "[KPM] NPAD",
    },
    Setting {
        name: "kermit.init-length",
        range: Range::Number(1, 40),
        default: "40",
        unit: "bytes",
        doc: "How much of the parameter string to send; less for partners that choke on it",
        source: "C-Kermit SET SEND NEGOTIATION-STRING-MAX-LENGTH",
    },
    Setting {
        name: "kermit.interrupts",
        range: Range::Number(0, 9),
        default: "3",
        unit: "",
        doc: "Raw Ctrl-C in a row, between packets, that end the transfer; 0 is never",
        source: "C-Kermit SET TRANSFER CANCELLATION",
    },
    Setting {
        name: "kermit.linger",
        range: Range::Number(0, 60000),
        default: "1500",
        unit: "milliseconds",
        doc: "How long a receiver stays to repeat its last acknowledgement",
        source: "docs/decisions/001",
    },
    Setting {
        name: "kermit.buffer",
        range: Range::Number(1024, 1_048_576),
        default: "262144",
        unit: "bytes",
        doc: "File data kept between the engine and its store",
        source: "docs/decisions/001",
    },
];

fn word(switch: Switch) -> &'static str {
    match switch {
        Switch::Auto => "auto",
        Switch::On => "on",
        Switch::Off => "off",
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn switch(value: &str) -> Option<Switch> {
    [Switch::Auto, Switch::On, Switch::Off].into_iter().find(|s| word(*s) == value)
}

fn truth(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// The word of each value, once, for both directions.
const PARITIES: [(&str, Option<Parity>); 6] = [
    ("auto", None),
    ("none", Some(Parity::None)),
    ("even", Some(Parity::Even)),
    ("odd", Some(Parity::Odd)),
    ("mark", Some(Parity::Mark)),
    ("space", Some(Parity::Space)),
];
const PREFIXINGS: [(&str, Prefixing); 5] = [
    ("auto", Prefixing::Auto),
    ("all", Prefixing::All),
    ("cautious", Prefixing::Cautious),
    ("minimal", Prefixing::Minimal),
    ("none", Prefixing::None),
];
const SHIFTS: [(&str, Shift); 3] =
    [("on", Shift::Negotiated), ("off", Shift::Off), ("forced", Shift::Forced)];
const NAMES: [(&str, bool); 2] = [("literal", false), ("converted", true)];
const ORDERS: [(&str, bool); 2] = [("little-endian", true), ("big-endian", false)];
const UNKNOWN: [(&str, bool); 2] = [("discard", false), ("keep", true)];
const KINDS: [(&str, FileKind); 2] = [("binary", FileKind::Binary), ("text", FileKind::Text)];

fn value_of<T: Copy>(words: &[(&str, T)], value: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == value).map(|(_, v)| *v)
}

fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, v)| *v == value).map_or("", |(word, _)| *word)
}

fn codes(value: &str) -> Option<PrefixTable> {
    let mut table = PrefixTable::NOTHING;
    for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        table = table.with(part.parse().ok()?);
    }
    Some(table)
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
        // Each arm gives `None` for a value outside the row's range.
        let done = match name {
            "kermit.reliable" => switch(value).map(|v| self.reliable = v),
            "kermit.streaming" => switch(value).map(|v| self.streaming = v),
            "kermit.clear-channel" => switch(value).map(|v| self.clear_channel = v),
            "kermit.window" => number().map(|v| self.window = v as u8),
            "kermit.receive-length" => number().map(|v| self.receive_length = v as u16),
            "kermit.send-length" => number().map(|v| self.send_length = v as u16),
            "kermit.adapt-length" => truth(value).map(|v| self.adapt_length = v),
            "kermit.check" => match value.as_bytes() {
                [c @ (b'1' | b'2' | b'3' | b'B' | b'5')] => {
                    self.check = *c;
                    Some(())
                }
                _ => None,
            },
            "kermit.prefixing" => value_of(&PREFIXINGS, value).map(|v| self.prefixing = v),
            "kermit.prefixed" => codes(value).map(|v| self.prefixed = v),
            "kermit.unprefixed" => codes(value).map(|v| self.unprefixed = v),
            "kermit.parity" => value_of(&PARITIES, value).map(|v| self.parity = v),
            "kermit.repeat" => truth(value).map(|v| self.repeat = v),
            "kermit.attributes" => truth(value).map(|v| self.attributes = v),
            "kermit.locking-shift" => value_of(&SHIFTS, value).map(|v| self.locking_shift = v),
            "kermit.digest" => truth(value).map(|v| self.digest = v),
            "kermit.timeout" => number().map(|v| self.timeout_s = v as u8),
            "kermit.retries" => number().map(|v| self.retries = v as u8),
            "kermit.receive-kind" => value_of(&KINDS, value).map(|v| self.receive_kind = v),
            "kermit.transfer-set" => Charset::named(value)
                .filter(|set| set.designator().is_some())
                .map(|v| self.transfer_set = v),
            "kermit.file-set" => Charset::named(value).map(|v| self.file_set = v),
            "kermit.ucs2-order" => value_of(&ORDERS, value).map(|v| self.ucs2_little = v),
            "kermit.ucs2-mark" => truth(value).map(|v| self.ucs2_mark = v),
            "kermit.unknown-set" => value_of(&UNKNOWN, value).map(|v| self.keep_unknown_set = v),
            "kermit.names" => value_of(&NAMES, value).map(|v| self.convert_names = v),
            "kermit.mark" => number().map(|v| self.mark = v as u8),
            "kermit.handshake" => number().map(|v| self.handshake = v as u8),
            "kermit.padding" => number().map(|v| self.pad_count = v as u8),
            "kermit.init-length" => number().map(|v| self.init_length = v as u8),
            "kermit.interrupts" => number().map(|v| self.interrupts = v as u8),
            "kermit.linger" => number().map(|v| self.linger_ms = v as u16),
            "kermit.buffer" => number().map(|v| self.buffer_len = v as usize),
            _ => None,
        };
        done.ok_or(BadSetting::Value(setting))
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let list = |table: PrefixTable, out: &mut dyn fmt::Write| -> fmt::Result {
            let mut first = true;
            for code in (0..=255u8).filter(|code| table.contains(*code)) {
                write!(out, "{}{code}", if first { "" } else { "," })?;
                first = false;
            }
            Ok(())
        };
        match name {
            "kermit.reliable" => out.write_str(word(self.reliable)),
            "kermit.streaming" => out.write_str(word(self.streaming)),
            "kermit.clear-channel" => out.write_str(word(self.clear_channel)),
            "kermit.window" => write!(out, "{}", self.window),
            "kermit.receive-length" => write!(out, "{}", self.receive_length),
            "kermit.send-length" => write!(out, "{}", self.send_length),
            "kermit.adapt-length" => out.write_str(on_off(self.adapt_length)),
            "kermit.check" => write!(out, "{}", char::from(self.check)),
            "kermit.prefixing" => out.write_str(word_of(&PREFIXINGS, self.prefixing)),
            "kermit.prefixed" => list(self.prefixed, out),
            "kermit.unprefixed" => list(self.unprefixed, out),
            "kermit.parity" => out.write_str(word_of(&PARITIES, self.parity)),
            "kermit.repeat" => out.write_str(on_off(self.repeat)),
            "kermit.attributes" => out.write_str(on_off(self.attributes)),
            "kermit.locking-shift" => out.write_str(word_of(&SHIFTS, self.locking_shift)),
            "kermit.digest" => out.write_str(on_off(self.digest)),
            "kermit.timeout" => write!(out, "{}", self.timeout_s),
            "kermit.retries" => write!(out, "{}", self.retries),
            "kermit.receive-kind" => out.write_str(word_of(&KINDS, self.receive_kind)),
            "kermit.transfer-set" => out.write_str(self.transfer_set.name()),
            "kermit.file-set" => out.write_str(self.file_set.name()),
            "kermit.ucs2-order" => out.write_str(word_of(&ORDERS, self.ucs2_little)),
            "kermit.ucs2-mark" => out.write_str(on_off(self.ucs2_mark)),
            "kermit.unknown-set" => out.write_str(word_of(&UNKNOWN, self.keep_unknown_set)),
            "kermit.names" => out.write_str(word_of(&NAMES, self.convert_names)),
            "kermit.mark" => write!(out, "{}", self.mark),
            "kermit.handshake" => write!(out, "{}", self.handshake),
            "kermit.padding" => write!(out, "{}", self.pad_count),
            "kermit.init-length" => write!(out, "{}", self.init_length),
            "kermit.interrupts" => write!(out, "{}", self.interrupts),
            "kermit.linger" => write!(out, "{}", self.linger_ms),
            "kermit.buffer" => write!(out, "{}", self.buffer_len),
            _ => Err(fmt::Error),
        }
    }
}
