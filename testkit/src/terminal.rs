//! A pseudo-terminal.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// Both sides of a pseudo-terminal.
#[derive(Debug)]
pub struct Terminal {
    /// Our side.
    pub master: OwnedFd,
    /// The path of the side that a program has.
    pub path: String,
}

impl Terminal {
    /// Opens the program's side. It becomes no controlling terminal unless this process leads a session.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn open(&self) -> io::Result<File> {
        File::options().read(true).write(true).open(&self.path)
    }
}

/// A new pseudo-terminal, of which children inherit nothing.
///
/// # Errors
///
/// Those of the system.
pub fn terminal() -> io::Result<Terminal> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let path = ptsname(&master, Vec::new())?.into_string().map_err(io::Error::other)?;
    Ok(Terminal { master, path })
}
