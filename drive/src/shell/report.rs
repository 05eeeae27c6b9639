//! Progress of a file in a session, for an observer.

use super::wire::Broken;
use crate::os::process::INT;
use crate::run::Watch;
use std::time::{Duration, Instant};
use wetstring_proto::engine::{Command, Event};
use wetstring_proto::stats::Stats;

/// Time between two reports.
const REPORT: Duration = Duration::from_millis(100);

/// A conversation that counts its bytes.
pub(crate) trait Counted {
    /// Bytes sent and received.
    fn counted(&self) -> (u64, u64);
}

/// Counters, and their observer.
pub(crate) struct Report<'a> {
    pub(crate) watch: &'a mut dyn Watch,
    pub(crate) stats: &'a mut Stats,
    /// What is sent is part of a file.
    pub(super) counts: bool,
    last: Instant,
}

impl<'a> Report<'a> {
    pub(crate) fn new(watch: &'a mut dyn Watch, stats: &'a mut Stats) -> Self {
        Self { watch, stats, counts: true, last: Instant::now() }
    }

    pub(crate) fn event(&mut self, talk: &impl Counted, event: &Event<'_>) {
        (self.stats.wire_out_bytes, self.stats.wire_in_bytes) = talk.counted();
        self.watch.event(event, self.stats);
    }

    /// Shows progress; an error if the user has cancelled.
    pub(crate) fn go_on(&mut self, talk: &impl Counted) -> Result<(), Broken> {
        if self.last.elapsed() < REPORT {
            return Ok(());
        }
        self.last = Instant::now();
        (self.stats.wire_out_bytes, self.stats.wire_in_bytes) = talk.counted();
        self.watch.port(0, false);
        self.watch.progress(self.stats);
        match self.watch.command() {
            // No peer of a conversation can be told to skip a file.
            Some(Command::Abort | Command::CancelFile | Command::CancelBatch) => {
                Err(Broken::Interrupted(INT))
            }
            _ => Ok(()),
        }
    }
}
