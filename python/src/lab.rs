//! The laboratory: scenarios and sweeps in virtual time.

use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use wetstring_drive::in_words;
use wetstring_events::{self as events, Event, ScenarioResult};
use wetstring_lab::Recorder;
use wetstring_lab::scenario::{self, BadScenario, Outcome, Scenario};
use wetstring_lab::slip::Ledger;
use wetstring_lab::sweep::{self, Format, Row};
use wetstring_lab::table::{self, Cell};

fn wrong(bad: BadScenario) -> PyErr {
    PyValueError::new_err(bad.to_string())
}

/// Reads the files that a scenario names, below this directory.
fn beside(directory: Option<PathBuf>) -> impl Fn(&str) -> Result<Vec<u8>, String> {
    move |name| {
        let whole = directory.as_deref().unwrap_or(Path::new("")).join(name);
        std::fs::read(&whole).map_err(|error| format!("{}: {}", whole.display(), in_words(&error)))
    }
}

/// The scenarios that come with the laboratory.
#[pyfunction]
pub(crate) fn scenario_names() -> Vec<&'static str> {
    scenario::names().collect()
}

/// The text of one of them.
#[pyfunction]
pub(crate) fn scenario_text(name: &str) -> Option<&'static str> {
    scenario::named(name)
}

/// Runs a scenario of this text, with these overrides `KEY=VALUE`; returns the event `result` as JSON, and the
/// lines of its trace if they are wanted.
#[pyfunction]
#[pyo3(signature = (name, text, sets, directory=None, trace=false))]
pub(crate) fn run_scenario(
    py: Python<'_>,
    name: &str,
    text: &str,
    sets: Vec<String>,
    directory: Option<PathBuf>,
    trace: bool,
) -> PyResult<(String, Vec<String>)> {
    py.detach(|| {
        let scenario =
            Scenario::parse_with(name, text, &sets, &beside(directory)).map_err(wrong)?;
        let mut recorder = if trace { Recorder::keep() } else { Recorder::digest_only() };
        let outcome = scenario.run(&mut recorder);
        let result = Event::Result(Box::new(result(&scenario, &outcome))).line();
        Ok((result, recorder.lines().iter().map(ToString::to_string).collect()))
    })
}

/// The published tables that the laboratory has: names and titles.
#[pyfunction]
pub(crate) fn tables() -> PyResult<Vec<(&'static str, String)>> {
    let titled = |name| Ok((name, table(name)?.title().to_owned()));
    table::Table::names().map(titled).collect()
}

fn table(name: &str) -> PyResult<table::Table> {
    let unknown = || PyKeyError::new_err(format!("expected a table, got {name}"));
    table::Table::named(name).ok_or_else(unknown)?.map_err(wrong)
}

/// How a run of a table ended.
#[pyclass(frozen, module = "wetstring._native")]
pub(crate) struct RunOutcome(Outcome);

/// A published table: runs, which any threads may do, and cells judged by their outcomes.
#[pyclass(frozen, module = "wetstring._native")]
pub(crate) struct Table(table::Table);

#[pymethods]
impl Table {
    /// The table of this name.
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        Ok(Self(table(name)?))
    }

    /// How many runs it has.
    fn __len__(&self) -> usize {
        self.0.jobs().len()
    }

    /// Does a run.
    fn run(&self, py: Python<'_>, index: usize) -> PyResult<RunOutcome> {
        let no_run = || PyIndexError::new_err(format!("no run {index}"));
        let job = self.0.jobs().get(index).ok_or_else(no_run)?;
        Ok(RunOutcome(py.detach(|| job.run(&mut Recorder::off()))))
    }

    /// The cells as JSON, of the outcomes of all runs in their order.
    fn cells(&self, py: Python<'_>, outcomes: Vec<Py<RunOutcome>>) -> PyResult<Vec<String>> {
        let outcomes: Vec<Outcome> = outcomes.iter().map(|outcome| outcome.get().0).collect();
        let (expected, got) = (self.0.jobs().len(), outcomes.len());
        if expected != got {
            let text = format!("expected the outcomes of {expected} runs, got {got}");
            return Err(PyValueError::new_err(text));
        }
        py.detach(|| {
            let report = self.0.judge(&outcomes);
            Ok(report.cells.iter().map(|cell| cell_of(cell).to_string()).collect())
        })
    }
}

/// A cell, with the names that the event `cell` has. Numbers are numbers; what is empty is null.
fn cell_of(cell: &Cell) -> serde_json::Value {
    let printed = |text: &str| match text.parse::<f64>() {
        _ if text.is_empty() => serde_json::Value::Null,
        Ok(number) => number.into(),
        Err(_) => text.into(),
    };
    serde_json::json!({
        "table": cell.table,
        "row": cell.row,
        "col": cell.col,
        "published": printed(&cell.published),
        "ours": printed(&cell.ours),
        "range": printed(&cell.range),
        "unit": cell.unit,
        "ratio": cell.ratio_per_mille.map(|ratio| ratio as f64 / 1000.0),
        "verdict": cell.verdict.to_string(),
        "reason": cell.reason,
        "kind": cell.kind.name(),
        "fitted": cell.fitted,
    })
}

fn result(scenario: &Scenario, outcome: &Outcome) -> ScenarioResult {
    let stats = outcome.report.sides.map(|side| side.stats);
    let done = outcome.is_done();
    let limit = outcome.limit_millicps;
    let lost = if done { 0 } else { scenario.counted_bytes().saturating_sub(outcome.bytes) };
    let share = limit.filter(|_| done).map(|limit| outcome.efficiency(limit) as f64 / 1000.0);
    ScenarioResult {
        protocol: scenario.protocol_name().to_owned(),
        line: scenario.line().to_vec(),
        seed: scenario.seed(),
        ending: outcome.ending.to_string(),
        done,
        bytes: outcome.bytes,
        lost_bytes: lost,
        elapsed_s: outcome.elapsed.as_secs_f64(),
        cps: outcome.millicps() as f64 / 1000.0,
        limit_cps: limit.map(|limit| limit as f64 / 1000.0),
        efficiency: share,
        retransmissions: outcome.retransmissions(),
        timeouts: stats[0].timeouts + stats[1].timeouts,
        damaged: stats[0].damaged + stats[1].damaged,
        events: outcome.report.events,
        echoes: outcome.echoes.map(|echoes| events::Echoes {
            keys: echoes.keys,
            echoed: echoes.echoed,
            median_ms: echoes.median_ns as f64 / 1e6,
            p90_ms: echoes.p90_ns as f64 / 1e6,
            longest_ms: echoes.longest_ns as f64 / 1e6,
        }),
        slip: outcome.ledgers.map(|[from_sender, from_receiver]| events::Ledgers {
            from_sender: ledger(&from_sender),
            from_receiver: ledger(&from_receiver),
        }),
        trace: format!("{:016x}", outcome.trace_digest),
    }
}

fn ledger(ledger: &Ledger) -> events::Ledger {
    events::Ledger {
        line_bytes: ledger.line_bytes,
        data_bytes: ledger.data_bytes,
        head_bytes: ledger.head_bytes,
        acks: ledger.acks,
        ack_bytes: ledger.ack_bytes,
        typed_bytes: ledger.typed_bytes,
    }
}

/// The sweeps that come with the laboratory.
#[pyfunction]
pub(crate) fn sweep_names() -> Vec<&'static str> {
    sweep::Sweep::names().collect()
}

/// A sweep, read and checked.
#[pyclass(frozen, module = "wetstring._native")]
pub(crate) struct Sweep {
    sweep: sweep::Sweep,
    directory: Option<PathBuf>,
}

fn row_of(values: Vec<String>) -> PyResult<Row> {
    // The second column is the number of the point.
    let point = values.get(1).and_then(|text| text.parse().ok());
    let point = point.ok_or_else(|| PyValueError::new_err("expected a row of this sweep"))?;
    Ok(Row { point, values })
}

fn format_of(name: &str) -> PyResult<Format> {
    Format::of(name).ok_or_else(|| {
        PyValueError::new_err(format!("expected a file of .csv or .ndjson, got {name}"))
    })
}

#[pymethods]
impl Sweep {
    /// The sweep of this text; without a text, the one of this name that comes with the laboratory.
    #[new]
    #[pyo3(signature = (name, text=None, directory=None))]
    fn new(name: &str, text: Option<&str>, directory: Option<PathBuf>) -> PyResult<Self> {
        let sweep = match text {
            Some(text) => sweep::Sweep::parse(name, name, text, &beside(directory.clone())),
            None => sweep::Sweep::named(name).ok_or_else(|| {
                let names: Vec<&str> = sweep::Sweep::names().collect();
                let names = names.join(", ");
                PyKeyError::new_err(format!("expected a sweep ({names}), got {name}"))
            })?,
        };
        Ok(Self { sweep: sweep.map_err(wrong)?, directory })
    }

    /// What it is, in a sentence.
    #[getter]
    fn title(&self) -> &str {
        self.sweep.title()
    }

    /// How many points it has.
    fn __len__(&self) -> usize {
        self.sweep.count()
    }

    /// Which sweep it is: the first column of its rows.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.sweep.digest())
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.sweep.columns().into_iter().map(|column| column.name).collect()
    }

    /// Runs a point; returns its row, a text for each column.
    fn run(&self, py: Python<'_>, point: usize) -> PyResult<Vec<String>> {
        if point >= self.sweep.count() {
            return Err(PyIndexError::new_err(format!("no point {point}")));
        }
        py.detach(|| {
            let load = beside(self.directory.clone());
            let scenario = self.sweep.scenario(point, &load).map_err(wrong)?;
            let outcome = scenario.run(&mut Recorder::off());
            Ok(self.sweep.row(point, &outcome).values)
        })
    }

    /// The first line of a file of this name.
    fn header(&self, file: &str) -> PyResult<String> {
        Ok(format_of(file)?.header(&self.sweep.columns()))
    }

    /// A row as a line of a file of this name.
    fn line(&self, file: &str, values: Vec<String>) -> PyResult<String> {
        Ok(format_of(file)?.line(&self.sweep.columns(), &row_of(values)?))
    }

    /// The rows in a file of this name and text, and how many bytes of it are whole lines.
    fn read(&self, file: &str, text: &str) -> PyResult<(Vec<Vec<String>>, usize)> {
        let bad = |bad: sweep::BadRows| PyValueError::new_err(format!("{file}: {bad}"));
        let records = format_of(file)?.read(text).map_err(bad)?;
        let rows = records.of_sweep(&self.sweep).map_err(bad)?;
        Ok((rows.into_iter().map(|row| row.values).collect(), records.whole_bytes))
    }
}
