//! How the program ends: its exit code, its last message, and the results for the files.

use wetstring_drive::disk::FileRecord;
use wetstring_events::Summary;

use super::exit::Exit;
use super::format::count;

/// How the program ends, with its last message and the summary of the last event.
pub(crate) struct Ending {
    /// The code.
    pub(crate) exit: Exit,
    /// A sentence; empty if there is nothing to add.
    pub(crate) message: String,
    /// For the last event.
    pub(crate) summary: Option<Summary>,
    /// The results for the files.
    pub(crate) tally: Box<Tally>,
}

/// The results for the files, for callers.
#[derive(Default)]
pub(crate) struct Tally {
    /// Files that could not be read or written, or that changed during the transfer.
    pub(crate) unread: usize,
    /// Files sent completely.
    pub(crate) sent: Vec<FileRecord>,
    /// The status of the command sent to the peer.
    pub(crate) completed: Option<u8>,
    /// A refused file ended the transfer, and with it all files that would have followed.
    pub(crate) cut: bool,
}

impl Ending {
    /// An end before the transfer started.
    pub(crate) fn early(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), summary: None, tally: Box::default() }
    }

    /// Adds files that could not be deleted.
    pub(crate) fn kept(&mut self, files: u64) {
        if files == 0 {
            return;
        }
        if self.exit == Exit::Done {
            self.exit = Exit::Skipped;
        }
        // Not covered by a request to skip files.
        self.tally.unread += usize::try_from(files).unwrap_or(usize::MAX);
        let say = format!("{} not deleted", count(files, "file"));
        let before = std::mem::take(&mut self.message);
        self.message = if before.is_empty() { say } else { format!("{before}; {say}") };
    }
}

/// An end caused by a wrong command line or configuration.
pub(crate) fn usage(message: String) -> Ending {
    Ending::early(Exit::Usage, message)
}
