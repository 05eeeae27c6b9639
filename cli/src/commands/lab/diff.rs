//! `wst lab diff`: what changed between two results.
//!
//! Results are the objects of `wst lab table --json` and `wst lab run --json`, and the files of
//! `wst lab sweep`, CSV or NDJSON. A cell of a table is known by its table, row and column, a point
//! of a sweep by the values of its ranges, so that two sweeps with different ranges can be compared
//! where they overlap. Two traces are compared line by line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};
use wetstring_drive::in_words;
use wetstring_events::{Comparison, Event, Sides, Summary};
use wetstring_lab::sweep::Format;

use super::run::read_text;
use super::traces;
use crate::args::lab::DiffVerb;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::Output;

/// The content of a file.
enum Content {
    Results(Results),
    Trace(Vec<String>),
}

/// Results by their keys, in the order of the file.
#[derive(Default)]
struct Results {
    order: Vec<String>,
    fields: BTreeMap<String, Vec<(String, String)>>,
}

pub(super) fn run(ui: &Output, verb: &DiffVerb) -> Result<Ending, Ending> {
    let differences = match (read(&verb.a)?, read(&verb.b)?) {
        (Content::Results(a), Content::Results(b)) => results(ui, &a, &b),
        (Content::Trace(a), Content::Trace(b)) => traces::diff(ui, &a, &b),
        _ => {
            let say = "expected two files of one kind, got a trace and results";
            return Err(Ending::early(Exit::Usage, say));
        }
    };
    let exit = if differences { Exit::Skipped } else { Exit::Done };
    // The end event tells a program what the exit code means here.
    let summary = Some(Summary::Comparison(Comparison { differs: differences }));
    Ok(Ending { summary, ..Ending::early(exit, "") })
}

fn read(path: &Path) -> Result<Content, Ending> {
    let text = read_text(path, "could not read")?;
    content(&text).map_err(|say| Ending::early(Exit::Usage, format!("{}: {say}", path.display())))
}

fn content(text: &str) -> Result<Content, String> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if traces::is_line(first) {
        return Ok(Content::Trace(text.lines().map(str::to_owned).collect()));
    }
    let objects = if first.starts_with('{') {
        let object = |(index, line): (usize, &str)| {
            serde_json::from_str(line)
                .map_err(|error| format!("line {}: {}", index + 1, in_words(&error)))
        };
        text.lines().enumerate().filter(|(_, line)| !line.is_empty()).map(object).collect()
    } else if first.starts_with('[') {
        serde_json::from_str(text).map_err(|error| in_words(&error))
    } else if first.split(',').any(|name| name == "point") {
        csv(text)
    } else {
        Err("expected the JSON of a table, the CSV or NDJSON of a sweep, or a trace".to_owned())
    }?;
    Ok(Content::Results(Results::of(objects)))
}

/// The lines of a CSV file as objects.
fn csv(text: &str) -> Result<Vec<Map<String, Value>>, String> {
    let records = Format::Csv.read(text).map_err(|bad| bad.to_string())?;
    let object = |row: &Vec<String>| {
        let fields = records.columns.iter().zip(row);
        fields.map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect()
    };
    Ok(records.rows.iter().map(object).collect())
}

impl Results {
    fn of(objects: Vec<Map<String, Value>>) -> Self {
        let mut results = Self::default();
        for object in objects {
            // Only events that are results.
            let event = object.get("event").and_then(Value::as_str);
            if event.is_some_and(|event| !["cell", "row", "result"].contains(&event)) {
                continue;
            }
            let keys = keys(&object);
            let (mut key, mut fields) = (Vec::new(), Vec::new());
            for (name, value) in &object {
                if ["v", "event", "sweep", "point", "numbers", "values"].contains(&name.as_str()) {
                    continue;
                }
                let text = plain(value);
                if keys.contains(name) {
                    key.push(format!("{name}={text}"));
                } else {
                    fields.push((name.clone(), text));
                }
            }
            let mut key = key.join(" ");
            if results.fields.contains_key(&key) {
                let same = results.fields.keys().filter(|old| old.starts_with(&key)).count();
                key = format!("{key} #{}", same + 1);
            }
            results.order.push(key.clone());
            results.fields.insert(key, fields);
        }
        results
    }
}

/// The names of the key fields of a result.
fn keys(object: &Map<String, Value>) -> Vec<String> {
    let fixed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    if object.contains_key("table") {
        return fixed(&["table", "row", "col"]);
    }
    if object.contains_key("point") {
        // The ranges come between the number of the point and the first result.
        let names = object.keys().skip_while(|name| *name != "point").skip(1);
        return names.take_while(|name| *name != "done").cloned().collect();
    }
    fixed(&["protocol", "line", "seed"])
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Prints the differences; true if there are any.
fn results(ui: &Output, a: &Results, b: &Results) -> bool {
    let mut page = String::new();
    let (mut same, mut differ, mut only) = (0, 0, [0, 0]);
    for key in &a.order {
        let Some(after) = b.fields.get(key) else { continue };
        let steps = changes(&a.fields[key], after);
        if steps.is_empty() {
            same += 1;
            continue;
        }
        differ += 1;
        let of = |text: &str| text.to_owned();
        let sides = steps.iter().map(|(name, a, b)| (of(name), Sides { a: of(a), b: of(b) }));
        ui.event(Event::Change { of: key.clone(), changes: sides.collect() });
        let words: Vec<String> =
            steps.iter().map(|(name, a, b)| format!("{name} {}", step(a, b))).collect();
        // Writing to a string does not fail.
        let _ = writeln!(page, "{key}: {}", words.join(", "));
    }
    for (index, (these, those, name)) in [(a, b, "A"), (b, a, "B")].into_iter().enumerate() {
        for key in these.order.iter().filter(|key| !those.fields.contains_key(*key)) {
            only[index] += 1;
            ui.event(Event::Only { of: key.clone(), within: name.to_lowercase() });
            let _ = writeln!(page, "only in {name}: {key}");
        }
    }
    let _ = writeln!(
        page,
        "{differ} changed, {same} are the same, {} only in A, {} only in B",
        only[0], only[1]
    );
    if !ui.has_json() {
        crate::ui::output::print(&page);
    }
    differ + only[0] + only[1] > 0
}

type Change<'a> = (&'a str, &'a str, &'a str);

/// The fields that differ: name, in A, in B. Empty where there is none.
fn changes<'a>(a: &'a [(String, String)], b: &'a [(String, String)]) -> Vec<Change<'a>> {
    let find = |list: &'a [(String, String)], name: &str| {
        list.iter().find(|field| field.0 == name).map_or("", |field| field.1.as_str())
    };
    let new = b.iter().filter(|field| !a.iter().any(|old| old.0 == field.0));
    a.iter()
        .chain(new)
        .map(|(name, _)| (name.as_str(), find(a, name), find(b, name)))
        .filter(|(_, a, b)| a != b)
        .collect()
}

/// One value to another, with the relative change of numbers.
fn step(a: &str, b: &str) -> String {
    let shown = |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
    let share = match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) if a != 0.0 => format!(" ({:+.1} %)", (b - a) * 100.0 / a),
        _ => String::new(),
    };
    format!("{} -> {}{share}", shown(a), shown(b))
}
