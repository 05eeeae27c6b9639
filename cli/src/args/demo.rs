//! The command line of `wst demo`.

use std::path::PathBuf;

use clap::Args;

/// The wet string: slow, distant, seven bits wide, and noisy.
pub(crate) const LINE: &str = "9600,delay=250ms,parity=even,burst=8@2s";

/// `wst demo`.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The file to transfer [default: the source of ZMODEM]
    pub(crate) file: Option<PathBuf>,
    /// The line, as for `wst line`
    #[arg(long, value_name = "SPEC", default_value = LINE)]
    pub(crate) line: String,
    /// How much faster than the real line [default: fast enough to end within 20 seconds]
    #[arg(long, value_name = "FACTOR", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) faster: Option<u64>,
}
