//! Commands that the peer of a ZMODEM session sends, if the user allows them.
//!
//! The output of a command goes to stderr, as stdout may be the line. It
//! reads nothing, for the same reason.

use std::process::{ExitStatus, Stdio};
use wetstring_drive::os::process;

use wetstring_proto::{Remote, RemoteReply, Reply, Request, Store, StoreError};

/// The status for a shell that did not start; also that of shells for commands not found.
const NOT_FOUND: u32 = 127;
/// The exit code of a shell for a command that it cannot run.
const NOT_RUN: u8 = 126;
/// What shells add to a signal number.
const BY_SIGNAL: u32 = 128;

/// A store that also runs commands.
pub(crate) struct Commanded<'a> {
    /// The store of the files.
    pub(crate) store: &'a mut dyn Store,
    /// Allowed by the user.
    pub(crate) allowed: bool,
}

impl Store for Commanded<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Remote(Remote::Run { command }) if self.allowed => {
                Reply::Remote(RemoteReply::Ran(run(command)))
            }
            Request::Remote(Remote::Run { .. }) => Reply::Failed(StoreError::Permission),
            other => self.store.answer(other),
        }
    }
}

/// The exit code for a received status; 126 is a command that was not run.
///
/// `rz` of lrzsz 0.12.21 sends the status of wait(2), in which the exit code is the second byte, and
/// for a refused command the flags of its last header.
pub(crate) fn exit_code(status: u32) -> u8 {
    let [low, second, rest @ ..] = status.to_le_bytes();
    match (rest, second, low) {
        ([0, 0], 0, code) | ([0, 0], code, 0) => code,
        _ => NOT_RUN,
    }
}

/// Runs it in a shell, and waits for its end.
fn run(command: &[u8]) -> u32 {
    // The standard's mark for a status of the operating system.
    let command = command.strip_prefix(b"!").unwrap_or(command);
    let mut shell = process::shell(command);
    shell.stdin(Stdio::null()).stdout(std::io::stderr()).stderr(std::io::stderr());
    shell.status().map_or(NOT_FOUND, code)
}

fn code(status: ExitStatus) -> u32 {
    let number = |code: i32| u32::try_from(code).unwrap_or(NOT_FOUND);
    match (status.code(), process::signal_of(status)) {
        (Some(code), _) => number(code),
        (None, Some(signal)) => BY_SIGNAL + number(signal),
        (None, None) => NOT_FOUND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_testkit::NoFiles;

    #[test]
    fn statuses_are_those_of_shells() {
        for (command, status) in [
            (&b"exit 0"[..], 0),
            (b"!exit 7", 7),
            (b"kill -9 $$", 137),
            (b"no-such-program-here", 127),
        ] {
            let mut store = Commanded { store: &mut NoFiles, allowed: true };
            assert_eq!(
                store.answer(Request::Remote(Remote::Run { command })),
                Reply::Remote(RemoteReply::Ran(status))
            );
        }
    }

    #[test]
    fn statuses_of_lrzsz_are_decoded() {
        for (status, code) in [(0, 0), (3, 3), (255, 255), (5 << 8, 5), (0x2300_0000, 126)] {
            assert_eq!(exit_code(status), code, "{status:x}");
        }
    }

    #[test]
    fn commands_run_only_if_allowed() {
        let mut store = Commanded { store: &mut NoFiles, allowed: false };
        let reply = store.answer(Request::Remote(Remote::Run { command: b"exit 0" }));
        assert_eq!(reply, Reply::Failed(StoreError::Permission));
        assert_eq!(store.answer(Request::Next), Reply::Done);
    }
}
