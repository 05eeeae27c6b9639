//! Our own PTY, for any program that can use a terminal device.

use crate::event::Source;
use crate::port::{OpenError, PATIENCE, Port, PortFacts};
use rustix::fs::{FlockOperation, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How our side is opened. Apple's has no such flag: there a child that is started at the same moment may hold it.
const FLAGS: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(CLOSE);
#[cfg(not(target_vendor = "apple"))]
const CLOSE: OpenptFlags = OpenptFlags::CLOEXEC;
#[cfg(target_vendor = "apple")]
const CLOSE: OpenptFlags = OpenptFlags::empty();

/// Our side of a PTY.
///
/// We hold the other side open too, so that peers may come and go, as on a serial line; it never reports that
/// the peer has closed.
#[derive(Debug)]
pub(super) struct PtyLine {
    master: OwnedFd,
    slave: OwnedFd,
    slave_path: PathBuf,
    link: Option<PathBuf>,
    facts: PortFacts,
    written: bool,
    finished: bool,
}

impl PtyLine {
    /// Creates a raw PTY, reports its name, and links `link` to it.
    pub(super) fn make(
        link: Option<&Path>,
        notes: &mut dyn FnMut(&str),
    ) -> Result<Self, OpenError> {
        let make = || {
            let master = openpt(FLAGS)?;
            grantpt(&master)?;
            unlockpt(&master)?;
            let name = ptsname(&master, Vec::new())?;
            let path = PathBuf::from(OsStr::from_bytes(name.as_bytes()));
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            let slave = rustix::fs::open(&path, flags, rustix::fs::Mode::empty())?;
            crate::terminal::make_raw(&slave)?;
            super::nonblocking(&master)?;
            Ok::<_, io::Error>((master, slave, path))
        };
        let (master, slave, slave_path) =
            make().map_err(|error| OpenError::io("make a pty", error))?;
        if let Some(link) = link {
            if let Some(there) = held_by_another(link) {
                let (device, there) = (link.display().to_string(), there.display());
                let by = format!("another wst, whose PTY it leads to ({there})");
                return Err(OpenError::Locked { device, by });
            }
            self::link(&slave_path, link)
                .map_err(|error| OpenError::io(format!("link {}", link.display()), error))?;
        }
        // After the look at the link: to close a descriptor of this PTY would release the lock.
        hold(&slave);
        match link {
            Some(link) => {
                notes(&format!("pty {} -> {}", link.display(), slave_path.display()));
            }
            None => notes(&format!("pty {}", slave_path.display())),
        }
        // The PTY loses nothing, but the program on its other side is unknown to us.
        let facts = PortFacts::named(slave_path.display().to_string());
        let link = link.map(Path::to_owned);
        Ok(Self { master, slave, slave_path, link, facts, written: false, finished: false })
    }
}

/// How the names of PTYs begin, Apple's last. Nothing else is opened to see whether it is held: that would raise DTR of a
/// serial port.
const PTYS: [&str; 2] = ["/dev/pts/", "/dev/ttys"];

/// Marks a PTY as that of a running program, by a lock of a record, which ends with the process. Terminal programs lock
/// devices too, by `flock`; they must be able to.
fn hold(slave: &OwnedFd) {
    // Where devices have no such locks, a second program replaces the link of the first.
    let _ = rustix::fs::fcntl_lock(slave, FlockOperation::NonBlockingLockExclusive);
}

/// The PTY that `link` leads to, if another process has made it and runs.
fn held_by_another(link: &Path) -> Option<PathBuf> {
    let there = std::fs::read_link(link).ok()?;
    if !PTYS.iter().any(|pty| there.as_os_str().as_bytes().starts_with(pty.as_bytes())) {
        return None;
    }
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let slave = rustix::fs::open(&there, flags, rustix::fs::Mode::empty()).ok()?;
    let locked = rustix::fs::fcntl_lock(&slave, FlockOperation::NonBlockingLockExclusive);
    matches!(locked, Err(rustix::io::Errno::ACCESS | rustix::io::Errno::AGAIN)).then_some(there)
}

/// Creates a symlink. An existing symlink is replaced, anything else is not.
fn link(to: &Path, at: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(at).is_ok_and(|there| there.is_symlink()) {
        std::fs::remove_file(at)?;
    }
    std::os::unix::fs::symlink(to, at)
}

impl Port for PtyLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        super::read(&self.master, into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.written = true;
        super::write(&self.master, bytes)
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.master)
    }

    fn write_source(&self) -> Source<'_> {
        Source::of(&self.master)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn claim(&mut self, rate_bps: u32) -> io::Result<()> {
        crate::terminal::set_speed(&self.slave, rate_bps)
    }

    fn unsent(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.slave).unwrap_or(0)
    }

    /// Waits until the other side has read our output: closing the PTY discards unread data.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if self.finished {
            return Ok(None);
        }
        self.finished = true;
        let until = Instant::now() + patience;
        let mut empty_looks = 0;
        // The kernel moves bytes from our side to the other in steps: a check may see an empty queue between
        // two of them.
        while self.written && empty_looks < 3 && Instant::now() < until {
            match rustix::io::ioctl_fionread(&self.slave) {
                Ok(0) => empty_looks += 1,
                Ok(_) => empty_looks = 0,
                Err(_) => break,
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        if let Some(link) = self.link.take() {
            // Only if it is still ours.
            if std::fs::read_link(&link).is_ok_and(|to| to == self.slave_path) {
                let _ = std::fs::remove_file(link);
            }
        }
        Ok(None)
    }
}

impl Drop for PtyLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
