//! The flags generated from the tables of settings, and the command that has them all.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, CommandFactory};
use wetstring_drive::LineSpec;
use wetstring_drive::disk::StoreSettings;
use wetstring_proto::registry::Carrier;
use wetstring_proto::settings::{Range, Setting};
use wetstring_proto::slip;
use wetstring_protocols::Family;

use super::{Cli, slip::LINK};
use crate::config::Settings;
use crate::config::protocol::Protocol;
use crate::ui::keyboard;

/// A short flag for more than one row, or under another name: flag, rows, sentence.
const SHORT: &[(&str, &[&str], &str)] = &[
    (
        "length",
        &["kermit.send-length", "kermit.receive-length"],
        "Longest packet in both directions",
    ),
    ("prefix", &["kermit.prefixing"], "The same as --prefixing"),
];

/// The name of a row's own flag.
fn flag_of(row: &'static Setting) -> Option<&'static str> {
    if !row.has_flag {
        return None;
    }
    row.name.split_once('.').map(|(_, flag)| flag)
}

fn with_range(arg: Arg, row: &'static Setting) -> Arg {
    // The table validates a number that may have a unit.
    if let Some((name, _)) = units(row) {
        return arg.value_name(name);
    }
    match row.range {
        Range::Word(words) => arg.value_name("WORD").value_parser(PossibleValuesParser::new(words)),
        Range::Number(low, high) => {
            arg.value_name("N").value_parser(clap::value_parser!(u64).range(low..=high))
        }
        Range::Text => arg.value_name("TEXT"),
    }
}

fn setting_args(rows: &'static [Setting], heading: &'static str) -> Vec<Arg> {
    let own = rows.iter().filter_map(|row| {
        match row.name {
            "store.resume" => return Some(alone(row, row.default, heading)),
            "slip.fifo" => return Some(alone(row, "on", heading)),
            _ => {}
        }
        let flag = flag_of(row)?;
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
        let range = match row.range {
            Range::Number(low, high) => format!(", {low} to {high}"),
            _ => String::new(),
        };
        let default = if row.default.is_empty() { "none" } else { row.default };
        let help = format!("{} [default: {default}{unit}{range}]", row.doc);
        Some(with_range(
            Arg::new(row.name).long(flag).help(help).help_heading(heading).hide_short_help(true),
            row,
        ))
    });
    own.collect()
}

/// A flag that may stand alone: `--resume` means what `send --resume` needs, and other values follow `=`.
fn alone(row: &'static Setting, means: &'static str, heading: &'static str) -> Arg {
    let flag = row.name.split_once('.').map_or(row.name, |(_, flag)| flag);
    let default = match row.default {
        same if same == means => "default, also".to_owned(),
        other => format!("default: {other};"),
    };
    let help = format!("{} [{default} of --{flag} alone: {means}]", row.doc);
    let arg = Arg::new(row.name).long(flag).help(help).help_heading(heading);
    with_range(arg, row)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value(means)
        .hide_short_help(true)
}

/// The command, complete with the flags of the tables: those of the store, of `protocol` and of SLIP.
pub(crate) fn command(protocol: Protocol) -> Command {
    let mut command = Cli::command();
    for verb in ["send", "receive"] {
        command = command.mut_subcommand(verb, |sub| {
            let heading = protocol.family().heading();
            let sub = sub.args(setting_args(protocol.family().table(), heading));
            let short = SHORT.iter().filter_map(|(flag, rows, help)| {
                let row =
                    protocol.family().table().iter().find(|row| Some(&row.name) == rows.first())?;
                let arg = Arg::new(*flag)
                    .long(*flag)
                    .help(*help)
                    .help_heading(heading)
                    .hide_short_help(true);
                Some(with_range(arg, row))
            });
            let sub = sub.args(short);
            if verb == "receive" {
                sub.args(setting_args(StoreSettings::TABLE, "Store settings"))
            } else {
                sub
            }
            .after_long_help(format!(
                "{}\n\n{}",
                keyboard::IN_HELP,
                of_the_others(protocol)
            ))
        });
    }
    command.mut_subcommand("slip", |sub| {
        let args = setting_args(slip::Settings::TABLE, LINK);
        sub.args(args.into_iter().map(|arg| arg.hide_short_help(false)))
            .mut_arg("slip.mtu", |arg| arg.conflicts_with("slip.latency"))
    })
}

/// The protocol families, except that of this protocol.
fn others(chosen: Protocol) -> impl Iterator<Item = &'static Family> {
    let mut families: Vec<_> = Protocol::chosen().map(Protocol::family).collect();
    families.dedup();
    families.into_iter().filter(move |family| *family != chosen.family())
}

/// How a family is chosen.
fn chosen_by(family: &'static Family) -> String {
    let names: Vec<_> = family.protocols().collect();
    if names.iter().all(|protocol| protocol.carrier == Carrier::Datagrams) {
        return "udp: and ip: lines".to_owned();
    }
    let mut titles: Vec<_> = names.iter().map(|protocol| protocol.title.to_lowercase()).collect();
    titles.dedup();
    let words = titles.iter().map(|title| match &names[..] {
        [only] => format!("-P {}", only.name),
        _ => format!("-P {title}..."),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// What to say about a flag that only other protocols have.
pub(super) fn of_another(chosen: Protocol, flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let owner = |family: &'static Family| {
        let named = family.protocols().next()?;
        Some(match named.carrier {
            Carrier::Datagrams => "a udp: or ip: line".to_owned(),
            _ => format!("-P {}", named.name),
        })
    };
    let has = |family: &&'static Family| {
        family.table().iter().any(|row| flag_of(row) == Some(name))
            || SHORT.iter().any(|(short, rows, _)| {
                *short == name && family.table().iter().any(|row| rows.first() == Some(&row.name))
            })
    };
    if has(&chosen.family()) {
        return None;
    }
    let owners: Vec<_> = others(chosen).filter(has).filter_map(owner).collect();
    let owners = Some(owners.join(" and ")).filter(|owners| !owners.is_empty())?;
    Some(format!("{} has no {flag}: it is a flag with {owners}", chosen.title))
}

/// What to write instead of a flag of `wst send`, where a verb has only `--set`.
pub(super) fn by_set(verb: &str, flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let mut rows = Protocol::default().family().table().iter();
    let row = rows.find(|row| flag_of(row) == Some(name))?;
    Some(format!("wst {verb} has no {flag}: write --set {}=VALUE", row.name))
}

/// The flags of the other protocols, for the long help.
fn of_the_others(chosen: Protocol) -> String {
    let mut text = String::new();
    for family in others(chosen) {
        let heading = family.heading();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{heading} (with {}):", chosen_by(family));
        for arg in setting_args(family.table(), heading) {
            let (flag, help) = (arg.get_long().unwrap_or_default(), arg.get_help());
            let value =
                arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "      --{flag} <{value}>\n          {help}");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// The command with the flags of every protocol, for completions. Flags of the same name take
/// different values, so those are not completed.
pub(crate) fn complete() -> Command {
    let mut command = command(Protocol::default());
    for family in others(Protocol::default()) {
        for verb in ["send", "receive"] {
            command = command.mut_subcommand(verb, |sub| {
                let known =
                    |flag: &str| sub.get_arguments().any(|arg| arg.get_long() == Some(flag));
                let args = setting_args(family.table(), family.heading());
                let new: Vec<Arg> = args
                    .into_iter()
                    .filter(|arg| arg.get_long().is_some_and(|flag| !known(flag)))
                    .collect();
                sub.args(new)
            });
        }
    }
    with_values(command)
}

/// Completions for values where the program accepts any text.
fn with_values(mut command: Command) -> Command {
    let settings = || Settings::rows().map(|row| format!("{}=", row.name));
    let names = || Settings::rows().map(|row| row.name.to_owned());
    let profiles = crate::config::File::load().map(|file| file.profiles()).unwrap_or_default();
    // The command needs `'static` words; it is built once, just before the program ends.
    let list = |words: Vec<String>| {
        PossibleValuesParser::new(words.into_iter().map(|word| &*String::leak(word)))
    };
    for verb in ["send", "receive", "get", "put", "remote", "serve", "kermit", "slip"] {
        command = command.mut_subcommand(verb, |sub| {
            sub.mut_arg("sets", |arg| arg.value_parser(list(settings().collect())))
        });
    }
    command = command.mut_subcommand("show", |sub| {
        sub.mut_arg("names", |arg| arg.value_parser(list(names().collect())))
    });
    command = command.mut_subcommand("lab", |lab| {
        let scenarios = wetstring_lab::scenario::names().map(str::to_owned).collect();
        let tables = wetstring_lab::table::Table::names().map(str::to_owned).collect();
        lab.mut_subcommand("run", |sub| {
            sub.mut_arg("scenario", |arg| arg.value_parser(list(scenarios)))
        })
        .mut_subcommand("table", |sub| sub.mut_arg("names", |arg| arg.value_parser(list(tables))))
    });
    if profiles.is_empty() {
        return command;
    }
    command.mut_arg("profile", |arg| arg.value_parser(list(profiles)))
}

/// The protocol that a command line names, even if the rest is invalid: the flags that
/// are accepted depend on it.
pub(super) fn protocol_in(args: &[OsString]) -> Protocol {
    // Lines of datagrams carry only NETBLT.
    let mut implied = args.iter().skip(1).filter_map(|arg| arg.to_str()?.parse::<LineSpec>().ok());
    let implied = implied.next_back().is_some_and(|line| line.has_datagrams());
    let mut args = args.iter().skip(1).take_while(|arg| *arg != OsStr::new("--"));
    let mut found = if implied { Protocol::named("netblt") } else { Protocol::default() };
    while let Some(arg) = args.next() {
        let Some(arg) = arg.to_str() else { continue };
        let name = match arg {
            "-P" | "--protocol" => args.next().and_then(|name| name.to_str()),
            _ => arg
                .strip_prefix("--protocol=")
                .or_else(|| arg.strip_prefix("-P").map(|name| name.trim_start_matches('='))),
        };
        found = name.and_then(Protocol::of).unwrap_or(found);
    }
    found
}

/// What stands for the value of a row in help, and the units in which it may be written, with their sizes.
type Units = (&'static str, &'static [(&'static str, u64)]);

/// The rows whose values may be written with their usual unit.
fn units(row: &Setting) -> Option<Units> {
    match row.name {
        "netblt.interval" | "slip.latency" => Some(("TIME", &[("ms", 1), ("s", 1000)])),
        "netblt.max-rate" | "slip.rate" => {
            Some(("RATE", &[("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000)]))
        }
        _ => None,
    }
}

/// `55ms` and `1.5s` in milliseconds, `200M` and `115.2k` in bit/s; anything else is left for the table to validate.
fn plain_number(row: &Setting, value: String) -> String {
    let known = units(row).and_then(|(_, units)| {
        units.iter().find_map(|(unit, size)| in_unit(value.strip_suffix(unit)?, *size))
    });
    known.map_or(value, |number| number.to_string())
}

/// A decimal number of units of this size, if that is a whole number.
fn in_unit(text: &str, size: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{part}").parse::<u64>().ok()?;
    let scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let all = digits.checked_mul(size)?;
    all.is_multiple_of(scale).then(|| all / scale)
}

/// The settings that the flags set, as text.
pub(super) fn settings_of(matches: &ArgMatches) -> Vec<(String, String)> {
    let Some((verb, matches)) = matches.subcommand() else { return Vec::new() };
    if !matches!(verb, "send" | "receive" | "slip") {
        return Vec::new();
    }
    let value = |id: &str| -> Option<String> {
        let raw = matches.try_get_raw(id).ok()??.next_back()?;
        Some(raw.to_string_lossy().into_owned())
    };
    let mut found: Vec<(String, String)> = Vec::new();
    for (flag, rows, _) in SHORT {
        for row in rows.iter().filter(|_| value(flag).is_some()) {
            found.extend(value(flag).map(|value| ((*row).to_owned(), value)));
        }
    }
    for row in Settings::rows() {
        found.extend(value(row.name).map(|value| (row.name.to_owned(), plain_number(row, value))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_their_usual_unit() {
        let plain = |name: &str, text: &str| {
            let row = Settings::rows().find(|row| row.name == name).expect("a row");
            plain_number(row, text.to_owned())
        };
        for (name, text, number) in [
            ("slip.rate", "9600", "9600"),
            ("slip.rate", "115.2k", "115200"),
            ("slip.rate", "3M", "3000000"),
            ("slip.latency", "200ms", "200"),
            ("slip.latency", "1.5s", "1500"),
            // The table refuses these.
            ("slip.rate", "fast", "fast"),
            ("slip.rate", "0.00001k", "0.00001k"),
            ("slip.latency", "1.5ms", "1.5ms"),
            ("slip.slots", "1k", "1k"),
        ] {
            assert_eq!(plain(name, text), number, "{name} {text}");
        }
    }
}
