//! `docs/reference/commands.md`: every verb, its arguments and its flags.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use super::{cell, code};
use crate::args::{self, Cli};
use crate::config::protocol::Protocol;

const HEAD: &str = "# Commands and flags\n
Written by `cargo xtask table --write` from the command line in the code; a test keeps the two equal.
`wst VERB -h` shows the flags that are used most, `wst VERB --help` all, and `wst man VERB` the manual page.
LINE is [where the peer is](lines.md), the names of `--set` are [the settings](settings.md), and what the program
returns are [the exit codes](exit-codes.md). [`sz`, `rz` and their kind](lrzsz-names.md) and [`kermit`](ckermit-differences.md) have flags of their own.\n";

const OF_SETTINGS: &str = "\n## Flags of `wst send`, `wst receive` and `wst slip` that are settings\n
The settings of the protocol that is chosen are flags, too: `--window 4` is `--set kermit.window=4`, and of `wst slip` `--mtu 296` is `--set slip.mtu=296`. [Settings](settings.md) says
what each does.\n
| with | flags |\n|---|---|\n";

/// The page as it should be.
pub(super) fn page() -> String {
    let mut whole = Cli::command();
    whole.build();
    let mut page = format!("{HEAD}\n## `wst`\n");
    usage(&mut page, &whole);
    page.push_str("\nFlags of every verb:\n");
    let common: Vec<&Arg> = whole.get_arguments().filter(|arg| is_shown(arg)).collect();
    table(&mut page, "option", &common);
    for verb in verbs(&whole) {
        section(&mut page, "##", &whole, verb);
        for inner in verbs(verb) {
            section(&mut page, "###", &whole, inner);
        }
    }
    page.push_str(OF_SETTINGS);
    for (title, flags) in of_settings() {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {title} | {} |", flags.join(", "));
    }
    page
}

/// The verbs that the help shows.
fn verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
}

fn is_shown(arg: &Arg) -> bool {
    arg.get_id() != "help" && !arg.is_hide_set()
}

fn usage(page: &mut String, command: &Command) {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>();
    let _ = writeln!(page, "\n```text\n{}\n```", lines.join("\n"));
}

/// A verb: what it does, how it is called, arguments, flags by their headings.
fn section(page: &mut String, level: &str, whole: &Command, verb: &Command) {
    let name = verb.get_bin_name().unwrap_or_else(|| verb.get_name());
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(page, "\n{level} `{name}`\n\n{}.", cell(about.trim_end_matches('.')));
    usage(page, verb);
    let is_common =
        |arg: &&Arg| whole.get_arguments().any(|common| common.get_id() == arg.get_id());
    let own: Vec<&Arg> =
        verb.get_arguments().filter(|arg| is_shown(arg) && !is_common(arg)).collect();
    let (arguments, flags): (Vec<&Arg>, Vec<&Arg>) =
        own.into_iter().partition(|arg| arg.is_positional());
    table(page, "argument", &arguments);
    let mut headings: Vec<Option<&str>> = Vec::new();
    for flag in &flags {
        if !headings.contains(&flag.get_help_heading()) {
            headings.push(flag.get_help_heading());
        }
    }
    for heading in headings {
        if let Some(heading) = heading {
            let _ = writeln!(page, "\n{heading}:");
        }
        let of_it = flags.iter().filter(|flag| flag.get_help_heading() == heading);
        table(page, "option", &of_it.copied().collect::<Vec<_>>());
    }
    if let Some(text) = verb.get_after_help() {
        let _ = writeln!(page, "\n```text\n{}\n```", text.to_string().trim_end());
    }
}

/// A table of arguments or flags; the column of defaults is there if one has a default.
fn table(page: &mut String, what: &str, args: &[&Arg]) {
    if args.is_empty() {
        return;
    }
    let has_defaults = args.iter().any(|arg| !default(arg).is_empty());
    let (head, rule) = if has_defaults { (" default |", "---|") } else { ("", "") };
    let _ = writeln!(page, "\n| {what} | meaning |{head}\n|---|---|{rule}");
    for arg in args {
        let default = if has_defaults { format!(" {} |", default(arg)) } else { String::new() };
        let _ = writeln!(page, "| {} | {} |{default}", written(arg), meaning(arg));
    }
}

/// How an argument is written.
fn written(arg: &Arg) -> String {
    let shown = arg.to_string();
    // A name of several words says itself how often each is given; a flag that may be repeated is one flag.
    let names = arg.get_value_names().and_then(<[_]>::first).filter(|name| name.contains(' '));
    let long = match names {
        Some(names) => code(names),
        None if arg.is_positional() => code(&shown),
        None => code(shown.trim_end_matches("...")),
    };
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(_)) => format!("`-{short}`, {long}"),
        _ => long,
    }
}

fn meaning(arg: &Arg) -> String {
    let text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = cell(&text);
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !arg.is_hide_possible_values_set() && !values.is_empty() {
        let values: Vec<String> = values.iter().map(|value| code(value.get_name())).collect();
        let _ = write!(text, " ({})", values.join(", "));
    }
    text
}

fn default(arg: &Arg) -> String {
    if !arg.get_action().takes_values() || arg.is_hide_default_value_set() {
        return String::new();
    }
    let values = arg.get_default_values().iter();
    values.map(|value| code(&value.to_string_lossy())).collect::<Vec<_>>().join(", ")
}

/// The flags that settings have: those of each family, and of the store.
fn of_settings() -> Vec<(String, Vec<String>)> {
    let plain = Cli::command();
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for protocol in Protocol::chosen() {
        let with_flags = args::command(protocol);
        for verb in ["send", "receive", "slip"] {
            let of = |command: &Command| -> Vec<Arg> {
                let verb = command.find_subcommand(verb).expect("a verb");
                verb.get_arguments().cloned().collect()
            };
            let before = of(&plain);
            let new = of(&with_flags);
            let new =
                new.iter().filter(|arg| before.iter().all(|old| old.get_id() != arg.get_id()));
            for arg in new {
                let heading = match verb {
                    "slip" => "`wst slip`".to_owned(),
                    _ => arg.get_help_heading().unwrap_or_default().to_owned(),
                };
                let flag = code(&format!("--{}", arg.get_long().unwrap_or_default()));
                match found.iter_mut().find(|(title, _)| *title == heading) {
                    Some((_, flags)) if flags.contains(&flag) => {}
                    Some((_, flags)) => flags.push(flag),
                    None => found.push((heading, vec![flag])),
                }
            }
        }
    }
    found
}
