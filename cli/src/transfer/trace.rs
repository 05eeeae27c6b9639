//! The trace of a transfer: to a file in the laboratory's format, to the user with `-vv`, and
//! kept for an explanation.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use wetstring_drive::in_words;
use wetstring_proto::{Instant, Outcome, Stats, Trace, TraceEvent};

use crate::ui::output::{Level, Output};

/// Writes `TIME who event` lines.
pub(crate) struct Recorder<'a> {
    ui: &'a Output,
    who: &'static str,
    file: Option<BufWriter<File>>,
    failed: Option<std::io::Error>,
    /// The lines, if an explanation is requested.
    kept: Option<Vec<String>>,
    /// The last line's time, and when the engine ended.
    last: Instant,
    ended: Option<Instant>,
}

impl<'a> Recorder<'a> {
    /// A recorder that writes to `path`, if there is one, and to the user if `-vv` was given.
    pub(crate) fn new(
        ui: &'a Output,
        who: &'static str,
        path: Option<&Path>,
    ) -> Result<Self, String> {
        let create = |path: &Path| {
            let file = File::create(path);
            file.map_err(|e| {
                format!("could not create the trace {}: {}", path.display(), in_words(&e))
            })
        };
        let file = path.map(create).transpose()?.map(BufWriter::new);
        Ok(Self { ui, who, file, failed: None, kept: None, last: Instant::ZERO, ended: None })
    }

    /// Also keeps the lines, if `keep`.
    pub(crate) fn keep(mut self, keep: bool) -> Self {
        self.kept = keep.then(Vec::new);
        self
    }

    /// The parameters of the run.
    pub(crate) fn run(&mut self, event: &TraceEvent<'_>) {
        if self.is_written() {
            self.write(format!("{} run {event}", self.last));
        }
    }

    /// The outcome of the transfer, which is fixed when the engine
    /// ends; lingering afterwards is not part of the transfer.
    pub(crate) fn outcome(&mut self, outcome: Outcome, stats: &Stats) {
        if !self.is_written() {
            return;
        }
        let settled = self.ended.unwrap_or(self.last);
        self.write(format!("{settled} {} {}", self.who, TraceEvent::Settled(outcome)));
        let stats = TraceEvent::from(stats);
        self.write(format!("{} {} {stats}", self.last, self.who));
    }

    fn is_written(&self) -> bool {
        self.file.is_some() || self.kept.is_some()
    }

    fn write(&mut self, line: String) {
        if let Some(file) = &mut self.file
            && let Err(error) = writeln!(file, "{line}")
        {
            // A full disk must not stop the transfer; it is reported at the end.
            self.file = None;
            self.failed = Some(error);
        }
        if let Some(kept) = &mut self.kept {
            kept.push(line);
        }
    }

    /// Closes the file, and returns its error, if any, and the kept lines.
    pub(crate) fn finish(mut self) -> (Option<Vec<String>>, Option<String>) {
        let flushed = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        (self.kept, self.failed.or(flushed.err()).map(|e| in_words(&e)))
    }
}

impl Trace for Recorder<'_> {
    fn record(&mut self, at: Instant, event: &TraceEvent<'_>) {
        self.last = at;
        if let TraceEvent::State { to: "end", .. } = event {
            self.ended.get_or_insert(at);
        }
        if self.is_written() {
            self.write(format!("{at} {} {event}", self.who));
        }
        // -vv shows packets and timers, not byte counts.
        let moves = matches!(
            event,
            TraceEvent::Left { .. } | TraceEvent::Came { .. } | TraceEvent::Waiting(_)
        );
        if !moves && self.ui.hears(Level::Packet) {
            self.ui.say(Level::Packet, &format!("{at} {} {event}", self.who));
        }
    }

    fn enabled(&self) -> bool {
        self.is_written() || self.ui.hears(Level::Packet)
    }
}
