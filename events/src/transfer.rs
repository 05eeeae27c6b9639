//! What several events of a transfer share.

use serde::Serialize;

/// What a line turned out to be. Of `wst ncp` it has `line` and `port`, of NETBLT the last three besides the others.
#[derive(Serialize, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Opened {
    /// The line.
    pub line: String,
    /// Bytes arrive as they were sent, or the line breaks; null if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliable: Option<Option<bool>>,
    /// All eight bits of a byte pass, and every value of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<bool>,
    /// Bits per second, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<Option<u32>>,
    /// The local UDP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How packets are encrypted, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<Option<String>>,
    /// The longest packet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_max: Option<u64>,
    /// The fingerprint of the peer's key, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Option<String>>,
}

/// How a file is represented.
#[derive(Serialize, Debug, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Lines of characters, converted on the way.
    Text,
    /// Bytes, as they are.
    Binary,
}

/// How far a file is.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Its name.
    pub name: String,
    /// Bytes transferred, the resumed part included.
    pub bytes: u64,
    /// Bytes of the whole file, if known.
    pub size: Option<u64>,
    /// Since it began.
    pub elapsed_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// The share of what the line can carry, if its rate is known.
    pub efficiency: Option<f64>,
    /// Until it is whole, if that can be told.
    pub left_s: Option<f64>,
    /// Packets that were sent again.
    pub retransmissions: u64,
}

/// What became of a file.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileResult {
    /// Its name on the wire.
    pub name: String,
    /// The local file.
    pub path: Option<String>,
    /// Where an older file of the same name is now.
    pub put_aside: Option<String>,
    /// Bytes.
    pub size: u64,
    /// The position from which it was resumed; 0 if it was not.
    pub resumed_from: u64,
    /// `stored`, `sent`, `refused`, `skipped` or `partial`.
    pub outcome: &'static str,
    /// The reason, of one that was refused or skipped.
    pub why: Option<String>,
    /// The rule for names that it broke.
    pub name_rule: Option<String>,
    /// Both ends have compared a digest of the whole file.
    pub verified: bool,
    /// It changed while it was sent.
    pub changed: bool,
}

/// The counters of a transfer.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// Files transferred whole.
    pub files_done: u64,
    /// Files skipped, refused or cancelled.
    pub files_skipped: u64,
    /// File bytes, each counted once.
    pub file_bytes: u64,
    /// Bytes that the port took.
    pub wire_out_bytes: u64,
    /// Bytes that came from the port.
    pub wire_in_bytes: u64,
    /// Data fields of data packets, each packet counted once.
    pub encoded_bytes: u64,
    /// Bytes of the wire spent on retransmissions.
    pub repeated_bytes: u64,
    /// Packets sent, retransmissions included.
    pub packets_out: u64,
    /// Good packets received.
    pub packets_in: u64,
    /// Packets that were sent again.
    pub retransmissions: u64,
    /// Negative acknowledgements sent.
    pub naks_out: u64,
    /// Negative acknowledgements received.
    pub naks_in: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Packets received damaged.
    pub damaged: u64,
    /// Good packets that had been received before.
    pub duplicates: u64,
    /// Bytes received that belonged to no packet.
    pub noise_bytes: u64,
    /// The longest packet sent.
    pub longest_packet_bytes: u64,
}

/// A file of a directory listing.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedFile {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Date and time, as the server tells them.
    pub date: String,
    /// Permissions, as the server tells them.
    pub rights: String,
}

/// A USB device.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usb {
    /// Vendor, as a number.
    pub vendor_id: u16,
    /// Product, as a number.
    pub product_id: u16,
    /// Vendor, in words.
    pub manufacturer: Option<String>,
    /// Product, in words.
    pub product: Option<String>,
    /// Serial number.
    pub serial_number: Option<String>,
}
