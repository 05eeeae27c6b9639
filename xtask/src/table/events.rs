//! `docs/reference/events.md` and two schemas, written from the enum of events and the table of a trace's records.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use wetstring_proto::trace::{Key, Kind, RECORDS, Record};

const HEAD: &str = "# Events and traces\n
Written by `cargo xtask table --write` from the code; a test keeps the two equal.\n
## Events\n
With `--json` the program writes one JSON object a line to stdout, or to stderr if stdin and stdout are the line.
Each has `v`, the version of all events (1), and `event`, its name. Programs should pass over events and fields that
they do not know. What may be null is marked with `?`, what may be missing with `-`. Times are seconds. The JSON Schema is
[events.schema.json](events.schema.json).\n";

const TRACE: &str = "\n## Traces\n
`--trace FILE` writes what the engine did, one line an event: `TIME WHO WORD KEY=VALUE...`. The time has nine decimals;
who is `sender` or `receiver`, of a run of the laboratory `A` and `B`, and the name of an element of the line, or `run` for what is said of
the transfer itself. What may be missing is marked with `-`. `wst explain` passes over words that it does not know. The JSON Schema
of a line that was split into an object is [trace.schema.json](trace.schema.json).\n";

/// The page.
pub(super) fn page() -> String {
    let schema = wetstring_events::schema();
    let mut page = HEAD.to_owned();
    let events = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    for event in events {
        let name = event["properties"]["event"]["const"].as_str().unwrap_or_default();
        let _ = writeln!(page, "\n### `{name}`\n\n{}", doc(event));
        page.push_str(&fields(event, &schema));
    }
    page.push_str("\n## Objects inside events\n");
    let defs = schema["$defs"].as_object().cloned().unwrap_or_default();
    for (name, def) in &defs {
        let _ = writeln!(page, "\n### {name} object\n\n{}", doc(def));
        page.push_str(&fields(def, &schema));
        for choice in def["anyOf"].as_array().into_iter().flatten() {
            let kind = kind(choice);
            if choice.get("description").is_some() {
                let _ = writeln!(page, "* {kind}: {}", doc(choice));
            }
        }
    }
    page.push_str(TRACE);
    for record in RECORDS {
        let _ = writeln!(page, "\n### `{}`\n\n{}\n", record.word, record.doc);
        page.push_str("| key | value | meaning |\n|---|---|---|\n");
        for key in record.keys {
            let mark = if key.optional { " -" } else { "" };
            let _ = writeln!(page, "| `{}`{mark} | {} | {} |", key.name, value(key), key.doc);
        }
    }
    page
}

fn doc(of: &Value) -> &str {
    of["description"].as_str().unwrap_or_default()
}

/// The fields of an object as a table, and what it takes over from others.
fn fields(of: &Value, schema: &Value) -> String {
    let none = Map::new();
    let all = of["properties"].as_object().unwrap_or(&none);
    let own: Vec<_> = all.iter().filter(|(name, _)| *name != "event" && *name != "v").collect();
    let mut text = String::new();
    if let Some(base) = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let _ =
            writeln!(text, "\nIts fields are those of [{base}](#{}-object).", base.to_lowercase());
        debug_assert!(schema["$defs"].get(base).is_some(), "{base}");
    }
    if own.is_empty() {
        return text;
    }
    text.push_str("\n| field | value | meaning |\n|---|---|---|\n");
    for (name, field) in own {
        let required = of["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
        let mark = if required { "" } else { " -" };
        let _ = writeln!(text, "| `{name}`{mark} | {} | {} |", kind(field), doc(field));
    }
    text
}

/// What a value is, in a few words.
fn kind(of: &Value) -> String {
    let linked = |path: &Value| {
        let name = path.as_str()?.rsplit('/').next()?;
        Some(format!("[{name}](#{}-object)", name.to_lowercase()))
    };
    if let Some(link) = linked(&of["$ref"]) {
        return link;
    }
    if let Some(all) = of["anyOf"].as_array() {
        let some: Vec<String> = all.iter().filter(|one| one["type"] != "null").map(kind).collect();
        let mark = if some.len() < all.len() { "?" } else { "" };
        return some.join(" or ") + mark;
    }
    match (&of["type"], &of["items"], &of["additionalProperties"]) {
        (Value::String(kind), items, _) if kind == "array" && items.is_object() => {
            format!("array of {}", self::kind(items))
        }
        (Value::String(kind), _, inner) if kind == "object" && inner.is_object() => {
            format!("object of {}", self::kind(inner))
        }
        (Value::String(kind), ..) => kind.clone(),
        (Value::Array(kinds), ..) => {
            let kinds: Vec<&str> =
                kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
            format!("{}?", kinds.join(" or "))
        }
        _ => "anything".to_owned(),
    }
}

fn value(key: &Key) -> String {
    match key.kind {
        Kind::Letter => "a letter, without `KEY=`".to_owned(),
        Kind::Number => "integer".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Word(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Name => "a word".to_owned(),
        Kind::Text => "the rest of the line, escaped".to_owned(),
    }
}

/// The schema of events, as a file.
pub(super) fn schema() -> String {
    format!("{:#}\n", wetstring_events::schema())
}

/// The schema of a line of a trace, split into an object: `time`, `who`, `word`, and its keys.
pub(super) fn trace_schema() -> String {
    let records: Vec<Value> = RECORDS.iter().map(of_record).collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a trace of wst, split into an object",
        "oneOf": records,
    });
    format!("{schema:#}\n")
}

fn of_record(record: &Record) -> Value {
    let mut properties = Map::new();
    properties.insert("time".into(), json!({ "type": "string", "pattern": "^[0-9]+\\.[0-9]{9}$" }));
    properties.insert("who".into(), json!({ "type": "string" }));
    properties.insert("word".into(), json!({ "const": record.word }));
    let mut required = vec!["time", "who", "word"];
    let mut open = json!(false);
    for key in record.keys {
        let mut of = match key.kind {
            Kind::Letter => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            Kind::Number => json!({ "type": "integer", "minimum": 0 }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Word(words) => json!({ "enum": words }),
            Kind::Name | Kind::Text => json!({ "type": "string" }),
        };
        of["description"] = key.doc.into();
        if key.name == "NAME" {
            open = of;
            continue;
        }
        properties.insert(key.name.to_lowercase(), of);
        if !key.optional {
            required.push(if key.kind == Kind::Letter { "letter" } else { key.name });
        }
    }
    json!({
        "description": record.doc, "type": "object", "properties": properties,
        "required": required, "additionalProperties": open,
    })
}
