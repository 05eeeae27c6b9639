//! The report: one page of HTML with everything that the laboratory knows.
//!
//! The page is self-contained: its style is inside, its plots are inline SVG, and it has no scripts. It has no
//! date and no machine name, so the same tables give the same bytes. Each table, sweep and budget is followed
//! by the command that reproduces its numbers.

mod account;
mod budget;
#[cfg(feature = "report")]
mod budgets;
mod chart;
#[cfg(feature = "report")]
mod overview;
#[cfg(feature = "report")]
mod plot;
#[cfg(feature = "report")]
mod sweeps;
#[cfg(feature = "report")]
mod tables;
#[cfg(feature = "report")]
mod trials;
#[cfg(feature = "report")]
mod whole;

pub use account::account_page;
pub use budget::TimeBudget;
#[cfg(feature = "report")]
pub use budgets::BudgetJob;
#[cfg(feature = "report")]
pub use tables::figure_file;
#[cfg(feature = "report")]
pub use whole::Report;

use maud::{Markup, html};

const STYLE: &str = include_str!("style.css");

/// The command that reproduces something.
fn command(text: &str) -> Markup {
    html! { pre.command { code { "$ " (text) } } }
}
