//! The command line of `wst ncp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `wst ncp`.
#[derive(Args, Debug)]
pub(crate) struct Ncp {
    /// The command
    #[command(subcommand)]
    pub(crate) what: NcpVerb,
}

/// The verbs of `wst ncp`.
#[derive(Subcommand, Debug)]
pub(crate) enum NcpVerb {
    /// Bring a host up: it answers echoes and refuses connections, until interrupted
    Up {
        /// The interface: ncp://HOST?imp=HOST:PORT&port=N, or host=HOST:PORT to play the IMP of that host
        #[arg(value_name = "LINE")]
        line: OsString,
        /// End after this many seconds
        #[arg(long, value_name = "SECONDS")]
        seconds: Option<u64>,
    },
    /// Send echoes (ECO) to a host, and print the round-trip times of the replies (ERP)
    Echo {
        /// The host: ncp://HOST?imp=HOST:PORT&port=N
        #[arg(value_name = "LINE")]
        line: OsString,
        /// Number of echoes
        #[arg(long, value_name = "N", default_value_t = 4,
              value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        count: u32,
    },
    /// Serve the files of a directory by FTP (RFC 542), on socket 3
    Serve {
        /// The interface: ncp://HOST?imp=HOST:PORT&port=N
        #[arg(value_name = "LINE")]
        line: OsString,
        /// The directory; nothing outside it is accessible
        #[arg(long, value_name = "DIR")]
        root: PathBuf,
        /// Allow users to store files
        #[arg(long)]
        write: bool,
        /// Accept only this user, with the password in WETSTRING_PASSWORD [default: anybody]
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// Maximum simultaneous users
        #[arg(long, value_name = "N", default_value_t = 4,
              value_parser = clap::value_parser!(u8).range(1..=8))]
        most: u8,
        /// End after this many users
        #[arg(long, value_name = "N")]
        users: Option<usize>,
        /// Delay after a wrong password; doubled by each, up to 30 times as long
        #[arg(long, value_name = "MS", hide = true, default_value_t = 1000,
              value_parser = clap::value_parser!(u64).range(1..=60_000))]
        guess_delay: u64,
    },
}
