//! Output of the program: messages on stderr, NDJSON on stdout, and a log.
//!
//! If the line is this process's own stdin and stdout, the protocol owns them. Then NDJSON goes
//! to stderr, and nothing is printed if stderr is the same terminal as the line.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;

use indicatif::ProgressBar;
use wetstring_events::{End, Event, Summary};

use crate::ui::exit::Exit;
use std::path::Path;
use wetstring_drive::in_words;
use wetstring_drive::os::files::terminal;

/// The level of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Printed even with `--quiet`.
    Error,
    /// Printed unless `--quiet`.
    Note,
    /// Printed with `-v`.
    Detail,
    /// Printed with `-vv`.
    Packet,
}

/// Prints messages and events. One for the whole program; methods take `&self` so that a trace and a watch can
/// share it.
pub(crate) struct Output {
    inner: RefCell<Inner>,
}

struct Inner {
    json: bool,
    most: Level,
    log: Option<File>,
    bar: Option<ProgressBar>,
    /// The protocol owns stdout.
    line_is_stdio: bool,
    /// stderr is the same terminal as the line.
    silent: bool,
    ended: bool,
}

impl Output {
    /// Output for an invalid command line.
    pub(crate) fn bare(json: bool) -> Self {
        Self {
            inner: RefCell::new(Inner {
                json,
                most: Level::Note,
                log: None,
                bar: None,
                line_is_stdio: false,
                silent: false,
                ended: false,
            }),
        }
    }

    /// Discards all output.
    pub(crate) fn silent() -> Self {
        let ui = Self::bare(false);
        let mut inner = ui.inner.borrow_mut();
        inner.most = Level::Error;
        inner.silent = true;
        drop(inner);
        ui
    }

    /// Output as the flags require.
    pub(crate) fn new(
        json: bool,
        quiet: bool,
        verbose: u8,
        log: Option<&Path>,
    ) -> Result<Self, String> {
        let ui = Self::bare(json);
        let open = |path: &Path| {
            let file = File::options().create(true).append(true).open(path);
            file.map_err(|e| format!("could not open the log {}: {}", path.display(), in_words(&e)))
        };
        let mut inner = ui.inner.borrow_mut();
        inner.log = log.map(open).transpose()?;
        inner.most = match (quiet, verbose) {
            (true, _) => Level::Error,
            (false, 0) => Level::Note,
            (false, 1) => Level::Detail,
            (false, _) => Level::Packet,
        };
        drop(inner);
        Ok(ui)
    }

    /// From now on the protocol owns stdin and stdout.
    pub(crate) fn line_is_stdio(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.line_is_stdio = true;
        let stderr = terminal(&std::io::stderr());
        let line = [terminal(&std::io::stdin()), terminal(&std::io::stdout())];
        inner.silent = stderr.is_some() && line.contains(&stderr);
    }

    /// The protocol has ended, and terminals are restored: messages are allowed again.
    pub(crate) fn line_is_over(&self) {
        self.inner.borrow_mut().silent = false;
    }

    /// Whether a message of this level is written anywhere.
    pub(crate) fn hears(&self, level: Level) -> bool {
        let inner = self.inner.borrow();
        level <= inner.most && (!inner.silent || inner.log.is_some())
    }

    /// Whether progress is shown.
    pub(crate) fn shows_progress(&self) -> bool {
        let inner = self.inner.borrow();
        inner.most >= Level::Note && !inner.silent
    }

    /// Prints a message. The text must be safe to show.
    pub(crate) fn say(&self, level: Level, text: &str) {
        let inner = &mut *self.inner.borrow_mut();
        if level > inner.most {
            return;
        }
        if let Some(log) = &mut inner.log {
            // There is nowhere left to report a failed log.
            let _ = writeln!(log, "{text}");
        }
        if inner.silent {
            return;
        }
        let show = || {
            let _ = writeln!(std::io::stderr(), "{text}");
        };
        match &inner.bar {
            Some(bar) => bar.suspend(show),
            None => show(),
        }
    }

    /// Prints messages above a bar; `None` once the bar is gone.
    pub(crate) fn beside(&self, bar: Option<ProgressBar>) {
        self.inner.borrow_mut().bar = bar;
    }

    /// Whether events are written at all.
    pub(crate) fn has_json(&self) -> bool {
        self.inner.borrow().json
    }

    /// Writes an event.
    pub(crate) fn event(&self, event: Event) {
        let inner = self.inner.borrow();
        if !inner.json || inner.ended {
            return;
        }
        let line = format!("{}\n", event.line());
        // A reader that is gone must not stop a transfer.
        if !inner.line_is_stdio {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(line.as_bytes());
            let _ = out.flush();
        } else if !inner.silent {
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Prints a result on stdout; on stderr if stdout is the line.
    pub(crate) fn print(&self, text: &str) {
        let inner = self.inner.borrow();
        if !inner.line_is_stdio {
            print(text);
        } else if !inner.silent {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }

    /// Writes the last event, once.
    pub(crate) fn end(&self, exit: Exit, message: &str, summary: Option<Summary>) {
        let outcome = match &summary {
            Some(Summary::Comparison(compared)) => compared.word(),
            _ => exit.word(),
        };
        let message = message.to_owned();
        self.event(Event::End(Box::new(End { exit: exit as u8, outcome, message, summary })));
        self.inner.borrow_mut().ended = true;
    }
}

/// Whether a terminal on stderr can redraw a line.
pub(crate) fn can_redraw() -> bool {
    let dumb = match std::env::var_os("TERM") {
        None => wetstring_drive::terminal::HAVE_NAMES,
        Some(term) => term.is_empty() || term == "dumb",
    };
    console::Term::stderr().is_term() && !dumb
}

/// Begins a clean line on the terminal, where packets that no peer has taken stay on the screen.
pub(crate) fn clean_line() {
    if terminal(&std::io::stderr()).is_some() {
        let clean = if can_redraw() { "\r\x1b[K" } else { "\n" };
        let _ = std::io::stderr().write_all(clean.as_bytes());
    }
}

/// Writes data to stdout. A reader that closes the pipe (`head`) is not an error.
pub(crate) fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
