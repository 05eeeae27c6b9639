//! The command line of `wst kermit`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `wst kermit`.
#[derive(Args, Debug)]
#[command(
    after_help = "Without FILE and -C commands are read from stdin: at a terminal with a prompt, history, \
    completion by Tab, and ? for what may follow."
)]
pub(crate) struct Kermit {
    /// A file of commands
    pub(crate) file: Option<PathBuf>,
    /// Arguments of the file: \%1, \%2 and so on
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(crate) arguments: Vec<OsString>,
    /// Run these commands, separated by commas, before the file
    #[arg(short = 'C', long = "command", value_name = "COMMANDS", allow_hyphen_values = true)]
    pub(crate) commands: Option<String>,
    /// The initial line, as for `wst send`; SET LINE and SET HOST choose another
    #[arg(short = 'l', long, value_name = "LINE")]
    pub(crate) line: Option<String>,
    /// The directory that clients see when a script runs SERVER [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Run it in the laboratory: clock and line are those of a scenario (a name or a TOML file), and the
    /// peer is a Kermit server
    #[arg(long, value_name = "SCENARIO", conflicts_with = "line")]
    pub(crate) lab: Option<PathBuf>,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
}
