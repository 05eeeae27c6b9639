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

use crate::args::Common;
use crate::args::lab::{Lab, LabVerb};
use crate::ui::ending::Ending;
use crate::ui::output::Voice;

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
