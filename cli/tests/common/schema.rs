//! Checks JSON against the schema of events. It knows the words that this schema has, and fails on any other.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::{Map, Value};

/// The schema, as it is published.
fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/events.schema.json");
        let text = std::fs::read_to_string(path).expect("the schema of events");
        serde_json::from_str(&text).expect("a schema in JSON")
    })
}

/// What is wrong with an event.
pub(crate) fn of_event(event: &Value) -> Result<(), String> {
    let all = schema()["oneOf"].as_array().expect("a choice of events");
    let name = &event["event"];
    let of_name = all.iter().filter(|one| one["properties"]["event"]["const"] == *name);
    match of_name.collect::<Vec<_>>()[..] {
        [of] => check(of, event).map(drop),
        _ => Err(format!("expected an event of the schema, got {name}")),
    }
}

/// The names of all events.
pub(crate) fn names() -> BTreeSet<String> {
    let all = schema()["oneOf"].as_array().expect("a choice of events");
    let name = |one: &Value| one["properties"]["event"]["const"].as_str().map(str::to_owned);
    all.iter().map(|one| name(one).expect("a name")).collect()
}

/// The properties that the schema has looked at, or what is wrong.
fn check(schema: &Value, value: &Value) -> Result<BTreeSet<String>, String> {
    let mut seen = BTreeSet::new();
    let Some(words) = schema.as_object() else {
        return if *schema == true { Ok(seen) } else { Err(format!("nothing may be {value}")) };
    };
    let none = Map::new();
    let fields = value.as_object().unwrap_or(&none);
    for (word, of) in words {
        match word.as_str() {
            "description"
            | "title"
            | "format"
            | "additionalProperties"
            | "unevaluatedProperties" => {}
            "$ref" => seen.extend(check(definition(of), value)?),
            "const" if value == of => {}
            "enum" if of.as_array().is_some_and(|all| all.contains(value)) => {}
            "type" if is_type(of, value) => {}
            "minimum" if value.as_f64().is_none_or(|n| Some(n) >= of.as_f64()) => {}
            "maximum" if value.as_f64().is_none_or(|n| Some(n) <= of.as_f64()) => {}
            "minItems"
                if value.as_array().is_none_or(|all| Some(all.len() as u64) >= of.as_u64()) => {}
            "maxItems"
                if value.as_array().is_none_or(|all| Some(all.len() as u64) <= of.as_u64()) => {}
            "required" => {
                let names = of.as_array().into_iter().flatten().filter_map(Value::as_str);
                if let Some(name) = names.into_iter().find(|name| !fields.contains_key(*name)) {
                    return Err(format!("expected a field {name}, got {value}"));
                }
            }
            "properties" => {
                for (name, inner) in of.as_object().expect("properties") {
                    let Some(field) = fields.get(name) else { continue };
                    check(inner, field).map_err(|bad| format!("{name}: {bad}"))?;
                    seen.insert(name.clone());
                }
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(of, item)?;
                }
            }
            "anyOf" | "oneOf" => {
                let tried: Vec<_> =
                    of.as_array().expect("a choice").iter().map(|one| check(one, value)).collect();
                let good: Vec<_> = tried.iter().filter_map(|one| one.as_ref().ok()).collect();
                if good.is_empty() || word == "oneOf" && good.len() > 1 {
                    return Err(format!("expected one of {of}, got {value}"));
                }
                seen.extend(good.into_iter().flatten().cloned());
            }
            _ => return Err(format!("expected {word} {of}, got {value}")),
        }
    }
    for rest in ["additionalProperties", "unevaluatedProperties"] {
        let Some(of) = words.get(rest) else { continue };
        for (name, field) in fields.iter().filter(|(name, _)| !seen.contains(*name)) {
            check(of, field).map_err(|bad| format!("{name}: {bad}"))?;
        }
        seen.extend(fields.keys().cloned());
    }
    Ok(seen)
}

fn definition(path: &Value) -> &'static Value {
    let name = path.as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    &schema()["$defs"][name.expect("a definition of the schema")]
}

fn is_type(of: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    };
    of.as_array().map_or_else(|| is(of), |all| all.iter().any(is))
}
