//! Why a packet is rejected.

use crate::reason::reasons;

reasons! {
    /// Why a packet is rejected.
    pub enum BadPacket {
        /// LEN is none.
        Length = "expected a length of 3 to 94, or 0",
        /// SEQ is none.
        Sequence = "expected a sequence number of 0 to 63",
        /// Invalid LENX1 and LENX2.
        LongLength = "expected an extended length of 1 to 9024",
        /// HCHECK is wrong.
        HeaderCheck = "the check of the long header is wrong",
        /// Longer than was agreed on.
        TooLong = "packet longer than agreed",
        /// Longer than there is memory for.
        Buffer = "packet longer than the buffer",
        /// The memory was exchanged in the middle of a packet.
        ShorterBuffer = "the buffer became shorter than the packet",
        /// MARK in the middle.
        Inside = "a packet began inside this one",
        /// EOL in the middle.
        EndOfLine = "the end of line came before the end of the packet",
        /// The header's bytes have no parity in common.
        Parity = "the header has no common parity",
        /// Fewer bytes than its header needs.
        Short = "packet shorter than its header",
        /// A NAK has no data.
        NakWithData = "NAK with data",
        /// The block check is wrong.
        Check = "block check",
        /// More errors than the code can correct.
        Correction = "more errors than can be corrected",
        /// An E packet that is right by a weaker check only.
        WeakError = "error under a weaker check",
        /// Parameters: a control character.
        Control = "control character in parameters",
        /// Parameters: EOL is not a control character.
        Eol = "packet end that is no control character",
        /// Parameters: invalid QCTL.
        ControlPrefix = "control prefix that is none",
        /// Parameters: invalid QBIN.
        BinaryPrefix = "8th-bit prefix that is none",
        /// Parameters: invalid CHKT.
        CheckType = "block check that is none",
        /// Parameters: two prefixes are one character.
        SamePrefixes = "prefixes that are the same",
        /// Parameters: a prefix that hardly any Kermit chooses.
        UnusualPrefix = "unusual prefix",
        /// Parameters: WHATAMI.
        Whatami = "WHATAMI without its valid bit",
        /// Parameters: the second byte of WHATAMI.
        Whatami2 = "WHATAMI2 without its valid bit",
        /// Parameters: the system's ID.
        LongSystem = "system id that is too long",
        /// Parameters: the system's ID ends too soon.
        ShortSystem = "system id that is cut short",
        /// Parameters: longer than from any Kermit.
        Unknown = "unknown fields at the end",
    }
}
