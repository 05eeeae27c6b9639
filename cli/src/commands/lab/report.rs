//! `wst lab report`: one page of HTML with all tables, sweeps and time budgets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wetstring_events::Event;
use wetstring_lab::report::{BudgetJob, Report, TimeBudget};
use wetstring_lab::scenario::BadScenario;
use wetstring_lab::sweep::{Row, Sweep};
use wetstring_lab::table::Table;

use super::pool::{self, PoolEvent, WorkerPool};
use super::run::{beside, store};
use super::{sweep, table};
use crate::args::lab::ReportVerb;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::Output;

pub(super) fn run(ui: &Output, verb: &ReportVerb) -> Result<Ending, Ending> {
    let every = verb.tables.is_empty() && verb.sweeps.is_empty();
    let names: Vec<String> =
        if every { Table::names().map(str::to_owned).collect() } else { verb.tables.clone() };
    let paths: Vec<PathBuf> =
        if every { Sweep::quick_names().map(PathBuf::from).collect() } else { verb.sweeps.clone() };
    let tables = names.iter().map(|name| table::open(name)).collect::<Result<Vec<_>, _>>()?;
    let sweeps = paths
        .iter()
        .map(|path| sweep::open(path, &beside(path)).map(|sweep| (sweep, path.clone())))
        .collect::<Result<Vec<_>, _>>()?;
    let judged = judge(&tables);
    let mut swept = Vec::new();
    for (sweep, path) in sweeps {
        let rows =
            rows(&sweep, &path).map_err(|bad| Ending::early(Exit::Usage, bad.to_string()))?;
        swept.push((sweep, rows));
    }
    let budgets = if every { budgets()? } else { Vec::new() };
    let report = Report { tables: &judged, sweeps: &swept, budgets: &budgets };
    let path = verb.directory.join("index.html");
    std::fs::create_dir_all(&verb.directory)
        .and_then(|()| std::fs::write(&path, report.page()))
        .map_err(|error| store(&path, "could not write the report", &error))?;
    let cells: usize = judged.iter().map(|report| report.cells.len()).sum();
    ui.event(Event::Report {
        file: path.display().to_string(),
        tables: judged.len() as u64,
        cells: cells as u64,
        sweeps: swept.len() as u64,
        budgets: budgets.len() as u64,
    });
    let say = format!(
        "{}: {} tables with {cells} values, {} sweeps, {} time budgets",
        path.display(),
        judged.len(),
        swept.len(),
        budgets.len()
    );
    Ok(Ending::early(Exit::Done, say))
}

/// Runs the transfers of all tables together, so that all cores stay busy to the end.
fn judge(tables: &[Table]) -> Vec<wetstring_lab::table::Report> {
    let jobs: Vec<_> = tables.iter().flat_map(Table::jobs).collect();
    let outcomes = pool::outcomes(&jobs);
    let mut rest = &outcomes[..];
    let mut judged = Vec::new();
    for table in tables {
        let (own, others) = rest.split_at(table.jobs().len());
        rest = others;
        judged.push(table.judge(own));
    }
    judged
}

/// All results of a sweep.
fn rows(sweep: &Sweep, path: &Path) -> Result<Vec<Row>, BadScenario> {
    let load = beside(path);
    let scenarios = (0..sweep.count())
        .map(|point| sweep.scenario(point, &load))
        .collect::<Result<Vec<_>, _>>()?;
    let outcomes = pool::outcomes(&scenarios.iter().collect::<Vec<_>>());
    Ok(outcomes.iter().enumerate().map(|(point, outcome)| sweep.row(point, outcome)).collect())
}

/// Where the time of the report's transfers goes, in their order.
fn budgets() -> Result<Vec<TimeBudget>, Ending> {
    let jobs = BudgetJob::all();
    let mut done = BTreeMap::new();
    let mut crew = WorkerPool::start(jobs.len(), move |job| jobs[job].run());
    loop {
        match crew.next(Duration::from_secs(60)) {
            PoolEvent::Done(job, budget) => {
                let budget = budget.map_err(|bad| Ending::early(Exit::Integrity, bad))?;
                done.insert(job, budget);
            }
            PoolEvent::Nothing => {}
            PoolEvent::Over => return Ok(done.into_values().collect()),
        }
    }
}
