//! Results of sweeps as CSV (RFC 4180, with a header) and as NDJSON (an object a line).
//!
//! Both have the same texts: a number is written with the same digits, a missing value is an empty field in the
//! one and `null` in the other. Results are appended line by line, so the last line of a file may be truncated
//! if a machine stopped; it is skipped when read.

use super::row::{Column, Kind, Row};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::fmt;

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

/// Results that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRows {
    /// Line in the file, counted from 1, where one is to blame.
    pub line: Option<usize>,
    /// What was expected, and what was found.
    pub message: String,
}

impl fmt::Display for BadRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for BadRows {}

fn bad(line: Option<usize>, message: impl Into<String>) -> BadRows {
    BadRows { line, message: message.into() }
}

/// The contents of a results file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Records {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The values of each line, in the order of the columns.
    pub rows: Vec<Vec<String>>,
    /// Bytes up to the end of the last whole line.
    pub whole_bytes: usize,
}

impl Format {
    /// The format that the end of a file's name stands for: `.csv`, or `.ndjson` and `.jsonl`.
    pub fn of(name: &str) -> Option<Self> {
        let end = name.rsplit_once('.')?.1.to_ascii_lowercase();
        match end.as_str() {
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            _ => None,
        }
    }

    /// The text before the first row: the names of the columns, or nothing.
    pub fn header(self, columns: &[Column]) -> String {
        match self {
            Self::Csv => csv_line(columns.iter().map(|column| column.name.as_str())),
            Self::Ndjson => String::new(),
        }
    }

    /// One row, with the end of its line.
    pub fn line(self, columns: &[Column], row: &Row) -> String {
        match self {
            Self::Csv => csv_line(row.values.iter().map(String::as_str)),
            Self::Ndjson => {
                let mut object = Map::new();
                for (column, value) in columns.iter().zip(&row.values) {
                    object.insert(column.name.clone(), json(column.kind, value));
                }
                format!("{}\n", Value::Object(object))
            }
        }
    }

    /// All of these rows as a file.
    pub fn page(self, columns: &[Column], rows: &[Row]) -> String {
        let mut page = self.header(columns);
        page.extend(rows.iter().map(|row| self.line(columns, row)));
        page
    }

    /// Parses results. Text after the last line end is ignored.
    pub fn read(self, text: &str) -> Result<Records, BadRows> {
        let whole_bytes = text.rfind('\n').map_or(0, |at| at + 1);
        let whole = &text[..whole_bytes];
        let records = match self {
            Self::Csv => read_csv(whole)?,
            Self::Ndjson => read_ndjson(whole)?,
        };
        Ok(Records { whole_bytes, ..records })
    }
}

/// Values as a line of CSV.
fn csv_line<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing into memory does not fail, and all that is written is UTF-8.
    let _ = writer.write_record(values.map(str::as_bytes));
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// A value as JSON.
fn json(kind: Kind, text: &str) -> Value {
    let number = || -> Option<Number> {
        let whole = text.parse::<u64>().map(Number::from);
        let whole = whole.or_else(|_| text.parse::<i64>().map(Number::from));
        whole.ok().or_else(|| Number::from_f64(text.parse().ok()?))
    };
    match kind {
        Kind::Number if text.is_empty() => Value::Null,
        Kind::Number => number().map_or_else(|| text.into(), Value::Number),
        Kind::Flag => Value::Bool(text == "true"),
        Kind::Text => text.into(),
    }
}

fn read_csv(text: &str) -> Result<Records, BadRows> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let say = |error: csv::Error| {
        let line = error.position().map(|position| position.line() as usize);
        bad(line, error.to_string())
    };
    let columns = reader.headers().map_err(say)?.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        rows.push(record.map_err(say)?.iter().map(str::to_owned).collect());
    }
    Ok(Records { columns, rows, whole_bytes: 0 })
}

fn read_ndjson(text: &str) -> Result<Records, BadRows> {
    let mut records = Records::default();
    for (index, line) in text.lines().enumerate() {
        let say = |message: String| bad(Some(index + 1), message);
        let object: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| say(error.to_string()))?;
        let names = object.keys();
        if records.columns.is_empty() {
            records.columns = names.cloned().collect();
        } else if !names.eq(records.columns.iter()) {
            return Err(say("expected the keys of the first line".to_owned()));
        }
        records.rows.push(object.values().map(plain).collect());
    }
    Ok(records)
}

/// A JSON value as the text that CSV has for it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Records {
    /// The rows as results of this sweep, which has these columns and points.
    pub fn of_sweep(&self, sweep: &super::Sweep) -> Result<Vec<Row>, BadRows> {
        if self.rows.is_empty() && self.columns.is_empty() {
            return Ok(Vec::new());
        }
        let columns = sweep.columns();
        if !columns.iter().map(|column| &column.name).eq(&self.columns) {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return Err(bad(Some(1), format!("expected the columns {}", names.join(", "))));
        }
        let digest = format!("{:016x}", sweep.digest());
        let mut rows = Vec::new();
        for (index, values) in self.rows.iter().enumerate() {
            // A header is line 1 of CSV; NDJSON has none, and is off by one here.
            let say = |message: String| bad(None, format!("result {}: {message}", index + 1));
            if values[0] != digest {
                return Err(say(format!("expected results of sweep {digest}, got {}", values[0])));
            }
            let point = values[1].parse().ok().filter(|point| *point < sweep.count());
            let Some(point) = point else {
                return Err(say(format!(
                    "expected a point of {}, got {}",
                    sweep.count(),
                    values[1]
                )));
            };
            for (column, value) in columns.iter().zip(values) {
                let (expected, fits) = match column.kind {
                    Kind::Text => ("a text", true),
                    Kind::Number => ("a number", value.is_empty() || value.parse::<f64>().is_ok()),
                    Kind::Flag => ("true or false", value.parse::<bool>().is_ok()),
                };
                if !fits {
                    let name = &column.name;
                    return Err(say(format!("{name}: expected {expected}, got {value}")));
                }
            }
            rows.push(Row { point, values: values.clone() });
        }
        Ok(rows)
    }
}

/// Joins results of the parts of one sweep, in the order of the points. Each part has a name.
///
/// A point may be in several parts if they agree on it: a run is the same on every machine.
pub fn merge(sweep: &super::Sweep, parts: &[(String, Vec<Row>)]) -> Result<Vec<Row>, BadRows> {
    let mut found: BTreeMap<usize, (&str, &Row)> = BTreeMap::new();
    for (name, rows) in parts {
        for row in rows {
            let (first, old) = *found.entry(row.point).or_insert((name, row));
            if old != row {
                let say = format!("point {} differs in {first} and {name}", row.point);
                return Err(bad(None, say));
            }
        }
    }
    let missing: Vec<String> = (0..sweep.count())
        .filter(|point| !found.contains_key(point))
        .map(|point| point.to_string())
        .collect();
    if missing.is_empty() {
        return Ok(found.into_values().map(|(_, row)| row.clone()).collect());
    }
    let first = missing.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let more = if missing.len() > 8 { ", ..." } else { "" };
    let say = format!(
        "expected results of {} points, got {}: {first}{more} missing",
        sweep.count(),
        found.len()
    );
    Err(bad(None, say))
}
