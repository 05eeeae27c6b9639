//! A descriptor that is readable when one of several is.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Several descriptors as one.
#[derive(Debug)]
pub(super) struct Either(imp::Queue);

impl AsFd for Either {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Either {
    /// Of none.
    pub(super) fn new() -> io::Result<Self> {
        imp::new().map(Self)
    }

    /// Adds a descriptor.
    pub(super) fn add(&self, fd: impl AsFd) -> io::Result<()> {
        imp::add(&self.0, fd.as_fd())
    }

    /// Removes it: at end of file it would always be ready.
    pub(super) fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        imp::remove(&self.0, fd.as_fd())
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod imp {
    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};

    pub(super) type Queue = OwnedFd;

    pub(super) fn new() -> io::Result<Queue> {
        Ok(epoll::create(CreateFlags::CLOEXEC)?)
    }

    pub(super) fn add(queue: &Queue, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::add(queue, fd, EventData::new_u64(0), EventFlags::IN)?)
    }

    pub(super) fn remove(queue: &Queue, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(queue, fd)?)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod imp {
    use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    pub(super) type Queue = Kqueue;

    pub(super) fn new() -> io::Result<Queue> {
        Ok(Kqueue::new()?)
    }

    pub(super) fn add(queue: &Queue, fd: BorrowedFd<'_>) -> io::Result<()> {
        change(queue, fd, EvFlags::EV_ADD)
    }

    pub(super) fn remove(queue: &Queue, fd: BorrowedFd<'_>) -> io::Result<()> {
        change(queue, fd, EvFlags::EV_DELETE)
    }

    fn change(queue: &Queue, fd: BorrowedFd<'_>, how: EvFlags) -> io::Result<()> {
        let ident = fd.as_raw_fd() as usize;
        let event = KEvent::new(ident, EventFilter::EVFILT_READ, how, FilterFlag::empty(), 0, 0);
        queue.kevent(&[event], &mut [], None)?;
        Ok(())
    }
}
