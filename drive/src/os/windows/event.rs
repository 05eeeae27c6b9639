//! Sockets and `WSAPoll`.

use super::console::Waiting;
use crate::event::Interest;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::windows::io::{AsSocket, BorrowedSocket};
use std::time::Duration;

/// The system counts milliseconds in 31 bits; a wait that ends early is no event.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A socket, or the bell of a thread, which is readable when its owner has something to say.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    socket: BorrowedSocket<'a>,
    bell: bool,
    /// The bell of a console, whose keys are read while something waits for it.
    keys: bool,
}

impl<'a> Source<'a> {
    /// A socket.
    pub fn of(socket: &'a impl AsSocket) -> Self {
        Self { socket: socket.as_socket(), bell: false, keys: false }
    }

    /// A bell: whatever is waited for, it is ready when this socket is readable.
    pub(crate) fn bell(socket: &'a impl AsSocket) -> Self {
        Self { socket: socket.as_socket(), bell: true, keys: false }
    }

    /// The bell of a console.
    pub(super) fn keys(socket: &'a impl AsSocket) -> Self {
        Self { keys: true, ..Self::bell(socket) }
    }
}

/// [`crate::event::wait`].
pub(crate) fn wait(interests: &mut [Interest<'_>], timeout: Option<Duration>) -> io::Result<bool> {
    let timeout = timeout.unwrap_or(LONGEST).min(LONGEST);
    if interests.is_empty() {
        std::thread::sleep(timeout);
        return Ok(false);
    }
    let mut fds: Vec<PollFd<'_>> = interests.iter().map(poll_fd).collect();
    let timeout = Timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos() as _,
    };
    let keys = interests.iter().any(|interest| interest.source.keys && interest.reads);
    let _waiting = keys.then(Waiting::new);
    let ready = poll(&mut fds, Some(&timeout))? > 0;
    for (interest, fd) in interests.iter_mut().zip(&fds) {
        interest.ready = ready && !fd.revents().is_empty();
    }
    Ok(ready)
}

fn poll_fd<'a>(interest: &Interest<'a>) -> PollFd<'a> {
    let Source { socket, bell, keys: _ } = interest.source;
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, interest.reads || (bell && interest.writes));
    flags.set(PollFlags::OUT, interest.writes && !bell);
    PollFd::from_borrowed_fd(socket, flags)
}
