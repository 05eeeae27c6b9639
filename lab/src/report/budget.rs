//! Where the time of one transfer went, as a bar and as numbers.

use super::{chart, command};
use maud::{Markup, html};

/// Where the time of one transfer went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeBudget {
    /// Transfers of one group share a plot, each bar as long as its time.
    pub group: String,
    /// The transfer: file and line.
    pub name: String,
    /// The command that makes it again.
    pub command: String,
    /// The parts that are not nothing, by their names, in nanoseconds.
    pub parts: Vec<(String, u64)>,
}

pub(super) fn bars(group: &str, budgets: &[&TimeBudget], names: &[String]) -> Markup {
    let stack = |budget: &&TimeBudget| {
        let part = |(name, ns): &(String, u64)| {
            (names.iter().position(|known| known == name).unwrap_or(0), *ns as f64)
        };
        chart::Stack {
            name: format!("{}: {} s", budget.name, seconds(whole(budget))),
            parts: budget.parts.iter().map(part).collect(),
        }
    };
    let stacks: Vec<chart::Stack> = budgets.iter().map(stack).collect();
    chart::stacks(&format!("{group}: the time of each transfer by its parts"), names, &stacks)
}

pub(super) fn numbers(budget: &TimeBudget) -> Markup {
    html! {
        div.budget {
            h4 { (budget.name) }
            table.plain { tbody {
                @for (name, ns) in &budget.parts {
                    tr {
                        td { (name) }
                        td.n { (seconds(*ns)) "\u{a0}s" }
                        td.n { (share(*ns, whole(budget))) "\u{a0}%" }
                    }
                }
            } }
            (command(&budget.command))
        }
    }
}

fn whole(budget: &TimeBudget) -> u64 {
    budget.parts.iter().map(|part| part.1).sum()
}

/// Seconds with one decimal, or three where that shows nothing.
fn seconds(ns: u64) -> String {
    let ms = ns.saturating_add(500_000) / 1_000_000;
    if ms < 1000 {
        return format!("0.{ms:03}");
    }
    let tenths = (ms + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A part of a whole in percent, with one decimal.
fn share(part: u64, whole: u64) -> String {
    let per_mille = (u128::from(part) * 1000 + u128::from(whole) / 2)
        .checked_div(u128::from(whole))
        .unwrap_or(0);
    format!("{}.{}", per_mille / 10, per_mille % 10)
}
