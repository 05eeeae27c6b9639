//! The record of a run: one text line per event, in a stable order.
//!
//! `TIME who event...`, for example `1.250000000 A sent D n=3 len=94`. The same record is log, golden file and
//! determinism oracle.

use crate::digest::Wire;
use std::fmt::Write as _;
use wetstring_proto::{Instant, Trace, TraceEvent};
use xxhash_rust::xxh3::Xxh3;

/// Records a run: the lines themselves, or only their digest and number.
#[derive(Clone)]
pub struct Recorder {
    lines: Option<Vec<String>>,
    listening: bool,
    count: u64,
    hash: Xxh3,
    scratch: String,
    wire: Wire,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("count", &self.count)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    fn with(lines: Option<Vec<String>>, listening: bool) -> Self {
        Self {
            lines,
            listening,
            count: 0,
            hash: Xxh3::new(),
            scratch: String::new(),
            wire: Wire::default(),
        }
    }

    /// Keeps every line. Memory grows with the run.
    pub fn keep() -> Self {
        Self::with(Some(Vec::new()), true)
    }

    /// Keeps only the digest and the number of the lines.
    pub fn digest_only() -> Self {
        Self::with(None, true)
    }

    /// Records nothing, at no cost.
    pub fn off() -> Self {
        Self::with(None, false)
    }

    /// The lines, if they are kept.
    pub fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or_default()
    }

    /// How many lines there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A digest of all lines and their order.
    pub fn digest(&self) -> u64 {
        self.hash.digest()
    }

    /// Collects the normalised digest of the wire for the swarm's runs.
    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The trace for `who`: a name without spaces.
    pub fn of<'a>(&'a mut self, who: &'static str) -> NamedTrace<'a> {
        NamedTrace { recorder: self, who }
    }

    /// Writes one line for `who`.
    pub fn note(&mut self, at: Instant, who: &str, what: &TraceEvent<'_>) {
        if !self.listening {
            return;
        }
        self.scratch.clear();
        // Writing into a string does not fail.
        let _ = write!(self.scratch, "{at} {who} {what}");
        self.count += 1;
        self.hash.update(self.scratch.as_bytes());
        self.hash.update(b"\n");
        if let Some(lines) = &mut self.lines {
            lines.push(self.scratch.clone());
        }
    }
}

/// A named source of a [`Recorder`].
#[derive(Debug)]
pub struct NamedTrace<'a> {
    recorder: &'a mut Recorder,
    who: &'static str,
}

impl Trace for NamedTrace<'_> {
    fn record(&mut self, at: Instant, event: &TraceEvent<'_>) {
        self.recorder.note(at, self.who, event);
    }

    fn enabled(&self) -> bool {
        self.recorder.listening
    }
}

/// The first difference between two runs that should have been the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Index of the first line that differs.
    pub line: usize,
    /// That line in the first run, if it has one.
    pub first: Option<String>,
    /// That line in the second run, if it has one.
    pub second: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |line: &Option<String>| line.clone().unwrap_or_else(|| "the end".to_owned());
        write!(
            f,
            "expected the same trace twice, line {} is `{}` first and `{}` then",
            self.line + 1,
            show(&self.first),
            show(&self.second)
        )
    }
}

impl std::error::Error for Difference {}

/// Runs something twice and compares the two records. Returns the first run's result.
pub fn twice<T>(mut run: impl FnMut(&mut Recorder) -> T) -> Result<(T, Recorder), Difference> {
    let (mut first, mut second) = (Recorder::keep(), Recorder::keep());
    let result = run(&mut first);
    run(&mut second);
    let differs = |line: &usize| first.lines().get(*line) != second.lines().get(*line);
    match (0..first.lines().len().max(second.lines().len())).find(differs) {
        None => Ok((result, first)),
        Some(line) => Err(Difference {
            line,
            first: first.lines().get(line).cloned(),
            second: second.lines().get(line).cloned(),
        }),
    }
}
