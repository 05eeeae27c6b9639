//! COM ports.

use super::super::pump::{Inbox, Outbox};
use crate::event::Source;
use crate::line::{Flow, Parity, Pin, SerialSpec};
use crate::port::pace::Pace;
use crate::port::serial::{self, bits, facts, set_format};
use crate::port::{Controls, OpenError, PATIENCE, Port, PortFacts, Wires};
use serial2::os::windows::CommTimeouts;
use serial2::{SerialPort, Settings};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How soon the threads of a port notice that it is closed.
const NOTICE: Duration = Duration::from_millis(100);
/// A read returns at the first gap of a millisecond. (The library's own way, one that returns with whatever there is, is
/// not Wine's, which waits until the buffer is full.)
const TIMEOUTS: CommTimeouts = CommTimeouts {
    read_interval_timeout: 1,
    read_total_timeout_multiplier: 0,
    read_total_timeout_constant: NOTICE.as_millis() as u32,
    write_total_timeout_multiplier: 0,
    write_total_timeout_constant: NOTICE.as_millis() as u32,
};
/// Bytes on their way to the driver.
const ROOM: usize = 4096;
/// `ERROR_ACCESS_DENIED`: this system opens a COM port for one program only.
const IN_USE: i32 = 5;

/// An open COM port.
pub(super) struct SerialLine {
    port: Arc<SerialPort>,
    from: Option<Inbox>,
    to: Option<Outbox>,
    facts: PortFacts,
    spec: SerialSpec,
    /// DTR and RTS as they were set last.
    raised: [bool; 2],
    pace: Pace,
    was: Option<Settings>,
}

/// `COM17` for `\\.\COM17`: the library adds the rest, which numbers above 9 need.
fn device(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    PathBuf::from(text.strip_prefix(r"\\.\").unwrap_or(&text))
}

impl SerialLine {
    /// Opens the port, which no other program can open meanwhile, and configures it. DTR and RTS are raised, as
    /// Unix does it, unless configured.
    pub(super) fn open(spec: &SerialSpec) -> Result<Self, OpenError> {
        let name = spec.path.display().to_string();
        let failed = |error: io::Error| OpenError::io(format!("open {name}"), error);
        if spec.rs485.is_some() || matches!(spec.parity, Parity::Mark | Parity::Space) {
            let say =
                "RS-485 and mark and space parity are for Linux only; use parity=even, odd or none";
            return Err(failed(io::Error::new(ErrorKind::Unsupported, say)));
        }
        let opened = SerialPort::open(device(&spec.path), serial2::KeepSettings);
        let mut port = opened.map_err(|error| {
            if error.raw_os_error() == Some(IN_USE) {
                OpenError::Locked { device: name.clone(), by: "another program".into() }
            } else {
                failed(error)
            }
        })?;
        let was = port.get_configuration().ok();
        set_up(&mut port, spec).map_err(|error| {
            let what = format!("set {name} to {spec} (the device may not be able to)");
            OpenError::io(what, error)
        })?;
        let port = Arc::new(port);
        let (reads, writes) = (port.clone(), port.clone());
        let from = Inbox::new(move |into| reads.read(into)).map_err(failed)?;
        let to = Outbox::new(ROOM, move |bytes| writes.write(bytes)).map_err(failed)?;
        Ok(Self {
            port,
            from: Some(from),
            to: Some(to),
            facts: facts(name.clone(), spec),
            spec: spec.clone(),
            raised: serial::raised(spec),
            pace: Pace::new(spec.rate_bps(), bits(spec)),
            was,
        })
    }
}

fn set_up(port: &mut SerialPort, spec: &SerialSpec) -> io::Result<()> {
    format(port, spec)?;
    port.set_windows_timeouts(&TIMEOUTS)?;
    // Data from before we listened at this rate is noise.
    port.discard_input_buffer()?;
    // Some devices have no such pins: only what was asked for must succeed.
    match spec.dtr {
        Pin::Keep => drop(port.set_dtr(true)),
        pin => port.set_dtr(pin == Pin::On)?,
    }
    match spec.rts {
        // The driver switches it.
        Pin::Keep if spec.flow == Flow::RtsCts => {}
        Pin::Keep => drop(port.set_rts(true)),
        pin => port.set_rts(pin == Pin::On)?,
    }
    if spec.break_ms > 0 {
        serial::send_break(port, Duration::from_millis(spec.break_ms.into()))?;
    }
    Ok(())
}

/// Rate and character format.
fn format(port: &mut SerialPort, spec: &SerialSpec) -> io::Result<()> {
    let mut settings = port.get_configuration()?;
    settings.set_raw();
    settings.set_baud_rate(spec.rate_bps())?;
    set_format(&mut settings, spec);
    port.set_configuration(&settings)
}

fn closed() -> io::Error {
    ErrorKind::BrokenPipe.into()
}

impl Port for SerialLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.from.as_ref().ok_or_else(closed)?.read(into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let to = self.to.as_ref().ok_or_else(closed)?;
        let now = Instant::now();
        let room = self.pace.room(now).min(bytes.len());
        if room == 0 {
            return Ok(None);
        }
        let taken = to.write(&bytes[..room])?;
        self.pace.took(now, taken.unwrap_or(0));
        Ok(taken)
    }

    fn rest(&self) -> Duration {
        self.pace.rest(Instant::now())
    }

    fn read_source(&self) -> Source<'_> {
        // After `finish` there is no wait; stdin serves as a valid source.
        match &self.from {
            Some(from) => from.source(),
            None => super::super::terminal::stdin::source(),
        }
    }

    fn write_source(&self) -> Source<'_> {
        match &self.to {
            Some(to) => to.source(),
            None => self.read_source(),
        }
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn unsent(&self) -> u64 {
        self.to.as_ref().map_or(0, Outbox::unsent)
    }

    fn controls(&mut self) -> Option<&mut dyn Controls> {
        Some(self)
    }

    /// Lets written data leave, and restores the settings.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if let Some(to) = self.to.take()
            && !to.drain(patience)
        {
            // The peer has stopped us.
            to.clear();
            let _ = self.port.discard_output_buffer();
        }
        self.from = None;
        // Until their threads have noticed, the port is in use.
        let until = Instant::now() + 3 * NOTICE;
        while Arc::strong_count(&self.port) > 1 && Instant::now() < until {
            std::thread::sleep(NOTICE / 20);
        }
        if let Some(was) = self.was.take()
            && let Ok(mut port) = self.port.try_clone()
        {
            let _ = port.set_configuration(&was);
        }
        Ok(None)
    }
}

impl Controls for SerialLine {
    fn send_break(&mut self, time: Duration) -> io::Result<()> {
        serial::send_break(&self.port, time)
    }

    fn set_dtr(&mut self, on: bool) -> io::Result<()> {
        self.port.set_dtr(on)?;
        self.raised[0] = on;
        Ok(())
    }

    fn set_rts(&mut self, on: bool) -> io::Result<()> {
        self.port.set_rts(on)?;
        self.raised[1] = on;
        Ok(())
    }

    fn wires(&self) -> io::Result<Wires> {
        serial::wires(&self.port, self.raised)
    }

    fn spec(&self) -> Option<SerialSpec> {
        Some(self.spec.clone())
    }

    fn change(&mut self, spec: &SerialSpec) -> io::Result<()> {
        // A second handle of the same port: its settings are the port's.
        let mut port = self.port.try_clone()?;
        if let Err(error) = format(&mut port, spec) {
            // Half of the new settings would be worse than the old ones.
            let _ = format(&mut port, &self.spec);
            return Err(error);
        }
        serial::changed(&mut self.spec, spec, &mut self.facts);
        self.pace = Pace::new(spec.rate_bps(), bits(spec));
        Ok(())
    }
}

impl Drop for SerialLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
