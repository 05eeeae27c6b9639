//! All tables at a glance: the scoreboard, with predictions apart from fits, and what is reproduced of each table.

use super::{command, plot, tables};
use crate::table::{Report, Scoreboard, Tally, left};
use maud::{Markup, html};

/// The section.
pub(super) fn section(reports: &[Report]) -> Markup {
    let published: Vec<&Report> = reports.iter().filter(|report| !report.own).collect();
    let ratios: Vec<plot::Ratios> = published
        .iter()
        .map(|report| (report.table.clone(), tables::ratios(report)))
        .filter(|(_, ratios)| !ratios.is_empty())
        .collect();
    let board = Scoreboard::of(published.iter().copied());
    html! {
        section #overview {
            h2 { "Published beside ours" }
            p {
                "Each value that was published is made again by a transfer with the settings that the source gives. \
                 It is " b { "reproduced" } " if ours is within the tolerance of its table or no test at 5 % tells the two apart, and "
                b { "within chance" } " if it is a count of what chance does and lies between the least and the most of our \
                 runs; if it " b { "differs" } ", the table says why, and if it is " b { "open" } ", which fact the source lacks."
            }
            (scores(&board))
            (by_table(&published))
            @if !ratios.is_empty() {
                figure.broad {
                    figcaption { "Ours divided by published, every value" }
                    (plot::ratios("ours divided by published for each table", &ratios))
                    (plot::ratio_legend())
                }
            }
        }
    }
}

/// The scoreboard.
fn scores(board: &Scoreboard) -> Markup {
    let rows = board.rows();
    let (ratios, rest): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(_, fitted, predicted)| fitted.ratios + predicted.ratios > 0);
    html! {
        h3 { "Predictions, and what was fitted" }
        p {
            "A value that a parameter was fitted to, or that such a parameter decides, is no prediction. A transfer has one \
             verdict, and runs of one setting are pooled. How far ours is off is " code { "|ln(ours / published)|" } "."
        }
        (command("wst lab table --all"))
        div.wide { table.plain {
            thead { tr {
                th { "values" } th {} th.n { "count" } th.n { "median" } th.n { "within 5 %" } th.n { "10 %" }
                th.n { "25 %" } th.n { "high" } th.n { "low" }
            } }
            tbody {
                @for (name, fitted, predicted) in &ratios {
                    @for (word, tally) in [("predicted", predicted), ("fitted", fitted)] {
                        @if tally.ratios > 0 { (ratio_row(name, word, tally)) }
                    }
                }
            }
        } }
        div.wide { table.plain {
            thead { tr { th { "what has no ratio" } th.n { "predicted, hold" } th.n { "fitted, hold" } } }
            tbody {
                @for (name, fitted, predicted) in &rest {
                    tr { td { (name) } td.n { (hold(predicted)) } td.n { (hold(fitted)) } }
                }
            }
        } }
        @if !left().is_empty() {
            h3 { "Predicted once, and not any more" }
            ul { @for (what, why) in left() { li { (what) ": " (why) } } }
        }
    }
}

fn ratio_row(name: &str, word: &str, tally: &Tally) -> Markup {
    let share =
        |count: usize| format!("{}\u{a0}%", (count * 200 + tally.ratios) / (2 * tally.ratios));
    html! {
        tr {
            td { (name) } td { (word) } td.n { (tally.ratios) }
            td.n { (format!("{:.1}\u{a0}%", tally.median * 100.0)) }
            @for count in tally.within { td.n { (share(count)) } }
            td.n { (tally.sides[0]) } td.n { (tally.sides[1]) @if tally.is_biased() { " (biased)" } }
        }
    }
}

fn hold(tally: &Tally) -> String {
    if tally.count == 0 { String::new() } else { format!("{} of {}", tally.held, tally.count) }
}

/// How many values of each table are what.
fn by_table(published: &[&Report]) -> Markup {
    html! {
        h3 { "Table by table" }
        div.wide { table.plain {
            thead { tr {
                th { "table" } th.n { "values" } th.n { "reproduced" } th.n { "within chance" } th.n { "differ" } th.n { "open" }
                th.n { "of these fitted" } th.n { "predicted times and rates" } th.n { "median" }
            } }
            tbody { @for report in published { (tables::summary(report)) } }
        } }
    }
}
