//! What happened, as counters that only grow; rates are for the one who looks.

/// Monotone counters of one transaction. Every field is a count of what its name says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes the port took from us.
    pub wire_out_bytes: u64,
    /// Bytes we took from the port.
    pub wire_in_bytes: u64,
    /// File bytes sent or received, each counted once, as they stand in the local file.
    pub file_bytes: u64,
    /// File bytes of the current file, the resumed part included.
    pub current_file_bytes: u64,
    /// Bytes of the current file that the peer is known to have, the resumed part included, where this
    /// end sends and packets are acknowledged on the way; `None` where they are not (streaming).
    pub current_acked_bytes: Option<u64>,
    /// Bytes of data fields of data packets: file bytes after encoding, each packet counted once.
    pub encoded_bytes: u64,
    /// Bytes of the wire that were spent on repeating packets.
    pub repeated_bytes: u64,
    /// Packets (frames, blocks, subpackets) sent, repeats included.
    pub packets_out: u64,
    /// Good packets received.
    pub packets_in: u64,
    /// Packets that were sent again.
    pub retransmissions: u64,
    /// Negative acknowledgements sent.
    pub naks_out: u64,
    /// Negative acknowledgements received.
    pub naks_in: u64,
    /// Timers that ran out.
    pub timeouts: u64,
    /// Packets received with a bad check or an impossible header.
    pub damaged: u64,
    /// Good packets received that had been received before.
    pub duplicates: u64,
    /// Bytes received that belonged to no packet.
    pub noise_bytes: u64,
    /// Files transferred whole.
    pub files_done: u64,
    /// Files skipped, refused or cancelled.
    pub files_skipped: u64,
    /// The longest packet sent, in bytes.
    pub longest_packet_bytes: u64,
}
