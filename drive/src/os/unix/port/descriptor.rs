//! A socket or terminal by its descriptor: inherited from inetd or another program, or a Unix-domain socket of our own.

use crate::event::Source;
use crate::port::{OpenError, Port, PortFacts};
use crate::terminal::Restore;
use rustix::fs::{FileType, fstat};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// A bidirectional descriptor.
#[derive(Debug)]
pub(super) struct DescriptorLine {
    fd: OwnedFd,
    facts: PortFacts,
    restore: Vec<Restore>,
}

/// Our own descriptor for what this number refers to. Only the system knows whether it refers to anything, so
/// the system is asked.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn own(number: u32) -> io::Result<OwnedFd> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let number = i32::try_from(number).map_err(|_| rustix::io::Errno::BADF)?;
    let ours = pidfd_open(getpid(), PidfdFlags::empty())?;
    match pidfd_getfd(ours, number, PidfdGetfdFlags::empty()) {
        Ok(fd) => Ok(fd),
        Err(rustix::io::Errno::BADF) => Err(rustix::io::Errno::BADF.into()),
        // Old systems, and containers that forbid it: terminals and pipes can be reopened.
        Err(error) => again(&format!("/proc/self/fd/{number}")).map_err(|_| error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn own(number: u32) -> io::Result<OwnedFd> {
    again(&format!("/dev/fd/{number}"))
}

fn again(path: &str) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags, open};
    Ok(open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?)
}

impl DescriptorLine {
    /// Makes it non-blocking, and raw if it is a terminal.
    pub(super) fn open(number: u32) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io(format!("use descriptor {number}"), error);
        let fd = match number {
            // These need no lookup by number, which containers may forbid.
            0 => rustix::stdio::stdin().try_clone_to_owned(),
            1 => rustix::stdio::stdout().try_clone_to_owned(),
            2 => rustix::stdio::stderr().try_clone_to_owned(),
            _ => own(number),
        };
        let fd = fd.map_err(failed)?;
        let stat = fstat(&fd).map_err(|error| failed(error.into()))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::Socket && kind != FileType::CharacterDevice {
            let say = "expected a socket or a terminal";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, say)));
        }
        let mut restore = vec![Restore::nonblocking(&fd).map_err(failed)?];
        if rustix::termios::isatty(&fd) {
            restore.push(Restore::raw(&fd).map_err(failed)?);
        }
        let facts = PortFacts {
            // A socket loses nothing; a terminal may be the end of any line.
            reliable: (kind == FileType::Socket).then_some(true),
            clear: kind == FileType::Socket,
            ..PortFacts::named(format!("fd:{number}"))
        };
        Ok(Self { fd, facts, restore })
    }

    /// Connects to a Unix-domain socket.
    pub(super) fn connect(path: &Path) -> Result<Self, OpenError> {
        let name = format!("unix:{}", path.display());
        let failed = |error| OpenError::io(format!("connect to {name}"), error);
        let socket = UnixStream::connect(path).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let facts = PortFacts { reliable: Some(true), clear: true, ..PortFacts::named(name) };
        Ok(Self { fd: socket.into(), facts, restore: Vec::new() })
    }
}

impl Port for DescriptorLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        super::read(&self.fd, into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        super::write(&self.fd, bytes)
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.fd)
    }

    fn write_source(&self) -> Source<'_> {
        Source::of(&self.fd)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    /// The parent may continue to use it, so it is restored and not shut down.
    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        // Restore in reverse order.
        while self.restore.pop().is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsRawFd as _;

    #[test]
    fn an_open_socket_is_a_line() {
        let (given, mut peer) = UnixStream::pair().expect("two sockets");
        let number = u32::try_from(given.as_raw_fd()).expect("a descriptor");
        let mut line = match DescriptorLine::open(number) {
            Ok(line) => line,
            // A container may forbid it.
            Err(error) if error.to_string().contains("permitted") => {
                eprintln!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        peer.write_all(b"to us").expect("sent");
        let mut buffer = [0; 16];
        let len = line.read(&mut buffer).expect("no error").expect("bytes");
        assert_eq!(&buffer[..len], b"to us");
        assert_eq!(line.read(&mut buffer).expect("no error"), None);
        line.write(b"to it").expect("sent");
        line.finish(Duration::ZERO).expect("set back");
        drop(line);
        peer.read_exact(&mut buffer[..5]).expect("bytes");
        assert_eq!(&buffer[..5], b"to it");
        // The parent can continue to use it.
        (&given).write_all(b"!").expect("still open");
        peer.read_exact(&mut buffer[..1]).expect("a byte");
    }

    #[test]
    fn other_descriptors_are_refused() {
        assert!(DescriptorLine::open(9999).is_err());
        let directory = std::fs::File::open("/").expect("a directory");
        let number = |file: &std::fs::File| u32::try_from(file.as_raw_fd()).expect("a number");
        assert!(DescriptorLine::open(number(&directory)).is_err());
    }
}
