//! The report: one page of HTML with everything that the laboratory knows.
//!
//! The page is self-contained: its style is inside, its plots are inline SVG, and it has no scripts. It has no
//! date and no machine name, so the same tables give the same bytes. Each table, sweep and budget is followed
//! by the command that reproduces its numbers.

mod account;
mod budgets;
mod plot;
mod sweeps;
mod tables;
mod trials;

pub use account::account_page;
pub use budgets::{BudgetJob, TimeBudget};

use crate::sweep::{Row, Sweep};
use crate::table;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// Contents of a report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Judged tables, in the order of the page.
    pub tables: &'a [table::Report],
    /// Sweeps with all of their results.
    pub sweeps: &'a [(Sweep, Vec<Row>)],
    /// Where the time of some transfers went.
    pub budgets: &'a [TimeBudget],
}

impl Report<'_> {
    /// The page.
    pub fn page(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Wetstring: the laboratory's report" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    (self.head())
                    main {
                        @if !self.tables.is_empty() { (self.overview()) }
                        @for report in self.tables { (tables::section(report)) }
                        @for (sweep, rows) in self.sweeps { (sweeps::section(sweep, rows)) }
                        @if !self.budgets.is_empty() { (budgets::section(self.budgets)) }
                    }
                    footer { (about()) }
                }
            }
        };
        page.into_string()
    }

    fn head(&self) -> Markup {
        html! {
            header {
                h1 { "The laboratory's report" }
                p {
                    "Transfers that were measured and published, made again by the engines of \
                     Wetstring " (env!("CARGO_PKG_VERSION")) " in virtual time, over models of \
                     the lines and computers of those measurements."
                }
                (command("wst lab report DIR"))
                nav {
                    ul {
                        @for report in self.tables {
                            li { a href={ "#" (report.table) } { (report.table) } }
                        }
                        @for (sweep, _) in self.sweeps {
                            li { a href={ "#sweep-" (sweep.name()) } { (sweep.name()) } }
                        }
                        @if !self.budgets.is_empty() {
                            li { a href="#budgets" { "time budgets" } }
                        }
                    }
                }
            }
        }
    }

    /// All tables at a glance.
    fn overview(&self) -> Markup {
        let published: Vec<&table::Report> =
            self.tables.iter().filter(|report| !report.own).collect();
        let ratios: Vec<plot::Ratios> = published
            .iter()
            .map(|report| (report.table.clone(), tables::ratios(report)))
            .filter(|(_, ratios)| !ratios.is_empty())
            .collect();
        html! {
            section #overview {
                h2 { "Published beside ours" }
                p {
                    "Each value that was published is made again by a transfer with the settings \
                     that the source gives. It is " b { "reproduced" } " if ours is within the \
                     tolerance of its table, and " b { "within chance" } " if it is a count of what chance \
                     does and lies between the least and the most of our runs; if it "
                    b { "differs" } ", the table says why. A value that differs for no known reason is open."
                }
                div.wide { table.plain {
                    thead { tr {
                        th { "table" } th.n { "values" } th.n { "reproduced" }
                        th.n { "within chance" } th.n { "differ" } th.n { "open" }
                    } }
                    tbody {
                        @for report in &published { (tables::summary(report)) }
                    }
                } }
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
}

/// The command that reproduces something.
fn command(text: &str) -> Markup {
    html! { pre.command { code { "$ " (text) } } }
}

fn about() -> Markup {
    html! {
        p {
            "Time in the laboratory is virtual and counted in whole nanoseconds, and all chance \
             comes from seeds: the commands give the same numbers on every machine."
        }
    }
}
