//! How the program ends: its exit code, its last words, and what became of the files.

use wetstring_drive::disk::FileRecord;
use wetstring_events::Summary;

use super::exit::Exit;
use super::format::count;

/// How the program ends, with its last words and what the last event says besides.
pub(crate) struct Ending {
    /// The code.
    pub(crate) exit: Exit,
    /// A sentence; empty if everything is said.
    pub(crate) message: String,
    /// For the last event.
    pub(crate) summary: Option<Summary>,
    /// What became of the files.
    pub(crate) tally: Box<Tally>,
}

/// What became of the files, for those who act on it.
#[derive(Default)]
pub(crate) struct Tally {
    /// Files that could not be read or written, or changed meanwhile.
    pub(crate) unread: usize,
    /// Files that were sent whole.
    pub(crate) sent: Vec<FileRecord>,
    /// How the command ended that was sent to the other end.
    pub(crate) completed: Option<u8>,
    /// A file that was not wanted ended the transfer, and with it all that would have followed.
    pub(crate) cut: bool,
}

impl Ending {
    /// An end before anything has moved.
    pub(crate) fn early(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), summary: None, tally: Box::default() }
    }

    /// Files were to be deleted and are still there.
    pub(crate) fn kept(&mut self, files: u64) {
        if files == 0 {
            return;
        }
        if self.exit == Exit::Done {
            self.exit = Exit::Skipped;
        }
        // No one has asked for that to be forgiven.
        self.tally.unread += usize::try_from(files).unwrap_or(usize::MAX);
        let say = format!("{} not deleted", count(files, "file"));
        let before = std::mem::take(&mut self.message);
        self.message = if before.is_empty() { say } else { format!("{before}; {say}") };
    }
}

/// Turns a sentence into an end by a wrong command line or configuration.
pub(crate) fn usage(message: String) -> Ending {
    Ending::early(Exit::Usage, message)
}
