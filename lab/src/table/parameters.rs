//! The parameters of a table: every value of its lines, machines, files and settings, and where each comes from.
//!
//! ```toml
//! [[parameter]]
//! of = ["receiver.host: write=13ms"]             # what it declares; a `*` at the end stands for any rest
//! machine = "IBM PS/2-70"                        # one machine has one value in all tables
//! fitted = [{ row = "ASCII Text", column = "XMODEM" }]
//! why = "stop and wait with the shortest blocks shows it best"
//!
//! [[parameter]]
//! of = ["file: corpus=manual-crlf"]
//! fitted = [{ table = "kermit-news-1", row = "MS-DOS Kermit*", column = "Kermit" }]
//! decides = [{ row = "ASCII Text", column = "KERMIT" }]   # no predictions either: the same quantity
//! why = "..."
//!
//! [[parameter]]
//! of = ["serial: 19200"]
//! source = "printed"                             # or assumed = "..."
//! ```
//!
//! A cell that is `fitted` or that a fit `decides` is no prediction, see [`super::score`].

use crate::scenario::Partial;
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::Value;

/// Cells of a table. A `*` at the end of a name stands for any rest.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// Name of the table, if it is another one.
    pub table: Option<String>,
    /// Name of the row.
    pub row: String,
    /// Name of the column; in a trial, what was published of the series: `mean`.
    pub column: String,
}

impl Cells {
    /// Whether this cell is among them; `None` as table is the table that the declaration is in.
    pub fn has(&self, row: &str, column: &str) -> bool {
        fits(&self.row, row) && fits(&self.column, column)
    }

    fn words(&self) -> String {
        let table = self.table.as_ref().map_or_else(String::new, |table| format!("{table}: "));
        format!("{table}{}, {}", self.row, self.column)
    }
}

/// Where the values of some parameters come from.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The parameters, as `tokens` names them.
    pub of: Vec<String>,
    /// The machine whose parameters they are, if other tables have it too.
    pub machine: Option<String>,
    /// Why the machine has another value here than in other tables.
    pub differs: Option<String>,
    /// The cells that its value was fitted to.
    #[serde(default)]
    pub fitted: Vec<Cells>,
    /// Further cells that the fitted quantity decides.
    #[serde(default)]
    pub decides: Vec<Cells>,
    /// Why these cells.
    pub why: Option<String>,
    /// Where in the source the value stands.
    pub source: Option<String>,
    /// The reason for a value that no source has.
    pub assumed: Option<String>,
}

impl Parameter {
    /// An error message unless it has exactly one origin and a fit has a reason.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let origins = [!self.fitted.is_empty(), self.source.is_some(), self.assumed.is_some()];
        if origins.iter().filter(|origin| **origin).count() != 1 {
            return Some("expected one of fitted, source and assumed");
        }
        let is_fit = !self.fitted.is_empty();
        if is_fit != self.why.is_some() || (!is_fit && !self.decides.is_empty()) {
            return Some("expected `why` beside fitted, and `decides` nowhere else");
        }
        (self.of.is_empty()).then_some("expected the parameters that it is about")
    }

    /// Whether it declares this parameter.
    pub fn declares(&self, token: &str) -> bool {
        self.of.iter().any(|pattern| fits(pattern, token))
    }

    /// Whether a cell of its own table is no prediction by it.
    pub fn touches(&self, row: &str, column: &str) -> bool {
        let own = self.fitted.iter().chain(&self.decides).filter(|cells| cells.table.is_none());
        own.into_iter().any(|cells| cells.has(row, column))
    }

    /// A line of the notes of a report.
    pub(super) fn words(&self) -> String {
        let of = self.of.join("; ");
        let of = self.machine.as_ref().map_or(of.clone(), |machine| format!("{of} ({machine})"));
        let differs =
            self.differs.as_ref().map_or_else(String::new, |why| format!("; differs: {why}"));
        let list = |cells: &[Cells]| cells.iter().map(Cells::words).collect::<Vec<_>>().join("; ");
        if let Some(source) = &self.source {
            return format!("from the source: {of}: {source}{differs}");
        }
        if let Some(assumed) = &self.assumed {
            return format!("assumed: {of}: {assumed}{differs}");
        }
        let decides = match &self.decides[..] {
            [] => String::new(),
            cells => format!("; decides too: {}", list(cells)),
        };
        let why = self.why.as_deref().unwrap_or_default();
        format!("fitted: {of}, to {}{decides}: {why}{differs}", list(&self.fitted))
    }
}

/// Whether a name matches a pattern: an equal name, or any name with the prefix before its `*`.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => pattern == name,
    }
}

/// Adds the parameters of a part of a scenario: of each element of its line (`serial: delay=120ms`), of its hosts
/// (`receiver.host: write=13ms`), of its file (`file: corpus=zip`), and its settings (`setting: window=5`). What is
/// transferred by which protocol is none.
pub(super) fn tokens(part: &Partial, found: &mut BTreeSet<String>) {
    for spec in part.line.iter().flat_map(|line| line.get_ref().specs()) {
        for element in spec.split(" over ").flat_map(|carried| carried.split(" + ")) {
            of_element(element.trim(), found);
        }
    }
    if let Some(file) = &part.file {
        let mut put = |word: String| found.insert(format!("file: {word}"));
        file.corpus.iter().for_each(|of| {
            put(format!("corpus={}", of.get_ref()));
        });
        file.made.iter().for_each(|of| {
            put(format!("made={}", of.get_ref()));
        });
        file.bytes.iter().for_each(|of| {
            put(format!("bytes={}", of.get_ref()));
        });
        file.text.iter().for_each(|of| {
            put(format!("text={of}"));
        });
    }
    let ends = [("both", &part.both), ("sender", &part.sender), ("receiver", &part.receiver)];
    for (end, settings) in ends {
        for (key, value) in settings.iter().flatten() {
            let text = match value.get_ref() {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            if key == "host" {
                let words = text.split(',');
                found.extend(words.map(|word| format!("{end}.host: {}", word.trim())));
            } else {
                found.insert(format!("setting: {key}={text}"));
            }
        }
    }
    if let Some(seed) = &part.seed {
        found.insert(format!("seed: {}", seed.get_ref()));
    }
    if let Some(port) = &part.port {
        found.insert(format!("port: {}", port.get_ref()));
    }
    if let Some(typing) = &part.typing {
        let typing = typing.get_ref();
        found.extend(typing.every.iter().map(|every| format!("typing: every={every}")));
        found.extend(typing.from.iter().map(|from| format!("typing: from={from}")));
    }
    if let Some(measure) = &part.measure {
        let of = measure.get_ref();
        found.insert(if of.sending {
            "measure: while it sends".to_owned()
        } else {
            format!("measure: {} ms from {} ms on", of.ms, of.from_ms)
        });
    }
}

/// `KIND: WORD` for each word of an element; a serial line names no kind.
fn of_element(element: &str, found: &mut BTreeSet<String>) {
    let element = element.strip_prefix("flip ").unwrap_or(element);
    let (kind, words) = match element.split_once(':') {
        Some((kind, words)) if !kind.contains([',', '=', '@']) => (kind, words),
        _ if element.starts_with(|first: char| first.is_ascii_digit()) => ("serial", element),
        _ => (element, ""),
    };
    // Which way around it lies is no parameter.
    let words = words.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "flip");
    found.extend(words.map(|word| format!("{kind}: {word}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut found = BTreeSet::new();
        tokens(&toml::from_str(text).expect("a part of a scenario"), &mut found);
        found.into_iter().collect()
    }

    #[test]
    fn parameters_are_named() {
        assert_eq!(of("line = '9600,delay=120ms'"), ["serial: 9600", "serial: delay=120ms"]);
        assert_eq!(
            of("line = ['flip 7171:turn=85ms', 'interference:8@2s,rate=9600,dir=fwd']"),
            [
                "7171: turn=85ms",
                "interference: 8@2s",
                "interference: dir=fwd",
                "interference: rate=9600"
            ]
        );
        assert_eq!(
            of(
                "line = 'ip over nic:3c500,held,flip + ethernet:10M'\nsender.host = 'send=1ms,unload'"
            ),
            [
                "ethernet: 10M",
                "nic: 3c500",
                "nic: held",
                "sender.host: send=1ms",
                "sender.host: unload"
            ]
        );
        assert_eq!(
            of(
                "protocol = 'ftp'\nfile = { made = 'pattern', bytes = 9 }\nboth.window = 4\nseed = 7"
            ),
            ["file: bytes=9", "file: made=pattern", "seed: 7", "setting: window=4"]
        );
    }

    #[test]
    fn a_star_stands_for_any_rest() {
        assert!(fits("setting: *", "setting: window=4") && fits("a", "a") && !fits("a", "ab"));
        assert!(!fits("setting: w*", "setting: check=3"));
    }

    #[test]
    fn a_parameter_has_one_origin() {
        let fault = |text: &str| toml::from_str::<Parameter>(text).expect("a parameter").fault();
        assert_eq!(fault("of = ['a']\nsource = 'printed'"), None);
        assert!(fault("of = ['a']").is_some() && fault("of = []\nsource = 'x'").is_some());
        assert!(fault("of = ['a']\nsource = 'x'\nassumed = 'y'").is_some());
        let fit = "of = ['a']\nfitted = [{ row = 'r*', column = 'c' }]";
        assert!(fault(fit).is_some());
        let fit: Parameter = toml::from_str(&format!("{fit}\nwhy = 'w'")).expect("a parameter");
        assert_eq!(fit.fault(), None);
        assert!(fit.touches("row", "c") && !fit.touches("row", "d"));
    }
}
