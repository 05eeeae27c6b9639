//! tmux with a server of its own, without the user's configuration.

use std::process::Command;
use std::time::Duration;

use super::tame;
use wetstring_testkit::{Within, within};

pub(crate) struct Tmux {
    pub(crate) socket: String,
}

impl Tmux {
    /// Nothing runs until the first command.
    pub(crate) fn new(socket: String) -> Self {
        Self { socket }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket, "-f", "/dev/null"]).args(args);
        tame(&mut command);
        command.env("TERM", "screen").env_remove("TMUX").env("PS1", "ready> ");
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().expect("tmux runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    pub(crate) fn types(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
        self.run(&["send-keys", "Enter"]);
    }

    #[track_caller]
    pub(crate) fn until(&self, what: &str, so: impl Fn(&str) -> bool) {
        let came = within(Duration::from_secs(120), || so(&self.screen()));
        assert_eq!(came, Within::Done, "expected {what}, got {}", self.screen());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}
