//! The command line of `wst serve`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use wetstring_drive::serve::{KeepFree, Quota};

/// `wst serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The line to serve; tcp-listen:, telnet-listen: and tls-listen: serve many clients at once
    pub(crate) line: OsString,
    /// The directory that clients see, nothing outside of which can be reached; or, where wst
    /// was built with it, object storage: s3://BUCKET/PREFIX, gs://, az:// (account and endpoint from the
    /// environment), memory:
    #[arg(long, value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// What clients may do besides reading: change files; run commands of the host, or Kermit
    /// scripts (which can run commands too)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["write", "host", "kermit"])]
    pub(crate) allow: Vec<String>,
    /// Disable a command: get, send, cd, delete, space, finish... (`wst remote LINE help` lists them)
    #[arg(long, value_name = "COMMAND", value_delimiter = ',')]
    pub(crate) disable: Vec<String>,
    /// Let in only who is in this file, which wst users add makes: a line NAME:HASH for each, by argon2
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// With --users: take passwords in clear from other hosts, on tcp-listen: and telnet-listen:
    #[arg(long)]
    pub(crate) plain: bool,
    /// Append a line for each action to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// Clients at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) sessions: usize,
    /// Clients at once from one address, or one /64 of IPv6 [default: a quarter]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) per_address: Option<usize>,
    /// Clients besides these that have not logged in, or without --users given no command
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) unproved: usize,
    /// Of those that have not logged in, from one address [default: a quarter]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) unproved_per_address: Option<usize>,
    /// Login timeout: seconds after which a client that has not logged in is disconnected
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) grace: u64,
    /// From a wrong password to the next try; doubled by each, to 30 times as long
    #[arg(long, value_name = "MS", hide = true, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) guess_delay: u64,
    /// Idle timeout of a session, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) silence: u64,
    /// Time limit of a session, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) longest: Option<u64>,
    /// How much.
    #[command(flatten)]
    pub(crate) quotas: ServeQuotas,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
}

/// How much clients of `wst serve` may move.
#[derive(Args, Debug)]
pub(crate) struct ServeQuotas {
    /// What a session may move both ways, or stored=SIZE, sent=SIZE; SIZE is bytes, or such as 500K, 20M, 3G
    #[arg(long, value_name = "QUOTA")]
    pub(crate) most_bytes: Option<Quota>,
    /// What a user may move in all his sessions since the server began; deleting gives nothing back.
    /// Without --users all clients together
    #[arg(long, value_name = "QUOTA")]
    pub(crate) user_quota: Option<Quota>,
    /// What uploads and copies leave free on the file system: SIZE, or such as 10%
    #[arg(long, value_name = "SIZE")]
    pub(crate) keep_free: Option<KeepFree>,
}
