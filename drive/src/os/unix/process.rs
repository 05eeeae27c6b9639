//! Processes, threads and signals by number.

use super::event::Source;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};
use std::ffi::OsStr;
use std::io::{self, PipeReader, Read};
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

/// Ctrl-C.
pub(crate) const INT: i32 = Signal::INT.as_raw();
/// The request to end.
pub(crate) const TERM: i32 = Signal::TERM.as_raw();

/// A command of the user's or the client's for the system's shell.
pub fn shell(line: &[u8]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(OsStr::from_bytes(line));
    shell
}

/// The signal that ended a child.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Starts a command apart from this process, so that all that it starts can be killed.
pub(crate) fn spawn_group(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Kills a child that was started so, and all that it has started.
pub(crate) fn kill_group(child: &mut Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

/// What a child writes.
#[derive(Debug)]
pub(crate) struct Piped(PipeReader);

impl Piped {
    #[allow(clippy::unnecessary_wraps)]
    pub(crate) fn new(pipe: PipeReader) -> io::Result<Self> {
        Ok(Self(pipe))
    }

    /// Readable when there is some, and at its end.
    pub(crate) fn source(&self) -> Source<'_> {
        Source::of(&self.0)
    }

    /// Reads, once it is readable; 0 is the end.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// Raises the limit of open files to `want`, as far as the system allows it.
pub(crate) fn open_files(want: u64) {
    let had = getrlimit(Resource::Nofile);
    if had.current.is_some_and(|current| current < want) {
        let current = Some(had.maximum.map_or(want, |maximum| want.min(maximum)));
        // With fewer, the last clients are refused.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..had });
    }
}

/// Sets the timer slack of this thread; returns the old value.
#[cfg(target_os = "linux")]
pub(crate) fn timer_slack(slack: Option<NonZeroU64>) -> Option<NonZeroU64> {
    let before = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
    // The default timer slack is some fifty microseconds.
    let _ = rustix::thread::set_current_timer_slack(slack);
    before
}

/// Only Linux has it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn timer_slack(_: Option<NonZeroU64>) -> Option<NonZeroU64> {
    None
}
