//! The command line of `wst install-links`.

use std::path::PathBuf;

use clap::Args;

/// `wst install-links`.
#[derive(Args, Debug)]
pub(crate) struct InstallLinks {
    /// The directory for the links
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Replace existing files that are not links to this program
    #[arg(long)]
    pub(crate) force: bool,
}
