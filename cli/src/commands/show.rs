//! `wst show`: every setting, its value now, its range and its default; and the device profiles.

use std::ffi::OsStr;
use std::fmt::Write as _;

use wetstring_events::Event;

use crate::args::Common;
use crate::args::line_arg::There;
use crate::config::remembered::{Known, Lines, age, now};
use crate::config::{File, Settings, device, no_setting};
use crate::transfer::setup::prepare;
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};

/// The word that shows device profiles.
const PROFILES: &str = "profiles";

/// Lists the device profiles, or shows the text of some.
fn profiles(names: &[String]) -> Result<Exit, String> {
    let mut page = String::new();
    for name in names {
        page.push_str(&device::text_of(name)?.1);
    }
    if names.is_empty() {
        for name in device::names() {
            let one = device::named(&name)?;
            let protocols = one.method.iter().flat_map(|method| &method.protocols);
            let protocols: Vec<&str> = protocols.map(String::as_str).collect();
            let vars: Vec<&str> = one.vars.keys().map(String::as_str).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(page, "{name} = {}", one.title);
            let _ = writeln!(page, "    {}; tested: {}", protocols.join(", "), one.tested);
            if !vars.is_empty() {
                let _ = writeln!(page, "    variables: {}", vars.join(", "));
            }
            for source in &one.sources {
                let _ = writeln!(page, "    {source}");
            }
        }
    }
    crate::ui::output::print(&page);
    Ok(Exit::Done)
}

/// Shows what is remembered of a line.
pub(crate) fn line(ui: &Output, common: &Common, line: &OsStr) -> Result<Exit, String> {
    let (_, spec) = prepare(common, &[], line, There::Carries)?;
    let lines = Lines::load();
    let file = lines.path.as_ref().map_or_else(|| "none".to_owned(), |p| p.display().to_string());
    let known = lines.get(&spec);
    let settings = known.map(Known::settings).unwrap_or_default();
    if ui.has_json() {
        let settings = settings.iter().map(|(name, value)| format!("{name}={value}"));
        ui.event(Event::Remembered {
            line: spec.to_string(),
            age_s: known.map(|known| now().saturating_sub(known.at)),
            round_trip_s: known.and_then(|known| known.round_trip).map(|time| time.as_secs_f64()),
            error_spacing: known.and_then(|known| known.spacing),
            codes_pass: known.and_then(|known| known.codes),
            settings: settings.collect(),
        });
        return Ok(Exit::Done);
    }
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = match known {
        None => writeln!(page, "nothing is remembered of {spec}"),
        Some(known) => {
            let age = age(now().saturating_sub(known.at));
            writeln!(page, "{spec}, {age} ago: {}", known.words())
        }
    };
    for (name, value) in settings {
        let _ = writeln!(page, "{name} = {value}");
    }
    crate::ui::output::print(&page);
    ui.say(Level::Detail, &format!("file of lines: {file}"));
    Ok(Exit::Done)
}

/// Shows the settings whose names begin with one of `names`; all if there are none.
pub(crate) fn run(ui: &Output, names: &[String], profile: Option<&str>) -> Result<Exit, String> {
    if names.first().is_some_and(|name| name == PROFILES) {
        return profiles(&names[1..]);
    }
    let file = File::load()?;
    let mut all = Settings::default();
    file.apply(&mut all, profile)?;
    let chosen = |row: &str| names.is_empty() || names.iter().any(|name| matches(row, name));
    for name in names {
        if !Settings::rows().any(|row| matches(row.name, name)) {
            return Err(no_setting(name));
        }
    }
    let mut page = String::new();
    for row in Settings::rows().filter(|row| chosen(row.name)) {
        let mut value = String::new();
        // Writing to a string cannot fail.
        let _ = all.show(row.name, &mut value);
        if ui.has_json() {
            ui.event(Event::Setting {
                name: row.name,
                value,
                default: row.default,
                unit: row.unit,
                range: row.range.to_string(),
                doc: row.doc,
                source: row.source,
            });
            continue;
        }
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
        let mark = if value == row.default { "" } else { "  (set)" };
        let _ = writeln!(page, "{} = {value}{unit}{mark}", row.name);
        let default = if row.default.is_empty() { "empty" } else { row.default };
        let _ = writeln!(page, "    {}; {}, default {default}", row.doc, row.range);
    }
    if !ui.has_json() {
        crate::ui::output::print(&page);
        ui.say(Level::Detail, &format!("configuration file: {}", file.path.display()));
    }
    Ok(Exit::Done)
}

/// Whether a name, or a prefix of one, matches this row.
fn matches(row: &str, name: &str) -> bool {
    let short = row.split_once('.').map_or(row, |(_, short)| short);
    row.starts_with(name) || short == name
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn prefixes_and_short_names_match() {
        assert!(matches("kermit.window", "kermit"));
        assert!(matches("kermit.window", "kermit.window"));
        assert!(matches("kermit.window", "window"));
        assert!(!matches("kermit.window", "win"));
        assert!(!matches("kermit.window", "store"));
    }
}
