//! The command line of `wst explain`.

use std::path::PathBuf;

use clap::Args;
use wetstring_lab::net;

/// `wst explain`.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// What --trace FILE wrote, or a recording of any program: of strace, socat -x, tcpdump, tshark; - is stdin
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The rate of the line in bit/s, such as 115200, 64k or 200M, overriding that of the trace
    #[arg(long, value_name = "BPS", value_parser = rate)]
    pub(crate) rate: Option<u64>,
    /// Only say where the time went; do not replay the transfer with other settings
    #[arg(long)]
    pub(crate) no_replay: bool,
    /// Also draw it: packets over time, throughput, where the time went, as a page of HTML in FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Instead write the trace to stdout without names of files, paths, hosts and messages, so that it can be
    /// shared: wst explain --anonymise TRACE > FILE
    #[arg(long, conflicts_with_all = ["rate", "no_replay", "html"])]
    pub(crate) anonymise: bool,
    /// What follows, so that it can be said why nothing may
    #[arg(hide = true, value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
}

fn rate(text: &str) -> Result<u64, String> {
    let rate = net::rate(text).filter(|rate| *rate > 0);
    rate.ok_or_else(|| "expected a rate in bit/s, such as 115200, 64k or 200M".to_owned())
}
