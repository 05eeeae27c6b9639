//! Pages of `docs/reference` that follow from the program: commands and flags, lines, exit codes, device profiles.
//!
//! `cargo xtask table --write` regenerates them. A page is wholly written from the code, or it has a table between two
//! comments, and the rest is by hand.

mod lines;
mod profiles;
mod verbs;

use crate::ui::exit;
use std::fmt::Write as _;
use wetstring_testkit::compare_page;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/");

/// The page with another table between its comments.
fn filled(page: &str, table: &str) -> String {
    const BEGIN: &str = "<!-- Written by `cargo xtask table --write`. -->\n";
    const END: &str = "<!-- The end of what is written. -->\n";
    let (before, rest) = page.split_once(BEGIN).expect("a comment where the table begins");
    let (_, after) = rest.split_once(END).expect("a comment where the table ends");
    format!("{before}{BEGIN}\n{table}\n{END}{after}")
}

/// Checks, or writes, the table of a page that is otherwise by hand.
fn check_table(name: &str, table: &str) {
    let page = std::fs::read_to_string(format!("{FOLDER}{name}")).expect("a page");
    compare_page(name, &filled(&page, table));
}

/// A text as Markdown in a cell: what stands between back quotes is code already.
fn cell(text: &str) -> String {
    let mut shown = String::new();
    for (index, part) in
        text.split_whitespace().collect::<Vec<_>>().join(" ").split('`').enumerate()
    {
        if index > 0 {
            shown.push('`');
        }
        for letter in part.chars() {
            let special = if index % 2 == 1 { "|" } else { "|<>*~" };
            if special.contains(letter) {
                shown.push('\\');
            }
            shown.push(letter);
        }
    }
    shown
}

/// A text as code in a cell.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// The exit codes: number, name in JSON, meaning.
fn exit_codes() -> String {
    let mut table = "| exit code | `outcome` of `--json` | meaning |\n|---|---|---|\n".to_owned();
    for line in exit::TABLE.lines().skip(1) {
        let (number, meaning) = line.trim().split_once("  ").expect("a number and a meaning");
        let exit = exit::ALL.iter().find(|exit| (**exit as u8).to_string() == number);
        let word = exit.expect("an exit code").word();
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {number} | `{word}` | {} |", cell(meaning));
    }
    table
}

#[test]
fn every_command_and_flag_is_in_the_docs() {
    compare_page("commands.md", &verbs::page());
}

#[test]
fn every_form_of_a_line_is_in_the_docs() {
    compare_page("lines.md", &lines::page());
}

#[test]
fn every_exit_code_is_in_the_docs() {
    assert_eq!(exit::TABLE.lines().count(), exit::ALL.len() + 1);
    check_table("exit-codes.md", &exit_codes());
}

#[test]
fn every_device_profile_is_in_the_docs() {
    check_table("device-profiles.md", &profiles::table());
}

#[test]
fn a_table_is_replaced_and_the_rest_is_kept() {
    let page = "a\n<!-- Written by `cargo xtask table --write`. -->\nold\n<!-- The end of what is written. -->\nb\n";
    let new = filled(page, "| new |\n");
    assert!(new.contains("\n| new |\n") && !new.contains("old"), "{new}");
    assert!(new.starts_with("a\n") && new.ends_with("-->\nb\n"), "{new}");
    assert_eq!(cell("a | <b>\n `c|d*`"), "a \\| \\<b\\> `c\\|d*`");
}
