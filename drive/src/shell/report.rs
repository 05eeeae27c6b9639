//! How a file through a shell goes, for whoever watches.

use super::talk::Talk;
use super::wire::Broken;
use crate::os::process::INT;
use crate::run::Watch;
use std::time::{Duration, Instant};
use wetstring_proto::engine::{Command, Event};
use wetstring_proto::stats::Stats;

/// Time between two reports.
const REPORT: Duration = Duration::from_millis(100);
/// Counters, and who wants to know.
pub(super) struct Report<'a> {
    pub(super) watch: &'a mut dyn Watch,
    pub(super) stats: &'a mut Stats,
    /// What is sent is part of a file.
    pub(super) counts: bool,
    last: Instant,
}

impl<'a> Report<'a> {
    pub(super) fn new(watch: &'a mut dyn Watch, stats: &'a mut Stats) -> Self {
        Self { watch, stats, counts: true, last: Instant::now() }
    }

    pub(super) fn event(&mut self, talk: &Talk<'_>, event: &Event<'_>) {
        (self.stats.wire_out_bytes, self.stats.wire_in_bytes) = (talk.sent, talk.heard);
        self.watch.event(event, self.stats);
    }

    /// Shows how it goes; an error if the user wants no more.
    pub(super) fn go_on(&mut self, talk: &Talk<'_>) -> Result<(), Broken> {
        if self.last.elapsed() < REPORT {
            return Ok(());
        }
        self.last = Instant::now();
        (self.stats.wire_out_bytes, self.stats.wire_in_bytes) = (talk.sent, talk.heard);
        self.watch.port(0, false);
        self.watch.progress(self.stats);
        match self.watch.command() {
            Some(Command::Abort) => Err(Broken::Interrupted(INT)),
            _ => Ok(()),
        }
    }
}
