//! `wst lab`: the laboratory in virtual time.

mod count;
mod diff;
mod pool;
mod report;
mod run;
mod swarm;
mod sweep;
mod table;
mod traces;

pub(crate) use run::{load, write_trace};

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::Common;
use crate::transfer::Ending;
use crate::voice::Voice;

/// `wst lab`.
#[derive(Args, Debug)]
pub(crate) struct Lab {
    /// What to do in it.
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

/// What can be done in the laboratory.
#[derive(Subcommand, Debug)]
pub(crate) enum LabVerb {
    /// Run one scenario: a transfer over a line that a TOML file describes
    Run(Run),
    /// Run a published table again, and compare cell by cell
    Table(Table),
    /// Run a scenario with every combination of some values of its keys
    Sweep(sweep::SweepVerb),
    /// Try to break the protocols: a seed picks settings, files, line and faults
    Swarm(swarm::SwarmVerb),
    /// Say what changed between two results: of tables, sweeps or runs, or two traces
    Diff(diff::DiffVerb),
    /// Write one page of HTML with all tables, sweeps and time budgets
    Report(report::ReportVerb),
}

/// `wst lab run`.
#[derive(Args, Debug)]
#[command(after_help = scenarios())]
pub(crate) struct Run {
    /// The scenario: one of those below, or a TOML file of your own
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Where all chance comes from; unless given, what the scenario says
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Override a key of the scenario, such as both.window=5 or line=9600,delay=1s
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Say where the time went, and which setting would help most
    #[arg(long)]
    pub(crate) explain: bool,
}

/// `wst lab table`.
#[derive(Args, Debug)]
pub(crate) struct Table {
    /// Names of tables, or TOML files of your own
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "list"])]
    pub(crate) names: Vec<String>,
    /// Every table
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// Of one table only this row, named as the table names it
    #[arg(long, value_name = "ROW", conflicts_with_all = ["all", "list"])]
    pub(crate) row: Option<String>,
    /// Only say which tables there are
    #[arg(long, conflicts_with_all = ["names", "all", "markdown"])]
    pub(crate) list: bool,
    /// Write Markdown, as in the documentation
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// The scenarios that are built in, for the help.
fn scenarios() -> String {
    let names: Vec<&str> = wetstring_lab::scenario::names().collect();
    format!("Scenarios: {}", names.join(", "))
}

/// Does what was asked.
pub(crate) fn run(voice: &Voice, common: &Common, lab: &Lab) -> Ending {
    let result = match &lab.verb {
        LabVerb::Run(verb) => run::run(voice, common, verb),
        LabVerb::Table(verb) => table::run(voice, verb),
        LabVerb::Sweep(verb) => sweep::run(voice, verb),
        LabVerb::Swarm(verb) => swarm::run(voice, common, verb),
        LabVerb::Diff(verb) => diff::run(voice, verb),
        LabVerb::Report(verb) => report::run(voice, verb),
    };
    match result {
        Ok(ending) | Err(ending) => ending,
    }
}
