//! The command line of `wst web`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `wst web`.
#[derive(Args, Debug)]
#[command(
    after_help = "The page connects a serial port by itself in browsers with Web Serial; LINE is for all others. Only \
    who knows the token in the printed address gets to LINE, and only from a page of this program."
)]
pub(crate) struct Web {
    /// The line behind the page, such as a serial port or exec-pty:COMMAND; without one the page has only Web Serial
    #[arg(value_name = "LINE")]
    pub(crate) line: Option<OsString>,
    /// Listen at this address
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8417")]
    pub(crate) listen: String,
    /// A name of this host that browsers may use, besides localhost and addresses; may be repeated
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Let in every page of this address, without a token
    #[arg(long)]
    pub(crate) no_token: bool,
    /// The directory of the page [default: the page that is part of this program]
    #[arg(long, value_name = "DIR")]
    pub(crate) pages: Option<PathBuf>,
}
