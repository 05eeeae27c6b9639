//! A transfer without an engine: the observer of the session, and its result.

use std::time::Instant;

use wetstring_drive::shell::Broken;
use wetstring_drive::{Ended, Signals};
use wetstring_proto::{Blame, Failure, FailureKind, Outcome, Stats, StoreError};

use crate::transfer::direction::Direction;
use crate::transfer::observer::Observer;
use crate::transfer::store::FileStore;
use crate::transfer::verdict::Verdict;
use crate::ui::ending::Ending;
use crate::ui::exit::{Exit, LineKind};
use crate::ui::output::Output;

/// A conversation that has begun.
pub(crate) struct Talked<'a> {
    ui: &'a Output,
    signals: &'a Signals,
    direction: Direction,
    medium: LineKind,
    began: Instant,
    observer: Observer<'a>,
    stats: Stats,
}

impl<'a> Talked<'a> {
    /// It begins now, on a line of this rate.
    pub(crate) fn begin(
        ui: &'a Output,
        signals: &'a Signals,
        direction: Direction,
        rate_bps: Option<u32>,
    ) -> Self {
        Self {
            ui,
            signals,
            direction,
            medium: LineKind::Connection,
            began: Instant::now(),
            observer: Observer::new(ui, direction, rate_bps),
            stats: Stats::default(),
        }
    }

    /// The line is of this kind, if it is no connection.
    pub(crate) fn behind(self, medium: LineKind) -> Self {
        Self { medium, ..self }
    }

    /// The user's keys cancel it.
    pub(crate) fn listen(self) -> Self {
        Self { observer: self.observer.listen(true), ..self }
    }

    /// Who watches, and the counters.
    pub(crate) fn watched(&mut self) -> (&mut Observer<'a>, &mut Stats) {
        (&mut self.observer, &mut self.stats)
    }

    /// It is over.
    pub(crate) fn end(mut self, file_store: &FileStore, result: Result<(), Broken>) -> Ending {
        self.observer.finish();
        let ended = Ended {
            outcome: result.as_ref().map_or_else(outcome, |()| Outcome::Done),
            stats: self.stats,
            leftover: Vec::new(),
            elapsed: self.began.elapsed(),
            interrupted: self.signals.last(),
            error: None,
        };
        let verdict = Verdict {
            ui: self.ui,
            direction: self.direction,
            file_store,
            unnamed: &[],
            medium: self.medium,
        };
        verdict.report_records(false, &ended);
        let mut ending = verdict.conclude(&ended, &self.observer);
        if let Err(broken) = result {
            let own = matches!(broken, Broken::Store(_)).then(|| file_store.last_error());
            let by_key = matches!(broken, Broken::Interrupted(_)) && ended.interrupted.is_none();
            if !by_key {
                ending.message = own.flatten().map_or_else(|| broken.to_string(), str::to_owned);
            }
            if matches!(broken, Broken::Refused(_)) {
                ending.exit = Exit::Skipped;
            }
        }
        ending
    }
}

fn outcome(broken: &Broken) -> Outcome {
    let (blame, kind) = match broken {
        Broken::Line(_) | Broken::Lost => (Blame::Line, FailureKind::Closed),
        Broken::Silence { .. } => (Blame::Peer, FailureKind::Silence),
        Broken::Peer { .. } => (Blame::Peer, FailureKind::Violation),
        Broken::Missing(_) => (Blame::Peer, FailureKind::Unsupported),
        Broken::Differs { .. } => (Blame::Line, FailureKind::DigestDiffers),
        Broken::Refused(_) => (Blame::Peer, FailureKind::Unsupported),
        Broken::Said(_) => (Blame::Peer, FailureKind::PeerError),
        Broken::Store(_) => (Blame::Store, FailureKind::Store(StoreError::Io)),
        Broken::Interrupted(_) => (Blame::Local, FailureKind::Aborted),
    };
    Outcome::Failed(Failure { blame, kind })
}
