//! Serial ports.

use crate::event::Source;
use crate::line::{Parity, Pin, Rs485, SerialSpec};
use crate::port::find::locate;
use crate::port::pace::Pace;
use crate::port::serial::{self, bits, facts, set_format};
use crate::port::{Controls, OpenError, PATIENCE, Port, PortFacts, Wires};
use crate::terminal::Restore;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use rustix::termios::{
    ControlModes, InputModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios,
    ioctl_tiocexcl, ioctl_tiocnxcl, tcflush, tcgetattr, tcsetattr,
};
use serial2::SerialPort;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Where UUCP-style programs keep their lock files.
const LOCK_DIRECTORIES: [&str; 3] = ["/run/lock", "/var/lock", "/var/spool/uucp"];

/// An open serial port.
#[derive(Debug)]
pub(super) struct SerialLine {
    port: SerialPort,
    facts: PortFacts,
    spec: SerialSpec,
    /// DTR and RTS as they were set last. Opening the device raised both.
    raised: [bool; 2],
    restore: Option<Restore>,
    written: bool,
    /// None without a UART: a PTY has no rate of its own.
    pace: Option<Pace>,
}

impl SerialLine {
    /// Opens the device exclusively, and configures it.
    ///
    /// The system raises DTR and RTS when a closed port is opened; nothing here changes them after that unless
    /// configured. Hang-up on close (HUPCL) is switched off and stays off, so that closing the port does not
    /// drop them either and a board that resets on DTR keeps running.
    pub(super) fn open(spec: &SerialSpec) -> Result<Self, OpenError> {
        let device = spec.path.display().to_string();
        let failed = |error: io::Error| OpenError::io(format!("open {device}"), error);
        let path = locate(&spec.path).map_err(failed)?;
        let device = path.display().to_string();
        let spec = &SerialSpec { path, ..spec.clone() };
        let failed = |error: io::Error| OpenError::io(format!("open {device}"), error);
        if let Some(by) = uucp_lock(&spec.path) {
            return Err(OpenError::Locked { device, by });
        }
        let locked = || OpenError::Locked { device: device.clone(), by: "another program".into() };
        let mut port = SerialPort::open(&spec.path, serial2::KeepSettings).map_err(|error| {
            if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) {
                locked()
            } else {
                failed(error)
            }
        })?;
        match flock(&port, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(locked()),
            Err(error) => return Err(failed(error.into())),
        }
        ioctl_tiocexcl(&port).map_err(|error| failed(error.into()))?;
        no_hangup(&port).map_err(failed)?;
        let restore = Some(Restore::settings(&port).map_err(failed)?);
        // A PTY has no pins, and no rate: its speed is set by the process that created it.
        let is_pty = port.read_cts().is_err();
        let said = if is_pty && spec.baud.is_none() { speed(&port).map_err(failed)? } else { None };
        let spec = &SerialSpec { baud: said.or(spec.baud), ..spec.clone() };
        set_up(&mut port, spec)?;
        let facts = facts(device, spec);
        let pace = (!is_pty).then(|| Pace::new(spec.rate_bps(), bits(spec)));
        let raised = serial::raised(spec);
        Ok(Self { port, facts, spec: spec.clone(), raised, restore, written: false, pace })
    }
}

/// The speed that a terminal has; `None` if it is hung up.
fn speed(port: &SerialPort) -> io::Result<Option<u32>> {
    Ok(Some(tcgetattr(port)?.output_speed()).filter(|rate| *rate > 0))
}

/// Closing the device must not drop DTR and RTS.
fn no_hangup(port: &SerialPort) -> io::Result<()> {
    let mut settings = tcgetattr(port)?;
    settings.control_modes.remove(ControlModes::HUPCL);
    tcsetattr(port, OptionalActions::Now, &settings)?;
    Ok(())
}

fn set_up(port: &mut SerialPort, spec: &SerialSpec) -> Result<(), OpenError> {
    let name = spec.path.display();
    let failed = |error: io::Error| {
        OpenError::io(format!("set {name} to {spec} (the device may not be able to)"), error)
    };
    let configure = |port: &mut SerialPort| {
        format(port, spec)?;
        switch_rts(port, spec.rs485)?;
        // Data from before we listened at this rate is noise.
        tcflush(&*port, QueueSelector::IFlush)?;
        match spec.dtr {
            Pin::Keep => {}
            pin => port.set_dtr(pin == Pin::On)?,
        }
        match spec.rts {
            Pin::Keep => {}
            pin => port.set_rts(pin == Pin::On)?,
        }
        if spec.break_ms > 0 {
            serial::send_break(port, Duration::from_millis(spec.break_ms.into()))?;
        }
        Ok(())
    };
    configure(port).map_err(failed)
}

/// Makes the parity bit constant, or not.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_wraps)]
fn stick(settings: &mut Termios, sticks: bool) -> io::Result<()> {
    settings.control_modes.set(ControlModes::CMSPAR, sticks);
    Ok(())
}

/// Rate and character format.
fn format(port: &mut SerialPort, spec: &SerialSpec) -> io::Result<()> {
    let mut settings = port.get_configuration()?;
    settings.set_raw();
    settings.set_baud_rate(spec.rate_bps())?;
    set_format(&mut settings, spec);
    port.set_configuration(&settings)?;
    // With VMIN 0 an empty line would read as end of file.
    let mut settings = tcgetattr(&*port)?;
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    settings.control_modes.insert(ControlModes::CLOCAL);
    let sticks = matches!(spec.parity, Parity::Mark | Parity::Space);
    stick(&mut settings, sticks)?;
    tcsetattr(&*port, OptionalActions::Now, &settings)?;
    if sticks { stuck(port) } else { Ok(()) }
}

/// Whether the driver accepted mark or space parity: one that does not support it clears the flag, and would
/// send odd or even parity. A PTY, which has no parity at all, clears both.
#[cfg(target_os = "linux")]
fn stuck(port: &SerialPort) -> io::Result<()> {
    let modes = tcgetattr(port)?.control_modes;
    if modes.contains(ControlModes::PARENB) && !modes.contains(ControlModes::CMSPAR) {
        let say = "its driver has no mark and space parity";
        return Err(io::Error::new(io::ErrorKind::Unsupported, say));
    }
    Ok(())
}

/// This system has no word for it.
#[cfg(not(target_os = "linux"))]
fn stick(_: &mut Termios, sticks: bool) -> io::Result<()> {
    let say = "mark and space parity are for Linux only; use parity=even, odd or none";
    if sticks { Err(io::Error::new(io::ErrorKind::Unsupported, say)) } else { Ok(()) }
}

/// Nothing to ask.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps)]
fn stuck(_: &SerialPort) -> io::Result<()> {
    Ok(())
}

/// Lets the driver switch RTS around transmissions.
#[cfg(target_os = "linux")]
fn switch_rts(port: &SerialPort, how: Option<Rs485>) -> io::Result<()> {
    use serial2::rs4xx::Rs485Config;
    let Some(how) = how else { return Ok(()) };
    let mut config = Rs485Config::new();
    config.set_invert_rts(how.inverted);
    config.set_full_duplex(how.hears_itself);
    config.set_delay_before_send(Duration::from_millis(how.before_ms.into()));
    config.set_delay_after_send(Duration::from_millis(how.after_ms.into()));
    port.set_rs4xx_mode(config)
}

/// Not available on other systems.
#[cfg(not(target_os = "linux"))]
fn switch_rts(_: &SerialPort, how: Option<Rs485>) -> io::Result<()> {
    let say = "RS-485 is switched on Linux only";
    how.map_or(Ok(()), |_| Err(io::Error::new(io::ErrorKind::Unsupported, say)))
}

/// The holder of a UUCP lock on the device, if that process is alive.
fn uucp_lock(device: &Path) -> Option<String> {
    let name = device.file_name()?.to_string_lossy().into_owned();
    LOCK_DIRECTORIES.iter().find_map(|directory| {
        let lock = Path::new(directory).join(format!("LCK..{name}"));
        let holder: i32 =
            std::fs::read_to_string(&lock).ok()?.split_whitespace().next()?.parse().ok()?;
        let pid = Pid::from_raw(holder)?;
        let lives = holder > 0
            && pid != rustix::process::getpid()
            && !matches!(test_kill_process(pid), Err(Errno::SRCH));
        lives.then(|| format!("process {holder} ({})", lock.display()))
    })
}

impl Port for SerialLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        super::read(&self.port, into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.written = true;
        let Some(pace) = &mut self.pace else { return super::write(&self.port, bytes) };
        let now = Instant::now();
        let room = pace.room(now).min(bytes.len());
        if room == 0 {
            return Ok(None);
        }
        let taken = super::write(&self.port, &bytes[..room])?;
        pace.took(now, taken.unwrap_or(0));
        Ok(taken)
    }

    fn mark_damage(&mut self) -> io::Result<bool> {
        let mut settings = tcgetattr(&self.port)?;
        let hides =
            InputModes::IGNPAR | InputModes::IGNBRK | InputModes::BRKINT | InputModes::ISTRIP;
        settings.input_modes.remove(hides);
        // Linux drivers report framing errors only with INPCK, whether there is parity or not.
        settings.input_modes.insert(InputModes::PARMRK | InputModes::INPCK);
        tcsetattr(&self.port, OptionalActions::Now, &settings)?;
        let are_set = tcgetattr(&self.port)?.input_modes.contains(InputModes::PARMRK);
        Ok(are_set)
    }

    fn rest(&self) -> Duration {
        self.pace.as_ref().map_or(Duration::ZERO, |pace| pace.rest(Instant::now()))
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.port)
    }

    fn write_source(&self) -> Source<'_> {
        Source::of(&self.port)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn carries_bps(&self) -> Option<u32> {
        self.facts.rate_bps.filter(|_| self.pace.is_some())
    }

    fn controls(&mut self) -> Option<&mut dyn Controls> {
        Some(self)
    }

    /// Waits until the last bit has been sent, restores the settings.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let Some(restore) = self.restore.take() else { return Ok(None) };
        if self.written && !drained(&self.port, patience) && self.pace.is_some() {
            // The peer has stopped us. Closing would wait for it, up to half a minute. Not so with a PTY, whose
            // other side may still read our last data.
            let _ = tcflush(&self.port, QueueSelector::OFlush);
        }
        drop(restore);
        let _ = ioctl_tiocnxcl(&self.port);
        let _ = flock(&self.port, FlockOperation::Unlock);
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
        if let Err(error) = format(&mut self.port, spec) {
            // Half of the new settings would be worse than the old ones.
            let _ = format(&mut self.port, &self.spec);
            return Err(error);
        }
        serial::changed(&mut self.spec, spec, &mut self.facts);
        if self.pace.is_some() {
            self.pace = Some(Pace::new(spec.rate_bps(), bits(spec)));
        }
        Ok(())
    }
}

/// Whether the output was sent in time. Draining blocks for as long as the peer likes, so it runs on a thread
/// that may be abandoned.
fn drained(port: &SerialPort, patience: Duration) -> bool {
    let Ok(fd) = port.as_fd().try_clone_to_owned() else { return false };
    let (done, wait) = mpsc::channel();
    let drain = move || {
        let _ = rustix::termios::tcdrain(&fd);
        // A duplicated descriptor would hold the lock.
        drop(fd);
        let _ = done.send(());
    };
    std::thread::Builder::new().name("drain".into()).spawn(drain).is_ok()
        && wait.recv_timeout(patience).is_ok()
}

impl Drop for SerialLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
