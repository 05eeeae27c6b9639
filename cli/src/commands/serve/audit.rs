//! The audit of a server's clients: on stderr, and in a log.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use wetstring_drive::in_words;
use wetstring_drive::serve::Audit;

use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::shown;

/// Collects the notes of the sessions, each in a thread of its own.
pub(crate) struct AuditLog {
    /// A line for each action, with date and time.
    log: Option<Mutex<File>>,
    /// What is printed on stderr.
    aloud: Verbosity,
}

/// How much is printed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verbosity {
    /// Nothing: `--quiet`, or stderr is the line.
    Nothing,
    /// Connections and disconnections.
    Clients,
    /// Also their actions.
    Actions,
}

impl AuditLog {
    /// Notes go to a log, if there is one, and to stderr.
    pub(crate) fn new(log: Option<&Path>, aloud: Verbosity) -> Result<Self, Ending> {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path).map_err(|e| {
                let name = shown(path.as_os_str());
                let say = format!("could not write the log {name}: {}", in_words(&e));
                Ending::early(Exit::Store, say)
            })?;
            Ok::<_, Ending>(Mutex::new(file))
        };
        Ok(Self { log: log.map(open).transpose()?, aloud })
    }
}

impl Audit for AuditLog {
    fn note(&self, line: &str) {
        if let Some(log) = &self.log {
            let now = wetstring_drive::zone::stamp();
            let mut file = log.lock().unwrap_or_else(PoisonError::into_inner);
            // A single write, so that lines stay whole if others append too.
            let _ = file.write_all(format!("{now} {line}\n").as_bytes());
        }
        let least = if is_connection(line) { Verbosity::Clients } else { Verbosity::Actions };
        if self.aloud >= least {
            let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// Whether a note is about a whole session, by its second word.
fn is_connection(line: &str) -> bool {
    matches!(line.split(' ').nth(1), Some("connect:" | "disconnect:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_told_apart_from_actions() {
        assert!(is_connection("127.0.0.1:4711 connect: done"));
        assert!(is_connection("127.0.0.1:4711 disconnect: done, the client hung up"));
        assert!(!is_connection("127.0.0.1:4711 user=- get connect: done, 3 bytes"));
        assert!(Verbosity::Nothing < Verbosity::Clients && Verbosity::Clients < Verbosity::Actions);
    }
}
