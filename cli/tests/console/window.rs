//! Windows of a user, by tmux: a shell at a host in each, typed into and read as one sees it.

use std::time::{Duration, Instant};

use super::stage::Stage;
use crate::common::tmux::Tmux;

/// Generous, since other tests run beside.
const LIMIT: Duration = Duration::from_secs(120);

/// All windows.
pub(super) struct Windows {
    tmux: Tmux,
    is_up: bool,
}

/// What is in a window, from the first line on to the one with the cursor.
pub(super) struct Screen {
    pub(super) lines: Vec<String>,
}

impl Screen {
    /// The line with the cursor.
    pub(super) fn last(&self) -> &str {
        self.lines.last().map_or("", String::as_str)
    }

    /// The exit code that stands before the prompt of this host, if the last line ends with that.
    pub(super) fn at_prompt(&self, host: &str) -> Option<i32> {
        let name = if host == "here" { "" } else { host };
        let rest = self.last().strip_suffix('$')?.strip_suffix(name)?;
        // Behind what ends without a line end: `login:`, the prompt of a board, Ctrl-C.
        let before = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let code = &rest[before.len()..];
        let ends = [":", "=> ", "^C"];
        let is_it = before.is_empty() || ends.iter().any(|end| before.ends_with(end));
        is_it.then(|| if code.is_empty() { Some(0) } else { code.parse().ok() })?
    }

    /// The lines from this one on, without the last.
    pub(super) fn since(&self, first: usize) -> String {
        let end = self.lines.len().saturating_sub(1);
        self.lines.get(first..end).unwrap_or_default().join("\n")
    }

    /// The same, with the last.
    pub(super) fn all_since(&self, first: usize) -> String {
        self.lines.get(first..).unwrap_or_default().join("\n")
    }
}

impl Windows {
    pub(super) fn new(stage: &Stage) -> Self {
        Self { tmux: Tmux::new(stage.path("tmux.own").display().to_string()), is_up: false }
    }

    /// A new one, with a shell at the host. Its name.
    pub(super) fn open(&mut self, stage: &Stage, host: &str) -> String {
        stage.home(host);
        let at = stage.path("bin").join("at").display().to_string();
        let new: &[&str] = if self.is_up {
            &["new-window", "-d"]
        } else {
            // The limit is that of windows which come later.
            &[
                "start-server",
                ";",
                "set",
                "-g",
                "history-limit",
                "20000",
                ";",
                "new-session",
                "-d",
                "-x",
                "300",
                "-y",
                "60",
            ]
        };
        let print = ["-P", "-F", "#{pane_id}", "--", &at, host];
        let name = self.tmux.run(&[new, &print].concat()).trim().to_owned();
        self.is_up = true;
        self.until(&name, "the prompt", |screen| screen.at_prompt(host).is_some());
        name
    }

    pub(super) fn screen(&self, name: &str) -> Screen {
        let text = self.tmux.run(&[
            "display-message",
            "-p",
            "-t",
            name,
            "#{history_size} #{cursor_y}",
            ";",
            "capture-pane",
            "-p",
            "-S",
            "-",
            "-t",
            name,
        ]);
        let (at, text) = text.split_once('\n').expect("where the cursor is");
        let at: usize = at.split(' ').map(|n| n.parse::<usize>().expect("a number")).sum();
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        lines.resize(at + 1, String::new());
        Screen { lines }
    }

    /// Waits until something is true of it.
    #[track_caller]
    pub(super) fn until(
        &self,
        name: &str,
        what: &str,
        mut so: impl FnMut(&Screen) -> bool,
    ) -> Screen {
        let end = Instant::now() + LIMIT;
        let mut nap = Duration::from_millis(10);
        loop {
            let screen = self.screen(name);
            if so(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "expected {what}, got\n{}", screen.lines.join("\n"));
            std::thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(100));
        }
    }

    /// Types, and waits until that is on the screen. The number of the line that comes next.
    #[track_caller]
    pub(super) fn types(&self, name: &str, text: &str) -> usize {
        self.tmux.run(&["send-keys", "-t", name, "-l", "--", text]);
        let screen = self.until(name, text, |screen| screen.last().ends_with(text.trim_end()));
        self.press(name, "Enter");
        screen.lines.len()
    }

    /// Types what does not show.
    pub(super) fn types_hidden(&self, name: &str, text: &str) {
        self.tmux.run(&["send-keys", "-t", name, "-l", "--", text]);
        self.press(name, "Enter");
    }

    /// Presses a key, by the name that tmux gives it.
    pub(super) fn press(&self, name: &str, key: &str) {
        self.tmux.run(&["send-keys", "-t", name, key]);
    }
}
