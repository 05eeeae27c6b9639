//! Monotonic counters; rates are derived by the reader.

/// Monotonic counters of one session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes taken by the port.
    pub wire_out_bytes: u64,
    /// Bytes received from the port.
    pub wire_in_bytes: u64,
    /// File bytes sent or received, each counted once, as in the local file.
    pub file_bytes: u64,
    /// File bytes of the current file, the resumed part included.
    pub current_file_bytes: u64,
    /// File bytes that did not come over the line, because the receiver had them in an older version of the file; at a
    /// sender it grows at the end of each file, after [`Event::FileStarted`](crate::Event::FileStarted).
    pub known_bytes: u64,
    /// Bytes of the current file that the peer is known to have, the resumed part included, where this
    /// end sends and packets are acknowledged on the way; `None` where they are not (streaming).
    pub current_acked_bytes: Option<u64>,
    /// Bytes of data fields of data packets: file bytes after encoding, each packet counted once.
    pub encoded_bytes: u64,
    /// Bytes that were compressed here, or came out of compression.
    pub unpacked_bytes: u64,
    /// What they were compressed to.
    pub packed_bytes: u64,
    /// Wire bytes spent on retransmissions.
    pub repeated_bytes: u64,
    /// Packets (frames, blocks, subpackets) sent, retransmissions included.
    pub packets_out: u64,
    /// Good packets received.
    pub packets_in: u64,
    /// Retransmitted packets.
    pub retransmissions: u64,
    /// Negative acknowledgements sent.
    pub naks_out: u64,
    /// Negative acknowledgements received.
    pub naks_in: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Packets received with a bad check or an impossible header.
    pub damaged: u64,
    /// Duplicate packets received.
    pub duplicates: u64,
    /// Bytes received that belonged to no packet.
    pub noise_bytes: u64,
    /// Files transferred completely.
    pub files_done: u64,
    /// Files skipped, refused or cancelled.
    pub files_skipped: u64,
    /// The longest packet sent, in bytes.
    pub longest_packet_bytes: u64,
}
