//! Two people with keys, of whom one lets the other in.

use std::process::Command;

use super::{Running, run, wst};

/// A listener's folder of keys (`theirs`), and a sender's that it lets in (`ours`). The sender does not know the
/// listener yet.
pub(crate) struct Friends {
    pub(crate) ours: tempfile::TempDir,
    pub(crate) theirs: tempfile::TempDir,
}

impl Friends {
    pub(crate) fn new() -> Self {
        let [ours, theirs] = [(), ()].map(|()| tempfile::tempdir().expect("a directory"));
        let friends = Self { ours, theirs };
        let shown = run(friends.ours(&["key", "show"]));
        run(friends.theirs(&["key", "trust", shown.expect(0).stdout.trim()])).expect(0);
        friends
    }

    pub(crate) fn ours(&self, args: &[&str]) -> Command {
        let mut command = wst(args);
        command.env("XDG_CONFIG_HOME", self.ours.path());
        command
    }

    pub(crate) fn theirs(&self, args: &[&str]) -> Command {
        let mut command = wst(args);
        command.env("XDG_CONFIG_HOME", self.theirs.path());
        command
    }

    /// A listener that stores below `into`, and the line that leads to it.
    pub(crate) fn listen(&self, into: &str, flags: &[&str]) -> (Running, String) {
        let mut args = vec!["receive", "udp-listen://127.0.0.1:0", "-o", into];
        args.extend(flags);
        let running = Running::start(self.theirs(&args));
        let line = format!("udp://{}", running.says("listening on "));
        (running, line)
    }
}
