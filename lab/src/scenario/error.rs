//! An error in a scenario or a table, and its place.

use std::fmt;
use std::ops::Range;

/// A place in a file that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadScenario {
    /// The file, or its substitute (`--set both.window=5`).
    pub file: String,
    /// Line in the file, counted from 1, where one is to blame.
    pub line: Option<usize>,
    /// The key, with dots; empty if the text is no TOML at all.
    pub key: String,
    /// What was expected, and what was found.
    pub message: String,
}

impl BadScenario {
    /// Something that is not there.
    pub fn missing(file: &str, key: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, key: key.to_owned(), message: message.into() }
    }

    /// Something at this place of this text.
    pub fn at(
        (file, text): (&str, &str),
        span: &Range<usize>,
        key: &str,
        message: impl Into<String>,
    ) -> Self {
        Self { line: Some(line_of(text, span.start)), ..Self::missing(file, key, message) }
    }

    /// What the reader of TOML says. Its words for an unknown key name the key.
    pub(crate) fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim().replace('\n', ", ");
        match error.span() {
            Some(span) => Self::at((file, text), &span, &key_at(text, &span), message),
            None => Self::missing(file, "", message),
        }
    }
}

/// The line of an offset, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count()
}

/// The key of a span, or of its value, with its table.
fn key_at(text: &str, span: &Range<usize>) -> String {
    let part_of_key = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let start = text[..span.start.min(text.len())].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let header = |line: &str| {
        let inner = line.trim().strip_prefix('[')?.trim_start_matches('[');
        inner.split(']').next().map(|name| name.trim().to_owned())
    };
    if let Some(name) = header(line) {
        return name;
    }
    let (before, at) = line.split_at((span.start - start).min(line.len()));
    let key = match before.trim_end().strip_suffix('=') {
        Some(before) => before.trim_end().rsplit(|c| !part_of_key(c)).next(),
        None => at.split(|c| !part_of_key(c)).next(),
    };
    // Where the text is no TOML, the span is some place on the line.
    let first = || line.split('=').next().map(str::trim).filter(|key| key.chars().all(part_of_key));
    let key = key.filter(|key| !key.is_empty()).or_else(first).unwrap_or_default();
    match text[..start].lines().rev().find_map(header) {
        Some(section) if !key.is_empty() => format!("{section}.{key}"),
        _ => key.to_owned(),
    }
}

impl fmt::Display for BadScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for BadScenario {}
