//! The configuration of the X/YMODEM engines.

use super::frame::{Check, LONG, SHORT, WANT_CRC, WANT_STREAM};
use crate::line::LineFacts;
use crate::time::Span;

crate::choice! {
    /// The variant. A sender follows the receiver's request for checksum, CRC or streaming regardless of
    /// its own variant; the variant says whether there is a block 0 and how long blocks are.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Variant {
        /// One file, blocks of 128 bytes; as a receiver, checksums.
        Xmodem = "xmodem",
        /// One file, blocks of 128 bytes; as a receiver, CRCs, and checksums if there is no answer.
        XmodemCrc = "xmodem-crc",
        /// One file, blocks of 1024 bytes; as a receiver like `XmodemCrc`.
        Xmodem1k = "xmodem-1k",
        /// Several files with name, length, time and mode; blocks of 1024 bytes, CRCs.
        #[default]
        Ymodem = "ymodem",
        /// The same; as a receiver, without acknowledgements: for lines that lose nothing.
        YmodemG = "ymodem-g",
    }
}

impl Variant {
    /// Whether there is a block 0.
    pub const fn is_batch(self) -> bool {
        matches!(self, Self::Ymodem | Self::YmodemG)
    }
}

crate::choice! {
    /// Data bytes of the longest block to send.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum BlockLength {
        /// By the variant, and in YMODEM by the receiver too: one that asks for checksums gets 128.
        #[default]
        Auto = "auto",
        /// 128.
        Short = "128",
        /// 1024.
        Long = "1024",
    }
}

crate::choice! {
    /// How a receiver handles the first EOT, which may be noise.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum FirstEot {
        /// Accepts it if the announced length agrees, else sends NAK and accepts the second.
        #[default]
        Auto = "auto",
        /// Sends NAK, accepts the second (\[XY88\] figures 3 to 5).
        Nak = "nak",
        /// Accepts it if a second of silence follows (as lrzsz does).
        Wait = "wait",
    }
}

crate::settings! {
    /// All settings, with the facts of the line.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Config {
        "xymodem.variant" variant: Variant[word] = "ymodem",
            "Protocol variant",
            "[XY88]", no_flag;
        "xymodem.block" block: BlockLength[word "bytes"] = "auto",
            "Longest block to send; auto is 128 for xmodem and xmodem-crc, 1024 for the others, and 128 for ymodem where the receiver asks for checksums",
            "[XY88] chapter 4; lrzsz sx -k";
        "xymodem.adapt-block" adapt_block: bool[word] = "on",
            "Send 128-byte blocks for a while after a long one was damaged",
            "[XY88] leaves the size to the sender";
        "xymodem.retries" retries: u8[1..=94] = 10,
            "Retry limit of a block",
            "[XY88] chapter 7";
        "xymodem.starts" starts: u8[0..=94] = 4,
            "How often an XMODEM receiver sends C before it falls back to NAK and checksums; 0 is never",
            "[XY88] figure 13";
        "xymodem.start-wait" start_wait: Span[100..=60_000 milliseconds] = 3000,
            "Time between start characters",
            "[XY88] chapter 8";
        "xymodem.timeout" timeout: Span[1..=600 seconds] = 10,
            "A receiver's longest wait for a block before it asks for it again",
            "[XY88] chapter 7";
        "xymodem.answer-timeout" answer_timeout: Span[1..=600 seconds] = 60,
            "A sender's wait for an answer before it sends the block again",
            "[XY88] chapter 7";
        /// U-Boot acknowledges the header and sends no start character: it waits for the block, and asks after 4 s. A
        /// receiver that discards what came early asks for it, too. Not a `Span`, so that a sender fits into 4 KiB.
        "xymodem.go-wait" go_wait: u16[0..=60_000 "milliseconds"] = 0,
            "How long a YMODEM sender waits, once the header is acknowledged, for the start character before it sends the first block without it; 0: until it comes",
            "Wetstring: U-Boot's loady, which sends none for four seconds";
        "xymodem.patience" patience: Span[1..=3600 seconds] = 120,
            "Longest wait for the peer to start",
            "lrzsz rx, 140 s";
        "xymodem.char-timeout" char_timeout: Span[10..=60_000 milliseconds] = 1000,
            "Silence inside a block that ends it",
            "[XY88] chapter 7";
        "xymodem.purge" purge: Span[10..=60_000 milliseconds] = 1000,
            "Silence that must follow damage before the NAK",
            "[XY88] chapter 7";
        "xymodem.quick-nak" quick_nak: bool[word] = "on",
            "Ask for a damaged block of full length after 0.1 s of silence, not after the whole purge",
            "[XY88] chapter 7 waits a second in any case";
        "xymodem.first-eot" first_eot: FirstEot[word] = "auto",
            "How a receiver handles the first EOT: accept it if the announced length agrees, else NAK; always NAK; accept it if a second of silence follows",
            "[XY88] figures 3 to 5; lrzsz";
        /// Leave it unless the peer is known to need one.
        "xymodem.pause" pause: Span[0..=1000 milliseconds] = 0,
            "Pause before each block or answer; a need for one is learnt from losses",
            "lrzsz rx and rb, which discard their input after each answer";
        "xymodem.start-pause" start_pause: Span[0..=1000 milliseconds] = 20,
            "Pause before the first answer to a start character",
            "lrzsz rx and rb, which discard their input after a start character, and ask again after 6 to 11 s";
        "xymodem.pad" pad: u8[0..=255] = 26,
            "Code of the byte that fills the last block",
            "[XY88]: CPMEOF";
        "xymodem.truncate-pad" truncate_pad: bool[word] = "off",
            "Strip trailing 1A from the last block of a file whose length was not announced",
            "lrzsz rx keeps it: the file may end in 1A";
        "xymodem.records" records: bool[word] = "off",
            "Put the count of 128-byte records into block 0, for KMD and IMP",
            "lrzsz sb";
        "xymodem.known-spacing" known_spacing: u16[0..=65535 "bytes"] = 0,
            "Bytes between two errors of the line, where it is known: a sender of long blocks begins with short ones where long ones would fail; 0 is unknown",
            "Wetstring: what is remembered of a line", no_flag;
        "xymodem.linger" linger: Span[0..=60_000 milliseconds] = 4000,
            "How long a receiver lingers to retransmit its last acknowledgement",
            "Wetstring: the last acknowledgement may be lost";
        "xymodem.buffer" buffer_len: usize[128..=1_048_576 "bytes"] = 131_072,
            "Buffer for file data between the engine and its store",
            "Wetstring: memory of an engine is fixed when it starts", no_flag;
    }
    also {
        /// The line.
        line: LineFacts = LineFacts::default(),
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
            (BlockLength::Short, _) => SHORT,
            (BlockLength::Auto, Variant::Xmodem | Variant::XmodemCrc) => SHORT,
            (BlockLength::Long | BlockLength::Auto, _) => LONG,
        }
    }

    /// Long blocks also to a receiver that asks for checksums, as lrzsz's `sx -k` sends them
    /// (docs/decisions/021).
    pub(crate) fn insists_on_long(&self) -> bool {
        self.block == BlockLength::Long
            || self.block == BlockLength::Auto && self.variant == Variant::Xmodem1k
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
        // Padding is known only when the next block has arrived.
        let blocks = 1 + usize::from(self.truncate_pad);
        self.buffer_len.max(self.receive_block() * blocks)
    }

    /// The queue towards the port: one block, or many where they are not acknowledged.
    pub(crate) fn queue_len(&self) -> usize {
        // Block 0 may be long regardless of the block length.
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

    /// Bytes of memory that a sender of this configuration needs.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 3] {
        [self.source_len(), self.queue_len(), self.name_len()]
    }

    /// Bytes of memory that a receiver of this configuration needs.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn receiver_lengths(&self) -> [usize; 2] {
        [self.sink_len(), if self.variant.is_batch() { LONG } else { 0 }]
    }

    /// The first start character of a receiver of this variant.
    pub(crate) fn start(&self) -> (u8, Check) {
        match self.variant {
            Variant::Xmodem => (super::frame::NAK, Check::Sum),
            Variant::YmodemG => (WANT_STREAM, Check::Crc),
            _ => (WANT_CRC, Check::Crc),
        }
    }
}
