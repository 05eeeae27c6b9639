//! Types shared by the events of a transfer.

use serde::Serialize;

/// Properties of a line. Of `wst ncp` it has `line` and `port`, of NETBLT the last three besides the others.
#[derive(Serialize, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Opened {
    /// The line.
    pub line: String,
    /// The line is reliable: bytes arrive as sent or it fails; null if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliable: Option<Option<bool>>,
    /// All 256 byte values pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<bool>,
    /// Bits per second, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<Option<u32>>,
    /// The local UDP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The encryption of packets, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<Option<String>>,
    /// The longest packet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_max: Option<u64>,
    /// The fingerprint of the peer's key, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Option<String>>,
}

/// The type of a file.
#[derive(Serialize, Debug, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Lines of characters, converted on the way.
    Text,
    /// Bytes, as they are.
    Binary,
}

/// What a name of a batch is.
#[derive(Serialize, Debug, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// Progress of a file.
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
    /// Efficiency: the share of the line's capacity, if its rate is known.
    pub efficiency: Option<f64>,
    /// Estimated time left, if known.
    pub left_s: Option<f64>,
    /// Packets that were retransmitted.
    pub retransmissions: u64,
}

/// The result of a file.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileResult {
    /// Its name on the wire.
    pub name: String,
    /// A file, a directory or a link.
    pub entry: EntryKind,
    /// The local file.
    pub path: Option<String>,
    /// The backup of an older file of the same name.
    pub put_aside: Option<String>,
    /// Bytes.
    pub size: u64,
    /// The position from which it was resumed; 0 if it was not.
    pub resumed_from: u64,
    /// `stored`, `sent`, `refused`, `skipped`, `passed-over` (a directory or link without a place at the peer) or `partial`.
    pub outcome: &'static str,
    /// The reason, if it was refused or skipped.
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
    /// Files transferred completely.
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
    /// Bytes that were compressed on the way.
    pub unpacked_bytes: u64,
    /// What they were compressed to.
    pub packed_bytes: u64,
    /// Bytes of the wire spent on retransmissions.
    pub repeated_bytes: u64,
    /// Packets sent, retransmissions included.
    pub packets_out: u64,
    /// Good packets received.
    pub packets_in: u64,
    /// Packets that were retransmitted.
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
    /// Date and time, as reported by the server.
    pub date: String,
    /// Permissions, as reported by the server.
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
    /// Its place in the USB tree and its interface, such as `1-2.3:1.0`: `usb:` and either is a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}
