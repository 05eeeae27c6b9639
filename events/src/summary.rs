//! The last event, and what each command adds to it.

use serde::Serialize;

use crate::{Counters, FileResult, LinkCounts, StackCounts};

/// The last event.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// The exit code.
    pub exit: u8,
    /// What it means, in a word; of `wst lab diff` `same` or `different`.
    pub outcome: &'static str,
    /// A sentence; empty if everything is said.
    pub message: String,
    /// What the command adds.
    #[serde(flatten)]
    pub summary: Option<Summary>,
}

/// What a command adds to the last event, if it came so far.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Summary {
    /// Of a transfer.
    Transfer(Box<Transfer>),
    /// Of a NETBLT listener that had several sessions.
    Sessions(Sessions),
    /// Of `wst demo`.
    Demo(Box<Demo>),
    /// Of `wst line`.
    Line(Box<LineUsage>),
    /// Of `wst slip`.
    Slip(Box<SlipSummary>),
    /// Of `wst lab sweep`.
    Sweep(SweepSummary),
    /// Of `wst lab diff`.
    Comparison(Comparison),
}

/// What came of a transfer.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transfer {
    /// The files.
    pub files: Vec<FileResult>,
    /// Further files, of which there were too many to list.
    pub unlisted: u64,
    /// Whole files of which both ends have compared a digest.
    pub verified: u64,
    /// Whole files of which they have not.
    pub unverified: u64,
    /// The time of the transfer.
    pub elapsed_s: f64,
    /// The counters.
    pub stats: Counters,
}

/// Several sessions.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sessions {
    /// Each of them.
    pub sessions: Vec<Session>,
}

/// The end of a session.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// What would be the exit code.
    pub exit: u8,
    /// A sentence; empty if it ended well.
    pub message: String,
}

/// What came of the demonstration.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demo {
    /// Bytes that arrived.
    pub bytes: u64,
    /// The time on the line.
    pub elapsed_s: f64,
    /// The share of what the line can carry.
    pub efficiency: f64,
    /// Where the line's time went.
    pub shares: Shares,
    /// Bytes that noise damaged on the way there.
    pub damaged_bytes: u64,
    /// The counters of the sender.
    pub stats: Counters,
    /// SHA-256 of the file that was sent.
    pub sha256_sent: String,
    /// SHA-256 of the file that arrived.
    pub sha256_received: String,
    /// Both are the same.
    pub equal: bool,
}

/// Where a line's time went, as shares of 1.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shares {
    /// Data of the file.
    pub data: f64,
    /// Retransmissions.
    pub again: f64,
    /// Headers, checks and other packets.
    pub frames: f64,
    /// Nothing to send.
    pub idle: f64,
}

/// What an emulated line has carried.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineUsage {
    /// How long it was up.
    pub elapsed_s: f64,
    /// From A to B.
    pub a_to_b: Usage,
    /// From B to A.
    pub b_to_a: Usage,
}

/// What a direction of a line has carried.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Bytes that it took.
    pub bytes_in: u64,
    /// Bytes that it delivered.
    pub bytes_out: u64,
    /// Bytes that it damaged.
    pub damaged_bytes: u64,
    /// Bytes that it dropped.
    pub dropped_bytes: u64,
    /// Bytes that it delivered twice.
    pub duplicated_bytes: u64,
    /// How long it was busy.
    pub busy_s: f64,
}

/// What a SLIP link has carried.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlipSummary {
    /// Its counters.
    #[serde(flatten)]
    pub link: LinkCounts,
    /// Those of the user-space stack, if it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackCounts>,
    /// How long it was up.
    pub elapsed_s: f64,
    /// The pings, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pings: Option<Pings>,
}

/// Pings.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pings {
    /// How many were sent.
    pub sent: u32,
    /// How many were answered.
    pub answered: u32,
}

/// What came of a sweep.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepSummary {
    /// How many points.
    pub points: u64,
    /// How many runs did not end well.
    pub failed: u64,
    /// The files with the results.
    pub files: Vec<String>,
}

/// What came of a comparison.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The two files differ.
    pub differs: bool,
}

impl Comparison {
    /// The outcome of the program.
    pub const fn word(&self) -> &'static str {
        if self.differs { "different" } else { "same" }
    }
}
