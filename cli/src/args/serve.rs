//! The command line of `wst serve`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use wetstring_drive::serve::{KeepFree, Quota};

/// `wst serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The line to serve; tcp-listen:, telnet-listen: and tls-listen: serve several clients at once
    pub(crate) line: OsString,
    /// The directory that clients see, outside which nothing is accessible; or, where wst
    /// is built with it, object storage: s3://BUCKET/PREFIX, gs://, az:// (account and endpoint from the
    /// environment), memory:
    #[arg(long, value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// What clients may do besides reading: change files; run host commands, or Kermit
    /// scripts (which can run host commands too)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["write", "host", "kermit"])]
    pub(crate) allow: Vec<String>,
    /// Disable a command: get, send, cd, delete, space, finish... (`wst remote LINE help` lists them)
    #[arg(long, value_name = "COMMAND", value_delimiter = ',')]
    pub(crate) disable: Vec<String>,
    /// Accept only the users in this file, written by `wst users add`: a line NAME:HASH for each, by argon2
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// With --users: accept cleartext passwords from other hosts, on tcp-listen: and telnet-listen:
    #[arg(long)]
    pub(crate) plain: bool,
    /// Append a line for each action to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// Clients at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) sessions: usize,
    /// Maximum simultaneous clients from one address, or one /64 of IPv6 [default: a quarter]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) per_address: Option<usize>,
    /// Maximum additional clients that have not logged in, or without --users sent no command
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) unproved: usize,
    /// Maximum of those from one address [default: a quarter]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) unproved_per_address: Option<usize>,
    /// Login timeout: seconds after which a client that has not logged in is disconnected
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) grace: u64,
    /// Delay after a wrong password; doubled by each, up to 30 times as long
    #[arg(long, value_name = "MS", hide = true, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) guess_delay: u64,
    /// Idle timeout of a session, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) silence: u64,
    /// Time limit of a session, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) longest: Option<u64>,
    /// Quotas.
    #[command(flatten)]
    pub(crate) quotas: ServeQuotas,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
}

/// How many bytes clients of `wst serve` may transfer.
#[derive(Args, Debug)]
pub(crate) struct ServeQuotas {
    /// Quota of a session in both directions, or stored=SIZE, sent=SIZE; SIZE is bytes, or such as 500K, 20M, 3G
    #[arg(long, value_name = "QUOTA")]
    pub(crate) most_bytes: Option<Quota>,
    /// Quota of a user in all sessions since the server started; deleting refunds nothing.
    /// Without --users, of all clients together
    #[arg(long, value_name = "QUOTA")]
    pub(crate) user_quota: Option<Quota>,
    /// Free space that uploads and copies leave on the file system: SIZE, or such as 10%
    #[arg(long, value_name = "SIZE")]
    pub(crate) keep_free: Option<KeepFree>,
}
