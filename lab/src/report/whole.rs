//! The whole report as one page.

use super::{TimeBudget, budgets, command, document, overview, sweeps, tables};
use crate::sweep::{Row, Sweep};
use crate::table;
use maud::{Markup, html};

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
        let body = html! {
            (self.head())
            main {
                @if !self.tables.is_empty() { (overview::section(self.tables)) }
                @for report in self.tables { (tables::section(report)) }
                @for (sweep, rows) in self.sweeps { (sweeps::section(sweep, rows)) }
                @if !self.budgets.is_empty() { (budgets::section(self.budgets)) }
            }
            footer { (about()) }
        };
        document("Wetstring: the laboratory's report", "", &body)
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
}

fn about() -> Markup {
    html! {
        p {
            "Time in the laboratory is virtual and counted in whole nanoseconds, and all chance \
             comes from seeds: the commands give the same numbers on every machine."
        }
    }
}
