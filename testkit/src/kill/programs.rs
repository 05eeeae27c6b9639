//! The programs at the two ends.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::wire::wait;

/// Longest wait for a program to come up, or to end.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// A running `wst`, whose words are in a file.
pub(super) struct Program {
    child: Child,
    said: PathBuf,
    status: Option<ExitStatus>,
}

impl Program {
    /// Starts it; `pipes` is its stdin and stdout.
    pub(super) fn start(
        mut command: Command,
        said: PathBuf,
        pipes: Option<OwnedFd>,
    ) -> Result<Self, String> {
        let file = File::create(&said).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) = file.map_err(|e| format!("{}: {e}", said.display()))?;
        command.env("XDG_CONFIG_HOME", said.with_file_name("config")).stderr(err);
        command.env("XDG_STATE_HOME", "/dev/null/none");
        match pipes {
            None => command.stdin(Stdio::null()).stdout(out),
            Some(pipes) => {
                let other = pipes.try_clone().map_err(|e| e.to_string())?;
                command.stdin(other).stdout(pipes)
            }
        };
        let child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        Ok(Self { child, said, status: None })
    }

    /// Whether it still runs.
    pub(super) fn runs(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_none()
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Stops it for a moment; whether it stands still.
    pub(super) fn stop(&mut self) -> bool {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.child.id());
        wait(LIMIT, Duration::ZERO, || {
            let text = fs::read_to_string(&stat).unwrap_or_default();
            let state = text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
            state.is_none_or(|state| matches!(state, 'T' | 'Z' | 'X'))
        });
        self.runs()
    }

    /// Resumes it.
    pub(super) fn go_on(&mut self) {
        if self.runs() {
            self.signal(Signal::CONT);
        }
    }

    /// Sends it signal 9, by its process id.
    pub(super) fn strike(&mut self) {
        if self.runs() {
            let _ = self.child.kill();
        }
    }

    /// The same, and waits. Whether that is what ended it: one that had ended before has an exit code.
    /// No other process sends it this signal.
    pub(super) fn kill(&mut self) -> bool {
        self.strike();
        if self.status.is_none() {
            self.status = self.child.wait().ok();
        }
        self.status.is_some_and(|status| status.signal() == Some(9))
    }

    /// Waits for its end; its exit code, or why there is none.
    pub(super) fn end(&mut self) -> Result<i32, String> {
        if !wait(LIMIT, Duration::from_millis(1), || !self.runs()) {
            self.kill();
            return Err(format!("did not end within {} s", LIMIT.as_secs()));
        }
        let status = self.status.ok_or("cannot be waited for")?;
        status.code().ok_or_else(|| format!("{status}"))
    }

    /// Its output so far.
    pub(super) fn words(&self) -> String {
        let bytes = fs::read(&self.said).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Its events of a name.
    pub(super) fn events(&self, name: &str) -> Vec<Value> {
        let words = self.words();
        let all = words.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        all.filter(|value| value["event"] == name).collect()
    }

    /// Waits for the address that it listens on.
    pub(super) fn address(&mut self) -> Result<String, String> {
        let mut found = None;
        wait(LIMIT, Duration::from_millis(1), || {
            found = self.events("line").iter().find_map(|event| {
                event["text"].as_str()?.strip_prefix("listening on ").map(str::to_owned)
            });
            found.is_some() || !self.runs()
        });
        let found = found.map(|at| at.split_whitespace().next().unwrap_or_default().to_owned());
        found.ok_or_else(|| format!("expected where it listens, got {}", self.words()))
    }

    /// Waits until it has its line.
    pub(super) fn is_open(&mut self) -> Result<(), String> {
        let opened = wait(LIMIT, Duration::from_millis(1), || {
            !self.events("opened").is_empty() || !self.runs()
        });
        if opened { Ok(()) } else { Err(format!("expected an open line, got {}", self.words())) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.runs() {
            self.kill();
        }
    }
}

/// `wst` with these words.
pub(super) fn wst(program: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words).env("TERM", "dumb").env("NO_COLOR", "1");
    command
}
