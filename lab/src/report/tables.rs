//! A published table on the page.

use super::{command, plot, quoted, trials};
use crate::table::{Cell, Report, Scoreboard, Table, Verdict};
use maud::{Markup, html};

/// This many bars can be looked at; more values have the strip of the overview only.
const MOST_PAIRS: usize = 40;

/// One line of the overview.
pub(super) fn summary(report: &Report) -> Markup {
    let bad = report.cells.iter().filter(|cell| !cell.verdict.is_good()).count();
    let tally = Scoreboard::of([report]).tally(&Scoreboard::TIMES, false);
    html! {
        tr {
            td { a href={ "#" (report.table) } { (report.table) } }
            td.n { (report.cells.len()) }
            td.n { (report.count(Verdict::Reproduced)) }
            td.n { (report.count(Verdict::Chance)) }
            td.n { (report.count(Verdict::Differs)) }
            td.n { (report.count(Verdict::Open)) @if bad > 0 { " and " (bad) " wrong" } }
            td.n { (report.cells.iter().filter(|cell| cell.fitted).count()) }
            td.n { (tally.ratios) }
            td.n { @if tally.ratios > 0 { (format!("{:.1}\u{a0}%", tally.median * 100.0)) } }
        }
    }
}

/// What the table's own scoreboard says of it.
fn board(report: &Report) -> Markup {
    html! {
        ul.board {
            @for (name, fitted, predicted) in Scoreboard::of([report]).rows() {
                @for (word, tally) in [("predicted", predicted), ("fitted", fitted)] {
                    @if tally.count > 0 { li { (name) ", " (word) ": " (tally.words()) } }
                }
            }
        }
    }
}

/// Ours divided by published of all values that have a ratio.
pub(super) fn ratios(report: &Report) -> Vec<(f64, bool)> {
    let of = |cell: &Cell| {
        let ratio = cell.ratio_per_mille? as f64 / 1000.0;
        Some((ratio, matches!(cell.verdict, Verdict::Reproduced | Verdict::Chance)))
    };
    report.cells.iter().filter_map(of).collect()
}

/// The whole table, with its plot and its notes.
pub(super) fn section(report: &Report) -> Markup {
    let reasons = reasons(report);
    html! {
        section id=(report.table) {
            h2 { (report.title) }
            p.source {
                @if report.source.is_empty() { "Not published anywhere: a comparison of our own. " }
                @else { "Published in " (report.source) ". " }
                @if !report.own {
                    (report.count(Verdict::Reproduced)) " of " (report.cells.len())
                    " values are reproduced"
                    @if report.count(Verdict::Chance) > 0 {
                        ", " (report.count(Verdict::Chance)) " counts are within chance"
                    }
                    "."
                }
            }
            @if !report.own { (board(report)) }
            (command(&again(report)))
            @if report.own { (matrix(report)) } @else { (figure(report)) (trials::figures(report)) (curves(report)) (list(report, &reasons)) }
            @if !reasons.is_empty() {
                h3 { "Why some differ, and why our defaults are slower where they are" }
                ol.reasons {
                    @for (index, reason) in reasons.iter().enumerate() {
                        li id={ (report.table) "-" (index + 1) } { (reason) }
                    }
                }
            }
            (notes(report, "fitted: ", "Fitted"))
            (notes(report, "from the source: ", "From the source"))
            (notes(report, "assumed: ", if report.own { "Assumed" } else { "Assumed, as the source does not say" }))
            (notes(report, "not modelled: ", "In the source, and no cell"))
            (notes(report, "the source: ", "Where the source contradicts itself"))
        }
    }
}

/// The command that makes the table again: by its name, or from the file that it came from.
fn again(report: &Report) -> String {
    let known = Table::names().any(|name| name == report.table);
    format!("wst lab table {}{}", report.table, if known { "" } else { ".toml" })
}

/// The reasons, each once, in the order in which they come.
fn reasons(report: &Report) -> Vec<&str> {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in report.cells.iter().flat_map(|cell| [&cell.reason, &cell.slower]) {
        if !reason.is_empty() && !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    reasons
}

/// The notes that begin so.
fn notes(report: &Report, prefix: &str, heading: &str) -> Markup {
    let found: Vec<&str> =
        report.notes.iter().filter_map(|note| note.strip_prefix(prefix)).collect();
    html! {
        @if !found.is_empty() {
            h3 { (heading) }
            ul { @for note in found { li { (note) } } }
        }
    }
}

/// One cell a line, grouped by the rows of the source. On a phone each cell becomes a block.
fn list(report: &Report, reasons: &[&str]) -> Markup {
    let mut groups: Vec<(&str, Vec<&Cell>)> = Vec::new();
    for cell in &report.cells {
        match groups.last_mut() {
            Some((row, cells)) if *row == cell.row => cells.push(cell),
            _ => groups.push((&cell.row, vec![cell])),
        }
    }
    html! {
        table.cells {
            thead { tr {
                th { "column" } th.n { "published" } th.n { "ours" } th.n { "ratio" }
                th { "verdict" } th.n { "our defaults" } th.n { "of the line" }
            } }
            @for (row, cells) in &groups {
                tbody {
                    tr.row { th colspan="7" {
                        (row) " " code { (again(report)) " --row " (quoted(row)) }
                    } }
                    @for cell in cells { (line(report, cell, reasons)) }
                }
            }
        }
    }
}

fn line(report: &Report, cell: &Cell, reasons: &[&str]) -> Markup {
    let number = |of: &str| reasons.iter().position(|reason| *reason == of).map(|index| index + 1);
    // The order of columns does not fit where a number does.
    let is_long = cell.published.len().max(cell.ours.len()) > 12;
    let share = cell.efficiency.map(|share| format!("{}.{} %", share / 1000, share / 100 % 10));
    html! {
        tr {
            td.name { (cell.col) }
            td.n.long[is_long] data-label="published" { (with_unit(&cell.published, cell.unit)) }
            td.n.long[is_long] data-label="ours" {
                (with_unit(&cell.ours, cell.unit))
                @if !cell.range.is_empty() { " (" (cell.range) ")" }
            }
            td.n data-label="ratio" { (cell.ratio()) }
            td.verdict {
                span class=(class(cell.verdict)) { (cell.verdict) }
                @if cell.fitted { ", fitted" }
                @if let Some(number) = number(&cell.reason) {
                    " " a href={ "#" (report.table) "-" (number) } { "[" (number) "]" }
                }
            }
            td.n data-label="our defaults" {
                (with_unit(&cell.defaults, cell.unit))
                @if let Some(number) = number(&cell.slower) {
                    " slower " a href={ "#" (report.table) "-" (number) } { "[" (number) "]" }
                }
            }
            td.n data-label="of the line" { (share.unwrap_or_default()) }
        }
    }
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Chance => "chance",
        Verdict::Differs => "differs",
        Verdict::Open => "open",
        Verdict::Unexplained | Verdict::Needless | Verdict::Slower => "unexplained",
        Verdict::Own => "own",
    }
}

fn with_unit(value: &str, unit: &str) -> String {
    let number = value.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    // A number and its unit stay on one line.
    if number && !unit.is_empty() { format!("{value}\u{a0}{unit}") } else { value.to_owned() }
}

/// Rows and columns as they are in the file, one value in each place.
fn matrix(report: &Report) -> Markup {
    let mut rows: Vec<&str> = Vec::new();
    for cell in &report.cells {
        if !rows.contains(&cell.row.as_str()) {
            rows.push(&cell.row);
        }
    }
    let find = |row: &str, column: &str| {
        report.cells.iter().find(|cell| cell.row == row && cell.col == column)
    };
    html! {
        // On a phone the name of a row stands above its values.
        div.wide { table.plain.stacked style={ "--columns:" (report.columns.len()) } {
            thead { tr {
                th {}
                @for column in &report.columns { th.n { (column) } }
            } }
            tbody {
                @for row in &rows {
                    tr {
                        th { (row) }
                        @for column in &report.columns {
                            td.n { (find(row, column).map_or("", |cell| cell.ours.as_str())) }
                        }
                    }
                }
            }
        } }
    }
}

/// The curves of a table.
fn curves(report: &Report) -> Markup {
    let series = |(name, points): &(String, Vec<(u64, u64)>)| plot::Series {
        name: name.clone(),
        points: points.iter().map(|(x, y)| (*x as f64, *y as f64 / 1000.0)).collect(),
    };
    html! {
        @for curve in &report.curves {
            @let lines: Vec<plot::Series> = curve.lines.iter().map(series).collect();
            @let axes = plot::Axes {
                label: &curve.title,
                x: &curve.axes[0],
                y: &curve.axes[1],
                ordered: false,
            };
            figure.broad {
                figcaption { (curve.title) }
                (plot::scatter(&axes, &lines))
            }
        }
    }
}

/// The most informative measure that the source prints, with its pairs of values.
fn best_pairs(report: &Report) -> (Vec<plot::PairOfBars>, &'static str) {
    let measures = [
        ("cps", "characters per second"),
        ("eff", "percent of the line"),
        ("secs", "seconds"),
        ("Mb/s", "megabits per second"),
        ("bps", "bits per second"),
    ];
    let of = |measure: &str| -> Vec<plot::PairOfBars> {
        report.cells.iter().filter_map(|cell| pair(cell, measure)).collect()
    };
    let found = measures
        .iter()
        .map(|(measure, words)| (of(measure), *words))
        .max_by_key(|(pairs, words)| (pairs.len(), *words == "characters per second"));
    found.unwrap_or_default()
}

/// Published beside ours as bars.
fn figure(report: &Report) -> Markup {
    let (pairs, words) = best_pairs(report);
    html! {
        @if (1..=MOST_PAIRS).contains(&pairs.len()) {
            figure.broad {
                figcaption { "Published and ours, " (words) }
                (plot::pairs(&format!("{}: published and ours", report.table), &pairs))
                (plot::pair_legend())
            }
        }
    }
}

/// The same as a file of its own; `None` if there are none, or too many.
pub fn figure_file(report: &Report) -> Option<String> {
    let (pairs, words) = best_pairs(report);
    if !(1..=MOST_PAIRS).contains(&pairs.len()) {
        return None;
    }
    let label = format!("{}: published and ours, {words}", report.table);
    let has_defaults = pairs.iter().any(|pair| pair.defaults.is_some());
    let colours = plot::pair_colours();
    let shown = if has_defaults { &colours[..] } else { &colours[..2] };
    Some(plot::file(&label, &plot::pairs(&label, &pairs), shown))
}

fn pair(cell: &Cell, measure: &str) -> Option<plot::PairOfBars> {
    let column = cell.col.strip_suffix(measure)?.strip_suffix(' ')?;
    let value = |text: &str| Some((text.parse::<f64>().ok()?, text.to_owned()));
    Some(plot::PairOfBars {
        name: format!("{}, {column}", cell.row),
        published: value(&cell.published)?,
        ours: value(&cell.ours).unwrap_or_else(|| (0.0, cell.ours.clone())),
        defaults: value(&cell.defaults),
    })
}
