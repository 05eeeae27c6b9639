//! The configuration of the two ZMODEM engines.

use super::escape::{Dropping, Escaping};
use super::info::{Conversion, MAX_NAME};
use super::packet::{PACKS, capability, subpacket_room};
use crate::file::Wish;
use crate::line::LineFacts;
use crate::settings::Switch;
use crate::time::Span;

crate::choice! {
    /// How a receiver handles a command for its operating system.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Commands {
        /// Reports failure.
        #[default]
        Refuse = "refuse",
        /// Shows it to the user and reports success.
        Announce = "announce",
        /// Shows it, and asks the store to run it ([`Remote::Run`](crate::file::Remote::Run)); reports
        /// its status. The sender then controls this machine.
        Run = "run",
    }
}

crate::choice! {
    for Escaping:
    "normal" => Escaping::Normal,
    "controls" => Escaping::Controls,
    "turbo" => Escaping::Turbo,
    "zdle" => Escaping::Zdle,
}

crate::choice! {
    for Conversion:
    "unsaid" => Conversion::Unsaid,
    "binary" => Conversion::Binary,
}

crate::choice! {
    for Wish:
    "unsaid" => Wish::Unsaid,
    "newer-or-longer" => Wish::NewerOrLonger,
    "different-check" => Wish::DifferentCheck,
    "append" => Wish::Append,
    "overwrite" => Wish::Overwrite,
    "newer" => Wish::Newer,
    "different" => Wish::Different,
    "protect" => Wish::Protect,
    "rename" => Wish::Rename,
}

/// The attention string of a sender (ZSINIT), at most 31 bytes.
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

crate::settings! {
    /// All settings, with the facts of the line.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Config {
        /// [`Escaping::Controls`] at a receiver asks the sender for it.
        "zmodem.escape" escape: Escaping[word] = "normal",
            "What is escaped: flow control and CR after @, all control characters, flow control only, nothing but the escape itself",
            "[Z88] ESCCTL; sz -e, sz -E; DirZap";
        /// If it is not 0, at least 32.
        "zmodem.send-length" send_length: u16[0..=8192 "bytes" if is_send_length] = 0,
            "Longest data subpacket to send; 0 depends on the peer (1024 unless it is a Wetstring) and the line",
            "[Z88]; 8192 is ZedZap's";
        "zmodem.receive-length" receive_length: u16[1024..=8192 "bytes"] = 8192,
            "Longest data subpacket to accept",
            "ZedZap";
        "zmodem.adapt-length" adapt_length: bool[word] = "on",
            "Fit the length of data subpackets to the errors of the line",
            "[Z88] leaves the length to the sender";
        "zmodem.crc32" crc32: bool[word] = "on",
            "Use CRC-32 where the peer can",
            "[Z88] CANFC32";
        /// 0 is unlimited if the rate of the line is known, else the line's capacity as measured by
        /// acknowledgements.
        "zmodem.window" window: u32[0..=4_000_000 "bytes"] = 0,
            "Window in bytes; 0 depends on the line",
            "sz -w";
        "zmodem.receive-buffer" receive_buffer: u16[0..=65535 "bytes"] = 0,
            "Bytes the sender may send before it waits for an acknowledgement; 0 is unlimited",
            "[Z88] ZRINIT buffer length";
        "zmodem.rle" rle: bool[word] = "off",
            "Code runs of equal bytes if the peer offers it too",
            "Omen rz/sz 2002";
        "zmodem.compress" compress: Switch[word] = "auto",
            "Compress data when the peer is a Wetstring too; auto: unless the line is fast",
            "Wetstring: header form E, by an unused bit of ZRINIT", no_flag;
        "zmodem.variable-headers" variable_headers: bool[word] = "off",
            "Use headers of variable length if the peer offers it too",
            "Omen rz/sz 2002";
        /// `Unsaid` or `Binary`.
        "zmodem.conversion" conversion: Conversion[word] = "binary",
            "What is announced of a binary file: nothing, or no conversion",
            "[Z88] ZCBIN";
        "zmodem.wish" wish: Wish[word] = "unsaid",
            "How the sender asks to handle a collision at the receiver",
            "[Z88] ZMNEWL, ZMCRC, ZMAPND, ZMCLOB, ZMNEW, ZMDIFF, ZMPROT, ZMCHNG";
        "zmodem.skip-if-absent" skip_if_absent: bool[word] = "off",
            "Send only files that the receiver has already",
            "[Z88] ZMSKNOLOC";
        "zmodem.receive-binary" receive_binary: bool[word] = "off",
            "Receiver: store the bytes as they come, whatever the sender says of line ends",
            "[Z88] ZCNL; rz -b";
        "zmodem.resume" resume: bool[word] = "off",
            "Receiver: continue files that are here in part, whatever the sender says",
            "rz -r", no_flag;
        "zmodem.resume-check" resume_check: bool[word] = "on",
            "Receiver: request a CRC of the stored part before resuming; not all senders support it",
            "[Z88] ZCRC; off: rz -r";
        "zmodem.autostart" autostart: bool[word] = "on",
            "Begin with `rz` and CR, which starts a receiver at a prompt",
            "[Z88] 8.1";
        "zmodem.challenge" challenge: u32[0..=0xFFFF_FFFF] = 0,
            "A number that the sender must return before anything else; 0 is none",
            "[Z88] ZCHALLENGE";
        "zmodem.free" free_bytes: u32[0..=0xFFFF_FFFF "bytes"] = 0,
            "Free space that a receiver reports when asked; 0 is unlimited",
            "[Z88] ZFREECNT";
        "zmodem.commands" commands: Commands[word] = "refuse",
            "How a receiver handles a command: refuse, show it, or run it, which gives the sender control of this machine",
            "[Z88] ZCOMMAND";
        "zmodem.max-files" max_files: u32[1..=0xFFFF_FFFF "files"] = 100_000,
            "Most files a receiver takes in one batch",
            "Wetstring: a bound for a peer that never ends its batch";
        "zmodem.timeout" timeout: Span[1..=60 seconds] = 10,
            "Longest timeout for an answer",
            "[Z88]";
        "zmodem.patience" patience: Span[1..=3600 seconds] = 60,
            "Silence after which the transfer fails",
            "sz";
        "zmodem.retries" retries: u8[1..=255] = 20,
            "Errors in a row without progress after which the transfer fails",
            "rz";
        "zmodem.known-spacing" known_spacing: u32[0..=0xFFFF_FFFF "bytes"] = 0,
            "Bytes between two errors of the line, where it is known: a sender begins with subpackets that fit them; 0 is unknown",
            "Wetstring: what is remembered of a line", no_flag;
        "zmodem.linger" linger: Span[0..=60000 milliseconds] = 1000,
            "How long a receiver lingers for the sender's last packet",
            "Wetstring: the sender's last packet may be lost";
        "zmodem.buffer" buffer_len: usize[1024..=1_048_576 "bytes"] = 131_072,
            "Buffer for file data between the engine and its store",
            "Wetstring: memory of an engine is fixed when it starts", no_flag;
    }
    also {
        /// The line.
        line: LineFacts = LineFacts::default(),
        /// The host of this engine can compress ([`Request::Pack`](crate::file::Request::Pack)).
        compressor: bool = false,
        /// Sender: the attention string.
        attention: Attention = Attention::NONE,
    }
}

/// Whether a sender's subpackets may be this long.
const fn is_send_length(len: u64) -> bool {
    len == 0 || len >= 32
}

/// Longest subpacket in use (ZedZap).
pub(crate) const LONGEST: usize = 8192;
/// Longest subpacket of the standard.
pub(crate) const STANDARD: usize = 1024;
/// Bytes of a file that are compressed at a time: they fit into the longest subpacket if they do not shrink.
pub(crate) const LONGEST_CHUNK: usize = longest_chunk(LONGEST);

/// The longest chunk that fits into a subpacket of this length if it does not shrink.
pub(crate) const fn longest_chunk(subpacket: usize) -> usize {
    subpacket - subpacket / 64 - 32
}

/// Bytes a receiver needs after the longest subpacket while it undoes escapes.
const SCRATCH: usize = 128;

impl Config {
    /// What a receiver ignores in binary frames.
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

    /// The longest subpacket for a line of this rate: an error is detected at its end, which must not
    /// take long.
    pub(crate) fn fits_line(&self) -> usize {
        match (self.line.reliable, self.line.rate_bps) {
            (Some(true), _) | (None, 0) => LONGEST,
            (Some(false), 0) => STANDARD,
            // One second.
            (_, rate) => (rate as usize / 10).clamp(256, LONGEST) & !15,
        }
    }

    /// The longest subpacket that this receiver accepts.
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
        // One additional byte tells whether a subpacket is the last.
        self.buffer_len.max(self.longest_sent() + 1)
    }

    /// Bytes of a sender's queue towards the port.
    pub(crate) fn sender_queue(&self) -> usize {
        // Headers, and the end of a frame where data of another kind follows.
        let beside = if self.has_compression() { 192 } else { 128 };
        let one = subpacket_room(self.longest_sent().max(MAX_NAME + super::info::ROOM)) + beside;
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
        if self.rle || self.has_compression() { self.longest_taken() + SCRATCH } else { 0 }
    }

    /// Bytes of memory that a sender of this configuration needs.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 5] {
        // If nothing shrinks there is a little more.
        let packed = LONGEST_CHUNK + LONGEST_CHUNK / 128 + 128;
        let packed = if self.has_compression() { packed } else { 0 };
        [self.source_len(), self.sender_queue(), self.coded_len(), MAX_NAME, packed]
    }

    /// Whether this end can compress, or take what is compressed.
    pub(crate) fn has_compression(&self) -> bool {
        PACKS && self.compressor && self.crc32 && self.compress != Switch::Off
    }

    /// Bytes of one run-coded subpacket.
    pub(crate) fn coded_len(&self) -> usize {
        if self.rle { self.longest_sent() } else { 0 }
    }

    /// Bytes of memory that a receiver of this configuration needs.
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
        more |= if self.has_compression() { capability::OWN_PACKED } else { 0 };
        let [low, high] = self.receive_buffer.to_le_bytes();
        [low, high, more, can]
    }
}
