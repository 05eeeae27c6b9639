//! The result row of a point.

use crate::element::End;
use crate::scenario::Outcome;
use std::fmt::Write as _;

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// A number, with decimals or without; empty where there is none.
    Number,
    /// `true` or `false`.
    Flag,
}

/// A column of the results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name: a range's name, or one of those below.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
}

/// Columns before the ranges: the digest of the sweep and the number of the point.
pub(super) const BEFORE: [(&str, Kind); 2] = [("sweep", Kind::Text), ("point", Kind::Number)];

/// Columns after the ranges.
///
/// | column | meaning |
/// |---|---|
/// | `done` | whether the file arrived as it was |
/// | `ending` | `done`, or what went wrong |
/// | `bytes` | file bytes |
/// | `elapsed_ns` | from the start to when both ends knew the outcome |
/// | `cps` | file bytes per second; empty unless done, as the next two |
/// | `limit_cps` | what the line can carry; empty if it takes no time |
/// | `efficiency` | `cps` in percent of `limit_cps` |
/// | `packets` | packets that both ends sent |
/// | `retransmissions` | packets that both ends sent again |
/// | `naks` | requests to send again, of both ends |
/// | `timeouts` | timers that ran out at both ends |
/// | `damaged` | packets that both ends found damaged |
/// | `wire_bytes` | what the line took from the sender |
/// | `wire_bytes_back` | what it took from the receiver |
/// | `busy` | share of the time in which the sender's direction carried bits, in percent |
/// | `events` | moments of the run |
/// | `echo_ms`, `echo_p90_ms` | half of what was typed was echoed within this time, and nine of ten; empty without interactive traffic |
/// | `ack_bytes` | bytes of a SLIP line for an acknowledgement; empty elsewhere |
pub(super) const BEHIND: [(&str, Kind); 19] = [
    ("done", Kind::Flag),
    ("ending", Kind::Text),
    ("bytes", Kind::Number),
    ("elapsed_ns", Kind::Number),
    ("cps", Kind::Number),
    ("limit_cps", Kind::Number),
    ("efficiency", Kind::Number),
    ("packets", Kind::Number),
    ("retransmissions", Kind::Number),
    ("naks", Kind::Number),
    ("timeouts", Kind::Number),
    ("damaged", Kind::Number),
    ("wire_bytes", Kind::Number),
    ("wire_bytes_back", Kind::Number),
    ("busy", Kind::Number),
    ("events", Kind::Number),
    ("echo_ms", Kind::Number),
    ("echo_p90_ms", Kind::Number),
    ("ack_bytes", Kind::Number),
];

/// Names that a range cannot have.
pub(super) fn reserved() -> Vec<&'static str> {
    BEFORE.iter().chain(&BEHIND).map(|(name, _)| *name).collect()
}

/// All columns, with these ranges and whether each has numbers only.
pub(super) fn columns<'a>(ranges: impl Iterator<Item = (&'a str, bool)>) -> Vec<Column> {
    let fixed = |(name, kind): &(&str, Kind)| Column { name: (*name).to_owned(), kind: *kind };
    let mut columns: Vec<Column> = BEFORE.iter().map(fixed).collect();
    columns.extend(ranges.map(|(name, numbers)| Column {
        name: name.to_owned(),
        kind: if numbers { Kind::Number } else { Kind::Text },
    }));
    columns.extend(BEHIND.iter().map(fixed));
    columns
}

/// The result of one point: a text for each column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Number of the point, from 0.
    pub point: usize,
    /// The values, in the order of [`super::Sweep::columns`].
    pub values: Vec<String>,
}

pub(super) fn row(digest: u64, point: usize, ranges: &[&str], outcome: &Outcome) -> Row {
    let done = outcome.is_done();
    let [a, b] = outcome.report.sides.map(|side| side.stats);
    let [forward, back] = outcome.report.sides.map(|side| side.usage);
    let nanos = outcome.elapsed.as_nanos();
    let idle = u128::from(outcome.report.idle_ns(End::A));
    let busy = (nanos.saturating_sub(idle) * 100_000).checked_div(nanos).unwrap_or(0);
    let limit = outcome.limit_millicps;
    let share = limit.filter(|_| done).map(|limit| outcome.efficiency(limit));
    let echoes = outcome.echoes.filter(|echoes| echoes.echoed > 0);
    let ack = outcome.ledgers.and_then(|[_, back]| back.ack_millibytes());
    let mut values = vec![format!("{digest:016x}"), point.to_string()];
    values.extend(ranges.iter().map(|value| (*value).to_owned()));
    values.extend([
        done.to_string(),
        outcome.ending.to_string(),
        outcome.bytes.to_string(),
        nanos.to_string(),
        thousandths(done.then(|| outcome.millicps())),
        thousandths(limit),
        thousandths(share),
        (a.packets_out + b.packets_out).to_string(),
        outcome.retransmissions().to_string(),
        (a.naks_out + b.naks_out).to_string(),
        (a.timeouts + b.timeouts).to_string(),
        (a.damaged + b.damaged).to_string(),
        forward.bytes_in.to_string(),
        back.bytes_in.to_string(),
        thousandths(u64::try_from(busy).ok()),
        outcome.report.events.to_string(),
        thousandths(echoes.map(|echoes| echoes.median_ns / 1000)),
        thousandths(echoes.map(|echoes| echoes.p90_ns / 1000)),
        thousandths(ack),
    ]);
    Row { point, values }
}

/// With three decimals, or as few as it takes; empty for nothing.
fn thousandths(value: Option<u64>) -> String {
    let Some(value) = value else { return String::new() };
    let mut text = (value / 1000).to_string();
    if value % 1000 != 0 {
        let _ = write!(text, ".{:03}", value % 1000);
        text.truncate(text.trim_end_matches('0').len());
    }
    text
}
