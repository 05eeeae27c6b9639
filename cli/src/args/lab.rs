//! The command line of `wst lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::lab_check::Check;
use super::lab_measure::{Bench, Repeat};
use clap::builder::PossibleValuesParser;
use wetstring_lab::swarm::Kind;

/// `wst lab`.
#[derive(Args, Debug)]
pub(crate) struct Lab {
    /// The command.
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

/// The commands of the laboratory.
#[derive(Subcommand, Debug)]
pub(crate) enum LabVerb {
    /// Run one scenario: a transfer over a line that a TOML file describes
    Run(Run),
    /// Run a scenario with many seeds: confidence intervals, and the distribution of its times
    Repeat(Repeat),
    /// Measure a network as RFC 2544 does: throughput and latency by length of the packets
    Bench(Bench),
    /// Compare real time with virtual time: transfers between real programs, by the clock and in the laboratory
    Check(Check),
    /// Reproduce a published table, and compare cell by cell
    Table(Table),
    /// Run a scenario with every combination of some values of its keys
    Sweep(SweepVerb),
    /// Try to break the protocols: a seed picks settings, files, line and faults
    Swarm(SwarmVerb),
    /// Compare two results of tables, sweeps or runs, or two traces
    Diff(DiffVerb),
    /// Write one page of HTML with all tables, sweeps and time budgets
    Report(ReportVerb),
}

/// `wst lab run`.
#[derive(Args, Debug)]
#[command(after_help = scenarios())]
pub(crate) struct Run {
    /// The scenario: one of those below, or a TOML file
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Seed of all random choices [default: that of the scenario]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Override a key of the scenario, such as both.window=5 or line=9600,delay=1s
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Say where the time went, and which setting would help most
    #[arg(long)]
    pub(crate) explain: bool,
    /// Write what passed both ends to a file that Wireshark reads (pcapng): packets of IP, or serial bytes
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
}

/// `wst lab table`.
#[derive(Args, Debug)]
pub(crate) struct Table {
    /// Names of tables, or TOML files
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "list"])]
    pub(crate) names: Vec<String>,
    /// Every table
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// Only this row of one table, as the table names it; may be repeated
    #[arg(long = "row", value_name = "ROW", conflicts_with_all = ["all", "list"])]
    pub(crate) rows: Vec<String>,
    /// List the tables
    #[arg(long, conflicts_with_all = ["names", "all", "markdown"])]
    pub(crate) list: bool,
    /// Write Markdown, as in the documentation
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Also draw published beside ours, of one table, as a picture in FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "list"])]
    pub(crate) svg: Option<PathBuf>,
}

/// The scenarios that are built in, for the help.
fn scenarios() -> String {
    let names: Vec<&str> = wetstring_lab::scenario::names().collect();
    format!("Scenarios: {}", names.join(", "))
}

/// `wst lab sweep`.
#[derive(Args, Debug)]
pub(crate) struct SweepVerb {
    /// A TOML file of ranges over a scenario, or the name of one that comes with the laboratory
    #[arg(value_name = "SWEEP", required_unless_present = "list")]
    pub(crate) sweep: Option<PathBuf>,
    /// Output file, .csv or .ndjson by its suffix; may be repeated for both; -
    /// is stdout [default: a .csv of the sweep's name here]. Results already in the file are
    /// not computed again
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// Run only every Nth point starting at point I, counted from 1: one job of an array
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<(usize, usize)>,
    /// Run nothing; join the results of all shards
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "shard")]
    pub(crate) merge: Vec<PathBuf>,
    /// List the built-in sweeps
    #[arg(long, conflicts_with_all = ["sweep", "output", "shard", "merge"])]
    pub(crate) list: bool,
}

/// `I/N`, with I from 1 to N.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(index, of)| {
        Some((index.trim().parse::<usize>().ok()?, of.trim().parse::<usize>().ok()?))
    });
    numbers
        .filter(|(index, of)| (1..=*of).contains(index))
        .ok_or_else(|| "expected I/N with I from 1 to N, such as 3/16".to_owned())
}

/// `wst lab swarm`.
#[derive(Args, Debug)]
pub(crate) struct SwarmVerb {
    /// Number of seeds for each protocol [default: 1000, or 1 with --seed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) seeds: Option<u64>,
    /// The first seed, or the only one without --seeds; --trace records that run
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// This protocol only
    #[arg(short = 'P', long, value_name = "NAME",
          value_parser = PossibleValuesParser::new(Kind::all().map(Kind::name)))]
    pub(crate) protocol: Option<String>,
}

/// `wst lab diff`.
#[derive(Args, Debug)]
pub(crate) struct DiffVerb {
    /// Results of a table, a sweep or a run, or a trace
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The results to compare with
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
}

/// `wst lab report`.
#[derive(Args, Debug)]
pub(crate) struct ReportVerb {
    /// The directory for index.html, which is self-contained
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Only these tables, by name or TOML file [default: every table]
    #[arg(long = "table", value_name = "NAME")]
    pub(crate) tables: Vec<String>,
    /// Only these sweeps, by name or TOML file [default: every short sweep]
    #[arg(long = "sweep", value_name = "NAME")]
    pub(crate) sweeps: Vec<PathBuf>,
}
