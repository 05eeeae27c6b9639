//! Where the time of a transfer went, what limited it, and what would help.
//!
//! ```text
//! trace -> lines -> who sent, who received -> the line's clock -> budget -> bottleneck
//!                                 \-> scenario -> replays with one setting changed -> advice
//! ```
//!
//! An account is made from a trace alone, be it of a run in the laboratory, which has both ends and the
//! elements between, or of one end of a real transfer. Every nanosecond from the start to the time at which the
//! outcome was fixed belongs to exactly one [`Part`]; `docs/reference/explain.md` says what each means and
//! how it is determined.
//!
//! # What a trace has
//!
//! The events of the engines ([`wetstring_proto::TraceEvent`]), named `A` and `B` or `sender` and `receiver`;
//! `settled` when an outcome is fixed, `stats` at the end. A run describes itself, as `run`: `protocol`, `way`,
//! `scenario`, `millicps`, `rate_bps`, `reliable`, `recorded`, `set`, `path`, `directory`,
//! `bytes`. Elements report, as
//! `line`, with `_fwd` for the direction from A and `_rev` for the other:
//!
//! | value | meaning |
//! |---|---|
//! | `turn_fwd=NS` | a half duplex line is being turned to this direction, duration |
//! | `held_fwd=1`, `held_fwd=0` | flow control stops this direction; it continues |
//! | `overrun_fwd=N` | characters were lost in front of a computer that did not read them in time |
//! | `think_a=NS` | the computer at end A is busy, or asleep with work pending, duration |
//! | `disk_a=NS` | of that, it waits for its disk |
//! | `take_fwd=N` | the IMP at A begins to take a message of N octets from its host |
//! | `wire_fwd=NS`, `bits_fwd=NS`, `vain_fwd=NS` | the ARPANET's line from the IMP at A carries a packet, duration; of that a message's bits, or all of it wasted |
//!
//! Two hosts of the ARPANET report, as `ftp`, `begun` and `done` of their files. A SLIP line reports, as
//! `slip`, its counters at the end of a run ([`crate::slip::ledger`]). Anything else is skipped.

mod advice;
mod anonymise;
mod bottleneck;
mod budget;
mod cause;
mod changes;
mod clock;
mod content;
mod estimate;
mod failure;
mod line;
mod line_advice;
mod log;
mod mechanisms;
mod ncp;
mod page;
mod passage;
mod picture;
mod piece;
mod receiving;
mod replay;
mod sending;
mod session;
mod table;

pub use advice::{Advice, At, Change, NoAdvice, Trial};
pub use anonymise::anonymise;
pub use budget::{Budget, Part};
pub use cause::{Cause, Cost};
pub use failure::{Failed, Step, Trouble};
pub use line::BadTrace;

pub(crate) use picture::Packet;

use crate::scenario::{BadScenario, Scenario};
use clock::Rate;
use estimate::{Estimate, Known};
use log::{Log, Side};
use wetstring_proto::{Instant, TraceEvent};

/// Which ends of the transfer a trace covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Both.
    Both,
    /// Only the sender.
    Sender,
    /// Only the receiver.
    Receiver,
}

/// How the rate of the line is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateSource {
    /// From the trace.
    Told,
    /// Given by the caller.
    Given,
    /// The best that was measured; the line may be faster.
    Measured,
    /// Too fast to be measured: its time is taken as zero.
    Unseen,
    /// The port's rate. The rate of the line behind it was not visible.
    Port,
    /// Unknown: the line's time is taken as zero, and counts as waiting.
    Unknown,
}

/// Where the time of a transfer went.
#[derive(Clone, Debug)]
pub struct Account {
    /// The parts.
    pub budget: Budget,
    /// From the start to the time at which every outcome was fixed, in nanoseconds.
    pub elapsed_ns: u64,
    /// The ends it covers.
    pub ends: Ends,
    /// The line's rate in the direction of the data, in characters per 1000 s, if it takes any time.
    pub millicps: Option<u64>,
    /// How that is known.
    pub rate_source: RateSource,
    /// File bytes moved, each counted once.
    pub file_bytes: u64,
    /// The protocol, if the trace has it.
    pub protocol: Option<String>,
    log: Log,
    estimate: Estimate,
}

impl Account {
    /// The account of a trace. `millicps` is the line's rate, in characters per 1000 s, if it is known better
    /// than from the trace.
    pub fn read<'a>(
        lines: impl Iterator<Item = &'a str>,
        millicps: Option<u64>,
    ) -> Result<Self, BadTrace> {
        let log = Log::read(lines)?;
        let told = told_rate(&log);
        if let Some(session) = session::of(&log) {
            return Ok(Self::of_session(session, log, millicps.or(told.filter(|rate| *rate > 0))));
        }
        if let Some(budget) = ncp::of(&log) {
            let file = log.sender.as_ref().and_then(Side::file_bytes).unwrap_or(0);
            let session = session::Session { elapsed: log.end, file, budget };
            return Ok(Self::of_session(session, log, millicps.or(told.filter(|rate| *rate > 0))));
        }
        let known = millicps.or(told.filter(|rate| *rate > 0));
        let takes_no_time = millicps.is_none() && told == Some(0);
        let ends = match (&log.sender, &log.receiver) {
            (Some(_), Some(_)) => Ends::Both,
            (_, None) => Ends::Sender,
            (None, _) => Ends::Receiver,
        };
        let trust = match known {
            Some(rate) if millicps.is_none() && carried_more(&log, rate) => Known::No,
            Some(rate) if millicps.is_none() && ends != Ends::Both => Known::Port(rate),
            Some(rate) => Known::Sure(rate),
            None => Known::No,
        };
        let estimate = match (&log.sender, &log.receiver) {
            (Some(sender), _) => estimate::of_sender(sender, trust),
            (None, Some(receiver)) => estimate::of_receiver(receiver, trust),
            (None, None) => Estimate::default(),
        };
        let given = millicps.is_some();
        let millicps = estimate.millicps.filter(|_| !takes_no_time);
        let rate_source = match millicps {
            None if takes_no_time => RateSource::Told,
            None if estimate.nothing_seen => RateSource::Unknown,
            None => RateSource::Unseen,
            Some(_) if estimate.nothing_seen => RateSource::Port,
            _ if given => RateSource::Given,
            Some(_) if millicps == known => RateSource::Told,
            Some(_) => RateSource::Measured,
        };
        let rate = Rate { millicps };
        let budget = match (&log.sender, &log.receiver) {
            (Some(sender), _) => sending::budget(&log, sender, rate),
            (None, Some(receiver)) => receiving::budget(&log, receiver, rate),
            (None, None) => Budget::default(),
        };
        let counted = log.sender.as_ref().or(log.receiver.as_ref());
        let sent = log.sender.iter().flat_map(|side| &side.sent);
        let fresh = sent.map(|sent| sent.file - sent.old.min(sent.file)).sum();
        let file_bytes = counted.and_then(Side::file_bytes).unwrap_or(fresh);
        let protocol = log.text("protocol").map(str::to_owned);
        Ok(Self {
            budget,
            elapsed_ns: log.end,
            ends,
            millicps,
            rate_source,
            file_bytes,
            protocol,
            log,
            estimate,
        })
    }

    /// The account of a file over a SLIP line, or between hosts of the ARPANET.
    fn of_session(session: session::Session, log: Log, millicps: Option<u64>) -> Self {
        let session::Session { elapsed, file, budget } = session;
        Self {
            budget,
            elapsed_ns: elapsed,
            ends: Ends::Both,
            millicps,
            rate_source: if millicps.is_some() { RateSource::Told } else { RateSource::Unseen },
            file_bytes: file,
            protocol: log.text("protocol").map(str::to_owned),
            log,
            estimate: Estimate { millicps, ..Estimate::default() },
        }
    }

    /// The median time from the last byte of a packet on the line to its answer, in nanoseconds, if there were
    /// packets answered one by one.
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.estimate.round_trip_ns
    }

    /// Packets retransmitted, not counting those that only followed one.
    pub fn errors(&self) -> u64 {
        self.estimate.errors
    }

    /// The directory that paths of the trace are relative to.
    pub fn directory(&self) -> Option<&str> {
        self.log.text("directory")
    }
}

/// Whether more data passed than the port's rate allows: a PTY or a connection behind a port is not bound by
/// it.
fn carried_more(log: &Log, millicps: u64) -> bool {
    let sent = log.sender.iter().flat_map(|side| &side.sent).map(|sent| sent.file).sum();
    let told = log.sender.as_ref().or(log.receiver.as_ref()).and_then(Side::file_bytes);
    let moved = u128::from(told.unwrap_or(sent)) * 1_000_000_000_000;
    moved * 20 > u128::from(millicps) * u128::from(log.end) * 21
}

/// The rate in the trace; 0 if the line takes no time.
fn told_rate(log: &Log) -> Option<u64> {
    let of_bits = || log.value("rate_bps").filter(|rate| *rate > 0).map(|rate| rate * 100);
    log.value("millicps").or_else(of_bits)
}

/// The header of a scenario run's trace, so that it can be replayed. `text` is the scenario's file, `settings`
/// overrides it, as for [`Scenario::parse_with`].
pub fn header(
    name: &str,
    text: &str,
    settings: &[String],
    scenario: &Scenario,
) -> Result<Vec<String>, BadScenario> {
    let table = table::merged(name, text, settings)?;
    let text = table::text(&table);
    let events = [
        TraceEvent::Text { name: "protocol", text: scenario.protocol_name().as_bytes() },
        TraceEvent::Value { name: "millicps", value: scenario.limit_millicps().unwrap_or(0) },
        TraceEvent::Text { name: "carrier", text: scenario.carrier().as_str().as_bytes() },
        TraceEvent::Text { name: "scenario", text: text.as_bytes() },
    ];
    Ok(events.iter().map(run_line).collect())
}

/// A line of a trace about the whole run.
pub fn run_line(event: &TraceEvent<'_>) -> String {
    format!("{} run {event}", Instant::ZERO)
}
