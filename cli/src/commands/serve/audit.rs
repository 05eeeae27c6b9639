//! What a server says of its clients: to the person on stderr, and to a log.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use wetstring_drive::in_words;
use wetstring_drive::serve::Audit;

use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::escaped;

/// Takes what the sessions note, each in a thread of its own.
pub(crate) struct Told {
    /// A line for each action, with date and time.
    log: Option<Mutex<File>>,
    /// What goes to stderr.
    aloud: Aloud,
}

/// How much of it a person is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Aloud {
    /// Nothing: `--quiet`, or stderr is the line.
    Nothing,
    /// Who comes and who goes.
    Clients,
    /// What they do, too.
    Actions,
}

impl Told {
    /// Notes go to a log, if there is one, and aloud.
    pub(crate) fn new(log: Option<&Path>, aloud: Aloud) -> Result<Self, Ending> {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path).map_err(|e| {
                let name = escaped(path.as_os_str().as_bytes());
                let say = format!("could not write the log {name}: {}", in_words(&e));
                Ending::early(Exit::Store, say)
            })?;
            Ok::<_, Ending>(Mutex::new(file))
        };
        Ok(Self { log: log.map(open).transpose()?, aloud })
    }
}

impl Audit for Told {
    fn note(&self, line: &str) {
        if let Some(log) = &self.log {
            let now = wetstring_drive::zone::stamp();
            let mut file = log.lock().unwrap_or_else(PoisonError::into_inner);
            // One write, so that lines stay whole whoever else appends.
            let _ = file.write_all(format!("{now} {line}\n").as_bytes());
        }
        let least = if comes_or_goes(line) { Aloud::Clients } else { Aloud::Actions };
        if self.aloud >= least {
            let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// Whether a note is of a whole session: its second word says so.
fn comes_or_goes(line: &str) -> bool {
    matches!(line.split(' ').nth(1), Some("connect:" | "disconnect:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_and_goes_is_told_from_what_is_done() {
        assert!(comes_or_goes("127.0.0.1:4711 connect: done"));
        assert!(comes_or_goes("127.0.0.1:4711 disconnect: done, the client hung up"));
        assert!(!comes_or_goes("127.0.0.1:4711 user=- get connect: done, 3 bytes"));
        assert!(Aloud::Nothing < Aloud::Clients && Aloud::Clients < Aloud::Actions);
    }
}
