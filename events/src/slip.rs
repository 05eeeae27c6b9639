//! The counters of a SLIP link.

use serde::Serialize;

/// Traffic of a SLIP link.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCounts {
    /// To the peer.
    pub sent: Sent,
    /// From the peer.
    pub received: Received,
    /// Header compression, if it is on.
    pub compression: Option<Compression>,
    /// Packets sent to probe whether the peer compresses.
    pub probes: u64,
    /// TCP timestamps that were removed.
    pub timestamps_dropped: u64,
    /// The queues, most urgent first.
    pub classes: Vec<Class>,
}

/// Traffic sent on a SLIP link.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sent {
    /// Packets.
    pub packets: u64,
    /// Their bytes at the IP layer.
    pub bytes: u64,
    /// Bytes on the line.
    pub line_bytes: u64,
}

/// Traffic received on a SLIP link.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Their bytes at the IP layer.
    pub bytes: u64,
    /// Bytes on the line.
    pub line_bytes: u64,
    /// Frames that are not IP packets.
    pub bad_frames: u64,
    /// Bytes that the port reported as damaged.
    pub damaged_at_port: u64,
    /// Compressed packets that could not be expanded.
    pub compressed_refused: u64,
}

/// Results of header compression.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compression {
    /// Packets sent compressed.
    pub compressed: u64,
    /// TCP packets sent uncompressed.
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

/// Counters of the user-space stack.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StackCounts {
    /// Connections made.
    pub joined: u64,
    /// Connections refused.
    pub refused: u64,
    /// Packets dropped because they came too fast.
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
    /// With missing fragments.
    pub incomplete: u64,
    /// With conflicting fragments.
    pub refused: u64,
}
