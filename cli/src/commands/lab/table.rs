//! `wst lab table`: published tables, reproduced.

use std::path::Path;

use wetstring_drive::in_words;
use wetstring_events::{self as events, Event, Printed};
use wetstring_lab::table::{Cell, Report, Scoreboard, Table, Tally};

use super::pool;
use super::run::{beside, read_text};
use crate::args::lab::Table as TableVerb;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::Output;

pub(super) fn run(ui: &Output, verb: &TableVerb) -> Result<Ending, Ending> {
    if verb.list {
        return list(ui);
    }
    let names: Vec<String> =
        if verb.all { Table::names().map(str::to_owned).collect() } else { verb.names.clone() };
    let mut tables = names.iter().map(|name| open(name)).collect::<Result<Vec<Table>, Ending>>()?;
    if !verb.rows.is_empty() {
        let usage = |say: String| Ending::early(Exit::Usage, say);
        let [name] = &names[..] else {
            return Err(usage(format!("--row: expected one table, got {}", names.len())));
        };
        let only =
            |row: &String| open(name)?.only(row).map_err(|say| usage(format!("--row: {say}")));
        tables = verb.rows.iter().map(only).collect::<Result<_, _>>()?;
    }
    // Running all tables together keeps all cores busy to the end.
    let jobs: Vec<_> = tables.iter().flat_map(Table::jobs).collect();
    let outcomes = pool::outcomes(&jobs);
    let mut rest = &outcomes[..];
    let mut bad = Vec::new();
    let mut reports = Vec::new();
    for table in &tables {
        let (own, others) = rest.split_at(table.jobs().len());
        rest = others;
        let report = table.judge(own);
        show(ui, &report, verb.markdown);
        if !report.is_good() {
            bad.push(table.name());
        }
        reports.push(report);
    }
    if let Some(path) = &verb.svg {
        draw(path, &names, &reports)?;
    }
    scores(ui, &Scoreboard::of(&reports), names.len() > 1 && !verb.markdown);
    if bad.is_empty() {
        return Ok(Ending::early(Exit::Done, ""));
    }
    // The counts come from the tables.
    let say = format!("{}: some cells differ, and the table gives no reason", bad.join(", "));
    Ok(Ending::early(Exit::Integrity, say))
}

/// Draws the one table of a command line, or its rows.
fn draw(path: &Path, names: &[String], reports: &[Report]) -> Result<(), Ending> {
    let [_] = names else {
        let say = format!("--svg: expected one table, got {}", names.len());
        return Err(Ending::early(Exit::Usage, say));
    };
    let Some(mut report) = reports.first().cloned() else { return Ok(()) };
    report.cells.extend(reports.iter().skip(1).flat_map(|more| more.cells.clone()));
    let Some(picture) = wetstring_lab::report::figure_file(&report) else {
        let say = format!("--svg: {} has no values to draw, or too many", report.table);
        return Err(Ending::early(Exit::Usage, say));
    };
    std::fs::write(path, picture).map_err(|error| {
        let (path, why) = (path.display(), in_words(&error));
        Ending::early(Exit::Store, format!("could not write {path}: {why}"))
    })
}

/// A table by its name, or from a file.
pub(super) fn open(name: &str) -> Result<Table, Ending> {
    let usage = |message: String| Ending::early(Exit::Usage, message);
    if let Some(table) = Table::named(name) {
        return table.map_err(|bad| usage(bad.to_string()));
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|end| end != "toml") {
        let names: Vec<&str> = Table::names().collect();
        let say = format!("expected a table ({}) or a TOML file, got {name}", names.join(", "));
        return Err(usage(say));
    }
    let text = read_text(path, "could not read the table")?;
    let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
    Table::parse(&stem, name, &text, &beside(path)).map_err(|bad| usage(bad.to_string()))
}

fn list(ui: &Output) -> Result<Ending, Ending> {
    for name in Table::names() {
        let table = open(name)?;
        let title = table.title().to_owned();
        ui.event(Event::Table { table: name.to_owned(), title });
        if !ui.has_json() {
            crate::ui::output::print(&format!("{name:<18}  {}\n", table.title()));
        }
    }
    Ok(Ending::early(Exit::Done, ""))
}

fn show(ui: &Output, report: &Report, markdown: bool) {
    for cell in &report.cells {
        ui.event(Event::Cell(Box::new(of(cell))));
    }
    if !ui.has_json() {
        let page = if markdown { report.markdown() } else { format!("{}\n", report.text()) };
        crate::ui::output::print(&page);
    }
}

/// The scoreboard of all that was run; a table by itself has its own behind its cells.
fn scores(ui: &Output, board: &Scoreboard, shown: bool) {
    for (what, fitted, predicted) in board.rows() {
        for (fitted, tally) in [(true, fitted), (false, predicted)] {
            if tally.count > 0 {
                ui.event(Event::Score(Box::new(line(&what, fitted, &tally))));
            }
        }
    }
    if shown && !ui.has_json() {
        crate::ui::output::print(&format!("all tables\n{}\n", board.text()));
    }
}

fn line(what: &str, fitted: bool, tally: &Tally) -> events::Score {
    events::Score {
        what: what.to_owned(),
        fitted,
        count: tally.count as u64,
        held: tally.held as u64,
        ratios: tally.ratios as u64,
        median: tally.median,
        within: tally.within.map(|count| count as u64),
        sides: tally.sides.map(|count| count as u64),
    }
}

fn of(cell: &Cell) -> events::Cell {
    let thousandths = |value: Option<u64>| value.map(|value| value as f64 / 1000.0);
    events::Cell {
        table: cell.table.clone(),
        row: cell.row.clone(),
        col: cell.col.clone(),
        published: printed(&cell.published),
        ours: printed(&cell.ours),
        range: printed(&cell.range),
        unit: cell.unit,
        ratio: thousandths(cell.ratio_per_mille),
        verdict: cell.verdict.to_string(),
        reason: cell.reason.clone(),
        defaults: printed(&cell.defaults),
        defaults_reason: cell.slower.clone(),
        efficiency: thousandths(cell.efficiency),
        kind: cell.kind.name(),
        fitted: cell.fitted,
        setting: cell.setting.clone(),
        quantity: cell.quantity.clone(),
        numbers: cell.numbers.clone(),
        values: cell.values.clone(),
        of: cell.of,
        passes: cell.passes.map(|(of, all)| [of, all]),
    }
}

/// A number if it is one, as printed; null if the cell is empty.
fn printed(text: &str) -> Option<Printed> {
    Some(match (text.parse::<u64>(), text.parse::<f64>()) {
        _ if text.is_empty() => return None,
        (Ok(whole), _) => Printed::Whole(whole),
        (_, Ok(decimal)) => Printed::Decimal(decimal),
        _ => Printed::Text(text.to_owned()),
    })
}
