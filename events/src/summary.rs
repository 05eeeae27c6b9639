//! The last event, and what each command adds to it.

use serde::Serialize;

use crate::{Counters, FileResult, LinkCounts, StackCounts};

/// The last event.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// The exit code.
    pub exit: u8,
    /// Its meaning in a word; of `wst lab diff` `same` or `different`.
    pub outcome: &'static str,
    /// A sentence; empty if there is nothing to add.
    pub message: String,
    /// The summary of the command.
    #[serde(flatten)]
    pub summary: Option<Summary>,
}

/// The summary that a command adds to the last event, if it got that far.
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

/// The result of a transfer.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transfer {
    /// The files.
    pub files: Vec<FileResult>,
    /// Further files, beyond those listed.
    pub unlisted: u64,
    /// Complete files whose digest both ends have compared.
    pub verified: u64,
    /// Complete files whose digest they have not compared.
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
    /// The exit code it would have alone.
    pub exit: u8,
    /// A sentence; empty if it succeeded.
    pub message: String,
}

/// The result of the demonstration.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demo {
    /// Bytes that arrived.
    pub bytes: u64,
    /// The time on the line.
    pub elapsed_s: f64,
    /// Efficiency: the share of the line's capacity.
    pub efficiency: f64,
    /// The use of the line's time.
    pub shares: Shares,
    /// Bytes damaged by noise towards the receiver.
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

/// The use of a line's time, as fractions of 1.
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

/// Traffic of an emulated line.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineUsage {
    /// Uptime.
    pub elapsed_s: f64,
    /// From A to B.
    pub a_to_b: Usage,
    /// From B to A.
    pub b_to_a: Usage,
}

/// Traffic in one direction of a line.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Bytes in.
    pub bytes_in: u64,
    /// Bytes delivered.
    pub bytes_out: u64,
    /// Bytes that it damaged.
    pub damaged_bytes: u64,
    /// Bytes that it dropped.
    pub dropped_bytes: u64,
    /// Bytes that it delivered twice.
    pub duplicated_bytes: u64,
    /// Busy time.
    pub busy_s: f64,
}

/// Traffic of a SLIP link.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlipSummary {
    /// Its counters.
    #[serde(flatten)]
    pub link: LinkCounts,
    /// Those of the user-space stack, if it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackCounts>,
    /// Uptime.
    pub elapsed_s: f64,
    /// The pings, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pings: Option<Pings>,
}

/// Pings.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pings {
    /// Sent.
    pub sent: u32,
    /// Answered.
    pub answered: u32,
}

/// The result of a sweep.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepSummary {
    /// Number of points.
    pub points: u64,
    /// Number of failed runs.
    pub failed: u64,
    /// The files with the results.
    pub files: Vec<String>,
}

/// The result of a comparison.
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
