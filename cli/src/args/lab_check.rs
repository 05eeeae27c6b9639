//! The command line of `wst lab check`.

use std::path::PathBuf;

use clap::Args;

/// `wst lab check`.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Only transfers whose name contains one of these
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Only the dozen that needs little time and little processor
    #[arg(long)]
    pub(crate) quick: bool,
    /// List the transfers
    #[arg(long)]
    pub(crate) list: bool,
    /// How many transfers run at once: they mostly wait
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) at_once: u8,
    /// Keep what the programs wrote, and the captures, in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}
