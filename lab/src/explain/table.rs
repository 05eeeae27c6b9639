//! A scenario as a TOML table that can be changed key by key.

use crate::scenario::{BadScenario, Layer};
use toml::{Table, Value};

/// The keys that configure the ends.
pub(super) const ENDS: [&str; 3] = ["both", "sender", "receiver"];

/// A scenario's text with what overrides it.
pub(super) fn merged(name: &str, text: &str, settings: &[String]) -> Result<Table, BadScenario> {
    // Errors are reported by the scenario's own parser.
    Layer::parse(name, text)?;
    let mut table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| BadScenario::missing(name, "", error.message()))?;
    for setting in settings {
        Layer::assignment(setting)?;
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        put(&mut table, key.trim(), literal(value.trim()));
    }
    Ok(table)
}

/// A value in TOML notation, or else as text.
fn literal(text: &str) -> Value {
    let table: Option<Table> = format!("v = {text}").parse().ok();
    table.and_then(|mut table| table.remove("v")).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Sets a value at a dotted key.
pub(super) fn put(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if !inner.is_table() {
                *inner = Value::Table(Table::new());
            }
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// The value at a dotted key.
pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((first, rest)) => get(table.get(first)?.as_table()?, rest),
    }
}

/// Sets something at both ends, replacing values of each.
pub(super) fn set_both(table: &mut Table, key: &str, value: &str) {
    for end in ["sender", "receiver"] {
        if let Some(Value::Table(end)) = table.get_mut(end) {
            end.remove(key);
        }
    }
    put(table, &format!("both.{key}"), Value::String(value.to_owned()));
}

/// Changes the protocol: the settings of the previous one do not apply to it.
pub(super) fn set_protocol(table: &mut Table, protocol: &str) {
    table.insert("protocol".to_owned(), Value::String(protocol.to_owned()));
    for end in ENDS {
        if let Some(Value::Table(end)) = table.get_mut(end) {
            end.retain(|key, _| key == "host");
        }
    }
}

/// The text of a table. Plain keys come before tables, as TOML requires.
pub(super) fn text(table: &Table) -> String {
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_merged() {
        let text = "line = '9600'\n[both]\nwindow = 1\n[sender]\nwindow = 2\nhost = 'packet=1ms'";
        let sets = ["both.check=2".to_owned(), "line=1200,delay=1s".to_owned()];
        let mut table = merged("s", text, &sets).unwrap();
        assert_eq!(get(&table, "line").and_then(Value::as_str), Some("1200,delay=1s"));
        assert_eq!(get(&table, "both.check"), Some(&Value::Integer(2)));
        set_both(&mut table, "window", "9");
        assert_eq!(get(&table, "sender.window"), None);
        assert_eq!(get(&table, "both.window").and_then(Value::as_str), Some("9"));
        set_protocol(&mut table, "zmodem");
        assert_eq!(get(&table, "both.window"), None);
        assert_eq!(get(&table, "sender.host").and_then(Value::as_str), Some("packet=1ms"));
        let again: Table = super::text(&table).parse().unwrap();
        assert_eq!(again, table);
    }

    #[test]
    fn errors_are_named() {
        assert!(
            merged("s.toml", "lien = '9600'", &[]).unwrap_err().to_string().contains("s.toml:1")
        );
        assert!(merged("s", "line = '9600'", &["seed".to_owned()]).is_err());
    }
}
