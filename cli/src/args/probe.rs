//! The command line of `wst probe`.

use std::ffi::OsString;

use clap::Args;

/// `wst probe`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  there$ wst probe --answer -                    at the peer's shell, or on its end of the line\n  \
    wst probe /dev/ttyUSB0\n  wst probe --save bench /dev/ttyUSB0            then: wst send FILE @bench"
)]
pub(crate) struct Probe {
    /// The line
    #[arg(value_name = "LINE")]
    pub(crate) line: OsString,
    /// Answer the probe of the peer, once
    #[arg(long, conflicts_with = "save")]
    pub(crate) answer: bool,
    /// Write the line and the settings that suit it as a profile to the configuration file
    #[arg(long, value_name = "NAME")]
    pub(crate) save: Option<String>,
}
