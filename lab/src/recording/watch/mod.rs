//! From bytes to packets, and from these to the lines of a trace.
//!
//! Every protocol looks at every recording; the one that explains most bytes by packets with good checks has it.

mod kermit;
mod notes;
mod xymodem;
mod zmodem;

use super::{BadRecording, Piece, Side};
use crate::explain::run_line;
use notes::{Line, Notes};
use wetstring_proto::{Instant, TraceEvent};

/// A protocol, looking.
trait Watch {
    /// Processes sent or received bytes; `notes` has their time.
    fn take(&mut self, notes: &mut Notes, sent: bool, bytes: &[u8]);

    /// Its name in `wst show`, once all was seen.
    fn protocol(&self) -> &'static str;

    /// Whether this end sent the files.
    fn sends(&self) -> bool;

    /// Why no account can be made although packets were found.
    fn problem(&self) -> Option<&'static str> {
        None
    }
}

/// What a protocol saw at an end.
struct Seen<'a> {
    side: &'a Side,
    watch: Box<dyn Watch>,
    notes: Notes,
}

fn all() -> [Box<dyn Watch>; 4] {
    [
        Box::new(kermit::Kermit::new()),
        Box::new(zmodem::Zmodem::new()),
        Box::new(xymodem::Xymodem::new(true)),
        Box::new(xymodem::Xymodem::new(false)),
    ]
}

fn look(side: &Side, mut watch: Box<dyn Watch>) -> Seen<'_> {
    let mut notes = Notes::new(side.sees_calls);
    for Piece { from, to, sent, bytes } in &side.pieces {
        notes.piece(*from, *to, *sent, bytes.len());
        watch.take(&mut notes, *sent, bytes);
        notes.moved(*to, *sent);
    }
    Seen { side, watch, notes }
}

fn best(side: &Side) -> Option<Seen<'_>> {
    let seen = all().into_iter().map(|watch| look(side, watch));
    seen.max_by_key(|seen| seen.notes.good).filter(|seen| seen.notes.good > 0)
}

/// The lines of a trace of all these ends.
pub(super) fn trace(sides: &[Side]) -> Result<Vec<String>, BadRecording> {
    lines(sides.iter().filter_map(best).collect())
}

/// The lines of a trace of that one of these ends at which a protocol explains most.
pub(super) fn trace_of_one(sides: &[Side]) -> Result<Vec<String>, BadRecording> {
    let best = sides.iter().filter_map(best).max_by_key(|seen| seen.notes.good);
    lines(best.into_iter().collect())
}

fn lines(seen: Vec<Seen<'_>>) -> Result<Vec<String>, BadRecording> {
    let Some(first) = seen.first() else {
        return Err(BadRecording::new(
            "expected packets of Kermit, XMODEM, YMODEM or ZMODEM, got a recording without any",
        ));
    };
    if let Some(problem) = seen.iter().find_map(|seen| seen.watch.problem()) {
        return Err(BadRecording::new(problem));
    }
    let protocol = first.watch.protocol();
    if let [first, second] = &seen[..]
        && (first.watch.sends() == second.watch.sends() || second.watch.protocol() != protocol)
    {
        return Err(BadRecording::new(format!(
            "expected the two ends of one transfer, got two that {} by {protocol} and {} by {}",
            if first.watch.sends() { "send" } else { "receive" },
            if second.watch.sends() { "send" } else { "receive" },
            second.watch.protocol()
        )));
    }
    let way = if first.watch.sends() { "send" } else { "receive" };
    let mut head = vec![("protocol", protocol)];
    if seen.len() == 1 {
        head.push(("way", way));
    }
    let mut lines: Vec<String> = head
        .into_iter()
        .map(|(name, text)| TraceEvent::Text { name, text: text.as_bytes() })
        .chain(values(&seen))
        .map(|event| run_line(&event))
        .collect();
    let pieces = seen.iter().filter_map(|seen| seen.side.pieces.first());
    let start = pieces.map(|piece| piece.from).min().unwrap_or_default();
    let mut said: Vec<(u64, String)> = Vec::new();
    for Seen { watch, notes, .. } in seen {
        let who = if watch.sends() { "A" } else { "B" };
        said.extend(notes.lines().into_iter().map(|(at, line)| {
            let at = Instant(at.saturating_sub(start));
            let text = match line {
                Line::Engine(event) => format!("{at} {who} {event}"),
                Line::Busy(ns) => format!("{at} line value think_{}={ns}", who.to_lowercase()),
            };
            (at.as_nanos(), text)
        }));
    }
    said.sort_by_key(|(at, _)| *at);
    lines.extend(said.into_iter().map(|(_, text)| text));
    Ok(lines)
}

/// What is known of the line.
fn values(seen: &[Seen<'_>]) -> impl Iterator<Item = TraceEvent<'static>> {
    let rate = seen.iter().find_map(|seen| seen.side.rate_bps);
    let rate = rate.map(|value| TraceEvent::Value { name: "rate_bps", value });
    let reliable = seen.iter().any(|seen| seen.side.reliable);
    let reliable = reliable.then_some(TraceEvent::Value { name: "reliable", value: 1 });
    // Whose programs they were is not known.
    let recorded = TraceEvent::Value { name: "recorded", value: 1 };
    rate.into_iter().chain(reliable).chain([recorded])
}
