//! Progress of many runs: a bar on a terminal, a plain line every few seconds elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::format;
use crate::ui::output::{Level, Output, can_redraw};

/// Interval of progress lines where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// Counts finished runs.
pub(super) struct Count<'a> {
    ui: &'a Output,
    bar: Option<ProgressBar>,
    what: &'static str,
    done: usize,
    all: usize,
    began: Instant,
    said: Instant,
}

impl<'a> Count<'a> {
    /// Of this many runs, none is finished.
    pub(super) fn new(ui: &'a Output, what: &'static str, all: usize) -> Self {
        let now = Instant::now();
        let bar = (can_redraw() && ui.shows_progress() && all > 0).then(|| {
            let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        ui.beside(bar.clone());
        Self { ui, bar, what, done: 0, all, began: now, said: now }
    }

    /// One more is finished.
    pub(super) fn add(&mut self) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
            bar.set_message(self.words());
        } else if self.ui.shows_progress() && self.is_due() {
            self.said = Instant::now();
            self.ui.say(Level::Note, &self.words());
        }
    }

    /// Whether to say again how far it is. That all are done is said by what they were for.
    fn is_due(&self) -> bool {
        self.done < self.all && self.said.elapsed() >= PLAIN_EVERY
    }

    fn words(&self) -> String {
        let elapsed = self.began.elapsed();
        let left = elapsed.mul_f64((self.all - self.done.min(self.all)) as f64 / self.done as f64);
        let left = if self.done < self.all {
            format!(", {} left", format::time(left))
        } else {
            String::new()
        };
        format!("{} of {} {}{left}", self.done, self.all, self.what)
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            self.ui.beside(None);
        }
    }
}
