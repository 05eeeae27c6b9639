//! Facts about a transfer for scripts, collected beside what the user sees.

use std::time::{Duration, Instant};

use wetstring_drive::Watch;
use wetstring_drive::event::Source;
use wetstring_proto::{Command, Event, Outcome, Stats};
use wetstring_script::world::Report;

use crate::transfer::observer::Observer;

/// What engines report about a transfer, by real or virtual time.
#[derive(Default)]
pub(super) struct TransferInfo {
    agreed: String,
    message: Option<String>,
    /// When the first file began: waiting for the peer does not count in its rate.
    began: Option<Duration>,
    /// A file was offered.
    begun: bool,
    /// Files that were refused or cancelled.
    missed: u64,
    /// Short answers of a server.
    pub(super) replies: Vec<Vec<u8>>,
}

impl TransferInfo {
    /// Records an event at this time after the start.
    pub(super) fn note(&mut self, event: &Event<'_>, at: Duration) {
        match event {
            Event::Negotiated(text) => {
                (*text).clone_into(&mut self.agreed);
                self.began.get_or_insert(at);
            }
            Event::Message(text) => self.message = Some(crate::ui::format::escaped(text)),
            Event::Replied(text) => self.replies.push(text.to_vec()),
            Event::FileStarted { .. } => self.begun = true,
            // A refusal by our own store, by SET FILE COLLISION, is not a failure.
            Event::FileRefused { by_peer: false, .. } => self.begun = true,
            Event::FileRefused { .. } | Event::FileCancelled { .. } => {
                self.begun = true;
                self.missed += 1;
            }
            _ => {}
        }
    }

    /// Records the negotiated parameters.
    pub(super) fn agreed(&self) -> bool {
        !self.agreed.is_empty()
    }

    /// The number after a word of the negotiated parameters.
    fn number(&self, word: &str) -> u32 {
        let rest = self.agreed.split(", ").find_map(|part| part.strip_prefix(word));
        let digits = rest.and_then(|rest| rest.split(' ').next());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// The peer's message, or else ours.
    pub(super) fn trouble(&self, outcome: Outcome) -> String {
        match (&self.message, outcome) {
            (Some(text), _) => format!("the peer says: {text}"),
            (None, Outcome::Failed(failure)) => failure.to_string(),
            (None, Outcome::Done) => format!("{} refused or cancelled", self.missed),
        }
    }

    /// The report, as far as known without the store. `elapsed` is from the first byte to the last.
    pub(super) fn report(&self, outcome: Outcome, stats: &Stats, elapsed: Duration) -> Report {
        let done = outcome == Outcome::Done && self.missed == 0;
        Report {
            done,
            begun: self.begun,
            message: if done { String::new() } else { self.trouble(outcome) },
            files: stats.files_done,
            bytes: stats.file_bytes,
            elapsed: elapsed.saturating_sub(self.began.unwrap_or_default()),
            damaged: stats.damaged,
            timeouts: stats.timeouts,
            repeated: stats.retransmissions,
            streamed: self.agreed.split(", ").any(|word| word == "streaming"),
            window: self.number("window "),
            packet_len: self.number("packets to "),
            ..Report::default()
        }
    }
}

/// A watch that collects this, and shows everything to the user.
pub(super) struct Seen<'a> {
    observer: Observer<'a>,
    began: Instant,
    pub(super) told: TransferInfo,
}

impl<'a> Seen<'a> {
    pub(super) fn new(observer: Observer<'a>) -> Self {
        Self { observer, began: Instant::now(), told: TransferInfo::default() }
    }

    pub(super) fn finish(&mut self) {
        self.observer.finish();
    }
}

impl Watch for Seen<'_> {
    fn event(&mut self, event: &Event<'_>, stats: &Stats) {
        self.told.note(event, self.began.elapsed());
        self.observer.event(event, stats);
    }

    fn port(&mut self, unsent_bytes: u64, asks: bool) {
        self.observer.port(unsent_bytes, asks);
    }

    fn progress(&mut self, stats: &Stats) {
        self.observer.progress(stats);
    }

    fn command(&mut self) -> Option<Command> {
        self.observer.command()
    }

    fn wake(&self) -> Option<Source<'_>> {
        self.observer.wake()
    }
}
