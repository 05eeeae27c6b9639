//! Descriptors and poll(2).

use crate::event::Interest;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// A descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a>(BorrowedFd<'a>);

impl<'a> From<BorrowedFd<'a>> for Source<'a> {
    fn from(fd: BorrowedFd<'a>) -> Self {
        Self(fd)
    }
}

impl<'a> Source<'a> {
    /// The descriptor of a file, socket or pipe.
    pub fn of(file: &'a impl AsFd) -> Self {
        Self(file.as_fd())
    }
}

/// Sources that need no memory.
const FEW: usize = 8;

/// [`crate::event::wait`].
pub(crate) fn wait(interests: &mut [Interest<'_>], timeout: Option<Duration>) -> io::Result<bool> {
    let Some(first) = interests.first() else {
        return polled(interests, &mut [], timeout);
    };
    if interests.len() > FEW {
        let mut fds: Vec<_> = interests.iter().copied().map(poll_fd).collect();
        return polled(interests, &mut fds, timeout);
    }
    let stand_in = poll_fd(*first);
    let mut fds: [PollFd<'_>; FEW] = std::array::from_fn(|_| stand_in.clone());
    for (fd, interest) in fds.iter_mut().zip(&*interests) {
        *fd = poll_fd(*interest);
    }
    let used = interests.len();
    polled(interests, &mut fds[..used], timeout)
}

fn poll_fd(interest: Interest<'_>) -> PollFd<'_> {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, interest.reads);
    flags.set(PollFlags::OUT, interest.writes);
    PollFd::from_borrowed_fd(interest.source.0, flags)
}

fn polled(
    interests: &mut [Interest<'_>],
    fds: &mut [PollFd<'_>],
    timeout: Option<Duration>,
) -> io::Result<bool> {
    let timeout = timeout.map(|wait| Timespec {
        tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    });
    let ready = match poll(fds, timeout.as_ref()) {
        Ok(ready) => ready > 0,
        Err(rustix::io::Errno::INTR) => false,
        Err(error) => return Err(error.into()),
    };
    for (interest, fd) in interests.iter_mut().zip(fds) {
        interest.ready = ready && !fd.revents().is_empty();
    }
    Ok(ready)
}
