//! The configuration of the two Kermit engines.

use super::attributes::Tags;
use super::bundle::{IS_BUILT, PRESSED, UNPRESSED, packed_room};
use super::capability::{BUNDLE, COMPRESS, CORRECTION, Capabilities, DIFFERENCE, ENTRIES};
use super::charset::Charset;
use super::check::Check;
use super::encode::Shift;
use super::frame::Parity;
use super::packet::{LONG_HEADER, SLACK};
use super::params::{self, Params};
use super::prefix::PrefixTable;
use super::zone::Zone;
use crate::file::{FileKind, Left};
pub use crate::line::LineFacts;
use crate::session::FAST;
pub use crate::settings::Switch;
use crate::settings::{AsText, Range};
use crate::time::Span;
use core::fmt;

crate::choice! {
    /// The block check to ask for (CHKT).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum BlockCheck {
        /// A sum folded to 6 bits.
        Sum6 = "1",
        /// A sum of 12 bits.
        Sum12 = "2",
        /// CRC-16.
        #[default]
        Crc16 = "3",
        /// A sum of 12 bits in characters that are never blank.
        Sum12NoBlank = "B",
        /// CRC-16 on every packet, the first one too.
        Crc16Always = "5",
    }
}

impl BlockCheck {
    /// Its CHKT character.
    pub const fn as_char(self) -> u8 {
        match self {
            Self::Crc16Always => b'5',
            Self::Sum6 | Self::Sum12 | Self::Crc16 | Self::Sum12NoBlank => self.codec().as_char(),
        }
    }

    /// How the check is made.
    const fn codec(self) -> Check {
        match self {
            Self::Sum6 => Check::Sum6,
            Self::Sum12 => Check::Sum12,
            Self::Crc16 | Self::Crc16Always => Check::Crc16,
            Self::Sum12NoBlank => Check::Sum12NoBlank,
        }
    }
}

crate::choice! {
    /// Which control characters get a prefix.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Prefixing {
        /// As few as negotiation allows: the minimum on a clear channel,
        /// CAUTIOUS for a peer that identifies itself, ALL for one that does not.
        #[default]
        Auto = "auto",
        /// All of them.
        All = "all",
        /// Those that are known to cause trouble somewhere.
        Cautious = "cautious",
        /// Those that nearly always cause trouble.
        Minimal = "minimal",
        /// Only what the protocol itself needs.
        None = "none",
    }
}

crate::choice! {
    /// What is known of bare control characters on the line.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Codes {
        /// Nothing.
        #[default]
        Unknown = "unknown",
        /// They pass.
        Pass = "pass",
        /// Some of them are lost or changed.
        Eaten = "eaten",
    }
}

crate::choice! {
    /// Which byte of a UCS-2 character comes first.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum ByteOrder {
        /// The low one.
        #[default]
        Little = "little-endian",
        /// The high one.
        Big = "big-endian",
    }
}

crate::choice! {
    /// What becomes of a text in a character set that is not known.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum UnknownSet {
        /// It is refused.
        #[default]
        Discard = "discard",
        /// It is stored as it is.
        Keep = "keep",
    }
}

crate::choice! {
    /// The form of names on the wire.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Names {
        /// As they are.
        #[default]
        Literal = "literal",
        /// In the common form that every system can store.
        Converted = "converted",
    }
}

crate::choice! {
    for Option<Parity>:
    "auto" => None,
    "none" => Some(Parity::None),
    "even" => Some(Parity::Even),
    "odd" => Some(Parity::Odd),
    "mark" => Some(Parity::Mark),
    "space" => Some(Parity::Space),
}

crate::choice! {
    for Shift:
    "on" => Shift::Negotiated,
    "off" => Shift::Off,
    "forced" => Shift::Forced,
}

crate::choice! { for FileKind: "binary" => FileKind::Binary, "text" => FileKind::Text }

/// Codes in decimal, separated by commas.
impl AsText for PrefixTable {
    fn parse(text: &str) -> Option<Self> {
        let mut table = Self::NOTHING;
        for code in text.split(',').map(str::trim).filter(|code| !code.is_empty()) {
            table = table.with(code.parse().ok()?);
        }
        Some(table)
    }

    fn show(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut comma = "";
        for code in (0..=255u8).filter(|code| self.contains(*code)) {
            write!(out, "{comma}{code}")?;
            comma = ",";
        }
        Ok(())
    }
}

impl AsText for Charset {
    fn parse(text: &str) -> Option<Self> {
        Self::named(text)
    }

    fn show(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(self.name())
    }
}

crate::settings! {
    /// All settings, with the facts of the line.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Config {
        /// Overrides what is known of the line.
        "kermit.reliable" reliable: Switch[word] = "auto",
            "Whether the line delivers everything unchanged; auto goes by the kind of line",
            "Kermit streaming (1998), SET RELIABLE", keywords(&["reliable"]);
        "kermit.streaming" streaming: Switch[word] = "auto",
            "Send data packets without waiting for acknowledgements; auto offers it unless the line is known to lose data",
            "Kermit streaming (1998), SET STREAMING", keywords(&["streaming"]);
        "kermit.clear-channel" clear_channel: Switch[word] = "auto",
            "Leave control characters bare in both directions; auto goes by the kind of line",
            "Kermit streaming (1998), SET CLEARCHANNEL", keywords(&["clear-channel"]);
        "kermit.window" window: u8[1..=31 "packets"] = 31,
            "Packets that may be under way without acknowledgement",
            "[KPM] sliding windows; C-Kermit offers 30", keywords(&["window-size"]),
            spellings(&[("32", "31")]);
        "kermit.receive-length" receive_length: u16[10..=9024 "bytes"] = 9024,
            "Longest packet the peer may send",
            "[KPM] long packets", keywords(&["receive packet-length"]);
        "kermit.send-length" send_length: u16[10..=9024 "bytes"] = 9024,
            "Longest packet to send, even if the peer accepts longer ones",
            "[KPM] long packets", keywords(&["send packet-length"]);
        "kermit.adapt-length" adapt_length: bool[word] = "on",
            "Fit the length of packets to the errors of the line",
            "Wetstring: a model of the line, instead of halving and growing", keywords(&["transfer slow-start"]);
        "kermit.check" check: BlockCheck[word] = "3",
            "Block check: 6-bit sum, 12-bit sum, CRC-16, 12-bit sum without blanks, CRC-16 on every packet",
            "[KPM] block checks", keywords(&["block-check"]),
            spellings(&[("4", "B"), ("blank-free-2", "B")]);
        "kermit.prefixing" prefixing: Prefixing[word] = "auto",
            "Control characters that are sent with a prefix; auto depends on negotiation",
            "C-Kermit SET PREFIXING", keywords(&["prefixing"]);
        "kermit.prefixed" prefixed: PrefixTable[text Range::Text, PrefixTable::NOTHING] = "",
            "Codes (decimal, separated by commas) to prefix in any case",
            "C-Kermit SET CONTROL PREFIXED";
        "kermit.unprefixed" unprefixed: PrefixTable[text Range::Text, PrefixTable::NOTHING] = "",
            "Codes (decimal, separated by commas) never to prefix; MARK and the packet end stay prefixed",
            "C-Kermit SET CONTROL UNPREFIXED";
        "kermit.parity" parity: Option<Parity>[word] = "auto",
            "Parity of every byte on the line; auto senses it from the peer's first packet",
            "[KPM] parity", keywords(&["parity"]);
        "kermit.repeat" repeat: bool[word] = "on",
            "Compress runs of equal bytes",
            "[KPM] repeat counts", keywords(&["repeat counts"]);
        "kermit.attributes" attributes: bool[word] = "on",
            "Send and apply size, date, mode and type of files",
            "[KPM] attributes", keywords(&["attributes"]);
        "kermit.locking-shift" locking_shift: Shift[word] = "on",
            "Shift in and out for 8-bit data on a 7-bit line",
            "C-Kermit SET TRANSFER LOCKING-SHIFT", keywords(&["transfer locking-shift"]);
        "kermit.digest" digest: bool[word] = "on",
            "Compare a digest of each whole file when the peer is a Wetstring too",
            "Wetstring: an extension after WHATAMI2, which other Kermits ignore", no_flag;
        "kermit.bundle" bundle: Switch[word] = "auto",
            "Send headers, data and ends of many files in one window when the peer is a Wetstring too; auto: where they can be compressed, and several short ones instead of streaming; on: always",
            "Wetstring: a capability of the extension after WHATAMI2", no_flag;
        "kermit.correction" correction: bool[word] = "on",
            "When packets arrive damaged, send bundles with error correction when the peer is a Wetstring too",
            "Wetstring: a capability of the extension after WHATAMI2; Reed and Solomon 1960", no_flag;
        "kermit.compress" compress: Switch[word] = "auto",
            "Compress what goes in one window or streams when the peer is a Wetstring too; auto: unless the line is fast",
            "Wetstring: a capability of the extension after WHATAMI2", no_flag;
        "kermit.difference" difference: bool[word] = "on",
            "Of a file that the receiver has in an older version send the difference, in bundles, when the peer is a Wetstring too",
            "Wetstring: a capability of the extension after WHATAMI2", no_flag;
        "kermit.by-length" by_length: bool[word] = "on",
            "While streaming on a clear channel frame by length alone when the peer is a Wetstring too",
            "Wetstring: an extension after WHATAMI2", no_flag;
        /// Sent to the peer as TIME.
        "kermit.timeout" timeout: Span[1..=94 seconds] = 15,
            "Timeout for a packet",
            "[KPM] TIME", keywords(&["send timeout"]);
        "kermit.retries" retries: u8[1..=94] = 10,
            "Retry limit of a packet",
            "C-Kermit SET RETRY", keywords(&["retry-limit"]);
        "kermit.receive-kind" receive_kind: FileKind[word] = "binary",
            "Type of a file whose sender does not specify it",
            "C-Kermit SET FILE TYPE", no_flag, keywords(&["file type"]);
        "kermit.transfer-set" transfer_set: Charset[text Range::Word(Charset::WIRE_NAMES), Charset::TRANSPARENT, if is_on_wire] = "transparent",
            "Character set of text on the wire: a sender translates to it and names it; a receiver assumes it if the sender names none",
            "C-Kermit SET TRANSFER CHARACTER-SET", keywords(&["transfer character-set"]);
        "kermit.file-set" file_set: Charset[text Range::Word(Charset::NAMES), Charset::UTF8] = "utf8",
            "Character set of text files here; transparent never translates",
            "C-Kermit SET FILE CHARACTER-SET", keywords(&["file character-set"]);
        "kermit.ucs2-order" ucs2_order: ByteOrder[word] = "little-endian",
            "Order of bytes of UCS-2 files that are written, or that have no mark when they are read",
            "C-Kermit SET FILE UCS BYTE-ORDER", keywords(&["file ucs byte-order"]);
        "kermit.ucs2-mark" ucs2_mark: bool[word] = "on",
            "Write a mark of the order of bytes before a UCS-2 file",
            "C-Kermit SET FILE UCS BOM", keywords(&["file ucs bom"]);
        "kermit.unknown-set" unknown_set: UnknownSet[word] = "discard",
            "A text file in a character set that is not known: refuse it, or store it as it is",
            "C-Kermit SET UNKNOWN-CHAR-SET", keywords(&["unknown-char-set"]);
        /// In common form they are upper case and plain on the wire, lower case here.
        "kermit.names" names: Names[word] = "literal",
            "Names of files as they are, or in the common form that every system can store",
            "C-Kermit SET FILE NAMES", keywords(&["file names"]);
        "kermit.mark" mark: u8[0..=31] = 1,
            "Code of the byte that begins a packet",
            "C-Kermit SET SEND START-OF-PACKET", keywords(&["receive start-of-packet", "send start-of-packet"]);
        "kermit.handshake" handshake: u8[0..=31] = 0,
            "Code of the line turn-around character of a half-duplex line (17 is XON); 0 is none",
            "C-Kermit SET HANDSHAKE; Kermit streaming (1998), half-duplex connections", keywords(&["handshake"]),
            spellings(&[("bell", "7"), ("cr", "13"), ("esc", "27"), ("lf", "10"), ("none", "0"), ("xoff", "19"), ("xon", "17")]);
        "kermit.padding" pad_count: u8[0..=94 "bytes"] = 0,
            "NUL bytes the peer is asked to send before each packet",
            "[KPM] NPAD", keywords(&["receive padding"]);
        "kermit.init-length" init_length: u8[1..=40 "bytes"] = 40,
            "How much of the parameter string to send; less for peers that fail on it",
            "C-Kermit SET SEND NEGOTIATION-STRING-MAX-LENGTH";
        "kermit.interrupts" interrupts: u8[0..=9] = 3,
            "Raw Ctrl-C in a row, between packets, that end the transfer; 0 is never",
            "C-Kermit SET TRANSFER CANCELLATION";
        "kermit.known-round-trip" known_round_trip: Span[0..=600_000 milliseconds] = 0,
            "Round trip of the line, where it is known: how long the first packet waits for its answer; 0 is unknown",
            "Wetstring: what is remembered of a line", no_flag;
        "kermit.known-spacing" known_spacing: u32[0..=0xFFFF_FFFF "bytes"] = 0,
            "Bytes between two errors of the line, where it is known: a sender corrects errors from the start, or sends short packets; 0 is unknown",
            "Wetstring: what is remembered of a line", no_flag;
        "kermit.known-codes" known_codes: Codes[word] = "unknown",
            "Whether control characters pass the line bare, where it is known: where they do not they are not tried",
            "Wetstring: what is remembered of a line", no_flag;
        "kermit.linger" linger: Span[0..=60000 milliseconds] = 1500,
            "How long a receiver lingers to retransmit its last acknowledgement",
            "Wetstring: the last acknowledgement may be lost";
        "kermit.buffer" buffer_len: usize[1024..=1_048_576 "bytes"] = 262_144,
            "File data kept between the engine and its store",
            "Wetstring: memory of an engine is fixed when it starts", no_flag;
    }
    also {
        /// The line.
        line: LineFacts = LineFacts::default(),
        /// What is to be sent, if that is known: with `kermit.bundle=auto` a sender offers bundles for several short
        /// files.
        batch: Left = Left { files: 0, bytes: 0 },
        /// The loop that runs the engine answers [`Request::Pack`](crate::Request::Pack) and `Unpack`.
        compressor: bool = false,
        /// The store can look for blocks of a file in an older version, and tell the signatures of blocks.
        finds_blocks: bool = false,
        /// The store has, or takes, directories and symbolic links as well.
        entries: bool = false,
        /// The attributes that are sent.
        sent_tags: Tags = Tags::ALL,
        /// Which attributes are heeded.
        taken_tags: Tags = Tags::ALL,
        /// The byte that ends a packet, as the peer is asked to send it.
        eol: u8 = b'\r',
        /// Local time: attribute dates are local. UTC unless set.
        zone: Zone = Zone::UTC,
        /// System id to show; `U1` is Unix.
        system: [u8; 2] = *b"U1",
        /// The file mode is set by the user, and servers use it.
        manual_mode: bool = false,
        /// Between two systems of one id text goes as it is.
        alike_as_is: bool = false,
        /// Lines of text files here end with CR and LF, as on the line.
        crlf_files: bool = false,
    }
}

/// Whether text on the wire may be in this set.
fn is_on_wire(set: Charset) -> bool {
    set.designator().is_some()
}

/// Longest name of a file on the wire, decoded.
pub(crate) const MAX_NAME: usize = 1024;

/// Files of more bytes on average are long: what is between them takes little of their time.
const SHORT_FILE: u64 = 65_536;

/// Room for the names of files that are under way.
const NAMES: usize = 4 * MAX_NAME;

impl Config {
    /// Bytes of one packet of up to `len` bytes with slack, padding and terminator.
    pub(crate) const fn slot_len(len: usize) -> usize {
        // Short packets are accepted, and error messages sent, regardless of the configured length.
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

    /// Bytes of memory that a sender of this configuration needs.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 8] {
        let source = self.buffer_len.max(1024);
        let slots = self.slots() * Self::slot_len(usize::from(self.send_length));
        let frame = Self::slot_len(usize::from(self.receive_length));
        let names = if self.has_bundles() { NAMES } else { 0 };
        let chunk = if self.has_compression() { PRESSED } else { 0 };
        let packed = if self.has_compression() { packed_room(PRESSED) } else { 0 };
        [source, self.sender_queue(), slots, frame, MAX_NAME, names, chunk, packed]
    }

    /// Bytes of memory that a receiver of this configuration needs.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn receiver_lengths(&self) -> [usize; 8] {
        let (file, out) = (self.buffer_len.max(1024), Self::receiver_queue());
        let packet = Self::slot_len(usize::from(self.receive_length));
        let next_name = if self.has_bundles() { MAX_NAME } else { 0 };
        let unpacked = if self.has_compression() { UNPRESSED } else { 0 };
        [file, out, self.slots() * packet, packet, packet, MAX_NAME, next_name, unpacked]
    }

    /// Whether this end offers to stream (Kermit streaming (1998), COMMANDS).
    pub fn offers_streaming(&self) -> bool {
        match (self.streaming, self.reliable, self.line.reliable) {
            (Switch::On, _, _) => true,
            (Switch::Off, _, _) | (Switch::Auto, Switch::Off, _) => false,
            (Switch::Auto, Switch::On, _) => true,
            // An end that cannot know offers, and the end that made the connection decides; but a line on which
            // the user has set a parity is a serial line, and those have errors.
            (Switch::Auto, Switch::Auto, None) => !self.parity.is_some_and(Parity::is_seven_bit),
            (Switch::Auto, Switch::Auto, Some(reliable)) => reliable,
        }
    }

    /// Whether this end announces a clear channel.
    pub fn offers_clear_channel(&self) -> bool {
        match self.clear_channel {
            Switch::On => true,
            Switch::Off => false,
            Switch::Auto => self.line.clear,
        }
    }

    /// Whether this end can take or send many files in one window. The codes that its data fields leave out are
    /// fixed.
    pub(crate) fn has_bundles(&self) -> bool {
        let usual = self.mark == 1 && self.eol == b'\r';
        let chosen = [self.prefixed, self.unprefixed] != [PrefixTable::NOTHING; 2];
        let is_short = self.send_length.min(self.receive_length) < 20;
        let wanted = self.bundle != Switch::Off;
        IS_BUILT && wanted && usual && !chosen && !is_short && !self.is_small()
    }

    /// Whether there is no memory for bundles and compression: the names of files that are under way take as much as all
    /// else of a small engine.
    const fn is_small(&self) -> bool {
        self.buffer_len < NAMES
    }

    /// Whether a sender offers that. Where it cannot compress, a modem that does would find nothing to compress in their
    /// code.
    pub(crate) fn offers_bundles(&self) -> bool {
        let wanted = self.has_compression() || self.has_short_files();
        self.has_bundles() && (self.bundle == Switch::On || wanted)
    }

    /// Whether a sender offers them where it also offers to stream: each file costs some round trips there.
    pub(crate) fn prefers_bundles(&self) -> bool {
        let wanted = self.streaming != Switch::On && self.has_short_files();
        self.offers_streaming() && (self.bundle == Switch::On || wanted)
    }

    /// Whether there are several files to send that are short on average.
    fn has_short_files(&self) -> bool {
        let files = u64::from(self.batch.files);
        files > 1 && self.batch.bytes / files <= SHORT_FILE
    }

    /// Whether this end can compress what goes in bundles or streams, or take it compressed.
    pub(crate) fn has_compression(&self) -> bool {
        let wanted = self.compressor && self.compress != Switch::Off;
        let has_use = self.has_bundles() || self.offers_streaming();
        IS_BUILT && wanted && has_use && !self.is_small()
    }

    /// Whether a sender offers that. A network without a rate may well be faster than a compressor, which is found out.
    pub(crate) fn offers_compression(&self) -> bool {
        let is_fast = self.line.rate_bps > FAST;
        self.has_compression() && (self.compress == Switch::On || !is_fast)
    }

    /// Whether this end can take or send the difference to an older version. What comes of it is compared as a whole.
    pub(crate) fn has_difference(&self) -> bool {
        self.has_bundles() && self.difference && self.finds_blocks && self.digest
    }

    /// Whether modes may tell what is not a file.
    pub(crate) fn has_entries(&self) -> bool {
        let modes = [self.sent_tags, self.taken_tags].iter().all(|tags| tags.contains(b','));
        IS_BUILT && self.entries && self.attributes && modes
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
            time_s: Some(self.timeout.get().as_secs().min(94) as u8),
            pad_count: self.pad_count.min(94),
            pad: 0,
            eol: self.eol,
            qctl: b'#',
            qbin: match (forced, seven_bit) {
                (true, _) => b'N',
                (false, true) => b'&',
                (false, false) => b'Y',
            },
            check: self.check.as_char(),
            rept: if self.repeat { b'~' } else { b' ' },
            capas,
            window,
            max_long: Some(length),
            whatami: Some(whatami),
            system: self.system,
            manual: self.manual_mode,
            own: Some(
                if self.by_length { params::OWN_LENGTH } else { 0 }
                    | if self.digest { params::OWN_DIGEST } else { 0 },
            ),
            capabilities: Capabilities::NONE
                .set(BUNDLE, self.has_bundles())
                .set(COMPRESS, self.has_compression())
                .set(CORRECTION, self.has_bundles() && self.correction)
                .set(DIFFERENCE, self.has_difference())
                .set(ENTRIES, self.has_entries()),
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

    /// The requested check type, as the codec has it.
    pub fn check_type(&self) -> Check {
        self.check.codec()
    }
}
