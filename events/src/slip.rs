//! The counters of a SLIP link.

use serde::Serialize;

/// What a SLIP link has carried.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCounts {
    /// To the peer.
    pub sent: Sent,
    /// From the peer.
    pub received: Received,
    /// Of headers, if they are compressed.
    pub compression: Option<Compression>,
    /// Packets sent to find out whether the peer compresses.
    pub probes: u64,
    /// TCP timestamps that were removed.
    pub timestamps_dropped: u64,
    /// The queues, most urgent first.
    pub classes: Vec<Class>,
}

/// What a SLIP link has sent.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sent {
    /// Packets.
    pub packets: u64,
    /// Their bytes, as IP has them.
    pub bytes: u64,
    /// Bytes on the line.
    pub line_bytes: u64,
}

/// What a SLIP link has received.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Their bytes, as IP has them.
    pub bytes: u64,
    /// Bytes on the line.
    pub line_bytes: u64,
    /// Frames that are no packet.
    pub bad_frames: u64,
    /// Bytes that the port reported as damaged.
    pub damaged_at_port: u64,
    /// Compressed packets that could not be expanded.
    pub compressed_refused: u64,
}

/// What came of compression.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compression {
    /// Packets sent compressed.
    pub compressed: u64,
    /// TCP packets sent whole.
    pub uncompressed: u64,
    /// Header bytes before.
    pub header_bytes_before: u64,
    /// Header bytes after.
    pub header_bytes: u64,
    /// Packets whose TCP timestamps changed.
    pub timestamps_changed: u64,
}

/// A queue of a SLIP link.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Class {
    /// Its name.
    pub class: &'static str,
    /// Packets sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// The mean time in the queue.
    pub mean_delay_s: f64,
    /// The longest time in the queue.
    pub longest_delay_s: f64,
}

/// What the user-space stack has received.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StackCounts {
    /// Connections made.
    pub joined: u64,
    /// Connections refused.
    pub refused: u64,
    /// Packets dropped, since they came too fast.
    pub dropped: u64,
    /// Packets in fragments.
    pub fragments: Fragments,
}

/// Packets that came in fragments.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fragments {
    /// Reassembled.
    pub whole: u64,
    /// Of which fragments are missing.
    pub incomplete: u64,
    /// Whose fragments contradict each other.
    pub refused: u64,
}
