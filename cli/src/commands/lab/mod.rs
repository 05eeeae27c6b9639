//! `wst lab`: the laboratory in virtual time.

mod check;
mod count;
mod diff;
mod measure;
mod pool;
mod report;
mod run;
mod swarm;
mod sweep;
mod table;
mod traces;

pub(crate) use run::{load, write_trace};

use crate::args::Common;
use crate::args::lab::{Lab, LabVerb};
use crate::ui::ending::Ending;
use crate::ui::output::Output;

/// Runs the command.
pub(crate) fn run(ui: &Output, common: &Common, lab: &Lab) -> Ending {
    let result = match &lab.verb {
        LabVerb::Run(verb) => run::run(ui, common, verb),
        LabVerb::Repeat(verb) => measure::repeat(ui, verb),
        LabVerb::Bench(verb) => measure::bench(ui, verb),
        LabVerb::Check(verb) => check::run(ui, verb),
        LabVerb::Table(verb) => table::run(ui, verb),
        LabVerb::Sweep(verb) => sweep::run(ui, verb),
        LabVerb::Swarm(verb) => swarm::run(ui, common, verb),
        LabVerb::Diff(verb) => diff::run(ui, verb),
        LabVerb::Report(verb) => report::run(ui, verb),
    };
    match result {
        Ok(ending) | Err(ending) => ending,
    }
}
