//! Processes, and signals by the numbers that Unix gives them.

use super::event::Source;
use super::pump::Inbox;
use std::io::{self, PipeReader, Read};
use std::num::NonZeroU64;
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

/// Ctrl-C.
pub(crate) const INT: i32 = 2;
/// The request to end.
pub(crate) const TERM: i32 = 15;

/// `CREATE_NEW_PROCESS_GROUP`: the child does not get our Ctrl-C.
const NEW_GROUP: u32 = 0x200;

/// A command of the user's or the client's for the system's shell, which splits the line itself.
pub fn shell(line: &[u8]) -> Command {
    let mut shell = Command::new("cmd.exe");
    // With /S the outer quotes are removed, whatever is between them.
    shell.raw_arg(format!("/D /S /C \"{}\"", String::from_utf8_lossy(line)));
    shell.creation_flags(NEW_GROUP);
    shell
}

/// The signal that ended a child: there are none.
pub fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// Starts a command apart from this process.
pub(crate) fn spawn_group(command: &mut Command) -> io::Result<Child> {
    command.creation_flags(NEW_GROUP).spawn()
}

/// Kills a child that was started so, and by the system's own tool what it has started.
pub(crate) fn kill_group(child: &mut Child) {
    let id = child.id().to_string();
    let tree = Command::new("taskkill.exe")
        .args(["/T", "/F", "/PID", &id])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    if !tree.is_ok_and(|status| status.success()) {
        let _ = child.kill();
    }
    let _ = child.wait();
}

/// What a child writes.
#[derive(Debug)]
pub(crate) struct Piped(Inbox);

impl Piped {
    pub(crate) fn new(mut pipe: PipeReader) -> io::Result<Self> {
        Inbox::new(move |into| pipe.read(into)).map(Self)
    }

    /// Readable when there is some, and at its end.
    pub(crate) fn source(&self) -> Source<'_> {
        self.0.source()
    }

    /// Reads, once it is readable; 0 is the end.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_blocking(into)
    }
}

/// There is no such limit.
pub(crate) fn open_files(_: u64) {}

/// Only Linux has it.
pub(crate) fn timer_slack(_: Option<NonZeroU64>) -> Option<NonZeroU64> {
    None
}
