//! What a script may want to know of a transfer, seen beside what the person sees.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use wetstring_drive::Watch;
use wetstring_proto::{Command, Event, Stats};

use crate::voice::Voice;
use crate::watch::{Observer, Way};

/// A watch that keeps what was agreed on, and shows everything to the person too.
pub(super) struct Seen<'a> {
    observer: Observer<'a>,
    agreed: String,
    message: Option<String>,
    /// When the first file began: waiting for the other end is no part of its rate.
    began: Option<Instant>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(voice: &'a Voice, way: Way, rate_bps: Option<u32>) -> Self {
        let observer = Observer::new(voice, way, rate_bps);
        Self { observer, agreed: String::new(), message: None, began: None }
    }

    pub(super) fn finish(&mut self) {
        self.observer.finish();
    }

    /// Files that did not come through.
    pub(super) fn missed(&self) -> u64 {
        self.observer.missed
    }

    pub(super) fn streamed(&self) -> bool {
        self.agreed.split(", ").any(|word| word == "streaming")
    }

    /// A number behind a word of the agreement.
    pub(super) fn number(&self, word: &str) -> u32 {
        let rest = self.agreed.split(", ").find_map(|part| part.strip_prefix(word));
        let digits = rest.and_then(|rest| rest.split(' ').next());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// What the other end said, or else this.
    pub(super) fn words(&self, otherwise: &str) -> String {
        self.message.clone().unwrap_or_else(|| otherwise.to_owned())
    }

    /// How long the files took, of all that time.
    pub(super) fn elapsed(&self, all: Duration) -> Duration {
        self.began.map_or(all, |began| began.elapsed().min(all))
    }
}

impl Watch for Seen<'_> {
    fn event(&mut self, event: &Event<'_>, stats: &Stats) {
        match event {
            Event::Negotiated(text) => {
                (*text).clone_into(&mut self.agreed);
                self.began.get_or_insert_with(Instant::now);
            }
            Event::Message(text) => self.message = Some(crate::words::escaped(text)),
            _ => {}
        }
        self.observer.event(event, stats);
    }

    fn progress(&mut self, stats: &Stats) {
        self.observer.progress(stats);
    }

    fn command(&mut self) -> Option<Command> {
        self.observer.command()
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.observer.wake()
    }
}
