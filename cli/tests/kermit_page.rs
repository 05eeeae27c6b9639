//! `docs/reference/kermit-commands.md` is what HELP says of every command of the language, and of every word of SET.
//!
//! `cargo xtask table --write` regenerates it. That HELP knows every command is tested in `script/src/commands/help.rs`.

use crate::common::{run, wst};
use std::fmt::Write as _;
use wetstring_testkit::compare_page;

const HEAD: &str = "# Commands of the Kermit language\n
Written by `cargo xtask table --write` from HELP of `wst kermit`; a test keeps the two equal. A command may be shortened to
any beginning that only it has. How the language works: [Kermit script language](../protocols/kermit-language.md).\n
| command | what it does |\n|---|---|\n";

const SET: &str = "\n## SET\n
Every [setting](settings.md) of the program is here, too, by its name: `SET zmodem.window 4096`, or `SET ZMODEM WINDOW 4096`.\n
| setting | meaning |\n|---|---|\n";

/// What HELP answers to each of these.
fn help(of: &[&str]) -> String {
    let commands: Vec<String> = of.iter().map(|name| format!("help {name}")).collect();
    let ran = run(wst(["kermit", "-C", &format!("{}, exit 0", commands.join(", "))]));
    ran.expect(0);
    ran.stdout
}

/// The pairs of an answer: the syntax, and indented below it what it does.
fn pairs(answer: &str) -> Vec<(&str, &str)> {
    let lines: Vec<&str> = answer.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len() % 2, 0, "{answer}");
    lines
        .chunks(2)
        .map(|pair| (pair[0], pair[1].strip_prefix("  ").expect("an indented line")))
        .collect()
}

fn row(page: &mut String, syntax: &str, what: &str) {
    let what = what.replace('|', "\\|").replace('<', "\\<").replace('*', "\\*");
    // Writing to a string cannot fail.
    let _ = writeln!(page, "| `{}` | {what} |", syntax.replace('|', "\\|").trim());
}

/// The page as it should be.
fn page() -> String {
    let overview = help(&[""]);
    let list = overview.lines().filter(|line| line.starts_with(' '));
    let names: Vec<&str> = list.flat_map(str::split_whitespace).collect();
    assert!(names.len() > 100, "{overview}");
    let mut page = HEAD.to_owned();
    let answer = help(&names.iter().copied().filter(|name| *name != "set").collect::<Vec<_>>());
    let pairs_of_commands = pairs(&answer);
    for name in &names {
        let own = |(syntax, _): &&(&str, &str)| {
            syntax.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(name))
        };
        if let Some((syntax, what)) = pairs_of_commands.iter().find(own) {
            row(&mut page, syntax, what);
        } else {
            assert_eq!(*name, "set", "HELP does not know it");
            row(&mut page, "SET setting value", "Changes a setting; see below.");
        }
    }
    page.push_str(SET);
    let answer = help(&["set"]);
    for (syntax, what) in
        pairs(&answer).into_iter().filter(|(syntax, _)| *syntax != "SET name value")
    {
        row(&mut page, syntax, what);
    }
    page
}

#[test]
fn every_command_of_the_language_is_in_the_docs() {
    compare_page("kermit-commands.md", &page());
}
