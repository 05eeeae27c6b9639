//! The trace of a transfer: to a file in the laboratory's format, and to the person with `-vv`.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use wetstring_proto::{Instant, Trace, TraceEvent};

use crate::voice::{Level, Voice};

/// Writes `TIME who event` lines.
pub(crate) struct Recorder<'a> {
    voice: &'a Voice,
    who: &'static str,
    file: Option<BufWriter<File>>,
    failed: Option<std::io::Error>,
}

impl<'a> Recorder<'a> {
    /// A recorder that writes to `path`, if there is one, and to the person if `-vv` was given.
    pub(crate) fn new(
        voice: &'a Voice,
        who: &'static str,
        path: Option<&Path>,
    ) -> Result<Self, String> {
        let create = |path: &Path| {
            let file = File::create(path);
            file.map_err(|e| format!("could not create the trace {}: {e}", path.display()))
        };
        let file = path.map(create).transpose()?.map(BufWriter::new);
        Ok(Self { voice, who, file, failed: None })
    }

    /// Ends the file, and says what went wrong with it.
    pub(crate) fn finish(mut self) -> Option<std::io::Error> {
        let flushed = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        self.failed.or(flushed.err())
    }
}

impl Trace for Recorder<'_> {
    fn record(&mut self, at: Instant, event: &TraceEvent<'_>) {
        if let Some(file) = &mut self.file
            && let Err(error) = writeln!(file, "{at} {} {event}", self.who)
        {
            // A full disk must not stop the transfer; the person is told at the end.
            self.file = None;
            self.failed = Some(error);
        }
        if self.voice.hears(Level::Packet) {
            self.voice.say(Level::Packet, &format!("{at} {} {event}", self.who));
        }
    }

    fn enabled(&self) -> bool {
        self.file.is_some() || self.voice.hears(Level::Packet)
    }
}
