//! The account of a file over TCP over a SLIP line, from the line's counters.
//!
//! There is no engine of ours to trace: the line reports at the end what it carried (see
//! [`crate::slip::ledger`]). The bytes from the sender divide the time for which it carried them; two modems
//! with turns have reported the rest of their channel's time, and of any other line the rest was idle: the
//! sender waited for acknowledgements.

use super::budget::{Budget, Part};
use super::log::Log;

/// A session in a trace.
#[derive(Clone, Copy)]
pub(super) struct Session {
    pub(super) elapsed: u64,
    pub(super) file: u64,
    pub(super) budget: Budget,
}

/// Reads the counters of a direction.
struct Counters<'a> {
    log: &'a Log,
    suffix: &'static str,
}

impl Counters<'_> {
    fn of(&self, name: &str) -> u64 {
        let name = format!("{name}{}", self.suffix);
        self.log.counter(&name).unwrap_or(0)
    }
}

/// The session of this trace, if it is of one.
pub(super) fn of(log: &Log) -> Option<Session> {
    let elapsed = log.counter("elapsed").filter(|ns| *ns > 0)?;
    let file = log.counter("file")?;
    let (ours, theirs) = (Counters { log, suffix: "_fwd" }, Counters { log, suffix: "_rev" });
    let modems = ours.of("filled") > 0;
    let mut budget = Budget::default();
    let carried = if modems { ours.of("filled") } else { ours.of("busy").min(elapsed) };
    divide(&mut budget, carried, file, &ours);
    if modems {
        channel(&mut budget, &ours, &theirs);
    }
    // Anything begun and not ended when the last byte arrives.
    budget
        .trim(elapsed, &[Part::OtherSide, Part::Acknowledgement, Part::TurnAround, Part::Unfilled]);
    let rest = elapsed.saturating_sub(budget.total());
    budget.add(if modems { Part::Idle } else { Part::Acknowledgement }, rest);
    Some(Session { elapsed, file, budget })
}

/// Divides the time for which the line carried the sender's bytes.
fn divide(budget: &mut Budget, ns: u64, file: u64, ours: &Counters<'_>) {
    let data = ours.of("data");
    let again = data.saturating_sub(file);
    let seen = data + ours.of("head") + ours.of("ack") + ours.of("typed") + ours.of("other");
    let line = ours.of("line").max(seen);
    let weights = [
        (Part::Payload, data - again),
        (Part::Timeout, again),
        (Part::Typing, ours.of("typed")),
        // Bytes that did not form a packet.
        (Part::Damage, line - seen),
    ];
    budget.divide(ns, &weights, line, Part::Framing);
}

/// The rest of a channel that two modems share in turns.
fn channel(budget: &mut Budget, ours: &Counters<'_>, theirs: &Counters<'_>) {
    budget.add(Part::Unfilled, ours.of("unfilled"));
    budget.add(Part::Damage, ours.of("again") + theirs.of("again"));
    let turns = ["gap", "calibrate"].map(|name| ours.of(name) + theirs.of(name));
    budget.add(Part::TurnAround, turns[0] + turns[1]);
    // The sender's modem had the turn, and nothing to send.
    budget.add(Part::Acknowledgement, ours.of("empty"));
    let (line, typed) = (theirs.of("line").max(1), theirs.of("typed"));
    let answers = theirs.of("filled") + theirs.of("unfilled");
    budget.divide(answers, &[(Part::Typing, typed)], line, Part::OtherSide);
    budget.add(Part::OtherSide, theirs.of("empty"));
}
