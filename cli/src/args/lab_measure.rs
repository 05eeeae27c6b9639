//! The command lines of `wst lab repeat` and `wst lab bench`.

use std::path::PathBuf;

use clap::Args;

/// `wst lab repeat`.
#[derive(Args, Debug)]
pub(crate) struct Repeat {
    /// The scenario: one that comes with the laboratory, or a TOML file
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Number of runs, each with a seed of its own, from that of the scenario on
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub(crate) runs: u64,
    /// Override a key of the scenario, such as both.window=5 or line=9600,ber=1e-5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
}

/// `wst lab bench`.
#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// A network of packets, such as path:10M,rtt=40ms,queue=50p, wifi:65M or trace:lte,delay=20ms
    #[arg(value_name = "NETWORK")]
    pub(crate) network: String,
    /// Seconds of each trial
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) trial: u64,
}
