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

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A page with this title, the styles of one kind of page, and this body.
fn document(title: &str, own_style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(own_style)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// The command that runs a built-in scenario with these settings, as a shell takes it.
pub fn run_command(scenario: &str, sets: &[String]) -> String {
    let mut command = format!("wst lab run {scenario}");
    for set in sets {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "=.,:@%/-_".contains(c);
        command.push_str(" --set ");
        command.push_str(&if set.chars().all(is_plain) { set.clone() } else { quoted(set) });
    }
    command + " --explain"
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The command that reproduces something.
fn command(text: &str) -> Markup {
    html! { pre.command { code { "$ " (text) } } }
}

#[cfg(test)]
mod tests {
    use super::run_command;

    #[test]
    fn a_command_is_quoted_where_a_shell_would_change_it() {
        let sets =
            ["line=9600,delay=1s", "line=udp over path:10M", "title=it's"].map(str::to_owned);
        assert_eq!(
            run_command("clean", &sets),
            r"wst lab run clean --set line=9600,delay=1s --set 'line=udp over path:10M' --set 'title=it'\''s' --explain"
        );
    }
}
