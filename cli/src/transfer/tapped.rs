//! `--pcap`: a port whose bytes are written to a pcapng file as they pass.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wetstring_drive::event::Source;
use wetstring_drive::port::{Controls, OpenError};
use wetstring_drive::{Port, PortFacts, Signals, in_words};
use wetstring_lab::End;
use wetstring_lab::capture::Capture;

use crate::ui::ending::Ending;
use crate::ui::exit::Exit;

/// Packets that are kept before they are written: the last may still become longer.
const KEPT: usize = 64;

/// A port, and the file of what passes it.
struct Tapped {
    port: Box<dyn Port>,
    capture: Capture,
    /// None once it could not be written: a full disk does not stop a transfer.
    file: Option<BufWriter<File>>,
}

/// This port; with a file, what passes it is written there.
pub(super) fn port(port: Box<dyn Port>, path: Option<&Path>) -> Result<Box<dyn Port>, Ending> {
    let Some(path) = path else { return Ok(port) };
    let failed = |error: io::Error| {
        let say = format!("could not create the capture {}: {}", path.display(), in_words(&error));
        Ending::early(Exit::Store, say)
    };
    let capture = Capture::new();
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    file.write_all(&capture.header()).map_err(failed)?;
    Ok(Box::new(Tapped { port, capture, file: Some(file) }))
}

impl Tapped {
    fn note(&mut self, sent: bool, bytes: &[u8]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        self.capture.note(at_ns, End::A, sent, bytes);
        if self.capture.count() >= KEPT {
            self.write();
        }
    }

    fn write(&mut self) {
        let blocks = self.capture.drain();
        if self.file.as_mut().is_some_and(|file| file.write_all(&blocks).is_err()) {
            self.file = None;
        }
    }
}

impl Port for Tapped {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let result = self.port.read(into);
        if let Ok(Some(len)) = result
            && len > 0
        {
            self.note(false, &into[..len]);
        }
        result
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let result = self.port.write(bytes);
        if let Ok(Some(len)) = result
            && len > 0
        {
            self.note(true, &bytes[..len]);
        }
        result
    }

    fn rest(&self) -> Duration {
        self.port.rest()
    }

    fn mark_damage(&mut self) -> io::Result<bool> {
        self.port.mark_damage()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.port.flush()
    }

    fn held(&self) -> bool {
        self.port.held()
    }

    fn settle(
        &mut self,
        signals: Option<&Signals>,
        notes: &mut dyn FnMut(&str),
    ) -> Result<(), OpenError> {
        self.port.settle(signals, notes)
    }

    fn read_source(&self) -> Source<'_> {
        self.port.read_source()
    }

    fn write_source(&self) -> Source<'_> {
        self.port.write_source()
    }

    fn facts(&self) -> &PortFacts {
        self.port.facts()
    }

    fn asks(&self) -> bool {
        self.port.asks()
    }

    fn answered(&mut self) {
        self.port.answered();
    }

    fn carries_bps(&self) -> Option<u32> {
        self.port.carries_bps()
    }

    fn unsent(&self) -> u64 {
        self.port.unsent()
    }

    fn controls(&mut self) -> Option<&mut dyn Controls> {
        self.port.controls()
    }

    fn follow_size(&mut self) {
        self.port.follow_size();
    }

    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        self.write();
        if let Some(file) = &mut self.file {
            let _ = file.flush();
        }
        self.port.finish(patience)
    }
}
